package history

import (
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/journal"
)

// bodies has every event, and Unknown for events of a later version.
var bodies = append(contract.Events(), contract.Unknown{})

// hostileJSON is JSON, which stays unchanged, with characters that terminals act on.
const hostileJSON = `{"a":"\u001b[31m` + "\u202e" + `"}`

// fill sets every field; text makes the strings, given the name of the field.
func fill(v reflect.Value, name string, text func(name string) string) {
	switch v.Kind() {
	case reflect.String:
		v.SetString(text(name))
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Int, reflect.Int64:
		v.SetInt(-1234567890123)
	case reflect.Float64:
		v.SetFloat(12.5)
	case reflect.Struct:
		for i := range v.NumField() {
			fill(v.Field(i), v.Type().Field(i).Name, text)
		}
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(v.Elem(), name, text)
	case reflect.Slice:
		if v.Type() == rawMessage {
			v.SetBytes([]byte(hostileJSON))
			return
		}
		v.Set(reflect.MakeSlice(v.Type(), 2, 2))
		for i := range v.Len() {
			fill(v.Index(i), name, text)
		}
	default:
		panic("an event has a field of kind " + v.Kind().String() + ", which is not kept")
	}
}

func filled(b contract.Body, text func(name string) string) contract.Body {
	v := reflect.New(reflect.TypeOf(b)).Elem()
	fill(v, "", text)
	return v.Interface().(contract.Body)
}

var someTime = time.Date(2026, 11, 21, 4, 5, 6, 789_654_321, time.UTC)

// addAll adds events of one agent, one second apart.
func addAll(c *Store, id string, all ...contract.Body) {
	for _, b := range all {
		c.Add(someTime.Add(time.Duration(c.len())*time.Second), contract.Event{ID: id, Body: b})
	}
}

// shape returns a thread in short form.
func shape(t testing.TB, th *Thread) (all []string) {
	t.Helper()
	for i := range th.Len() {
		e, ok := th.Entry(i)
		if !ok {
			all = append(all, fmt.Sprint(e.N, " lost"))
			continue
		}
		s := fmt.Sprint(e.N, " ", e.Event.ID, " ", e.Event.Body.EventName())
		if e.Outcome != nil {
			s += " > " + e.Outcome.Body.EventName()
		}
		all = append(all, s)
	}
	return all
}

// notices adds n notices of about 1 KB, numbered from the first entry on.
func notices(c *Store, n int) {
	for range n {
		addAll(c, "orch-1", contract.Notice{Text: fmt.Sprintf("%d %s", c.len(), strings.Repeat("x", 1000))})
	}
}

// readable counts the entries that can be read, and checks them.
func readable(t *testing.T, th *Thread) (n int) {
	t.Helper()
	for i := range th.Len() {
		e, ok := th.Entry(i)
		if !ok {
			continue
		}
		n++
		if b, is := e.Event.Body.(contract.Notice); !is || !strings.HasPrefix(b.Text, fmt.Sprint(e.N, " x")) {
			t.Fatalf("entry %d is %.20q", e.N, b.Text)
		}
	}
	return n
}

// runLog is the log of a run that continues.
type runLog struct {
	*journal.EventLog
	file  *os.File
	chain journal.LogChain
	seq   uint64
}

func newRunLog(t testing.TB) *runLog {
	t.Helper()
	name := filepath.Join(t.TempDir(), journal.LogName)
	f, err := os.Create(name)
	if err != nil {
		t.Fatal(err)
	}
	log, err := journal.OpenLog(name)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close(); log.Close() })
	return &runLog{EventLog: log, file: f}
}

func (l *runLog) add(t testing.TB, at time.Time, e contract.Event) {
	t.Helper()
	l.seq++
	line, err := contract.EncodeLine(nil, l.seq, at, e)
	var raw []byte
	if err == nil {
		raw, err = l.chain.Append(nil, journal.LogContent{Input: l.seq, At: at, Line: line})
	}
	if err == nil {
		_, err = l.file.Write(raw)
	}
	if err != nil {
		t.Fatal(err)
	}
}
