package decider

import (
	"strings"
	"testing"
)

func TestPromptsSayWhatTheRolesMustKnow(t *testing.T) {
	arbiter := ArbiterPrompt{
		CWD:              "/w",
		Delimiter:        "k3y",
		MaxOrchestrators: 4,
		Modes:            []PromptMode{{"tester", "Use after."}},
	}.Text()
	orch := OrchestratorPrompt{ID: "orch-2", Name: "Orchestrator II", CWD: "/w", Delimiter: "k3y", Mode: "tester",
		ModePrompt: "Believe nothing."}.Text()
	for _, c := range []struct {
		name, text string
		words      []string
	}{
		{"the Arbiter's", arbiter, []string{
			"k3y", "/w", "`tester`: Use after.", "4 may live", "spawn_orchestrator", "set_plan", "StructuredOutput",
			"ADDRESS_HUMAN", "ADDRESS_ORCHESTRATOR", "SELECT_MODE", "CONTINUE", "RETRY", "COMPLETE", "HANDOFF",
			"never edit", "interjection", "work log",
		}},
		{"an Orchestrator's", orch, []string{
			"k3y", "orch-2", "Orchestrator II", "report_progress", "update_plan", "ask_predecessor", "Agent tool",
			"expects_response", "introduction", "question", "progress", "handoff", "done", "Believe nothing.",
			"accomplished", "remaining", "key_context", "decisions", "constraints", "checks", "open_questions",
			"claims",
		}},
	} {
		for _, w := range c.words {
			if !strings.Contains(c.text, w) {
				t.Errorf("%s prompt lacks %q", c.name, w)
			}
		}
		if strings.Contains(c.text, "rehearsal") {
			t.Errorf("%s prompt speaks of a rehearsal", c.name)
		}
	}
	if !strings.Contains(ArbiterPrompt{Rehearsal: true}.Text(), "rehearsal") {
		t.Error("a rehearsal is not named")
	}
}
