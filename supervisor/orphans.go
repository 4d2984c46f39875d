package supervisor

import (
	"slices"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
)

// Permission requests of processes that ended with an earlier life of the run. Nobody waits
// for an answer to them, so they are not open; an agent that still needs what it asked for
// asks again.

// askedBefore deals with a request that an earlier process of the agent had made
// already: it is open again under the id of that one, or gets the answer that was given since.
func (st *step) askedBefore(p Permit) bool {
	action := p.Hash()
	for i, q := range st.OrphanedRequests {
		if q.Params.ID == p.Params.ID && q.Hash() == action {
			st.OrphanedRequests = slices.Delete(slices.Clone(st.OrphanedRequests), i, i+1)
			p.ID = q.ID
			st.open(p)
			return true
		}
	}
	for i, x := range st.OrphanAnswers {
		if x.Agent == p.Params.ID && x.Action == action {
			st.OrphanAnswers = slices.Delete(slices.Clone(st.OrphanAnswers), i, i+1)
			st.answerPermit(p, ruled{behavior: x.Behavior, by: contract.Human, message: x.Message})
			return true
		}
	}
	return false
}

// isOpen reports whether a request waits for a human, or to be asked again, under a name.
func (s *State) isOpen(request string) bool {
	_, known := s.request(request)
	return known
}

// request returns the request of that id which waits for a human, or to be asked again.
func (s *State) request(id string) (Permit, bool) {
	for _, list := range [][]Permit{s.OpenRequests, s.OrphanedRequests} {
		for _, p := range list {
			if p.ID == id {
				return p, true
			}
		}
	}
	return Permit{}, false
}

// requests are those that wait for a human, and those that wait to be asked again.
func (s *State) requests() []Permit { return slices.Concat(s.OpenRequests, s.OrphanedRequests) }

// closeOrphans forgets requests of an agent's earlier process, or of all agents, that were
// not made again. Nobody waits for an answer.
func (st *step) closeOrphans(agent, by, reason string) {
	var left []Permit
	for _, p := range st.OrphanedRequests {
		if agent != "" && p.Params.ID != agent {
			left = append(left, p)
			continue
		}
		st.tellPermit(p, ruled{behavior: bridge.Deny, by: by, reason: reason})
	}
	st.OrphanedRequests = left
}

// answerOrphan keeps a human's answer until the agent makes the request again.
func (st *step) answerOrphan(p Permit, r ruled) {
	st.OrphanedRequests = slices.DeleteFunc(slices.Clone(st.OrphanedRequests), func(q Permit) bool { return q.ID == p.ID })
	st.OrphanAnswers = append(slices.Clip(st.OrphanAnswers), Answered{Agent: p.Params.ID, Action: p.Hash(), Behavior: r.behavior, Message: r.message})
	st.tellPermit(p, r)
}
