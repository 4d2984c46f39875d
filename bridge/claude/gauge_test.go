package claude

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"sync"
	"testing"
	"time"

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
		{subFrame("m6", "toolu_1", "haiku", 90_000).sample(), fromStream, false, false},
		{assistantFrame{MessageID: "m7", Model: synthetic, Usage: bridge.Usage{}}.sample(), fromStream, false, false},
		{assistantFrame{MessageID: "m8", Model: "opus"}.sample(), fromStream, false, false},
		{transcript.Sample{MessageID: "m5", Sidechain: true, Usage: transcript.Usage{Input: 900_000}}, fromTranscript,
			false, false},
	} {
		_, fresh, differs := g.sample(test.s, test.source)
		testkit.Check(t, fresh == test.fresh && differs == test.differs, "%d: fresh %v, differs %v", i, fresh, differs)
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
	_, fresh, _ := g.sample(messageOf("m1", 90_000), fromTranscript)
	testkit.Check(t, !fresh, "a message from before it came back")
	r := g.now()
	testkit.Check(t, r.Tokens == 0 && r.Pct == 0, "the old figure still counts: %+v", r)
	asked := g.at()
	old := contextUsage{TotalTokens: 90_000, APIUsage: bridge.Usage{Input: 90_000}}
	testkit.Check(t, g.compare(old, asked, false) && g.now().Tokens == 0, "an answer from before it was taken")
	estimate := contextUsage{TotalTokens: 17_000}
	g.compare(estimate, asked, false)
	g.compare(estimate, asked, false)
	g.sample(messageOf("m2", 20_000), fromStream)
	g.compare(estimate, asked, false) // too late
	tokens := testkit.Each(drain(g), func(c bridge.Context) int { return c.Tokens })
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
		testkit.Same(t, model, want, g.now().Window)
	}
	g := newGauge(cfg)
	g.learn(contextUsage{Model: "claude-sonnet-4-5", RawMaxTokens: 1_000_000, AutoCompactThreshold: 967_000})
	testkit.Same(t, "compaction off", 1_000_000, g.now().Window)
}

func TestGaugeForecast(t *testing.T) {
	g := newGauge(bridge.AgentConfig{ContextCap: 100_000, Hooks: &bridge.HookConfig{Critical: 80}})
	var last bridge.Context
	for i := range 4 {
		last, _ = g.reading(assistantFrame{MessageID: string(rune('a' + i)), Model: "m",
			Usage: bridge.Usage{Input: 10_000 * (i + 1)}})
		g.turnEnded(nil)
	}
	testkit.Same(t, fmt.Sprintf("forecast: %+v", last), 4, last.TurnsLeft) // 40,000 of 80,000, 10,000 a turn
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
	testkit.Need(t, len(got) == n, "%d of %d readings", len(got), n)
	for i, tokens := range got {
		testkit.Need(t, tokens == 1_000*(i+1), "reading %d is %d", i, tokens)
	}
}

func used(model string, input int, usd float64) map[string]modelUsage {
	return map[string]modelUsage{model: {InputTokens: input, CostUSD: usd}}
}

func subFrame(id, parent, model string, input int) assistantFrame {
	return assistantFrame{MessageID: id, Model: model, Parent: parent, Usage: bridge.Usage{Input: input}}
}

