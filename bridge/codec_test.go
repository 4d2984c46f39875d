package bridge

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"net"
	"reflect"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/sourcegraph/jsonrpc2"

	"github.com/arbiter-cli/arbiter/internal/testkit"
)

func TestEventsSurviveTheWire(t *testing.T) {
	for _, body := range sampleEvents {
		want := Event{AgentRef{"orch-1", 3}, body}
		data, err := want.MarshalJSON()
		if err != nil {
			t.Errorf("%T: %v", body, err)
			continue
		}
		for field := range reflect.TypeOf(body).Fields() {
			testkit.Check(t, !reflect.ValueOf(body).FieldByIndex(field.Index).IsZero(),
				"the sample of %T leaves %s empty", body, field.Name)
		}
		var got Event
		if err := json.Unmarshal(data, &got); err != nil {
			t.Errorf("%s: %v", data, err)
		} else if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: -want +got:\n%s", data, diff)
		}
		again, err := got.MarshalJSON()
		testkit.Check(t, err == nil && bytes.Equal(data, again), "encoded again (%v):\n%s\n%s", err, data, again)
	}
}

func TestEventEncoding(t *testing.T) {
	for _, tc := range []struct {
		event Event
		want  string
	}{
		{Event{AgentRef{"a", 1}, Delta{Text: "<b> & \"c\"\n"}},
			`{"id":"a","generation":1,"event":"delta","text":"<b> & \"c\"\n"}`},
		{Event{AgentRef{"ä\"", 0}, Notice{}}, `{"id":"ä\"","generation":0,"event":"notice","text":""}`},
		{Event{AgentRef{"a", 1}, Turn{Outcome: TurnDone}}, `{"id":"a","generation":1,"event":"turn","message_ids":[],` +
			`"usage":{"input_tokens":0,"output_tokens":0,"cache_read_input_tokens":0,"cache_creation_input_tokens":0},"cost_usd":0,"outcome":"done"}`},
		{Event{AgentRef{"a", 1}, ToolUse{Tool: "Bash"}},
			`{"id":"a","generation":1,"event":"tool_use","tool":"Bash","input":{},"tool_use":""}`},
		{Event{AgentRef{"a", 1}, Unknown{Name: "later"}}, `{"id":"a","generation":1,"event":"later"}`},
	} {
		got, err := tc.event.MarshalJSON()
		testkit.Check(t, err == nil && string(got) == tc.want, "%+v (%v):\ngot  %s\nwant %s", tc.event, err, got,
			tc.want)
	}
	for _, bad := range []EventBody{nil, ToolUse{Input: json.RawMessage("{")}, Context{Pct: math.NaN()}} {
		data, err := (Event{AgentRef{"a", 1}, bad}).MarshalJSON()
		testkit.Check(t, err != nil, "%+v became %s", bad, data)
	}
}

func TestUnknownEventNames(t *testing.T) {
	for _, tc := range []struct {
		raw, name, err string
		ref            AgentRef
	}{
		{`{"zeta":[1.0,2],"id":"a", "generation":2,"event":"thinking","text":"<\u00e9>"}`, "thinking", "",
			AgentRef{"a", 2}},
		{`{"event":"delta","id":"a","generation":1,"text":7}`, "delta", "cannot unmarshal number", AgentRef{"a", 1}},
		{`{"event":"turn","id":"a","generation":1,"usage":[]}`, "turn", "cannot unmarshal array", AgentRef{"a", 1}},
		{`{"event":"delta","id":5,"generation":1,"text":"x"}`, "delta", "eventHead.id of type string", AgentRef{"", 1}},
		{`{"event":"delta","id":"a","generation":"1","text":"x"}`, "delta", "eventHead.generation of type int",
			AgentRef{"a", 0}},
		{`{"event":null,"id":"a","generation":1}`, "", "", AgentRef{"a", 1}},
		{`{}`, "", "", AgentRef{}},
	} {
		var got Event
		if err := json.Unmarshal([]byte(tc.raw), &got); err != nil {
			t.Errorf("%s: %v", tc.raw, err)
			continue
		}
		u, ok := got.Body.(Unknown)
		testkit.Check(t, ok && u.Name == tc.name && string(u.Raw) == tc.raw && got.AgentRef == tc.ref, "%s: got %+v",
			tc.raw, got)
		testkit.Check(t, (tc.err == "") == (u.Err == nil) && (u.Err == nil || strings.Contains(u.Err.Error(), tc.err)),
			"%s: reason %v, want %q", tc.raw, u.Err, tc.err)
		again, err := got.MarshalJSON()
		testkit.Check(t, err == nil && string(again) == tc.raw, "encoded again (%v):\n%s\n%s", err, tc.raw, again)
	}
}

