package history

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/arbiter-cli/arbiter/internal/testkit"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/journal"
)

// bodies has every event, and Unknown for events of a later version.
var bodies = append(contract.Events(), contract.Unknown{})

// hostileJSON is JSON, which stays unchanged, with characters that terminals act on.
const hostileJSON = `{"a":"\u001b[31m` + "\u202e" + `"}`

// filled sets every field of an event; text makes the strings, given the name of the field.
func filled(b contract.Body, text func(name string) string) contract.Body {
	v := reflect.New(reflect.TypeOf(b)).Elem()
	testkit.Fill(v, func(v reflect.Value, field reflect.StructField) bool {
		switch {
		case v.Kind() == reflect.String:
			v.SetString(text(field.Name))
		case v.Kind() == reflect.Bool:
			v.SetBool(true)
		case v.CanInt():
			v.SetInt(-1234567890123)
		case v.CanFloat():
			v.SetFloat(12.5)
		case v.Type() == rawMessage:
			v.SetBytes([]byte(hostileJSON))
		default:
			return false
		}
		return true
	})
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
			s += " > " + e.Outcome.EventName()
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
		b, is := e.Event.Body.(contract.Notice)
		testkit.Need(t, is && strings.HasPrefix(b.Text, fmt.Sprint(e.N, " x")), "entry %d is %.20q", e.N, b.Text)
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
	f := testkit.Must(os.Create(name))(t)
	log := testkit.Must(journal.OpenLog(name))(t)
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
	testkit.OK(t, err)
}

// TestOpenEntriesHoldNoText: for a call or a message that is still open, its name is kept in memory, but
// not all of its text.
func TestOpenEntriesHoldNoText(t *testing.T) {
	c := New(Memory / 2)
	before := inUse()
	text := strings.Repeat("x", 64<<10)
	for i := range 2000 {
		agent := fmt.Sprint("orch-", i)
		c.Add(time.Now(),
			contract.Event{ID: agent, Body: contract.ToolUse{Tool: "Write", ToolUse: fmt.Sprint("t", i),
				Input: []byte(`{"content":"` + text + `"}`)}})
		c.Add(time.Now(),
			contract.Event{ID: agent, Body: contract.Message{MessageID: fmt.Sprint("m", i), From: agent, To: "arbiter",
				Text: text}})
	}
	held := inUse() - before
	testkit.Check(t, held <= 32<<20, "%d MB are held", held>>20)
	runtime.KeepAlive(c)
}

// work adds n events like a busy run with a log: three agents and their tools.
func work(t testing.TB, c *Store, n int) {
	run := newRunLog(t)
	c.Past(run.EventLog, journal.LogPosition{})
	input := json.RawMessage(`{"file_path":"/home/me/project/internal/weaving/loom.go","offset":120,"limit":80}`)
	result := strings.Repeat("   121\tfunc (l *Loom) weave(thread Thread) error {\n", 12)
	for c.len() < n {
		i := c.len()
		id := fmt.Sprintf("orch-%d", i/6%3)
		call := fmt.Sprint("toolu_01A09q90qw90lq9", i)
		for _, b := range []contract.Body{
			contract.Assistant{Text: "I will look at the loom next, then at the thread. " + call, ContextPct: 12.5},
			contract.ToolUse{Tool: "Read", ToolUse: call, Input: input},
			contract.Context{Tokens: 1234, Window: 200_000, Pct: 1.5},
			contract.ToolResult{ToolUse: call, Text: result},
			contract.Message{MessageID: call, From: id, To: contract.Arbiter, Kind: "progress",
				Text: "The loom holds."},
			contract.Delivered{MessageID: call},
		} {
			at := someTime.Add(time.Duration(c.len()) * time.Second)
			run.add(t, at, contract.Event{ID: id, Body: b})
			c.Add(at, contract.Event{ID: id, Body: b})
		}
	}
}

// heap returns the memory in use after n events.
func heap(t *testing.T, n int) int {
	c := New(Memory)
	before := inUse()
	work(t, c, n)
	for range 100 { // and also read some
		c.All().Entry(rand.IntN(n))
		c.Find(t.Context(), c.Talk(), "nowhere", 0, false)
		if n > 10_000 {
			break
		}
	}
	held := inUse() - before
	_, ok := c.All().Entry(0)
	testkit.Check(t, ok, "the first entry is lost")
	return held
}

func inUse() int {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int(m.HeapAlloc)
}

// TestMemoryIsFlat compares a long run with a short one, and with one that has just filled what memory may
// hold: of a further event only its record and its places in threads remain.
func TestMemoryIsFlat(t *testing.T) {
	n := 60_000
	if testkit.AtNight() && !testkit.Race {
		n = 300_000
	}
	little, some, much := heap(t, 1000), heap(t, 30_000), heap(t, n)
	t.Logf("held on the heap: %d KiB for 1,000 events, %d KiB for 30,000, %d KiB for %d", little>>10, some>>10,
		much>>10, n)
	if perEvent := (much - some) / (n - 30_000); perEvent > 60 || much > 4<<20+60*n {
		t.Errorf("%d bytes for %d events, %d for 30000: %d for each", much, n, some, perEvent)
	}
}
