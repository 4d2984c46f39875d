package claude

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"testing"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/internal/testkit"
)

// TestLiveToolCallOfASubagent: a subagent gets the same tools as its parent, and its calls say that they
// come from a subagent.
func TestLiveToolCallOfASubagent(t *testing.T) {
	realAtNight(t)
	for _, judged := range []bool{false, true} {
		t.Run(fmt.Sprintf("judged %t", judged), func(t *testing.T) {
			t.Parallel()
			spec := realSpec(t)
			report := func(who string) reply {
				return reply{tools: []call{{mcpPrefix + "report", map[string]any{"message": who}}}}
			}
			model := startAPI(t, report("main"),
				taskCall("Agent",
					map[string]any{"description": "sub", "prompt": "go", "subagent_type": "general-purpose"}),
				report("sub"), report("sub"), reply{text: "tried"}, report("main"), reply{text: "done"})
			s := prepare(t, spec, model.env())
			s.cfg.Judged = judged
			s.cfg.MCPTools = []bridge.ToolSpec{{Name: "report",
				InputSchema: json.RawMessage(`{"type":"object","properties":{"message":{"type":"string"}}}`)}}
			var mu sync.Mutex
			var calls []string
			s.host.tool = func(_ context.Context, p bridge.ToolCallParams) (bridge.ToolCallResult, error) {
				mu.Lock()
				defer mu.Unlock()
				who := "main"
				if p.Subagent != "" {
					who = "sub"
				}
				calls = append(calls, who+string(p.Input))
				return bridge.ToolCallResult{Text: "NOTED"}, nil
			}
			s.launch()
			s.turn("go")
			mu.Lock()
			defer mu.Unlock()
			want := []string{`main{"message":"main"}`, `sub{"message":"sub"}`, `sub{"message":"sub"}`,
				`main{"message":"main"}`}
			testkit.Same(t, "calls", want, calls)
		})
	}
}

// TestCallersAreBounded: calls that are announced but never arrive are forgotten.
func TestCallersAreBounded(t *testing.T) {
	var c callers
	for i := range 10 * maxCallers {
		c.note(fmt.Sprint(i), "toolu_agent")
	}
	if len(c.calls) > maxCallers {
		t.Errorf("%d calls are remembered", len(c.calls))
	}
	if last := fmt.Sprint(10*maxCallers - 1); c.of(last) != "toolu_agent" || c.of(last) != "" || c.of("other") != "" {
		t.Error("the last call is not known, or known twice")
	}
}
