package history

import (
	"bytes"
	"cmp"
	"fmt"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/arbiter-cli/arbiter/internal/testkit"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/journal"
)

// logFile is a log in memory.
type logFile struct{ *bytes.Reader }

func (f logFile) Size() (int64, error) { return f.Reader.Size(), nil }
func (f logFile) Close() error         { return nil }

// logOf returns an event log of events one second apart.
func logOf(t testing.TB, list []contract.Event) *journal.EventLog {
	t.Helper()
	var raw []byte
	var chain journal.LogChain
	for i, e := range list {
		at := someTime.Add(time.Duration(i) * time.Second)
		line, err := contract.EncodeLine(nil, uint64(i+1), at, e)
		if err == nil {
			raw, err = chain.Append(raw, journal.LogContent{Input: 1, At: at, Line: line})
		}
		if err == nil {
			raw, err = chain.Append(raw, journal.LogContent{Input: 1, At: at, Record: []byte(`{"kind":"origin"}`)})
		}
		testkit.OK(t, err)
	}
	return journal.NewLog(logFile{bytes.NewReader(raw)})
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
	want := New(Memory)
	for i, e := range list {
		want.Add(someTime.Add(time.Duration(i)*time.Second), e)
	}
	end, err := Recent(t.Context(), log, 60)
	testkit.Need(t, err == nil && !end.Whole && len(end.Events) == 60, "%d recent events, whole %v, %v",
		len(end.Events), end.Whole, err)
	first := New(Memory)
	first.Past(log, end.Next)
	for _, e := range end.Events {
		testkit.Must(first.Recall(e))(t)
	}
	have := New(Memory)
	have.Past(log, end.Next)
	testkit.Must(log.Each(t.Context(), journal.LogPosition{}, func(e journal.LogEntry) error {
		if e.Line == nil {
			return nil
		}
		_, err := have.Recall(e)
		return err
	}))(t)
	for i, e := range lived(3) {
		at := someTime.Add(time.Duration(len(list)+i) * time.Second)
		want.Add(at, e)
		first.Add(at, e)
	}
	at := have.CatchUp(first, len(end.Events))
	testkit.Need(t, at == first.len(), "caught up to %d of %d", at, first.len())
	version := first.Version()
	have.Succeed(first)
	testkit.Check(t, have.Version() > version, "version %d after %d", have.Version(), version)
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
			diff := gocmp.Diff(w, h)
			testkit.Need(t, diff == "" && ok, "%s, entry %d (-told +read):\n%s", name, i, diff)
			n, _ := th[1].Number(i)
			testkit.Check(t, th[1].Place(n) == i, "%s: entry %d is found at %d", name, i, th[1].Place(n))
		}
	}
	for _, text := range []string{"word 3", "changed 39", `a "quoted" path`, "nowhere"} {
		for _, back := range []bool{false, true} {
			from := 0
			if back {
				from = want.All().Len()
			}
			w, wok := want.Find(t.Context(), want.All(), text, from, back)
			h, ok := have.Find(t.Context(), have.All(), text, from, back)
			testkit.Check(t, h == w && ok == wok, "%q (back %v) is found at %d, %v, want %d, %v", text, back, h, ok, w, wok)
		}
	}
	lost, err := have.Lost()
	testkit.Check(t, lost == 0 && err == nil, "lost %d, %v", lost, err)
}

func TestRecentIsAllOfAShortLog(t *testing.T) {
	list := lived(2)
	log := logOf(t, list)
	size, _ := log.Size()
	end, err := Recent(t.Context(), log, len(list))
	testkit.Check(t, err == nil && end.Whole && len(end.Events) == len(list) && end.Events[0].N == 1 &&
		end.Next.Offset == size, "%+v, %v", end, err)
	if end, err = Recent(t.Context(), logOf(t, nil), 5); err != nil || !end.Whole || len(end.Events) != 0 ||
		end.Next.Offset != 0 {
		t.Errorf("of nothing: %+v, %v", end, err)
	}
}

// lineOf returns an event as a line of the log.
func lineOf(t *testing.T, e contract.Event) string {
	t.Helper()
	line := testkit.Must(contract.EncodeLine(nil, 1, someTime, e))(t)
	return string(line)
}

// leastMemory is little enough for events to be read from the log.
const leastMemory = 256 << 10