// TestSubagentsShareCosts: costs that arise while subagents run are theirs, in proportion to what each used
// of a model; earlier costs of the main thread are not.
func TestSubagentsShareCosts(t *testing.T) {
	s, b := newSubagents(func(bridge.EventBody) {}), &costAccount{}
	b.called(subFrame("m1", "", "opus", 1_000))
	for _, id := range []string{"t1", "t2"} {
		s.start(taskStarted{TaskType: "local_agent", ToolUse: id})
	}
	s.share(b.read(used("opus", 1_000, 0.10))) // the baseline
	s.addMessage(subFrame("s1", "t1", "opus", 3_000))
	s.addMessage(subFrame("s2", "t2", "opus", 1_000))
	s.addMessage(subFrame("s2", "t2", "opus", 1_000)) // its next block
	s.share(b.read(used("opus", 5_000, 0.50)))
	cost := func(id string) float64 { return s.find(id).now.CostUSD }
	testkit.Check(t, near(cost("t1"), 0.30) && near(cost("t2"), 0.10), "shared: %v, %v", cost("t1"), cost("t2"))
	s.addMessage(subFrame("s3", "t2", "haiku", 50_000))
	both := used("opus", 5_000, 0.50)
	both["haiku"] = modelUsage{InputTokens: 50_000, CostUSD: 0.05}
	s.share(b.read(both))
	testkit.Check(t, near(cost("t1"), 0.30) && near(cost("t2"), 0.15), "of another model: %v, %v", cost("t1"),
		cost("t2"))
	// A report is not a frame: its weight is what it added.
	s.finish("t1", "completed", 4_000)
	both = maps.Clone(both)
	both["opus"] = modelUsage{InputTokens: 9_000, CostUSD: 0.60}
	s.share(b.read(both))
	testkit.Check(t, near(cost("t1"), 0.40) && near(cost("t2"), 0.15), "with a report: %v, %v", cost("t1"), cost("t2"))
}

// TestSubagentStartsBeforeItsCallIsRecorded: a tool runs before the message that calls it has ended, so the
// main thread's part may arrive late.
func TestSubagentStartsBeforeItsCallIsRecorded(t *testing.T) {
	s, b := newSubagents(func(bridge.EventBody) {}), &costAccount{}
	b.closed(used("opus", 10_000, 1)) // the last turn
	b.called(subFrame("m1", "", "opus", 9_000))
	s.start(taskStarted{TaskType: "local_agent", ToolUse: "t1"})
	s.share(b.read(used("opus", 10_000, 1)))
	s.addMessage(subFrame("s1", "t1", "opus", 1_000))
	s.share(b.read(used("opus", 20_000, 2)))
	got := s.find("t1").now.CostUSD
	testkit.Check(t, near(got, 0.1), "it bears %v of 1, a tenth of which it used", got)
	s.share(b.read(used("opus", 21_000, 2.1))) // nothing was seen of it: it is its own all the same
	got = s.find("t1").now.CostUSD
	testkit.Check(t, near(got, 0.2), "it bears %v", got)
}

func near(a, b float64) bool { return math.Abs(a-b) < 1e-9 }

func TestTurnsWithSteering(t *testing.T) {
	counted := newTurns()
	begin := func(id string, steer bool) error { _, err := counted.begin(id, steer); return err }
	testkit.OK(t, begin("a", true)) // a steering message without a running turn starts one
	err := begin("b", false)
	testkit.Check(t, errCode(err) == bridge.CodeBusy, "second message: %v", err)
	testkit.Works(t, "steer", begin("b", true))
	testkit.Works(t, "steer", begin("c", true))
	testkit.Same(t, "first result", []string{"a", "b"},
		counted.finish(resultFrame{MessageUUIDs: []string{"b", "a", "stranger"}}))
	// No tool was left after which the CLI could insert c: c becomes the next turn.
	err = begin("d", false)
	testkit.Check(t, errCode(err) == bridge.CodeBusy, "message before c's turn: %v", err)
	got := counted.finish(resultFrame{MessageUUIDs: []string{"a"}})
	testkit.Check(t, got == nil, "a second result for a: %v", got)
	testkit.Same(t, "second result", []string{"c"}, counted.finish(resultFrame{MessageUUIDs: []string{"c"}}))
	testkit.Check(t, !counted.busy(), "busy with nothing open")
	<-counted.whenIdle()
	err = begin("a", false)
	testkit.Check(t, errCode(err) == bridge.CodeRefused, "a again: %v", err)
}

func TestTurnsWithoutIDs(t *testing.T) {
	counted := newTurns()
	for _, id := range []string{"a", "b"} {
		testkit.Must(counted.begin(id, true))(t)
	}
	testkit.Check(t, counted.deliver("a") && !counted.deliver("a") && !counted.deliver("stranger"),
		"delivered is said once, and of our own messages")
	got := counted.finish(resultFrame{Origin: json.RawMessage(`{"kind":"peer"}`)})
	testkit.Check(t, got == nil, "a peer's result ended %v", got)
	testkit.Same(t, "", []string{"a"}, counted.finish(resultFrame{}))
	testkit.Same(t, "lost", []string{"b"}, counted.lose())
	_, err := counted.begin("c", false)
	testkit.Check(t, errCode(err) == bridge.CodeEnded, "after the end: %v", err)
}

