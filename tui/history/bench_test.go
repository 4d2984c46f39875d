package history

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/journal"
	"github.com/arbiter-cli/arbiter/tui/tuitest"
)

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
	if _, ok := c.All().Entry(0); !ok {
		t.Error("the first entry is lost")
	}
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
	n := 300_000
	if testing.Short() || tuitest.Race {
		n = 100_000
	}
	little, some, much := heap(t, 1000), heap(t, 30_000), heap(t, n)
	t.Logf("held on the heap: %d KiB for 1,000 events, %d KiB for 30,000, %d KiB for %d", little>>10, some>>10,
		much>>10, n)
	if perEvent := (much - some) / (n - 30_000); perEvent > 60 || much > 4<<20+60*n {
		t.Errorf("%d bytes for %d events, %d for 30000: %d for each", much, n, some, perEvent)
	}
}

func BenchmarkAdd(b *testing.B) {
	text := strings.Repeat("The weaving begins. ", 10)
	for name, body := range map[string]contract.Body{
		"message": contract.Message{MessageID: "0b5b7f1e-5c5b-5c7f-8d0c-6d3b3f0a1b2c", From: "orch-1",
			To: contract.Human, Kind: "progress", Text: text},
		"tool_use": contract.ToolUse{Tool: "Read", ToolUse: "",
			Input: json.RawMessage(`{"file_path":"/home/me/project/loom.go"}`)},
		"context":      contract.Context{Tokens: 1234, Window: 200_000, Pct: 1.5},
		"delta":        contract.Delta{Text: "The weaving "},
		"verdict":      contract.Delta{Text: `{"message":"The weaving `, Verdict: true},
		"result_10KB":  contract.ToolResult{ToolUse: "t", Text: strings.Repeat(text, 50)},
		"result_100MB": contract.ToolResult{ToolUse: "t", Text: strings.Repeat(text, 500_000)},
	} {
		b.Run(name, func(b *testing.B) {
			c := New(Memory)
			b.ReportAllocs()
			for b.Loop() {
				c.Add(someTime, contract.Event{ID: "orch-1", Body: body})
			}
		})
	}
	b.Run("work", func(b *testing.B) { // with the time of writing the log
		b.ReportAllocs()
		for b.Loop() {
			work(b, New(Memory), 60_000)
		}
		b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/60_000, "ns/event")
	})
}

func BenchmarkRead(b *testing.B) {
	c := New(Memory)
	work(b, c, 1_000_000)
	filtered := c.Filter(Filter{Kinds: []string{"tool_use"}})
	filtered.Follow(b.Context())
	for name, at := range map[string]func(n int) int{
		"near_the_end":  func(n int) int { return n - 1 - rand.IntN(100) },
		"in_the_middle": func(n int) int { return rand.IntN(n) },
	} {
		for what, th := range map[string]*Thread{"all": c.All(), "agent": c.Agent("orch-1"), "filter": filtered} {
			b.Run("entry/"+name+"/"+what, func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					if _, ok := th.Entry(at(th.Len())); !ok {
						b.Fatal("lost")
					}
				}
			})
			b.Run("stamp/"+name+"/"+what, func(b *testing.B) {
				for b.Loop() {
					th.Stamp(at(th.Len()))
				}
			})
		}
	}
	for name, text := range map[string]string{"ascii": "nowhere to be found", "other": "nirgends, GRÖSSE",
		"letter": "ß"} {
		for what, th := range map[string]*Thread{"all": c.All(), "agent": c.Agent("orch-1")} {
			b.Run("find/1M/"+name+"/"+what, func(b *testing.B) {
				for b.Loop() {
					if i, ok := c.Find(b.Context(), th, text, 0, false); ok {
						b.Fatal("found at ", i)
					}
				}
			})
		}
	}
	b.Run("find/1M/ascii/all/back", func(b *testing.B) {
		for b.Loop() {
			c.Find(b.Context(), c.All(), "nowhere to be found", c.All().Len(), true)
		}
	})
	b.Run("filter/1M/kind", func(b *testing.B) {
		for b.Loop() {
			c.Filter(Filter{Kinds: []string{"message"}}).Follow(b.Context())
		}
	})
	b.Run("filter/1M/text", func(b *testing.B) {
		for b.Loop() {
			c.Filter(Filter{Text: "The Loom Holds"}).Follow(b.Context())
		}
	})
}
