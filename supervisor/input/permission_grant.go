package input

import (
	"slices"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/effect"
	"github.com/arbiter-cli/arbiter/supervisor/policy"
)

// Grant is what a human always allows in a workspace: the calls that a rule covers, or without a rule one exact
// action.
type Grant struct {
	Rule   string `json:",omitempty"`
	Action string `json:",omitempty"` // Request.Key
	Tool   string // that it was given for
}

// unfit says why an answer does not fit a request; empty: it does.
func unfit(r *PermissionRequest, c contract.Permit) string {
	switch {
	case c.Action != "" && c.Action != r.Key():
		return "the answer is for another action than request " + r.ID + " is about: look at it again"
	case c.Behavior != bridge.Allow && c.Scope == contract.ScopeAlways:
		return "a denial ends with its run: give scope run, and start later runs with --deny"
	case c.Rule == "":
		return ""
	case c.Scope != contract.ScopeRun && c.Scope != contract.ScopeAlways:
		return "a rule goes with scope run or always"
	}
	for _, rule := range policy.SplitRules(c.Rule) {
		if _, err := policy.ParseRule(rule); err != nil {
			return "the rule " + err.Error()
		}
	}
	return ""
}

// grant records a human's answer that applies more than once. The rule is valid; a rule that denies is kept
// with the run's other rules, by the caller.
func (s *PermissionState) grant(c *effect.Collector, r *PermissionRequest, given contract.Permit) {
	if given.Scope != contract.ScopeRun && given.Scope != contract.ScopeAlways {
		return
	}
	defer s.PolicyChanged(c)
	if given.Behavior != bridge.Allow {
		if given.Rule == "" {
			s.Denied = append(slices.Clip(s.Denied), r.Key())
		}
		return
	}
	rules := policy.SplitRules(given.Rule)
	if len(rules) == 0 {
		s.Actions = append(slices.Clip(s.Actions), r.Key())
	}
	for _, rule := range rules {
		if !slices.Contains(s.Rules, rule) {
			s.Rules = append(slices.Clip(s.Rules), rule)
		}
	}
	if given.Scope == contract.ScopeAlways {
		if len(rules) == 0 {
			c.Do(Remember{Grant{Action: r.Key(), Tool: r.Params.Tool}})
		}
		for _, rule := range rules {
			c.Do(Remember{Grant{Rule: rule, Tool: r.Params.Tool}})
		}
	}
	s.AllowOffered(c, given.Rule)
}

// AllowOffered allows the open requests with which the CLI offered a rule that a human has just allowed: the CLI would
// not ask about them any more.
func (s *PermissionState) AllowOffered(c *effect.Collector, rule string) {
	for _, o := range s.Open {
		if rule != "" && slices.Contains(o.Suggestions, rule) {
			s.take(c, o.ID)
			answer(c, o, ruling{PermissionFinding: PermissionFinding{Behavior: bridge.Allow, By: contract.Human, Rule: rule},
				scope: contract.ScopeRun})
		}
	}
}

// PolicyChanged gives the agents the present rules, and checks the waiting requests again, because mode, rules or
// grants have changed.
func (s *PermissionState) PolicyChanged(c *effect.Collector) {
	s.Changes++
	c.Do(GiveRules{})
	if len(s.Open)+len(s.Unclaimed) > 0 {
		s.reconsider(c)
	}
}

func (s *PermissionState) reconsider(c *effect.Collector) {
	s.Reconsidering++
	c.Do(Reconsider{})
}

// PermissionResolution is what mode, rules and grants say about a waiting request.
type PermissionResolution struct {
	Request  string // Request.ID
	Asked    string // Request.Params.Request: another process may have the id now
	Behavior string // allow, deny
	By, Rule string
	Reason   string
}

// Reconsidered answers the requests that mode, rules and grants decide now. For an unclaimed one it only
// informs the frontends: when its agent asks again, mode, rules and grants decide again. changes is the
// State.Changes that the resolutions were found with: older ones do not count, because all requests are also
// checked against the present rules.
func (s *PermissionState) Reconsidered(
	c *effect.Collector,
	resolutions []PermissionResolution,
	changes int,
	h PermissionHuman,
) {
	s.Reconsidering = max(s.Reconsidering-1, 0)
	for _, of := range resolutions {
		same := func(r PermissionRequest) bool { return r.ID == of.Request && r.Params.Request == of.Asked }
		if changes != s.Changes {
			continue
		}
		if i := slices.IndexFunc(s.Unclaimed, same); i >= 0 {
			u := s.Unclaimed[i]
			s.Decided(c, u.Params.ID, u.Key(), PermissionFinding{of.Behavior, of.By, of.Rule, of.Reason})
			continue
		}
		if !slices.ContainsFunc(s.Open, same) {
			continue
		}
		r, _ := s.take(c, of.Request)
		d := ruling{PermissionFinding: PermissionFinding{Behavior: of.Behavior, By: of.By, Rule: of.Rule, Reason: of.Reason}}
		if of.Behavior == bridge.Deny {
			d.message = Denial(of.Reason)
		}
		answer(c, r, d)
	}
	s.NobodyAnswers(c, h)
}

// NobodyAnswers denies the open requests if no human is present, once it is known that no rule allows them.
func (s *PermissionState) NobodyAnswers(c *effect.Collector, h PermissionHuman) {
	if !h.Present && s.Reconsidering == 0 {
		s.DenyAll(c, contract.ByNobody, "no human is present to allow it")
	}
}