// TestGauge: what counts of a message, against a window that becomes known.
func TestGauge(t *testing.T) {
	g := newGauge(bridge.AgentConfig{ContextCap: 300_000})
	for i, test := range []struct {
		learn       func()
		window, pct int
	}{
		{func() {}, 300_000, 20},
		{func() {
			g.turnEnded(map[string]modelUsage{"opus": {ContextWindow: 200_000}, "haiku": {ContextWindow: 100}})
		}, 200_000, 30},
		{func() { g.window.Compaction = 100_000 }, 100_000, 60},
	} {
		test.learn()
		c, _ := g.reading(assistantFrame{MessageID: fmt.Sprint(i), Model: "opus",
			Usage: bridge.Usage{Input: 1, CacheRead: 59_997, CacheCreation: 2, Output: 999}})
		testkit.Same(t, "reading", bridge.Context{Tokens: 60_000, Window: test.window, Pct: float64(test.pct),
			Source: fromStream}, c)
	}
	testkit.Same(t, "no window known", 0, (&gauge{}).now().Pct)
}

func TestSubagentAccounting(t *testing.T) {
	var events []bridge.EventBody
	s := newSubagents(func(e bridge.EventBody) { events = append(events, e) })
	s.called["t1"] = "dig"
	testkit.Check(t, !s.start(taskStarted{TaskType: "local_bash", ToolUse: "t9"}), "a Bash passed for a subagent")
	testkit.Check(t, s.start(taskStarted{TaskType: "local_agent", ToolUse: "t1", AgentType: "Explore"}), "not started")
	testkit.Check(t, !s.start(taskStarted{TaskType: "local_agent", ToolUse: "t1"}), "started twice")
	s.start(taskStarted{TaskType: "local_agent", ToolUse: "t2", Description: "delve"})
	testkit.Check(t, s.finish("t1", "completed", 7), "not ended")
	s.end("")
	testkit.Check(t, !s.finish("t1", "completed", 0), "stopped twice") // task_notification, then the tool result
	s.end("stopped")
	testkit.Same(t, "events", []bridge.EventBody{
		bridge.SubagentStart{Description: "dig", ToolUse: "t1", Type: "Explore"},
		bridge.SubagentStart{Description: "delve", ToolUse: "t2"},
		bridge.SubagentProgress{Description: "dig", ToolUse: "t1", Tokens: 7},
		bridge.SubagentStop{Description: "dig", ToolUse: "t1", Status: "completed", Tokens: 7},
		bridge.SubagentStop{Description: "delve", ToolUse: "t2", Status: "stopped"},
	}, events)
}

func TestFlatten(t *testing.T) {
	for in, want := range map[string]string{
		`"plain"`: "plain",
		`[{"type":"text","text":"a"},{"type":"image","source":{}},{"type":"text","text":"b"}]`: "a\n[image]\nb",
		`null`:    "",
		``:        "",
		`{"x":1}`: `{"x":1}`,
	} {
		testkit.Same(t, in, want, flatten(json.RawMessage(in)))
	}
}

