package claude

import (
	"sync"
	"testing"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/internal/testkit"
	"github.com/arbiter-cli/arbiter/transcript"
)

func messageOf(id string, tokens int) transcript.Sample {
	return transcript.Sample{MessageID: id, Model: "claude-opus-5-5",
		Usage: transcript.Usage{Input: 3, CacheRead: tokens - 3}}
}

// drain empties the list of pending readings.
func drain(g *gauge) []bridge.Context {
	var contexts []bridge.Context
	g.report(func(e bridge.EventBody) { contexts = append(contexts, e.(bridge.Context)) })
	return contexts
}

func TestGaugeOneReadingPerMessage(t *testing.T) {
	g := newGauge(bridge.AgentConfig{ContextCap: 100_000})
	for i, test := range []struct {
		s              transcript.Sample
		source         string
		fresh, differs bool
	}{
		{messageOf("m1", 10_000), fromStream, true, false},
		{messageOf("m1", 10_000), fromTranscript, false, false},
		{messageOf("m2", 20_000), fromTranscript, true, false}, // the stream lags behind
		{messageOf("m2", 20_000), fromStream, false, false},
		{messageOf("m3", 30_000), fromStream, true, false},
		{messageOf("m2", 20_000), fromTranscript, false, false}, // an old message causes no new reading
		{messageOf("m3", 33_000), fromTranscript, false, true},
		{transcript.Sample{MessageID: "m4", Model: synthetic, Usage: transcript.Usage{Input: 9}}, fromTranscript, false,
			false},
		{transcript.Sample{MessageID: "m5", Sidechain: true, Usage: transcript.Usage{Input: 900_000}}, fromTranscript,
			false, false},
	} {
		if _, fresh, differs := g.sample(test.s, test.source); fresh != test.fresh || differs != test.differs {
			t.Errorf("%d: fresh %v, differs %v", i, fresh, differs)
		}
	}
	want := []bridge.Context{
		{Tokens: 10_000, Window: 100_000, Pct: 10, Source: fromStream},
		{Tokens: 20_000, Window: 100_000, Pct: 20, Source: fromTranscript},
		{Tokens: 30_000, Window: 100_000, Pct: 30, Source: fromStream},
	}
	testkit.Same(t, "told", want, drain(g))
}

func TestGaugeCompaction(t *testing.T) {
	g := newGauge(bridge.AgentConfig{ContextCap: 100_000})
	g.sample(messageOf("m1", 90_000), fromStream)
	if !g.compact("b1") || g.compact("b1") { // the frame, then the transcript's line
		t.Error("a compaction counts once")
	}
	if _, fresh, _ := g.sample(messageOf("m1", 90_000), fromTranscript); fresh {
		t.Error("a message from before it came back")
	}
	if r := g.now(); r.Tokens != 0 || r.Pct != 0 {
		t.Errorf("the old figure still counts: %+v", r)
	}
	asked := g.at()
	old := contextUsage{TotalTokens: 90_000, APIUsage: &bridge.Usage{Input: 90_000}}
	if !g.compare(old, asked, false) || g.now().Tokens != 0 {
		t.Error("an answer from before it was taken")
	}
	estimate := contextUsage{TotalTokens: 17_000}
	g.compare(estimate, asked, false)
	g.compare(estimate, asked, false)
	g.sample(messageOf("m2", 20_000), fromStream)
	g.compare(estimate, asked, false) // too late
	var tokens []int
	for _, c := range drain(g) {
		tokens = append(tokens, c.Tokens)
	}
	testkit.Same(t, "told", []int{90_000, 17_000, 20_000}, tokens)
}

func TestGaugeCaps(t *testing.T) {
	cfg := bridge.AgentConfig{Model: "opus", ContextCap: 300_000,
		ContextCaps: map[string]int{"claude-": 200_000, "claude-opus": 150_000, "claude-sonnet-4-5": 0}}
	for model, want := range map[string]int{"opus": 300_000, "claude-haiku-4-5": 200_000, "claude-opus-5-5": 150_000,
		"claude-sonnet-4-5": 967_000} {
		g := newGauge(cfg)
		g.learn(contextUsage{Model: model, RawMaxTokens: 1_000_000, AutoCompactThreshold: 967_000,
			IsAutoCompactEnabled: true})
		testkit.Same(t, model, want, g.reach())
	}
	g := newGauge(cfg)
	g.learn(contextUsage{Model: "claude-sonnet-4-5", RawMaxTokens: 1_000_000, AutoCompactThreshold: 967_000})
	testkit.Same(t, "compaction off", 1_000_000, g.reach())
}

func TestGaugeForecast(t *testing.T) {
	g := newGauge(bridge.AgentConfig{ContextCap: 100_000, Hooks: &bridge.HookConfig{Critical: 80}})
	var last bridge.Context
	for i := range 4 {
		last, _ = g.reading(assistantFrame{MessageID: string(rune('a' + i)), Model: "m",
			Usage: &bridge.Usage{Input: 10_000 * (i + 1)}})
		g.turnEnded(nil)
	}
	if last.TurnsLeft != 4 { // 40,000 of 80,000, 10,000 a turn
		t.Errorf("forecast: %+v", last)
	}
}

// TestGaugeKeepsOrder: readings from several goroutines come in order and none is lost.
func TestGaugeKeepsOrder(t *testing.T) {
	g := newGauge(bridge.AgentConfig{})
	const n = 200
	var mu sync.Mutex // of the fake host
	var got []int
	var tellers sync.WaitGroup
	var next sync.Mutex
	made := 0
	for range 4 {
		tellers.Go(func() {
			for {
				next.Lock()
				if made == n {
					next.Unlock()
					return
				}
				made++
				g.sample(messageOf(string(rune('A'+made)), 1_000*made), fromStream)
				next.Unlock()
				g.report(func(e bridge.EventBody) {
					mu.Lock()
					defer mu.Unlock()
					got = append(got, e.(bridge.Context).Tokens)
				})
			}
		})
	}
	tellers.Wait()
	if len(got) != n {
		t.Fatalf("%d of %d readings", len(got), n)
	}
	for i, tokens := range got {
		if tokens != 1_000*(i+1) {
			t.Fatalf("reading %d is %d", i, tokens)
		}
	}
}
