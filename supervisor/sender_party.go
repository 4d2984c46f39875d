package supervisor

import (
	"fmt"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/input"
	"github.com/arbiter-cli/arbiter/supervisor/verdict"
)

// SentBy is the party of a human who gave a command by a channel; empty for any other channel.
func SentBy(channel string) Party {
	switch channel {
	case input.ChannelStdin:
		return HumanStdin
	case input.ChannelScreen:
		return HumanScreen
	case input.ChannelSocket:
		return HumanSocket
	}
	return RightsNobody
}

// SenderOf is the party of an agent, or of its subagent.
func SenderOf(a *Agent, subagent string) Party {
	switch {
	case subagent != "":
		return ASubagent
	case a.Role == RoleArbiter:
		return TheArbiter
	case a.Role == RoleOrchestrator:
		return AnOrchestrator
	}
	return RightsNobody
}

// named is the party that a message is from. For a human it does not matter which channel: the message itself
// came by one.
func (s SenderRun) named(id string) Party {
	switch id {
	case contract.Human:
		return HumanStdin
	case contract.Supervisor:
		return TheSupervisor
	}
	if a, ok := s.Roster.Agent(id); ok {
		return SenderOf(&a, "")
	}
	return RightsNobody
}

// MayWrite reports whether one party may send a message to another.
func (s SenderRun) MayWrite(from, to string) bool {
	what := ToHuman
	if to != contract.Human {
		switch s.named(to) {
		case TheArbiter:
			what = ToArbiter
		case AnOrchestrator:
			what = ToOrchestrator
		default:
			return false
		}
	}
	return May(s.named(from), what)
}

// Approves reports whether an answer to a permission request came from a human.
func Approves(channel string) bool {
	return May(SentBy(channel), RightsApprove)
}

// MayNot is the error for a model that must not use a tool.
func MayNot(a *Agent, p bridge.ToolCallParams) error {
	if p.Subagent != "" {
		return fmt.Errorf("a subagent may not call %s: tell the agent that started you", p.Tool)
	}
	return fmt.Errorf("%s has no tool %s", a.ID, p.Tool)
}

// MayRule says why an agent must not give a verdict; nil: it may.
func MayRule(a *Agent, of, what string) error {
	if May(SenderOf(a, ""), RightsMethod(of+what)) {
		return nil
	}
	return &verdict.Problem{Text: fmt.Sprintf("%s is not for you to decide. Give your verdict again.", what)}
}
