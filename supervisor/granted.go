package supervisor

import (
	"cmp"
	"slices"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/policy"
)

// Grant is what a human always allows in a workspace: what a rule covers, or without one
// the action alone.
type Grant struct {
	Rule   string `json:",omitempty"`
	Action string `json:",omitempty"` // the SHA-256 of the exact action
	Tool   string // that it was given for
}

// remembered tells where a grant could not be kept; it holds for this run all the same.
func (st *step) remembered(f Remembered) {
	if f.Failed != "" {
		st.emit(contract.Supervisor, contract.Notice{
			Text: "what you always allow (" + cmp.Or(f.Grant.Rule, f.Grant.Tool) + ") could not be kept for later runs: " + f.Failed + ". It holds for this one",
		})
	}
}

// grant books a human's allow beyond the moment. The rule was found to be one.
func (st *step) grant(p Permit, c contract.Permit) {
	if c.Scope != contract.ScopeRun && c.Scope != contract.ScopeAlways {
		return
	}
	key := p.Hash()
	st.policyChanged()
	if c.Rule == "" {
		st.GrantedActions = append(slices.Clip(st.GrantedActions), key)
	} else if !slices.Contains(st.GrantedRules, c.Rule) {
		st.GrantedRules = append(slices.Clip(st.GrantedRules), c.Rule)
	}
	if c.Scope == contract.ScopeAlways {
		g := Grant{Rule: c.Rule, Tool: p.Params.Tool}
		if g.Rule == "" {
			g.Action = key
		}
		st.do(Remember{g})
	}
}

// misgiven says why an answer is none to the request.
func misgiven(p Permit, c contract.Permit) string {
	switch {
	case c.Action != "" && c.Action != p.Hash():
		return "the answer is for another action than request " + p.ID + " is about: look at it again"
	case c.Rule == "":
		return ""
	case c.Behavior != bridge.Allow:
		return "a rule goes with allow; leave it out to deny request " + p.ID
	case c.Scope != contract.ScopeRun && c.Scope != contract.ScopeAlways:
		return "a rule goes with scope run or always"
	}
	if _, err := policy.ParseRule(c.Rule); err != nil {
		return "the rule " + err.Error()
	}
	return ""
}
