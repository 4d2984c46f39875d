package runloop

import (
	"encoding/json"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/input"
)

// TestTooLargeToBeTaken: what no agent could read, or the journal could not keep, is refused at once, and the
// run continues.
func TestTooLargeToBeTaken(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		recorded := &fakeJournal{}
		port := &fakePort{live: map[string]bridge.AgentRef{}, answer: func(f *fakePort, p bridge.MessageParams) {
			f.ruled(p, ruling("ADDRESS_HUMAN", "What?"))
		}}
		n := live(t, recorded, port, nil)
		synctest.Wait()
		long := strings.Repeat("x", contract.MaxCommandText+1)
		for _, b := range []contract.CommandBody{
			contract.Say{Text: long}, contract.EditMessage{MessageID: "m", Text: long},
			contract.Permit{Request: "r", Behavior: bridge.Deny, Message: long},
			contract.SetPlan{Steps: []contract.Step{{Text: long[:contract.MaxCommandText]}, {Text: "x"}}},
		} {
			n.loop.Put(input.Command{Channel: input.ChannelStdin,
				Command: contract.Command{Ref: b.CommandType(), Body: b}})
		}
		synctest.Wait()
		refused := map[string]string{}
		for _, b := range hearing[contract.Rejected](n) {
			refused[b.Ref] = b.Message
		}
		for _, ref := range []string{"message", "edit_message", "permission", "set_plan"} {
			if !strings.Contains(refused[ref], "the limit is 1,048,576") {
				t.Errorf("%s was refused with %q", ref, refused[ref])
			}
		}
		for _, f := range recorded.inputs(t) {
			if c, ok := f.(input.Command); ok {
				t.Errorf("recorded: %s", c.Command.Body.CommandType())
			}
		}
		input, _ := json.Marshal(map[string]string{"prompt": strings.Repeat("x", maxCallInput)})
		r, err := n.loop.ToolCall(t.Context(), bridge.ToolCallParams{AgentRef: n.loop.Snapshot().Agents[0].AgentRef,
			Tool: "spawn_orchestrator", Input: input})
		if err != nil || !r.IsError || !strings.Contains(r.Text, "at most 1,048,576 are taken") {
			t.Errorf("the tool answered %.200v, %v", r, err)
		}
		input, _ = json.Marshal(map[string]string{"content": strings.Repeat("x", maxAskedInput)})
		allowed, err := n.loop.Permission(t.Context(),
			bridge.PermissionParams{Request: "p", AgentRef: n.loop.Snapshot().Agents[0].AgentRef, Tool: "Write",
				Input: input})
		if err != nil || allowed.Behavior != bridge.Deny || !strings.Contains(allowed.Message, "in smaller pieces") {
			t.Errorf("the permission is %.200v, %v", allowed, err)
		}
	})
}