// TestLoggedEventsAreReadBack: events in the log of the run take no memory, and every event is read from
// there, found and picked; other events stay in memory.
func TestLoggedEventsAreReadBack(t *testing.T) {
	for name, tt := range map[string]struct {
		inLog  func(i int) bool // an event is in the log
		memory int
		held   int           // bytes in memory, at most
		behind int           // events that are in the log only after so many others were added
		lost   bool          // not all of them are kept
		round  time.Duration // of the times that the screen gets
	}{
		"all":             {inLog: func(int) bool { return true }, held: leastMemory},
		"all, later":      {inLog: func(int) bool { return true }, held: leastMemory, behind: 20},
		"in milliseconds": {inLog: func(int) bool { return true }, held: leastMemory, round: time.Millisecond},
		"none":            {inLog: func(int) bool { return false }, memory: Memory, held: Memory},
		"none, too many":  {inLog: func(int) bool { return false }, held: leastMemory, lost: true},
		"some are not":    {inLog: func(i int) bool { return i%500 != 7 }, held: leastMemory},
		"not for a time":  {inLog: func(i int) bool { return i < 1000 || i > 2000 }, memory: 4 << 20, held: 4 << 20},
	} {
		t.Run(name, func(t *testing.T) {
			c, run := New(cmp.Or(tt.memory, leastMemory)), newRunLog(t)
			c.Past(run.EventLog, journal.LogPosition{})
			text := strings.Repeat("The weaving goes on. ", 100)
			var want []contract.Event
			var later []func()
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
				later = append(later, func() {
					if tt.inLog(i) {
						run.add(t, at, e)
					}
					if i%10 == 3 { // an event that this frontend did not receive
						run.add(t, at, contract.Event{ID: "orch-2", Body: contract.Cost{}})
					}
				})
				for len(later) > tt.behind {
					later[0]()
					later = later[1:]
				}
				c.Add(at.Truncate(tt.round), e)
				want = append(want, e)
				testkit.Need(t, c.bytes <= tt.held, "%d bytes are in memory after %d events", c.bytes, i)
			}
			for i, w := range want {
				e, ok := c.All().Entry(i)
				testkit.Need(t, ok != (tt.lost && i < 3950) || i >= 3800 && i < 3950, "entry %d is kept: %v", i, ok)
				if fromLog, kept := lineOf(t, w), ""; ok {
					if kept = lineOf(t, e.Event); fromLog != kept {
						t.Fatalf("entry %d (-log +kept):\n%s", i, gocmp.Diff(fromLog, kept))
					}
				}
			}
			lost, err := c.Lost()
			testkit.Check(t, lost > 0 == tt.lost && err == nil, "lost %d, %v", lost, err)
			for _, n := range []int{3999, 3998, 1003, 0} {
				text := fmt.Sprint(n, "The")
				if n == 0 {
					text = "0The"
				}
				_, ok := c.Find(t.Context(), c.Agent("orch-1"), text, 0, false)
				testkit.Check(t, ok || tt.lost, "%q is not found", text)
			}
			th := c.Filter(Filter{Kinds: []string{"error"}, Text: "WEAVING"})
			th.Follow(t.Context())
			testkit.Check(t, th.Len() == (4000+10)/11 || tt.lost, "a filter picks %d entries", th.Len())
		})
	}
}

// TestASecondRunIsReadBack: a screen shows one run, then adds the past of another one from its log, and
// follows the first one again.
func TestASecondRunIsReadBack(t *testing.T) {
	c, first, second := New(leastMemory), newRunLog(t), newRunLog(t)
	var want []string
	add := func(run *runLog, at time.Time, n int) {
		for i := range n {
			e := contract.Event{ID: "orch-1", Body: contract.Notice{Text: fmt.Sprint(len(want), strings.Repeat("x", 1000))}}
			at = at.Add(time.Second)
			if i%100 > 0 { // otherwise only the screen has it
				run.add(t, at, e)
			}
			c.Add(at, e)
			want = append(want, lineOf(t, e))
		}
	}
	c.Past(first.EventLog, journal.LogPosition{})
	add(first, someTime, 1000)
	c.Past(second.EventLog, journal.LogPosition{})
	add(second, someTime.Add(-24*time.Hour), 1000)
	add(first, someTime.Add(time.Hour), 1000)
	for i, w := range want {
		e, ok := c.All().Entry(i)
		testkit.Need(t, ok && lineOf(t, e.Event) == w, "entry %d is read back: %v", i, ok)
	}
	lost, err := c.Lost()
	testkit.Check(t, lost == 0 && err == nil, "lost %d, %v", lost, err)
}

// TestMemoryOnly: without a log the newest entries are kept.
func TestMemoryOnly(t *testing.T) {
	c := New(4 << 20)
	notices(c, 10_000)
	n := readable(t, c.All())
	lost, err := c.Lost()
	testkit.Check(t, n >= 2000 && lost == 10_000-n && err == nil, "%d can be read, %d lost: %v", n, lost, err)
	e, ok := c.All().Entry(9999)
	testkit.Check(t, ok && e.N == 9999, "the last one is lost")
	e, ok = c.All().Entry(0)
	testkit.Check(t, !ok && e.N == 0, "the first one is not lost")
	for _, th := range []*Thread{c.Talk(), c.Agent("orch-1")} {
		testkit.Same(t, "entries that can be read", n, readable(t, th))
	}
}

// TestDamagedLog changes the log without the store's knowledge: damaged entries are missing, no others are,
// and nothing is wrong.
func TestDamagedLog(t *testing.T) {
	for name, damage := range map[string]func(run *runLog) error{
		"cut":     func(run *runLog) error { return run.file.Truncate(1 << 20) },
		"empty":   func(run *runLog) error { return run.file.Truncate(0) },
		"changed": func(run *runLog) error { _, err := run.file.WriteAt([]byte("rubbish"), 5000); return err },
		"closed":  func(run *runLog) error { return run.Close() },
	} {
		t.Run(name, func(t *testing.T) {
			c, run := New(leastMemory), newRunLog(t)
			c.Past(run.EventLog, journal.LogPosition{})
			for i := range 3000 {
				e := contract.Event{ID: "orch-1", Body: contract.Notice{Text: fmt.Sprint(i, strings.Repeat(" x", 500))}}
				at := someTime.Add(time.Duration(i) * time.Second)
				run.add(t, at, e)
				c.Add(at, e)
			}
			testkit.OK(t, damage(run))
			n := readable(t, c.All())
			testkit.Check(t, n != 0 && n != 3000 && (name != "changed" || n >= 2998) && (name != "cut" || n >= 800),
				"%d of 3000 can be read", n)
			_, err := c.Lost()
			testkit.Check(t, err != nil, "no word of it")
			i, ok := c.Find(t.Context(), c.All(), "2999 X", 0, false)
			testkit.Check(t, ok && i == 2999, "found at %d, %v", i, ok)
			c.Filter(Filter{Text: "x"}).Follow(t.Context())
		})
	}
}
