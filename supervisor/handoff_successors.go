package supervisor

import (
	"slices"
)

// NextPredecessor is the agent whose document the next Orchestrator receives; empty: none.
func (s *HandoffState) NextPredecessor() string {
	if len(s.SuccessorQueue) == 0 {
		return ""
	}
	return s.SuccessorQueue[0]
}

// AwaitsSuccessor reports whether an agent's document is kept for an Orchestrator that will be spawned: only
// so many of the queue are kept.
func (s *HandoffState) AwaitsSuccessor(id string) bool {
	at := slices.Index(s.SuccessorQueue, id)
	return at == 0 || at > 0 && at < RecordsKept
}

// Overtakes reports whether an earlier document of the same author is still being processed.
func (s *HandoffState) Overtakes(h *Handover) bool {
	return slices.ContainsFunc(s.Documents, func(x Handover) bool {
		return x.Agent.ID == h.Agent.ID && x.Serial < h.Serial
	})
}

// QueueForSuccessor queues a document for the next Orchestrator that is spawned, after those that wait
// already: the Arbiter reads about them in the same order.
func (s *HandoffState) QueueForSuccessor(h Handover) {
	if id := h.Agent.ID; !h.Taken && !slices.Contains(s.SuccessorQueue, id) {
		s.SuccessorQueue = append(slices.Clip(s.SuccessorQueue), id)
	}
}

// LeaveSuccessorQueue removes an agent from the queue: its successor was spawned, or is no longer wanted.
func (s *HandoffState) LeaveSuccessorQueue(id string) {
	s.Documents = slices.Clone(s.Documents)
	for i := range s.Documents {
		s.Documents[i].Taken = s.Documents[i].Taken || s.Documents[i].Agent.ID == id
	}
	s.SuccessorQueue = slices.DeleteFunc(slices.Clone(s.SuccessorQueue), func(x string) bool { return x == id })
}

// RemoveFromSuccessorQueue removes an agent from the queue, because the agent is forgotten.
func (s *HandoffState) RemoveFromSuccessorQueue(id string) {
	if slices.Contains(s.SuccessorQueue, id) {
		s.SuccessorQueue = slices.DeleteFunc(slices.Clone(s.SuccessorQueue), func(x string) bool { return x == id })
	}
}

// CancelSuccession removes an agent that is restarted from the queue, and returns the serials of the documents
// that were being processed because it was gone.
func (s *HandoffState) CancelSuccession(id string) (dropped []int) {
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
