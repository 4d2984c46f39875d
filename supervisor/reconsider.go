package supervisor

import (
	"slices"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
)

// policyChanged has all that waits for a human held against mode, rules and grants as they
// are now.
func (st *step) policyChanged() {
	if st.PolicyChanges++; len(st.OpenRequests) > 0 {
		st.reconsider()
	}
}

func (st *step) reconsider() {
	st.Reconsidering++
	st.do(Reconsider{})
}

// reconsidered answers the requests that mode, rules and grants decide now. What was found by
// an earlier state of them does not count, for all is held against the present one as well.
func (st *step) reconsidered(f Reconsidered) {
	st.Reconsidering = max(st.Reconsidering-1, 0)
	for _, of := range f.Settled {
		asked := func(p Permit) bool { return p.ID == of.Request && p.Params.Request == of.Asked }
		if f.Changes != st.PolicyChanges || !slices.ContainsFunc(st.OpenRequests, asked) {
			continue
		}
		p, _ := st.takePermit(of.Request)
		r := ruled{behavior: of.Behavior, by: of.By, rule: of.Rule, reason: of.Reason}
		if of.Behavior == bridge.Deny {
			r.message = denial(of.Reason)
		}
		st.answerPermit(p, r)
	}
	st.denyAlone()
}

// denyAlone denies what waits for a human where none is present, once it is known that no
// rule allows it.
func (st *step) denyAlone() {
	if !st.HumanPresent && st.Reconsidering == 0 {
		st.denyPermits(contract.ByNobody, "no human is present to allow it")
	}
}
