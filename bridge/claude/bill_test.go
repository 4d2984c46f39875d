package claude

import (
	"maps"
	"math"
	"testing"

	"github.com/arbiter-cli/arbiter/bridge"
)

func used(model string, input int, usd float64) map[string]modelUsage {
	return map[string]modelUsage{model: {InputTokens: input, CostUSD: usd}}
}

func subFrame(id, parent, model string, input int) assistantFrame {
	return assistantFrame{MessageID: id, Model: model, Parent: parent, Usage: &bridge.Usage{Input: input}}
}

// TestSubagentsShareCosts: costs that arise while subagents run are theirs, in proportion to what each used
// of a model; earlier costs of the main thread are not.
func TestSubagentsShareCosts(t *testing.T) {
	s, b := newSubagents(), &costAccount{}
	b.called(subFrame("m1", "", "opus", 1_000))
	for _, id := range []string{"t1", "t2"} {
		s.start(taskStarted{TaskType: "local_agent", ToolUse: id})
	}
	s.share(b.read(used("opus", 1_000, 0.10))) // the baseline
	s.addMessage(subFrame("s1", "t1", "opus", 3_000))
	s.addMessage(subFrame("s2", "t2", "opus", 1_000))
	s.addMessage(subFrame("s2", "t2", "opus", 1_000)) // its next block
	s.share(b.read(used("opus", 5_000, 0.50)))
	cost := func(id string) float64 { return s.running[id].now.CostUSD }
	if !near(cost("t1"), 0.30) || !near(cost("t2"), 0.10) {
		t.Errorf("shared: %v, %v", cost("t1"), cost("t2"))
	}
	s.addMessage(subFrame("s3", "t2", "haiku", 50_000))
	both := used("opus", 5_000, 0.50)
	both["haiku"] = modelUsage{InputTokens: 50_000, CostUSD: 0.05}
	s.share(b.read(both))
	if !near(cost("t1"), 0.30) || !near(cost("t2"), 0.15) {
		t.Errorf("of another model: %v, %v", cost("t1"), cost("t2"))
	}
	// A report is not a frame: its weight is what it added.
	s.finish("t1", "completed", 4_000)
	both = maps.Clone(both)
	both["opus"] = modelUsage{InputTokens: 9_000, CostUSD: 0.60}
	s.share(b.read(both))
	if !near(cost("t1"), 0.40) || !near(cost("t2"), 0.15) {
		t.Errorf("with a report: %v, %v", cost("t1"), cost("t2"))
	}
}

// TestSubagentStartsBeforeItsCallIsRecorded: a tool runs before the message that calls it has ended, so the
// main thread's part may arrive late.
func TestSubagentStartsBeforeItsCallIsRecorded(t *testing.T) {
	s, b := newSubagents(), &costAccount{}
	b.closed(used("opus", 10_000, 1)) // the last turn
	b.called(subFrame("m1", "", "opus", 9_000))
	s.start(taskStarted{TaskType: "local_agent", ToolUse: "t1"})
	s.share(b.read(used("opus", 10_000, 1)))
	s.addMessage(subFrame("s1", "t1", "opus", 1_000))
	s.share(b.read(used("opus", 20_000, 2)))
	if got := s.running["t1"].now.CostUSD; !near(got, 0.1) {
		t.Errorf("it bears %v of 1, a tenth of which it used", got)
	}
	s.share(b.read(used("opus", 21_000, 2.1))) // nothing was seen of it: it is its own all the same
	if got := s.running["t1"].now.CostUSD; !near(got, 0.2) {
		t.Errorf("it bears %v", got)
	}
}

func near(a, b float64) bool { return math.Abs(a-b) < 1e-9 }
