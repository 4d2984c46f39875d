package supervisor

import (
	"errors"
	"fmt"
	"slices"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/grants"
	"github.com/arbiter-cli/arbiter/supervisor/policy"
)

// Grant is what a human always allows in a workspace: what a rule covers, or without one
// the action alone.
type Grant struct {
	Rule   string `json:",omitempty"`
	Action string `json:",omitempty"` // the SHA-256 of the exact action
	Tool   string // that it was given for
}

// Grants keeps grants for later runs in the workspace. *grants.Store is one. It is called
// from one goroutine.
type Grants interface{ Add(grants.Grant) error }

// Grants sets where grants are kept, and those that are there: rules that join the
// policy's allow side, and exact actions. Deny and ask rules still come first. Call it
// before [Loop.Run].
func (l *Loop) Grants(g Grants, kept []grants.Grant) error {
	l.grants = g
	l.kept = map[string]bool{}
	l.policy.Allow = slices.Clip(l.policy.Allow)
	for _, k := range kept {
		if k.Rule == "" {
			l.kept[k.Action] = true
			continue
		}
		rule, err := policy.ParseRule(k.Rule)
		if err != nil {
			return fmt.Errorf("what is always allowed here: %w", err)
		}
		l.policy.Allow = append(l.policy.Allow, rule)
	}
	l.rules = l.policy.Compile()
	return nil
}

func (l *Loop) remember(e Remember) {
	err := errors.New("this run keeps nothing")
	if l.grants != nil {
		g := grants.Grant{Rule: e.Grant.Rule, Run: l.Snapshot().Options.Run, At: l.clock.now()}
		if g.Rule == "" {
			g.Action, g.Tool = e.Grant.Action, e.Grant.Tool
		}
		err = l.grants.Add(g)
	}
	f := Remembered{Grant: e.Grant}
	if err != nil {
		f.Failed = err.Error()
	}
	l.Put(f)
}

// remembered tells where a grant could not be kept; it holds for this run all the same.
func (st *step) remembered(f Remembered) {
	if f.Failed != "" {
		st.emit(contract.Supervisor, contract.Notice{
			Text: "what you always allow (" + orDefault(f.Grant.Rule, f.Grant.Tool) + ") could not be kept for later runs: " + f.Failed + ". It holds for this one",
		})
	}
}

// grant books a human's allow beyond the moment. The rule was found to be one.
func (st *step) grant(p Permit, c contract.Permit) {
	if c.Scope != contract.ScopeRun && c.Scope != contract.ScopeAlways {
		return
	}
	key := p.action()
	if c.Rule == "" {
		st.Granted = append(slices.Clip(st.Granted), key)
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
	case c.Action != "" && c.Action != p.action():
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

// vet holds an answer's rule against its request, which may read the file system, before
// the command gets into the loop: one that does not cover it comes in as no command.
func (l *Loop) vet(f Fact) Fact {
	c, ok := f.(Commanded)
	if !ok {
		return f
	}
	permit, ok := c.Command.Body.(contract.Permit)
	if !ok || permit.Rule == "" {
		return f
	}
	s := l.Snapshot()
	i := slices.IndexFunc(s.Permits, func(p Permit) bool { return p.ID == permit.Request })
	rule, err := policy.ParseRule(permit.Rule)
	if i < 0 || err != nil {
		return f // the loop says so
	}
	p := policy.Policy{CWD: l.policy.CWD, Home: l.policy.Home, Resolve: l.policy.Resolve, Allow: []policy.Rule{rule}}
	params := s.Permits[i].Params
	if _, covers := p.Covered(policy.Request{Tool: params.Tool, Input: l.waiting.exact(params)}); covers {
		return f
	}
	c.Command.Body = contract.Malformed{Problem: "the rule " + permit.Rule + " does not cover request " + permit.Request + ", which stays open: take one of its suggestions, or answer without a rule"}
	return c
}

// suggest names rules that would cover a request, narrow ones first.
func (l *Loop) suggest(p bridge.PermissionParams) []string {
	return policy.Suggest(policy.Request{Tool: p.Tool, Input: p.Input}, l.policy.CWD, l.policy.Home)
}