func TestJudge(t *testing.T) {
	for _, test := range []struct {
		name string
		f    resultFrame
		tr   priorErrors
		want any // the outcome, or the category of a failure
	}{
		{"done", resultFrame{Subtype: "success", TerminalReason: "completed"}, priorErrors{}, bridge.TurnDone},
		{"done after a refused tool call", resultFrame{Subtype: "success"}, priorErrors{kind: "server_error"},
			bridge.TurnDone},
		{"interrupted",
			resultFrame{Subtype: "error_during_execution", IsError: true, TerminalReason: "aborted_tools"},
			priorErrors{}, bridge.TurnInterrupted},
		{"interrupted, no error", resultFrame{Subtype: "success", TerminalReason: "aborted_streaming"}, priorErrors{},
			bridge.TurnInterrupted},
		{"prompt", resultFrame{Subtype: "success", IsError: true, TerminalReason: "prompt_too_long", APIStatus: 400},
			priorErrors{}, bridge.CatPromptTooLong},
		{"blocking", resultFrame{IsError: true, TerminalReason: "blocking_limit"}, priorErrors{},
			bridge.CatPromptTooLong},
		{"budget", resultFrame{Subtype: "error_max_budget_usd", IsError: true}, priorErrors{}, bridge.CatBudget},
		{"verdict", resultFrame{Subtype: "error_max_structured_output_retries", IsError: true}, priorErrors{},
			bridge.CatVerdict},
		{"compaction", resultFrame{Subtype: "success", TerminalReason: "rapid_refill_breaker"}, priorErrors{},
			bridge.CatCompaction},
		{"refusal", resultFrame{IsError: true, StopReason: "refusal", TerminalReason: "api_error"},
			priorErrors{kind: "invalid_request"}, bridge.CatRefusal},
		{"login", resultFrame{IsError: true, Text: "Not logged in · Please run /login"},
			priorErrors{kind: "authentication_failed"}, bridge.CatAuth},
		{"401", resultFrame{IsError: true, APIStatus: 401}, priorErrors{}, bridge.CatAuth},
		{"no credit left",
			resultFrame{IsError: true, APIStatus: 400, Text: "API Error: 400 Your credit balance is too low to access the API"},
			priorErrors{kind: "invalid_request"}, bridge.CatCredit},
		{"no credit left, in few words", resultFrame{IsError: true}, priorErrors{kind: "billing_error"},
			bridge.CatCredit},
		{"no credit left, status alone", resultFrame{IsError: true, APIStatus: 402}, priorErrors{}, bridge.CatCredit},
		{"429", resultFrame{IsError: true, APIStatus: 429, Text: "API Error: Request rejected (429) · slow down"},
			priorErrors{}, bridge.CatRateLimit},
		{"usage limit", resultFrame{IsError: true, APIStatus: 429, Text: "Claude AI usage limit reached|1795300000"},
			priorErrors{}, bridge.CatUsageLimit},
		{"usage limit, new words", resultFrame{IsError: true, Text: "You've hit your limit · resets 3pm (UTC)"},
			priorErrors{kind: "rate_limit"}, bridge.CatUsageLimit},
		{"usage limit, event", resultFrame{IsError: true, APIStatus: 429},
			priorErrors{rejected: true, resetsAt: 1795300000}, bridge.CatUsageLimit},
		{"usage limit, event without a time", resultFrame{IsError: true, APIStatus: 429}, priorErrors{rejected: true},
			bridge.CatUsageLimit},
		{"tools and results do not match",
			resultFrame{IsError: true, APIStatus: 400, Text: "API Error: 400 due to tool use concurrency issues."},
			priorErrors{kind: "invalid_request"}, bridge.CatResume},
		{"a result without its tool",
			resultFrame{IsError: true, APIStatus: 400, Text: "API Error: 400 orphaned tool_result in conversation history."},
			priorErrors{kind: "invalid_request"}, bridge.CatResume},
		{"the same in the API's words",
			resultFrame{IsError: true, APIStatus: 400,
				Text: "API Error: 400 messages.1: `tool_use` ids were found without `tool_result` blocks"},
			priorErrors{}, bridge.CatResume},
		{"400 about something else",
			resultFrame{IsError: true, APIStatus: 400, Text: "API Error: 400 tools.0: bad name"}, priorErrors{},
			bridge.CatInvalidRequest},
		{"529", resultFrame{IsError: true, APIStatus: 529}, priorErrors{}, bridge.CatOverloaded},
		{"status of the frame before", resultFrame{IsError: true}, priorErrors{status: 503}, bridge.CatServer},
		{"413", resultFrame{IsError: true, APIStatus: 413, TerminalReason: "image_error"}, priorErrors{},
			bridge.CatPromptTooLong},
		{"kind alone", resultFrame{IsError: true}, priorErrors{kind: "model_not_found"}, bridge.CatInvalidRequest},
		{"connection", resultFrame{IsError: true, TerminalReason: "api_error"}, priorErrors{kind: "unknown"},
			bridge.CatServer},
	} {
		o := judge(test.f, test.tr)
		got := any(o.outcome)
		if o.outcome == bridge.TurnFailed {
			got = o.category
		}
		testkit.Check(t, got == test.want && (o.outcome == bridge.TurnFailed || o.category == ""), "%s: got %+v",
			test.name, o)
		named := !test.tr.rejected || test.tr.resetsAt != 0
		testkit.Check(t, (o.category == bridge.CatUsageLimit && named) == (o.resetsAt != 0), "%s: resets at %d",
			test.name, o.resetsAt)
	}
}

