package supervisor

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/internal/testkit"
	"github.com/arbiter-cli/arbiter/supervisor/decider"
	"github.com/arbiter-cli/arbiter/supervisor/verdict"
)

// TestFeaturesAreNamed: what a role can use is named where the role reads: each tool and each input of a summons, each
// kind of message, each decision or kind of report, and each limit that ends its work.
func TestFeaturesAreNamed(t *testing.T) {
	arbiter := decider.ArbiterPrompt{MaxOrchestrators: 4, Hosts: "gpu", Makes: "opencode",
		Modes: []decider.PromptMode{{Name: "tester", Model: "haiku", Effort: "low"}}}.Text()
	orchestrator := decider.OrchestratorPrompt{ID: "orch-2"}.Text()
	names := func(prompt string, of []bridge.ToolSpec) {
		for _, tool := range of {
			if !strings.Contains(prompt, "`"+tool.Name+"`") {
				t.Errorf("no prompt names the tool %s", tool.Name)
			}
			var schema struct{ Properties map[string]json.RawMessage }
			testkit.OK(t, json.Unmarshal(tool.InputSchema, &schema))
			for input, raw := range schema.Properties {
				if !strings.Contains(string(raw), `"description"`) {
					t.Errorf("%s: nothing is said of %s", tool.Name, input)
				}
			}
		}
	}
	names(arbiter, ArbiterTools())
	names(orchestrator, OrchestratorTools())
	for _, c := range []struct {
		who, prompt string
		names       []string
	}{
		{"the Arbiter", arbiter, []string{verdict.AddressHuman, verdict.AddressOrchestrator, verdict.SelectMode,
			verdict.Continue, verdict.Retry, verdict.Complete, verdict.Handoff, "`mode`", "`successor_of`", "`isolated`",
			"`fuse_usd`", "`host`", "`make`", "gpu", "opencode", "model haiku", "effort low", "lessons", "memory", "acceptance",
			"cost and limits", "permission requests", "WebSearch", "WebFetch", "`ask_predecessor`", "`planner`", "`reviewer`",
			"[arbiter: context]", "`renewal`", "`inheritance`", "`interjection`", "`correction`", "`retry`", "`notice`"}},
		{"an Orchestrator", orchestrator, []string{"`introduction`", "`question`", "`progress`", "`handoff`", "`done`",
			"`brief`", "`answer`", "`instruction`", "`retry`", "`message`", "`interjection`", "`notice`", "`continue`",
			"`correction`", "`relief`", "acceptance criteria", "plan", "Agent tool", "subagents", "[arbiter: context]",
			"`warn`", "`critical`", "`proofs`"}},
	} {
		for _, name := range c.names {
			if !strings.Contains(c.prompt, name) {
				t.Errorf("the prompt of %s does not name %s", c.who, name)
			}
		}
	}
}
