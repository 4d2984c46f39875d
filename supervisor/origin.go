package supervisor

import (
	"fmt"
	"strings"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/input"
	"github.com/arbiter-cli/arbiter/supervisor/roster"
)

func (s *State) originOf(ref bridge.AgentRef) input.Origin {
	a, ok := s.Agent(ref.ID)
	switch {
	case !ok:
		return input.Origin{By: input.Unknown}
	case a.Generation != ref.Generation: // a late word: its session may have been another
		return input.Origin{By: a.ID, Gen: ref.Generation}
	}
	return input.Origin{By: a.ID, Session: a.SessionID, Gen: a.Generation}
}

// UnknownSender says why an input is from nobody this run has; empty: it is from one it has, or
// from no agent. Named says that it is one to tell a human of.
func (s *State) UnknownSender(f input.Body) (why string, named bool) {
	ref, ok := input.SourceAgent(f)
	if !ok || len(s.Agents) == 0 {
		return "", false
	}
	if p, asked := f.(input.PermissionAsked); asked && s.Handoff.IsCheck(p.Params.Request) {
		return "", false
	}
	a, known := s.Agent(ref.ID)
	switch {
	case !known && s.WasForgotten(ref.ID):
		return "it is gone long since", false
	case !known:
		return "this run has no such agent", true
	case ref.Generation > a.Generation || ref.Generation < 1:
		return fmt.Sprintf("it is in generation %d, not %d", a.Generation, ref.Generation), true
	}
	return "", false // an earlier generation's late word is for Apply, which answers it
}

// otherSession says why a process is not the one that was asked for, by the session it
// names; empty: it is, or it names none.
func otherSession(a *roster.Agent, session string) string {
	if session == "" || strings.EqualFold(session, a.SessionID) {
		return ""
	}
	return fmt.Sprintf("its process speaks for session %.100q, and not for %s", session, a.SessionID)
}

// disowned tells of such a process.
func (st *step) disowned(a *roster.Agent, why string) {
	st.emit(a.ID, contract.Error{Category: bridge.CatProtocol, Message: a.Name + ": " + why,
		RecoveryOptions: []string{}})
}

// signed adds which process a message is of, if an agent sent it.
func (s *State) signed(m contract.Message) contract.Message {
	if a, ok := s.Agent(m.From); ok {
		m.SessionID, m.Generation = a.SessionID, a.Generation
	}
	return m
}

// handed tells that an agent was proven to have read a message.
func (st *step) handed(to, from, id string) {
	d := contract.Delivered{MessageID: id}
	if a := st.Edit(to); a != nil {
		a.Delivered++
		d.From, d.SessionID, d.Generation, d.Sequence = from, a.SessionID, a.Generation, a.Delivered
	}
	st.emit(to, d)
}

// Origin says who an input is from, as the state stood before it. What the loop asked the
// bridge for, and what it saw itself, is the supervisor's.
func (s *State) Origin(f input.Body) input.Origin {
	switch f := f.(type) {
	case input.Began, input.Resumed:
		return input.Origin{By: contract.Human, Channel: input.ChannelStart}
	case input.Command:
		if partyBy(f.Channel) == "" {
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