// TestEventLineHasOneLineEnd: an event is encoded as one line, whatever the layout of an unknown event.
func TestEventLineHasOneLineEnd(t *testing.T) {
	line, err := eventLine(Event{Body: Unknown{Name: "x", Raw: json.RawMessage("{\n  \"event\": \"x\"\n}")}})
	want := `{"jsonrpc":"2.0","method":"event","params":{"n":7,"event":"x"}}` + "\n"
	got := numbered(7, line)
	testkit.Check(t, err == nil && string(got) == want, "got %q, %v", got, err)
}

// TestHeads reads the head of events with their fields in the order in which they are written, and in
// others.
func TestHeads(t *testing.T) {
	for _, tc := range []struct {
		raw  string
		want eventHead
		own  bool
	}{
		{`{"n":7,"id":"a","generation":2,"event":"delta","text":"x"}`, eventHead{7, "a", 2, "delta"}, true},
		{`{"n":7,"id":"\",\"event\":\"","generation":0,"event":"delta"}`, eventHead{7, `","event":"`, 0, "delta"}, true},
		{`{"n":7,"id":"a","generation":2,"event":"later"}`, eventHead{7, "a", 2, "later"}, false},
		{`{"id":"a","generation":2,"event":"delta"}`, eventHead{0, "a", 2, "delta"}, false},
		{`{"n":7,"id":"a","id":"b","generation":2,"event":"delta"}`, eventHead{7, "b", 2, "delta"}, false},
		{`{"n":7,"id":"a","generation":2,"n":8,"event":"delta"}`, eventHead{8, "a", 2, "delta"}, false},
		{`{"n":7, "id":"a","generation":2,"event":"delta"}`, eventHead{7, "a", 2, "delta"}, false},
		{`{"event":"delta","n":7,"id":"a","generation":2}`, eventHead{7, "a", 2, "delta"}, false},
	} {
		got, err := readHead([]byte(tc.raw))
		if _, own := readOwnHead([]byte(tc.raw)); err != nil || got != tc.want || own != tc.own {
			t.Errorf("%s: %+v, %v, in the usual order: %v", tc.raw, got, err, own)
		}
	}
}

func FuzzEvent(f *testing.F) {
	for _, body := range sampleEvents {
		data, _ := Event{AgentRef{"a", 1}, body}.MarshalJSON()
		f.Add(data)
	}
	for _, s := range []string{`{}`, `{"event":"x"}`, `{"id":"\ud800","event":"delta","text":"\ud800"}`,
		`{"EVENT":"delta","event":"turn","Event":1}`, `{"id":"a","generation":1e0,"event":"delta"}`, `{"id":"a","generation":1,"event":"turn","text":"b","num_turns":2,"text":null,"num_turns":null,"cost_usd":-1e2}`,
		`[1]`, `{"a":"\\\"}","event":"delta"}`, "{\"e\\u0076ent\":\"delta\"}"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		ev, _, err := decodeEvent(data)
		var object map[string]json.RawMessage
		isObject := json.Unmarshal(data, &object) == nil && object != nil
		testkit.Need(t, (err == nil) == isObject, "%q is an object: %v; decoded: %v", data, isObject, err)
		if err != nil {
			return
		}
		again, err := ev.MarshalJSON()
		testkit.Need(t, err == nil, "encode %+v: %v", ev, err)
		if u, ok := ev.Body.(Unknown); ok {
			testkit.Need(t, bytes.Equal(u.Raw, data) && bytes.Equal(again, data), "unknown %q became %q", data, again)
			return
		}
		want := reflect.New(reflect.TypeOf(ev.Body))
		if err := json.Unmarshal(data, want.Interface()); err != nil ||
			!reflect.DeepEqual(want.Elem().Interface(), ev.Body) {
			t.Fatalf("%q became %#v; encoding/json says %#v, %v", data, ev.Body, want.Elem(), err)
		}
		back, _, err := decodeEvent(again)
		testkit.Need(t, err == nil, "decode %q: %v", again, err)
		twice, err := back.MarshalJSON()
		testkit.Need(t, err == nil && bytes.Equal(again, twice), "%q became %q, then %q (%v)", data, again, twice, err)
	})
}