func TestResetTime(t *testing.T) {
	now := time.Date(2026, 11, 21, 14, 30, 0, 0, time.UTC)
	for text, want := range map[string]time.Time{
		"Claude AI usage limit reached|1795300000": time.Unix(1795300000, 0),
		"5-hour limit reached ∙ resets 3pm":        now.Add(30 * time.Minute),
		"You've hit your limit · resets 2:30pm":    now.AddDate(0, 0, 1),
		"limit · resets 12am (Europe/Berlin)":      time.Date(2026, 11, 21, 23, 0, 0, 0, time.UTC),
		"limit · resets at 9:15AM (No/Such_Place)": time.Date(2026, 11, 22, 9, 15, 0, 0, time.UTC),
		"limit · resets Nov 24, 3pm (UTC)":         time.Date(2026, 11, 24, 15, 0, 0, 0, time.UTC),
		"limit · resets on Jan 3 at 9am":           time.Date(2027, 1, 3, 9, 0, 0, 0, time.UTC),
		"limit · resets November 21, 2pm":          time.Date(2026, 11, 21, 14, 0, 0, 0, time.UTC), // past: ready now
		"limit · resets 18:05":                     time.Date(2026, 11, 21, 18, 5, 0, 0, time.UTC),
		"usage limit reached|1795300000123":        time.Unix(1795300000, 0),
		"limit · resets 13pm":                      {},
		"limit · resets 0am":                       {},
		"limit · resets 25:00":                     {},
		"limit · resets in 2 hours":                {},
		"limit · resets 7":                         {},
		"limit · resets soon":                      {},
		"usage limit reached|99999999999999999 x":  {},
	} {
		got := resetTime(text, now)
		testkit.Check(t, want.IsZero() == (got == 0) && (got == 0 || got == want.Unix()), "%q: got %v, want %v", text,
			time.Unix(got, 0).UTC(), want.UTC())
	}
}

// TestCosts: a turn has what was spent since the last turn of a message, of all models.
func TestCosts(t *testing.T) {
	var c costs
	c.add(resultFrame{TotalCost: 5, SinceLast: map[string]modelUsage{"a": {CostUSD: 0.25, OutputTokens: 1}}})
	c.add(resultFrame{TotalCost: 7, ModelUsage: map[string]modelUsage{"b": {ContextWindow: 9}},
		SinceLast: map[string]modelUsage{"a": {CostUSD: 0.5, InputTokens: 2}, "b": {CostUSD: 1, CacheReadInputTokens: 3},
			"free": {CacheCreationInputTokens: 4}}})
	want := []bridge.Turn{{CostUSD: 1.75, Usage: bridge.Usage{Input: 2, Output: 1, CacheRead: 3, CacheCreation: 4},
		Models: []bridge.ModelCost{{Model: "a", CostUSD: 0.75, Usage: bridge.Usage{Input: 2, Output: 1}},
			{Model: "b", CostUSD: 1, Usage: bridge.Usage{CacheRead: 3}, Window: 9},
			{Model: "free", Usage: bridge.Usage{CacheCreation: 4}}}}, {}}
	got := make([]bridge.Turn, 2)
	c.take(&got[0])
	c.take(&got[1])
	testkit.Same(t, "two turns", want, got)
}

func TestLongestPrompt(t *testing.T) {
	for text, want := range map[string]int{
		"prompt is too long: 140000 tokens > 131072 maximum":                                     131072,
		"Prompt is too long · the request is ~140000 tokens (limit 131072) but this is only ~24": 131072,
		"Prompt is too long":                       0,
		"tokens > 99999999999999999999999 maximum": 0,
		"413 request too large: 33554432 bytes":    0,
	} {
		testkit.Same(t, text, want, longestPrompt(text))
	}
}
