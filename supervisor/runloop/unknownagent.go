package runloop

import (
	"fmt"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/input"
)

// unknown drops an input from an agent that this run does not have: it is not recorded and changes nothing.
// A caller that waits for an answer is refused.
func (l *Loop) unknown(in input.Input) bool {
	f := in.Body
	why, named := l.state.Load().UnknownSender(f, in.From.Host)
	if why == "" {
		return false
	}
	ref, _ := input.SourceAgent(f)
	l.log.Warn("input from an unknown agent is dropped", "type", input.Name(f), "agent", ref.ID, "generation",
		ref.Generation, "why", why)
	switch f := f.(type) {
	case input.ToolCalled:
		l.tools.answer(f.Call, bridge.ToolCallResult{Text: "You are not known here.", IsError: true})
	case input.PermissionAsked:
		l.permissions.answer(f.Params.Request,
			bridge.PermissionResult{Behavior: bridge.Deny, Message: "Denied: you are not known here."})
	}
	if key := ref.String(); named && !l.unknowns[key] && len(l.unknowns) < maxUnknowns {
		if l.unknowns == nil {
			l.unknowns = map[string]bool{}
		}
		l.unknowns[key] = true
		l.report(l.clock.Now(), contract.Event{ID: contract.Supervisor, Body: contract.Error{
			Category: bridge.CatProtocol,
			Message: fmt.Sprintf("an input that claims to be from %.100q, generation %d, was dropped: %s", ref.ID,
				ref.Generation, why),
			RecoveryOptions: []string{},
		}})
	}
	return true
}

// maxUnknowns is how many unknown agents are reported to the human.
const maxUnknowns = 20
