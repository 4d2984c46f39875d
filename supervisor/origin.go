package supervisor

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
)

// ChannelStart is the command line that began a life, with what it says.
const ChannelStart = "start"

// Unknown is in the place of a sender who came by no way we know.
const Unknown = "unknown"

// speaker is the pipe of the agent that a fact came by; false: it came by none.
func speaker(f Fact) (bridge.AgentRef, bool) {
	switch f := f.(type) {
	case Happened:
		return f.Event.AgentRef, true
	case ToolCalled:
		return f.Params.AgentRef, true
	case PermissionAsked:
		return f.Params.AgentRef, true
	case Judged:
		return f.Params.AgentRef, true
	}
	return bridge.AgentRef{}, false
}

func (s *State) originOf(ref bridge.AgentRef) Origin {
	a, ok := s.agent(ref.ID)
	switch {
	case !ok:
		return Origin{By: Unknown}
	case a.Generation != ref.Generation: // a late word: its session may have been another
		return Origin{By: a.ID, Gen: ref.Generation}
	}
	return Origin{By: a.ID, Session: a.SessionID, Gen: a.Generation}
}

// append writes the origin as members of a record.
func (o Origin) append(raw []byte) []byte {
	member := func(name, value string) {
		if value != "" {
			raw = append(raw, `,"`+name+`":`...)
			raw = appendText(raw, value)
		}
	}
	member("by", o.By)
	member("session", o.Session)
	if o.Gen != 0 {
		raw = append(raw, `,"gen":`...)
		raw = strconv.AppendInt(raw, int64(o.Gen), 10)
	}
	member("channel", o.Channel)
	return raw
}

// appendText appends a JSON string. Ids are plain ASCII.
func appendText(raw []byte, s string) []byte {
	for i := range len(s) {
		if c := s[i]; c < ' ' || c > '~' || c == '"' || c == '\\' {
			quoted, err := json.Marshal(s)
			if err != nil {
				panic(err) // a string has a JSON form
			}
			return append(raw, quoted...)
		}
	}
	raw = append(append(raw, '"'), s...)
	return append(raw, '"')
}

// stranger says why a fact is from nobody this run has; empty: it is from one it has, or
// from no agent. Named says that it is one to tell a human of.
func (s *State) stranger(f Fact) (why string, named bool) {
	ref, ok := speaker(f)
	if !ok || len(s.Agents) == 0 {
		return "", false
	}
	if p, asked := f.(PermissionAsked); asked && s.isCheck(p.Params.Request) {
		return "", false
	}
	a, known := s.agent(ref.ID)
	switch {
	case !known && s.bygone(ref.ID):
		return "it is gone long since", false
	case !known:
		return "this run has no such agent", true
	case ref.Generation > a.Generation || ref.Generation < 1:
		return fmt.Sprintf("it is in generation %d, not %d", a.Generation, ref.Generation), true
	}
	return "", false // an earlier generation's late word is for Apply, which answers it
}

// bygone reports whether an id was that of an Orchestrator that the state has forgotten.
func (s *State) bygone(id string) bool {
	number, ok := strings.CutPrefix(id, "orch-")
	n, err := strconv.Atoi(number)
	return ok && err == nil && n >= 1 && n <= s.Summoned && orchID(n) == id
}

// strangersTold is how many of them a human is told of.
const strangersTold = 20

// unknown drops a fact from nobody this run has: it is not recorded and changes nothing.
// Whoever waits for an answer is refused.
func (l *Loop) unknown(f Fact) bool {
	why, named := l.state.Load().stranger(f)
	if why == "" {
		return false
	}
	ref, _ := speaker(f)
	l.log.Warn("a fact from a stranger is dropped", "fact", fmt.Sprintf("%T", f), "agent", ref.ID, "generation", ref.Generation, "why", why)
	switch f := f.(type) {
	case ToolCalled:
		l.tools.answer(f.Call, bridge.ToolCallResult{Text: "You are not known here.", IsError: true})
	case PermissionAsked:
		l.permissions.answer(f.Params.Request, bridge.PermissionResult{Behavior: bridge.Deny, Message: "Denied: you are not known here."})
	}
	if key := ref.String(); named && !l.strangers[key] && len(l.strangers) < strangersTold {
		if l.strangers == nil {
			l.strangers = map[string]bool{}
		}
		l.strangers[key] = true
		l.say(l.clock.Now(), contract.Event{ID: contract.Supervisor, Body: contract.Error{
			Category:        bridge.CatProtocol,
			Message:         fmt.Sprintf("something speaks as %.100q, generation %d, and is not heard: %s", ref.ID, ref.Generation, why),
			RecoveryOptions: []string{},
		}})
	}
	return true
}

// otherSession says why a process is not the one that was asked for, by the session it
// names; empty: it is, or it names none.
func otherSession(a *Agent, session string) string {
	if session == "" || strings.EqualFold(session, a.SessionID) {
		return ""
	}
	return fmt.Sprintf("its process speaks for session %.100q, and not for %s", session, a.SessionID)
}

// disowned tells of such a process.
func (st *step) disowned(a *Agent, why string) {
	st.emit(a.ID, contract.Error{Category: bridge.CatProtocol, Message: a.Name + ": " + why, RecoveryOptions: []string{}})
}

// signed adds which process a message is of, if an agent sent it.
func (s *State) signed(m contract.Message) contract.Message {
	if a, ok := s.agent(m.From); ok {
		m.SessionID, m.Generation = a.SessionID, a.Generation
	}
	return m
}

// handed tells that an agent was proven to have read a message.
func (st *step) handed(to, from, id string) {
	d := contract.Delivered{MessageID: id}
	if a := st.edit(to); a != nil {
		a.Delivered++
		d.From, d.SessionID, d.Generation, d.Sequence = from, a.SessionID, a.Generation, a.Delivered
	}
	st.emit(to, d)
}

// Origin says who a fact is from, as the state stood before it. What the loop asked the
// bridge for, and what it saw itself, is the supervisor's.
func (s *State) Origin(f Fact) Origin {
	switch f := f.(type) {
	case Began, Resumed:
		return Origin{By: contract.Human, Channel: ChannelStart}
	case Commanded:
		if partyBy(f.Channel) == "" {
			return Origin{By: Unknown}
		}
		return Origin{By: contract.Human, Channel: f.Channel}
	case PermissionAsked:
		if s.isCheck(f.Params.Request) {
			return Origin{By: contract.Supervisor}
		}
	case PermissionWithdrawn:
		for i := range s.Permission.Open {
			if p := &s.Permission.Open[i]; p.Params.Request == f.Request && !s.isCheck(f.Request) {
				return s.originOf(p.Params.AgentRef)
			}
		}
	}
	if ref, ok := speaker(f); ok {
		return s.originOf(ref)
	}
	return Origin{By: contract.Supervisor}
}
