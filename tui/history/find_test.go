package history

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/arbiter-cli/arbiter/internal/testkit"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/journal"
)

func TestFind(t *testing.T) {
	c := New(Memory)
	addAll(c, "orch-1",
		contract.Notice{Text: "The Weaving begins."},
		contract.ToolUse{Tool: "Bash", ToolUse: "toolu_7",
			Input: json.RawMessage(`{"command":"say \"hi\"\n<ok> ÄRGER\\"}`)},
		contract.ToolResult{ToolUse: "toolu_7", Text: "All Is Woven"},
		contract.Assistant{Text: "Größe: ÄRGER, 日本, " + strings.Repeat("ab", 3000)},
	)
	for _, tt := range []struct {
		thread *Thread
		text   string
		from   int
		back   bool
		want   int // -1: not found
	}{
		{c.All(), "weaving", 0, false, 0}, {c.All(), "WEAVING", 3, true, 0}, {c.All(), "weaving", 1, false, -1},
		{c.All(), "weaving", 0, true, 0},
		{c.All(), "ärger", 0, false, 1}, {c.All(), "ÄRGER", 99, true, 3}, {c.All(), "ÄRGER", -5, true, -1},
		{c.All(), "größe", -5, false, 3}, {c.All(), "日本", 0, false, 3},
		{c.All(), `say "HI"`, 0, false, 1}, {c.All(), "\"\n<OK>", 0, false, 1}, {c.All(), `ger\`, 0, false, 1},
		{c.All(), "bash", 0, false, 1},
		{c.All(), "woven", 0, false, 2}, {c.Agent("orch-1"), "woven", 0, false, 1},
		{c.Agent("orch-1"), "woven", 2, true, 1},
		{c.All(), "toolu_7", 0, false, -1}, {c.All(), "", 0, false, -1}, {c.All(), "nowhere", 0, false, -1},
		{c.Agent("nobody"), "x", 0, true, -1},
		{c.All(), "\x00", 0, false, -1}, {c.All(), "woven\x02", 0, false, -1},
	} {
		i, ok := c.Find(t.Context(), tt.thread, tt.text, tt.from, tt.back)
		if !ok {
			i = -1
		}
		testkit.Check(t, i == tt.want, "%q from %d, back %v: %d, want %d", tt.text, tt.from, tt.back, i, tt.want)
	}
}

// many adds n entries of all kinds to a store and returns their texts.
func many(c *Store, n int) []string {
	d := rand.New(rand.NewPCG(1, 2))
	var texts []string
	for i := range n {
		text := fmt.Sprintf("word%d %s", d.IntN(n), strings.Repeat("y", d.IntN(300)))
		id := fmt.Sprintf("orch-%d", d.IntN(3))
		switch d.IntN(3) {
		case 0:
			addAll(c, id, contract.Notice{Text: text})
		case 1:
			addAll(c, id, contract.Assistant{Text: text})
		case 2:
			addAll(c, id, contract.Message{MessageID: fmt.Sprint(i), From: id, To: "arbiter", Text: text})
		}
		texts = append(texts, text)
	}
	return texts
}

// TestFindMatchesReading compares Find with reading every entry, in both directions, in memory and in a log.
func TestFindMatchesReading(t *testing.T) {
	c := New(Memory)
	texts := many(c, 20_000)
	logged, run := New(leastMemory), newRunLog(t)
	logged.Past(run.EventLog, journal.LogPosition{})
	for i := range texts {
		e, _ := c.All().Entry(i)
		run.add(t, e.At, e.Event)
		logged.Add(e.At, e.Event)
	}
	for i := range 20 {
		text := fmt.Sprintf("WORD%d ", i*900)
		var want []int
		for at, s := range texts {
			if strings.Contains(s, strings.ToLower(text)) {
				want = append(want, at)
			}
		}
		stores := []*Store{c}
		if i%4 == 0 {
			stores = append(stores, logged)
		}
		for _, c := range stores {
			var forth, back []int
			for at, ok := c.Find(t.Context(), c.All(), text, 0, false); ok; at,
				ok = c.Find(t.Context(), c.All(), text, at+1, false) {
				forth = append(forth, at)
			}
			for at, ok := c.Find(t.Context(), c.All(), text, 20_000, true); ok; at,
				ok = c.Find(t.Context(), c.All(), text, at-1, true) {
				back = append([]int{at}, back...)
			}
			testkit.Same(t, text, want, forth)
			testkit.Same(t, fmt.Sprintf("%s, back", text), want, back)
		}
	}
}

func TestFilter(t *testing.T) {
	c := New(Memory)
	first := c.Filter(Filter{Agent: "orch-1"})
	first.Follow(t.Context())
	testkit.Check(t, first.Len() == 0, "something was picked before anything was told")
	many(c, 5_000)
	for _, f := range []Filter{
		{}, {Agent: "orch-1"}, {Agent: "arbiter"}, {Agent: "nobody"}, {Kinds: []string{"notice", "message"}},
		{Kinds: []string{"nothing"}},
		{Text: "WORD77"}, {Agent: "orch-2", Kinds: []string{"assistant"}, Text: "1 Y"},
	} {
		var want []int
		for i := range c.All().Len() {
			e, _ := c.All().Entry(i)
			m, _ := e.Event.Body.(contract.Message)
			text := fmt.Sprint(e.Event.Body)
			if (f.Agent == "" || e.Event.ID == f.Agent || m.To == f.Agent) &&
				(f.Kinds == nil || strings.Contains(strings.Join(f.Kinds, " "), e.Event.Body.EventName())) &&
				strings.Contains(strings.ToLower(text), strings.ToLower(f.Text)) {
				want = append(want, i)
			}
		}
		th := c.Filter(f)
		ended, cancel := context.WithCancel(t.Context())
		cancel()
		testkit.Check(t, th.filter == nil || !th.Follow(ended), "%+v: it was followed to the end in no time", f)
		for range 2 { // the second time nothing remains to be done
			testkit.Check(t, th.Follow(t.Context()), "%+v: not up to date", f)
		}
		var got []int
		for i := range th.Len() {
			e, _ := th.Entry(i)
			got = append(got, e.N)
		}
		testkit.Same(t, fmt.Sprintf("%+v", f), want, got)
	}
	first.Follow(t.Context())
	testkit.Check(t, first.Len() != 0, "an old filter does not see what is new")
	addAll(c, "x", contract.Unknown{Name: "new"})
	unknown := c.Filter(Filter{Kinds: []string{"unknown"}})
	unknown.Follow(t.Context())
	testkit.Check(t, unknown.Len() == 1, "%d unknown events", unknown.Len())
}

// TestFiltersGiveTheirRoomBack: typing into a filter creates many filters, which must release their memory.
func TestFiltersGiveTheirRoomBack(t *testing.T) {
	c := New(Memory)
	notices(c, 5000)
	before := inUse()
	for range 200 {
		f := c.Filter(Filter{Kinds: []string{"notice"}})
		if f.Follow(t.Context()); f.Len() != 5000 {
			t.Fatal(f.Len())
		}
	}
	held := inUse() - before
	testkit.Check(t, held <= 100*5000*4, "%d bytes are held", held)
	runtime.KeepAlive(c)
}

// countdown is a context that ends after a number of checks.
type countdown struct {
	context.Context
	left int
}

func (c *countdown) Err() error {
	if c.left--; c.left < 0 {
		return context.Canceled
	}
	return nil
}

func TestFindCancels(t *testing.T) {
	c := New(Memory)
	many(c, 5000)
	addAll(c, "x", contract.Notice{Text: "the needle"})
	for _, back := range []bool{false, true} {
		from := 0
		if back {
			from = 4999
		}
		ctx := &countdown{t.Context(), 3}
		i, ok := c.Find(ctx, c.All(), "not there", from, back)
		testkit.Check(t, !ok && ctx.left == -1, "found at %d, %v; looked %d times too often", i, ok, -1-ctx.left)
	}
	i, ok := c.Find(t.Context(), c.All(), "the needle", 0, false)
	testkit.Check(t, ok && i == 5000, "found at %d, %v", i, ok)
}

// TestReadingWhileAdding runs all kinds of readers during a flood.
func TestReadingWhileAdding(t *testing.T) {
	c, run := New(leastMemory), newRunLog(t)
	c.Past(run.EventLog, journal.LogPosition{})
	stop := make(chan struct{})
	var readers sync.WaitGroup
	reader := func(f func(d *rand.Rand)) {
		readers.Go(func() {
			d := rand.New(rand.NewPCG(1, 2))
			for {
				select {
				case <-stop:
					return
				default:
					f(d)
				}
			}
		})
	}
	check := func(th *Thread) func(*rand.Rand) {
		return func(d *rand.Rand) {
			n := th.Len()
			if n == 0 {
				return
			}
			i := n - 1 - d.IntN(min(n, 1+d.IntN(n)))
			th.Stamp(i)
			e, ok := th.Entry(i)
			if !ok {
				t.Errorf("entry %d of %d is not there", i, n)
				return
			}
			if use, is := e.Event.Body.(contract.ToolUse); is && e.Outcome != nil {
				r := e.Outcome.(contract.ToolResult)
				testkit.Check(t, r.ToolUse == use.ToolUse, "%s has the result of %s", use.ToolUse, r.ToolUse)
			}
		}
	}
	reader(check(c.All()))
	reader(check(c.Talk()))
	reader(check(c.Agent("orch-1")))
	filtered := c.Filter(Filter{Kinds: []string{"tool_use"}})
	reader(func(d *rand.Rand) {
		filtered.Follow(t.Context())
		check(filtered)(d)
	})
	reader(func(d *rand.Rand) { c.Find(t.Context(), c.All(), "nowhere", c.All().Len(), true) })
	reader(func(*rand.Rand) {
		c.Live("orch-1", 100)
		c.Version()
		n, err := c.Lost()
		testkit.Check(t, n <= 0 && err == nil, "%d lost: %v", n, err)
	})
	rounds := 600 // of 5 kB: more than memory holds
	if testkit.AtNight() {
		rounds = 5000
	}
	for i := range rounds {
		id := fmt.Sprintf("orch-%d", i%3)
		list := []contract.Body{contract.ToolUse{Tool: "Read", ToolUse: fmt.Sprint("t", i),
			Input: json.RawMessage(`{"a":1}`)}, contract.Notice{Text: strings.Repeat("x", i*17%10_000)}}
		if i >= 300 {
			list = append(list, contract.ToolResult{ToolUse: fmt.Sprint("t", i-300), Text: "ok"})
		}
		addAll(c, id, contract.Delta{Text: "some text"})
		for _, b := range list {
			run.add(t, someTime.Add(time.Duration(c.len())*time.Second), contract.Event{ID: id, Body: b})
			addAll(c, id, b)
		}
	}
	close(stop)
	readers.Wait()
}
