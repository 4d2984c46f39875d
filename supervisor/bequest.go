package supervisor

import "slices"

// bequest is whose document the next Orchestrator summoned receives; empty: nobody's.
func (s *State) bequest() string {
	if len(s.Handoffs) == 0 {
		return ""
	}
	return s.Handoffs[0]
}

// waitsForAnHeir says whether an agent's document is kept for an Orchestrator that is yet
// to be summoned: the line is no longer than what is remembered.
func (s *State) waitsForAnHeir(id string) bool {
	at := slices.Index(s.Handoffs, id)
	return at == 0 || at > 0 && at < recordsKept
}

// overtakes says whether a document is ready before an earlier one of its author.
func (st *step) overtakes(h *Handover) bool {
	return slices.ContainsFunc(st.Handovers, func(x Handover) bool { return x.Agent.ID == h.Agent.ID && x.Serial < h.Serial })
}

// bequeath lets a document go to the next Orchestrator summoned, after those that wait
// already: the Arbiter reads of them in that order.
func (st *step) bequeath(h Handover) {
	if id := h.Agent.ID; !h.Taken && !slices.Contains(st.Handoffs, id) {
		st.Handoffs = append(slices.Clip(st.Handoffs), id)
	}
}

// bequeathed: a successor to this one was summoned, or is not wanted any more.
func (st *step) bequeathed(id string) {
	st.Handovers = slices.Clone(st.Handovers)
	for i := range st.Handovers {
		st.Handovers[i].Taken = st.Handovers[i].Taken || st.Handovers[i].Agent.ID == id
	}
	st.Handoffs = without(st.Handoffs, id)
}

// disinherit: one that was given up comes back, and nobody succeeds it.
func (st *step) disinherit(id string) {
	st.bequeathed(id)
	st.Handovers = slices.DeleteFunc(slices.Clone(st.Handovers), func(h Handover) bool {
		gone := h.Agent.ID == id && h.Kind == handGone
		if gone {
			st.do(SetTimer{Key: handoverKey(h.Serial)})
		}
		return gone
	})
}
