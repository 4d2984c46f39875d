package supervisor

// This part of the package determines who sent an input or a message, and what a party may do.
//
// The sender follows from the pipe, never from the text. It is looked up in the state before the input.

import (
	"cmp"
	"fmt"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/input"
	"github.com/arbiter-cli/arbiter/supervisor/runconfig"
	"github.com/arbiter-cli/arbiter/supervisor/verdict"
)

func (s *State) originOf(ref bridge.AgentRef) input.Origin {
	a, ok := s.Agent(ref.ID)
	switch {
	case !ok:
		return input.Origin{By: input.Unknown}
	case a.Generation != ref.Generation: // a late message: its session may have been another one
		return input.Origin{By: a.ID, Gen: ref.Generation}
	}
	return input.Origin{By: a.ID, Session: a.SessionID, Gen: a.Generation}
}

// OnAnotherHost says why the bridge of a host must not report about an agent; empty: the agent runs on that
// host, or on none.
func (s *State) OnAnotherHost(agent, host string) string {
	a, ok := s.Agent(agent)
	if !ok || a.Host == host {
		return ""
	}
	return fmt.Sprintf("it runs on host %s, but the input came from host %s", cmp.Or(a.Host, runconfig.Here),
		cmp.Or(host, runconfig.Here))
}

// UnknownSender says why an input is from an unknown agent, or from one that does not run on the host whose bridge
// sent it; empty: it is from an agent of the run, or from no agent. named says that the human should be
// notified of it.
func (s *State) UnknownSender(f input.Body, host string) (why string, named bool) {
	ref, ok := input.SourceAgent(f)
	if !ok || len(s.Agents) == 0 {
		return "", false
	}
	if p, asked := f.(input.PermissionAsked); asked && s.Handoff.IsCheck(p.Params.Request) {
		return "", false
	}
	if why := s.OnAnotherHost(ref.ID, host); why != "" {
		return why, true
	}
	a, known := s.Agent(ref.ID)
	switch {
	case !known && s.WasForgotten(ref.ID):
		return "it ended long ago", false
	case !known:
		return "this run has no such agent", true
	case ref.Generation > a.Generation || ref.Generation < 1:
		return fmt.Sprintf("it is in generation %d, not %d", a.Generation, ref.Generation), true
	}
	return "", false // Apply handles a late input of an earlier generation, and answers it
}

// Origin determines who an input is from, by the state before it. What the loop requested from the bridge, and
// what it observed itself, is from the supervisor.
func (s *State) Origin(f input.Body) input.Origin {
	switch f := f.(type) {
	case input.Began, input.Resumed:
		return input.Origin{By: contract.Human, Channel: input.ChannelStart}
	case input.Command:
		if SentBy(f.Channel) == "" {
			return input.Origin{By: input.Unknown}
		}
		return input.Origin{By: contract.Human, Channel: f.Channel}
	case input.PermissionAsked:
		if s.Handoff.IsCheck(f.Params.Request) {
			return input.Origin{By: contract.Supervisor}
		}
	case input.PermissionWithdrawn:
		for i := range s.Permission.Open {
			if p := &s.Permission.Open[i]; p.Params.Request == f.Request && !s.Handoff.IsCheck(f.Request) {
				return s.originOf(p.Params.AgentRef)
			}
		}
	}
	if ref, ok := input.SourceAgent(f); ok {
		return s.originOf(ref)
	}
	return input.Origin{By: contract.Supervisor}
}

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

// partyOf is the party that a message is from. For a human it does not matter which channel: the message itself
// came by one.
func (s *State) partyOf(id string) Party {
	switch id {
	case contract.Human:
		return HumanStdin
	case contract.Supervisor:
		return TheSupervisor
	}
	if a, ok := s.Agent(id); ok {
		return SenderOf(&a, "")
	}
	return RightsNobody
}

// mayWrite reports whether one party may send a message to another.
func (s *State) mayWrite(from, to string) bool {
	what := ToHuman
	if to != contract.Human {
		switch s.partyOf(to) {
		case TheArbiter:
			what = ToArbiter
		case AnOrchestrator:
			what = ToOrchestrator
		default:
			return false
		}
	}
	return May(s.partyOf(from), what)
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
