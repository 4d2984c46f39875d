package supervisor

import "slices"

// A message that the CLI has processed is in the session's history, but if the API refused the turn, no model
// has read it: the supervisor makes the agent continue with it later. An Orchestrator that is released before
// that never reads it.

// MarkRefused keeps a message whose turn the API refused until a model has answered in a later one.
func (s *ConversationState) MarkRefused(wire string) {
	i := onWire(s.InTurn, wire)
	if i < 0 {
		return
	}
	s.InTurn = slices.Clone(s.InTurn)
	s.InTurn[i].Refused = true
}

// ForgetRefused forgets the messages of an agent's earlier turns: a model has read them now.
func (s *ConversationState) ForgetRefused(id string) {
	read := func(m Mail) bool { return m.To == id && m.Refused }
	if slices.ContainsFunc(s.InTurn, read) {
		s.InTurn = slices.DeleteFunc(slices.Clone(s.InTurn), read)
	}
}

// returnRefused returns the messages that an agent received and no model answered: the agent is released.
func (s *ConversationState) returnRefused(id string) []Mail {
	var list []Mail
	for _, m := range s.InTurn {
		if m.To != id || !m.Refused {
			continue
		}
		list = append(list, m)
		s.Ledger.Seen--
		s.Ledger.Returned++
		if len(s.Unanswered) >= RecentMessagesKept {
			s.Unanswered = s.Unanswered[1:]
		}
		s.Unanswered = append(slices.Clip(s.Unanswered), m.ID)
	}
	return list
}