// wire is the far end of a client, written by the test.
type wire struct {
	t *testing.T
	net.Conn
	r *bufio.Reader
}

func newWire(t *testing.T, conn net.Conn) *wire { return &wire{t, conn, bufio.NewReader(conn)} }

func (w *wire) write(lines ...string) {
	for _, l := range lines {
		testkit.Works(w.t, "write", testkit.Err(io.WriteString(w, l+"\n")))
	}
}

func (w *wire) read() string {
	line, err := w.r.ReadString('\n')
	testkit.Check(w.t, err == nil, "read: %v", err)
	return strings.TrimSpace(line)
}

func (w *wire) readID() string {
	var m struct {
		ID string `json:"id"`
	}
	line := w.read()
	testkit.Check(w.t, json.Unmarshal([]byte(line), &m) == nil && m.ID != "", "no string id in %s", line)
	return m.ID
}

// TestGarbageIsCountedAndSkipped: no line but its answer completes a call, and what cannot be read affects neither the
// event nor the answer behind it. (jsonrpc2 v0.2.3 reads null as the id of call 0. Our calls have string ids, and such
// a line does not even reach it.)
func TestGarbageIsCountedAndSkipped(t *testing.T) {
	bubble(t, func(t *testing.T) {
		near, far := net.Pipe()
		h := &recorder{}
		c := NewClient(near, h, testLog(t))
		w := newWire(t, far)
		var got ContextResult
		called := make(chan error)
		call := func() string {
			go func() {
				var err error
				got, err = c.Context(t.Context(), AgentRef{"a", 1})
				called <- err
			}()
			return w.readID()
		}
		id := call()
		garbage := []string{
			`Welcome to Ubuntu 24.04`, `null`, `[]`, `[{"jsonrpc":"2.0"}]`, `""`, `0`, `{`, `{"a":1}}`,
			`{"jsonrpc":"2.0"}`, `{"jsonrpc":"2.0","id":null,"result":{}}`, `{"jsonrpc":"2.0","id":0,"result":{}}`,
			`{"jsonrpc":"2.0","result":{}}`,
			`{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"parse error"}}`,
			`{"jsonrpc":"2.0","method":"event"}`, `{"jsonrpc":"2.0","method":"event","params":[1]}`,
			`{"jsonrpc":"2.0","method":"event","params":{"n":1,"id":"a","event":"delta","text":tru}}`,
			`{"jsonrpc":"2.0","method":7}`, "\x00\x00{", "\x1b[31mred\x1b[0m",
			`{"jsonrpc":"2.0","id":"` + id + `","result":{"tokens":}}`,
		}
		w.write(garbage...)
		w.write("", "  \r",
			"\xef\xbb\xbf"+
				`{"jsonrpc":"2.0","method":"event","params":{"n":1,"id":"a","generation":1,"event":"delta","text":"ok"}}`+"\r")
		synctest.Wait()
		testkit.Same(t, "stray lines", len(garbage), int(c.p.s.stray.Load()))
		w.write(`{"jsonrpc":"2.0","id":"","result":{}}`)
		for bad, want := range map[string]string{
			`{"jsonrpc":"2.0","id":7,"method":"tool_call","params":{"a":}}`: `"id":7`,
			`{"jsonrpc":"2.0","id":-1,"method":"tool_call"}`:                `"id":-1`,
		} {
			w.write(bad)
			testkit.Includes(t, "got, want a refusal", w.read(), want, "-32600")
		}
		w.write(`{"jsonrpc":"2.0","id":"` + id + `","result":{"tokens":1,"window":2,"pct":50}}`)
		testkit.Works(t, "the call", <-called)
		testkit.Same(t, "its result", ContextResult{Tokens: 1, Window: 2, Pct: 50}, got)
		testkit.Same(t, "events", []Event{{AgentRef{"a", 1}, Delta{Text: "ok"}}}, h.all())
		w.write(`{"jsonrpc":"2.0","id":"` + call() + `","error":{"code":"many"}}`)
		testkit.Same(t, "an error that is none", jsonrpc2.CodeInternalError, codeOf(<-called))
		c.Close()
	})
}

