package history

import (
	"bytes"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/journal/eventlog"
)

// logFile is a log in memory.
type logFile struct{ *bytes.Reader }

func (f logFile) Size() (int64, error) { return f.Reader.Size(), nil }
func (f logFile) Close() error         { return nil }

// logOf returns an event log of events one second apart.
func logOf(t testing.TB, list []contract.Event) *eventlog.Log {
	t.Helper()
	var raw []byte
	var chain eventlog.Chain
	for i, e := range list {
		at := someTime.Add(time.Duration(i) * time.Second)
		line, err := contract.EncodeLine(nil, uint64(i+1), at, e)
		if err == nil {
			raw, err = chain.Append(raw, eventlog.Content{Input: 1, At: at, Line: line})
		}
		if err == nil {
			raw, err = chain.Append(raw, eventlog.Content{Input: 1, At: at, Record: []byte(`{"kind":"origin"}`)})
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return eventlog.New(logFile{bytes.NewReader(raw)})
}

// lived returns the events of two agents, with outcomes, edited messages and hostile texts.
func lived(n int) (list []contract.Event) {
	for i := range n {
		id := fmt.Sprint("orch-", i%2)
		list = append(list,
			contract.Event{ID: id,
				Body: contract.ToolUse{Tool: "Read", ToolUse: fmt.Sprint("t", i),
					Input: []byte(`{"file_path":"a \"quoted\" path"}`)}},
			contract.Event{ID: contract.Human,
				Body: contract.Message{MessageID: fmt.Sprint("m", i), From: contract.Human, To: id, Kind: "note",
					Text: fmt.Sprint("word\x1b[31m ", i)}},
			contract.Event{ID: contract.Human,
				Body: contract.Message{MessageID: fmt.Sprint("m", i), From: contract.Human, To: id, Kind: "note",
					Text: fmt.Sprint("changed ", i), Edited: true}},
			contract.Event{ID: id,
				Body: contract.ToolResult{ToolUse: fmt.Sprint("t", i), Text: "a\nresult \u202e hidden"}},
			contract.Event{ID: id, Body: contract.Delivered{MessageID: fmt.Sprint("m", i)}})
	}
	return list
}

// TestPastIsReadFromItsLog: a store whose first part is in a log has the same entries in each thread,
// and finds the same, as a store that received all events.
func TestPastIsReadFromItsLog(t *testing.T) {
	list := lived(40)
	log := logOf(t, list)
	want := open(t, Options{Dir: t.TempDir()})
	for i, e := range list {
		want.Add(someTime.Add(time.Duration(i)*time.Second), e)
	}
	end, err := Recent(t.Context(), log, 60)
	if err != nil || end.Whole || len(end.Events) != 60 {
		t.Fatalf("%d recent events, whole %v, %v", len(end.Events), end.Whole, err)
	}
	first := open(t, Options{Dir: t.TempDir()})
	first.Past(log, end.Next)
	for _, e := range end.Events {
		if _, err := first.Recall(e); err != nil {
			t.Fatal(err)
		}
	}
	have := open(t, Options{Dir: t.TempDir()})
	have.Past(log, end.Next)
	if _, err := log.Each(t.Context(), eventlog.Position{}, func(e eventlog.Entry) error {
		if e.Line == nil {
			return nil
		}
		_, err := have.Recall(e)
		return err
	}); err != nil {
		t.Fatal(err)
	}
	for i, e := range lived(3) {
		at := someTime.Add(time.Duration(len(list)+i) * time.Second)
		want.Add(at, e)
		first.Add(at, e)
	}
	if at := have.CatchUp(first, len(end.Events)); at != first.len() {
		t.Fatalf("caught up to %d of %d", at, first.len())
	}
	version := first.Version()
	have.Succeed(first)
	if have.Version() <= version {
		t.Errorf("version %d after %d", have.Version(), version)
	}
	all := map[string][2]*Thread{"all": {want.All(), have.All()}, "talk": {want.Talk(), have.Talk()},
		"orch-1": {want.Agent("orch-1"), have.Agent("orch-1")}}
	for name, f := range map[string]Filter{"kind": {Kinds: []string{"tool_result"}}, "text": {Text: "WORD 7"},
		"hidden": {Text: "result  hidden"}, "agent": {Agent: "orch-0"}} {
		w, h := want.Filter(f), have.Filter(f)
		w.Follow(t.Context())
		h.Follow(t.Context())
		all[name] = [2]*Thread{w, h}
	}
	for name, th := range all {
		if th[0].Len() != th[1].Len() {
			t.Errorf("%s: %d entries, want %d", name, th[1].Len(), th[0].Len())
			continue
		}
		for i := range th[0].Len() {
			w, _ := th[0].Entry(i)
			h, ok := th[1].Entry(i)
			if diff := cmp.Diff(w, h); diff != "" || !ok {
				t.Fatalf("%s, entry %d (-told +read):\n%s", name, i, diff)
			}
			if n, _ := th[1].Number(i); th[1].Place(n) != i {
				t.Errorf("%s: entry %d is found at %d", name, i, th[1].Place(n))
			}
		}
	}
	for _, text := range []string{"word 3", "changed 39", `a "quoted" path`, "nowhere"} {
		for _, back := range []bool{false, true} {
			from := 0
			if back {
				from = want.All().Len()
			}
			w, wok := want.Find(t.Context(), want.All(), text, from, back)
			if h, ok := have.Find(t.Context(), have.All(), text, from, back); h != w || ok != wok {
				t.Errorf("%q (back %v) is found at %d, %v, want %d, %v", text, back, h, ok, w, wok)
			}
		}
	}
	if lost, err := have.Lost(); lost != 0 || err != nil {
		t.Errorf("lost %d, %v", lost, err)
	}
}

func TestRecentIsAllOfAShortLog(t *testing.T) {
	list := lived(2)
	log := logOf(t, list)
	size, _ := log.Size()
	end, err := Recent(t.Context(), log, len(list))
	if err != nil || !end.Whole || len(end.Events) != len(list) || end.Events[0].N != 1 || end.Next.Offset != size {
		t.Errorf("%+v, %v", end, err)
	}
	if end, err = Recent(t.Context(), logOf(t, nil), 5); err != nil || !end.Whole || len(end.Events) != 0 ||
		end.Next.Offset != 0 {
		t.Errorf("of nothing: %+v, %v", end, err)
	}
}

// lineOf returns an event as a line of the log.
func lineOf(t *testing.T, e contract.Event) string {
	t.Helper()
	line, err := contract.EncodeLine(nil, 1, someTime, e)
	if err != nil {
		t.Fatal(err)
	}
	return string(line)
}

// growingLog is the log of a run that continues.
type growingLog struct {
	mu    sync.Mutex
	raw   []byte
	chain eventlog.Chain
	seq   uint64
}

func (g *growingLog) add(t *testing.T, at time.Time, e contract.Event) {
	t.Helper()
	g.mu.Lock()
	defer g.mu.Unlock()
	g.seq++
	line, err := contract.EncodeLine(nil, g.seq, at, e)
	if err == nil {
		g.raw, err = g.chain.Append(g.raw, eventlog.Content{Input: g.seq, At: at, Line: line})
	}
	if err != nil {
		t.Fatal(err)
	}
}

func (g *growingLog) reader() *bytes.Reader {
	g.mu.Lock()
	defer g.mu.Unlock()
	return bytes.NewReader(g.raw)
}

func (g *growingLog) ReadAt(p []byte, off int64) (int, error) { return g.reader().ReadAt(p, off) }
func (g *growingLog) Size() (int64, error)                    { return g.reader().Size(), nil }
func (g *growingLog) Close() error                            { return nil }

// TestLoggedEventsAreNotStoredTwice: events in the log of the run are read from there, and are not written
// here; other events are still stored here.
func TestLoggedEventsAreNotStoredTwice(t *testing.T) {
	for name, kept := range map[string]struct {
		inLog func(i int) bool // an event is in the log
		most  int              // bytes written by the store
	}{
		"all":            {func(int) bool { return true }, 0},
		"none":           {func(int) bool { return false }, 1 << 30},
		"some are not":   {func(i int) bool { return i%500 != 7 }, 4 << 20},
		"not for a time": {func(i int) bool { return i < 1000 || i > 2000 }, 4 << 20},
	} {
		t.Run(name, func(t *testing.T) {
			events, run := &memFile{}, &growingLog{}
			c := begin(disk{events: events, index: &memFile{}, lists: &memFile{}}, nil, leastMemory)
			if log := eventlog.New(run); !c.Past(log, eventlog.Position{}) || c.Past(log, eventlog.Position{}) {
				t.Fatal("not one log is taken")
			}
			text := strings.Repeat("The weaving goes on. ", 100)
			var want []contract.Event
			for i := range 4000 {
				e := contract.Event{ID: "orch-1", Body: contract.Notice{Text: fmt.Sprint(i, text)}}
				if i%3 == 0 {
					e.Body = contract.Assistant{Text: fmt.Sprint(i, text), ContextPct: 100 / 3.0} // rounded in the log
				}
				if i%7 == 0 {
					e.Body = contract.ToolUse{Tool: "Read", ToolUse: fmt.Sprint(i),
						Input: []byte(`{"file_path": "a", "text": "` + text + `"}`)}
				}
				if i%11 == 0 {
					e.Body = contract.Error{Message: fmt.Sprint(i, text)}
				}
				at := someTime.Add(time.Duration(i/2) * time.Second) // two with the same time
				if kept.inLog(i) {
					run.add(t, at, e)
				}
				if i%10 == 3 { // an event that this frontend did not receive
					run.add(t, at, contract.Event{ID: "orch-2", Body: contract.Cost{}})
				}
				c.Add(at, e)
				want = append(want, e)
			}
			for i, w := range want {
				e, ok := c.All().Entry(i)
				if fromLog, kept := lineOf(t, w), lineOf(t, e.Event); fromLog != kept || !ok {
					t.Fatalf("entry %d (-log +kept):\n%s", i, cmp.Diff(fromLog, kept))
				}
			}
			written := 0
			for _, b := range events.b {
				if b != 0 {
					written++
				}
			}
			if written > kept.most || kept.most == 1<<30 && written < 4000*1000 {
				t.Errorf("%d bytes were written", written)
			}
			if lost, err := c.Lost(); lost != 0 || err != nil {
				t.Errorf("lost %d, %v", lost, err)
			}
			if _, ok := c.Find(t.Context(), c.All(), "3999The", 0, false); !ok {
				t.Error("the last one is not found")
			}
		})
	}
}
