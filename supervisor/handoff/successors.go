package handoff

import (
	"slices"

	"github.com/arbiter-cli/arbiter/supervisor/roster"
)

// NextPredecessor is the agent whose document the next Orchestrator receives; empty: none.
func (s *State) NextPredecessor() string {
	if len(s.SuccessorQueue) == 0 {
		return ""
	}
	return s.SuccessorQueue[0]
}

// AwaitsSuccessor reports whether an agent's document is kept for an Orchestrator that is yet
// to be summoned: the queue is no longer than what is remembered.
func (s *State) AwaitsSuccessor(id string) bool {
	at := slices.Index(s.SuccessorQueue, id)
	return at == 0 || at > 0 && at < roster.RecordsKept
}

// Overtakes reports whether a document is ready before an earlier one of its author.
func (s *State) Overtakes(h *Handover) bool {
	return slices.ContainsFunc(s.Documents, func(x Handover) bool {
		return x.Agent.ID == h.Agent.ID && x.Serial < h.Serial
	})
}

// QueueForSuccessor lets a document go to the next Orchestrator summoned, after those that wait
// already: the Arbiter reads of them in that order.
func (s *State) QueueForSuccessor(h Handover) {
	if id := h.Agent.ID; !h.Taken && !slices.Contains(s.SuccessorQueue, id) {
		s.SuccessorQueue = append(slices.Clip(s.SuccessorQueue), id)
	}
}

// LeaveSuccessorQueue: a successor to this one was summoned, or is not wanted any more.
func (s *State) LeaveSuccessorQueue(id string) {
	s.Documents = slices.Clone(s.Documents)
	for i := range s.Documents {
		s.Documents[i].Taken = s.Documents[i].Taken || s.Documents[i].Agent.ID == id
	}
	s.SuccessorQueue = slices.DeleteFunc(slices.Clone(s.SuccessorQueue), func(x string) bool { return x == id })
}

// RemoveFromSuccessorQueue forgets that a document waits, because its author is forgotten.
func (s *State) RemoveFromSuccessorQueue(id string) {
	if slices.Contains(s.SuccessorQueue, id) {
		s.SuccessorQueue = slices.DeleteFunc(slices.Clone(s.SuccessorQueue), func(x string) bool { return x == id })
	}
}

// CancelSuccession takes a document out of the queue whose author comes back, and returns the serials of what was on
// its way for it.
func (s *State) CancelSuccession(id string) (dropped []int) {
	s.LeaveSuccessorQueue(id)
	s.Documents = slices.DeleteFunc(slices.Clone(s.Documents), func(h Handover) bool {
		gone := h.Agent.ID == id && h.Kind == KindGone
		if gone {
			dropped = append(dropped, h.Serial)
		}
		return gone
	})
	return dropped
}