// The parameters of an event are cut out of its line only if the line contains nothing else.
func TestEventParams(t *testing.T) {
	const head = `{"jsonrpc":"2.0","method":"event","params":{"n":1`
	for line, want := range map[string]string{
		head + `,"event":"x"}}`:               `{"n":1,"event":"x"}`,
		head + `}}`:                           `{"n":1}`,
		head + `},"params":{"n":2}}`:          "", // the last counts
		head + `},"id":"c1"}`:                 "",
		head + `}} `:                          "",
		head + `}}}`:                          "",
		head + `}`:                            "",
		head:                                  "",
		`{"method":"event","params":{"n":1}}`: "",
	} {
		got, ok := eventParams([]byte(line))
		testkit.Check(t, ok == (want != "") && (!ok || string(got) == want), "%s: %s, %v", line, got, ok)
	}
}

// wireOfServer returns the near end of a server, one of its agents, and what Serve returns.
func wireOfServer(t *testing.T) (*wire, *fakeAgent, <-chan error) {
	t.Helper()
	near, far := net.Pipe()
	l, served := &fakeLauncher{}, make(chan error, 1)
	go func() {
		served <- NewServer(l, ServerOptions{Logger: testLog(t), WriteTimeout: 10 * time.Second}).Serve(t.Context(), far)
	}()
	w := newWire(t, near)
	w.write(`{"jsonrpc":"2.0","id":"1","method":"initialize","params":{"protocol_version":4,` +
		`"client":"t","run":"r","claude":{"path":"claude"}}}`)
	w.read()
	w.write(`{"jsonrpc":"2.0","id":"2","method":"spawn","params":{"n":1,"id":"a","generation":1,` +
		`"config":{"session_id":"s","cwd":"/","setting_sources":[]}}}`)
	w.read()
	return w, l.agent(AgentRef{"a", 1}), served
}

func TestPeerThatReadsNothing(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w, a, served := wireOfServer(t) // nothing reads it
		begun := time.Now()
		emitted := 0
		go func() {
			text := strings.Repeat("x", 1<<20)
			for range 64 {
				a.host.Emit(Event{Body: Delta{Text: text}})
				emitted++
			}
		}()
		synctest.Wait()
		testkit.Check(t, emitted <= maxBacklog>>20+1, "%d MiB were taken without a reader, want no more than %d",
			emitted, maxBacklog>>20+1)
		// A request is still read, and its answer is queued.
		w.write(`{"jsonrpc":"2.0","id":"3","method":"context","params":{"n":1,"id":"a","generation":1}}`)
		err := <-served
		testkit.Fails(t, "Serve", err, "the peer read nothing for 10s")
		took := time.Since(begun)
		testkit.Check(t, took <= 12*time.Second, "took %v", took)
		synctest.Wait()
		testkit.Same(t, "Emit is stuck after", 64, emitted)
	})
}

// Back-pressure delays events; it drops none, and answers keep their order.
func TestSlowReaderGetsEverything(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w, a, served := wireOfServer(t)
		const events = 40
		go func() {
			for i := range events {
				a.host.Emit(Event{Body: Delta{Text: fmt.Sprint(i, strings.Repeat(".", 1<<20))}})
			}
		}()
		synctest.Wait()
		w.write(`{"jsonrpc":"2.0","id":"3","method":"context","params":{"n":1,"id":"a","generation":1}}`)
		synctest.Wait()
		next, answered := 0, false
		for next < events || !answered {
			line := w.read()
			if strings.Contains(line, `"id":"3"`) {
				answered = true
				continue
			}
			time.Sleep(10 * time.Millisecond)
			testkit.Need(t, strings.Contains(line[:120], fmt.Sprintf(`"text":"%d.`, next)), "event %d: got %.120s",
				next, line)
			next++
		}
		go io.Copy(io.Discard, w.r)
		w.Close()
		<-served
	})
}

func TestOverlongLineIsSkipped(t *testing.T) {
	testkit.WithoutRace(t)
	near, far := net.Pipe()
	defer far.Close()
	h := &recorder{}
	c := NewClient(near, h, nil)
	defer c.Close()
	w := newWire(t, far)
	go func() {
		chunk := strings.Repeat("x", 1<<20)
		for range maxLine>>20 + 1 {
			io.WriteString(far, chunk)
		}
		w.write("", `{"jsonrpc":"2.0","method":"event","params":{"n":1,"id":"a","generation":1,"event":"delta","text":"ok"}}`)
		far.Close()
	}()
	<-c.Done()
	testkit.Same(t, "stray lines", 1, c.p.s.stray.Load())
	testkit.Same(t, "events", 1, len(h.all()))
}
