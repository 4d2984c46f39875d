package supervisor

import (
	"slices"

	"github.com/arbiter-cli/arbiter/supervisor/roster"
)

// forget drops what those left that were gone long before the last ones, and in the end
// themselves: every search and every snapshot goes through all agents.
func (st *step) forget() {
	gone, keep := 0, make([]*roster.Agent, 0, len(st.Agents))
	for i := len(st.Agents) - 1; i >= 0; i-- {
		a := st.Agents[i]
		if a.Role == roster.RoleOrchestrator && a.Gone() && !st.Handoff.AwaitsSuccessor(a.ID) && !st.Handoff.IsHandingOver(a.ID) {
			if gone++; gone > roster.RecordsKept {
				st.Handoff.SuccessorQueue = without(st.Handoff.SuccessorQueue, a.ID) // whoever is summoned would be refused its document
			}
			switch {
			case gone > roster.NamesKept:
				continue
			case gone > roster.RecordsKept && !a.Forgotten:
				a = a.WithoutRecords()
			}
		}
		keep = append(keep, a)
	}
	slices.Reverse(keep)
	st.Agents = keep
}
