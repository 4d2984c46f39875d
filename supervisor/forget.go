package supervisor

import (
	"fmt"
	"slices"

	"github.com/arbiter-cli/arbiter/bridge"
)

// forget drops what those left that were gone long before the last ones, and in the end
// themselves: every search and every snapshot goes through all agents.
func (st *step) forget() {
	gone, keep := 0, make([]*Agent, 0, len(st.Agents))
	for i := len(st.Agents) - 1; i >= 0; i-- {
		a := st.Agents[i]
		if a.Role == RoleOrchestrator && a.gone() && !st.awaitsSuccessor(a.ID) && !st.handingOver(a.ID) {
			if gone++; gone > recordsKept {
				st.SuccessorQueue = without(st.SuccessorQueue, a.ID) // whoever is summoned would be refused its document
			}
			switch {
			case gone > namesKept:
				continue
			case gone > recordsKept && !a.Forgotten:
				b := *a
				b.Brief, b.Document, b.Receipts, b.GeneratedWhy = "", nil, nil, ""
				b.Context, b.Watch, b.Turn, b.InterruptedTurn = bridge.Context{}, Watch{}, nil, nil
				b.Forgotten = true
				a, st.own = &b, append(st.own, &b)
			}
		}
		keep = append(keep, a)
	}
	slices.Reverse(keep)
	st.Agents = keep
}

// handingOver reports whether a document about an agent's work is on its way.
func (s *State) handingOver(id string) bool {
	for i := range s.PendingHandoffs {
		if s.PendingHandoffs[i].Agent.ID == id {
			return true
		}
	}
	return false
}

// shown are the Orchestrators an Arbiter is told of, in order of summoning: all that
// live, and those that went last. Others counts the rest.
func (s *State) shown() ([]*Agent, int) {
	var list []*Agent
	gone, others := 0, s.Summoned // less those that are remembered
	for _, a := range s.Agents {
		if a.Role == RoleOrchestrator {
			if others--; a.gone() {
				gone++
			}
		}
	}
	for _, a := range s.Agents {
		switch {
		case a.Role != RoleOrchestrator:
		case !a.gone():
			list = append(list, a)
		default:
			if gone--; gone < goneShown {
				list = append(list, a)
			} else {
				others++
			}
		}
	}
	return list, others
}

// gone reports whether an agent has ended for good.
func (a *Agent) gone() bool { return a.Status == Ended && a.Dismissed }

// othersText tells of those that shown leaves out.
func othersText(n int) string {
	if n == 0 {
		return ""
	}
	return fmt.Sprintf("- and %d before them, gone\n", n)
}
