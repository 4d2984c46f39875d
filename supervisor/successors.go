package supervisor

import (
	"slices"

	"github.com/arbiter-cli/arbiter/supervisor/effect"
	"github.com/arbiter-cli/arbiter/supervisor/roster"
)

// nextPredecessor is whose document the next Orchestrator summoned receives; empty: nobody's.
func (s *State) nextPredecessor() string {
	if len(s.SuccessorQueue) == 0 {
		return ""
	}
	return s.SuccessorQueue[0]
}

// awaitsSuccessor reports whether an agent's document is kept for an Orchestrator that is yet
// to be summoned: the line is no longer than what is remembered.
func (s *State) awaitsSuccessor(id string) bool {
	at := slices.Index(s.SuccessorQueue, id)
	return at == 0 || at > 0 && at < roster.RecordsKept
}

// overtakes reports whether a document is ready before an earlier one of its author.
func (st *step) overtakes(h *Handover) bool {
	return slices.ContainsFunc(st.PendingHandoffs, func(x Handover) bool { return x.Agent.ID == h.Agent.ID && x.Serial < h.Serial })
}

// queueForSuccessor lets a document go to the next Orchestrator summoned, after those that wait
// already: the Arbiter reads of them in that order.
func (st *step) queueForSuccessor(h Handover) {
	if id := h.Agent.ID; !h.Taken && !slices.Contains(st.SuccessorQueue, id) {
		st.SuccessorQueue = append(slices.Clip(st.SuccessorQueue), id)
	}
}

// leaveSuccessorQueue: a successor to this one was summoned, or is not wanted any more.
func (st *step) leaveSuccessorQueue(id string) {
	st.PendingHandoffs = slices.Clone(st.PendingHandoffs)
	for i := range st.PendingHandoffs {
		st.PendingHandoffs[i].Taken = st.PendingHandoffs[i].Taken || st.PendingHandoffs[i].Agent.ID == id
	}
	st.SuccessorQueue = without(st.SuccessorQueue, id)
}

// cancelSuccession: one that was given up comes back, and nobody succeeds it.
func (st *step) cancelSuccession(id string) {
	st.leaveSuccessorQueue(id)
	st.PendingHandoffs = slices.DeleteFunc(slices.Clone(st.PendingHandoffs), func(h Handover) bool {
		gone := h.Agent.ID == id && h.Kind == handGone
		if gone {
			st.do(effect.SetTimer{Key: handoverKey(h.Serial)})
		}
		return gone
	})
}
