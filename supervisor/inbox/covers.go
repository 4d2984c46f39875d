package inbox

import (
	"cmp"

	"github.com/arbiter-cli/arbiter/supervisor"
	"github.com/arbiter-cli/arbiter/supervisor/policy"
)

// Covered lists the ids of the open permission requests that an allow rule would settle. home is the user's
// home directory, for rules with ~. It follows symbolic links, so it takes time. The run decides by the exact
// calls; here secrets in them are masked.
func Covered(s *supervisor.State, rule, home string) []string {
	allow, err := policy.ParseRule(rule)
	if s == nil || err != nil {
		return nil
	}
	p := policy.Policy{
		Mode: policy.ModeAsk, Allow: []policy.Rule{allow}, Deny: rules(s.Options.Deny), Ask: rules(s.Options.Ask),
		Home: home,
	}
	var ids []string
	for _, r := range s.OpenRequests() {
		p.CWD = cmp.Or(s.Dirs().Own(r.Params.ID), s.Options.CWD)
		if r.Check {
			p.CWD = cmp.Or(r.Params.CWD, p.CWD)
		}
		d := p.Decide(policy.Request{Tool: r.Params.Tool, Input: r.Params.Input, CWD: r.Params.CWD, Asked: !r.Check})
		if d.Behavior == policy.Allow && d.By == policy.ByRule {
			ids = append(ids, r.ID)
		}
	}
	return ids
}

// rules parses texts. A text that cannot be parsed, which the run would not have accepted, is left out.
func rules(texts []string) []policy.Rule {
	var list []policy.Rule
	for _, text := range texts {
		if rule, err := policy.ParseRule(text); err == nil {
			list = append(list, rule)
		}
	}
	return list
}
