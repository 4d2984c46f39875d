package sender

import (
	"fmt"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/input"
	"github.com/arbiter-cli/arbiter/supervisor/rights"
	"github.com/arbiter-cli/arbiter/supervisor/roster"
	"github.com/arbiter-cli/arbiter/supervisor/verdict"
)

// By is the party of a human who gave a command by a channel; empty for any other channel.
func By(channel string) rights.Party {
	switch channel {
	case input.ChannelStdin:
		return rights.HumanStdin
	case input.ChannelScreen:
		return rights.HumanScreen
	case input.ChannelSocket:
		return rights.HumanSocket
	}
	return rights.Nobody
}

// Of is the party of an agent, or of its subagent.
func Of(a *roster.Agent, subagent string) rights.Party {
	switch {
	case subagent != "":
		return rights.ASubagent
	case a.Role == roster.RoleArbiter:
		return rights.TheArbiter
	case a.Role == roster.RoleOrchestrator:
		return rights.AnOrchestrator
	}
	return rights.Nobody
}

// named is the party that a message is from. For a human it does not matter which channel: the message itself
// came by one.
func (s Run) named(id string) rights.Party {
	switch id {
	case contract.Human:
		return rights.HumanStdin
	case contract.Supervisor:
		return rights.TheSupervisor
	}
	if a, ok := s.Roster.Agent(id); ok {
		return Of(&a, "")
	}
	return rights.Nobody
}

// MayWrite reports whether one party may send a message to another.
func (s Run) MayWrite(from, to string) bool {
	what := rights.ToHuman
	if to != contract.Human {
		switch s.named(to) {
		case rights.TheArbiter:
			what = rights.ToArbiter
		case rights.AnOrchestrator:
			what = rights.ToOrchestrator
		default:
			return false
		}
	}
	return rights.May(s.named(from), what)
}

// Approves reports whether an answer to a permission request came from a human.
func Approves(channel string) bool {
	return rights.May(By(channel), rights.Approve)
}

// MayNot is the error for a model that must not use a tool.
func MayNot(a *roster.Agent, p bridge.ToolCallParams) error {
	if p.Subagent != "" {
		return fmt.Errorf("a subagent may not call %s: tell the agent that started you", p.Tool)
	}
	return fmt.Errorf("%s has no tool %s", a.ID, p.Tool)
}

// MayRule says why an agent must not give a verdict; nil: it may.
func MayRule(a *roster.Agent, of, what string) error {
	if rights.May(Of(a, ""), rights.Method(of+what)) {
		return nil
	}
	return &verdict.Problem{Text: fmt.Sprintf("%s is not for you to decide. Give your verdict again.", what)}
}
