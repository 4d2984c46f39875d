package settings

import (
	"strings"
	"testing"

	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/effect"
	"github.com/arbiter-cli/arbiter/supervisor/runconfig"
)

// TestConfigure: one setting at a time, each answered once; a rejected command changes nothing.
func TestConfigure(t *testing.T) {
	for name, c := range map[string]struct {
		cmd    contract.Configure
		want   Change
		answer string
	}{
		"nothing":         {contract.Configure{}, Nothing, "changes nothing"},
		"two":             {contract.Configure{Model: "m", Allow: "Bash(ls)"}, Nothing, "allow and model are given"},
		"a model":         {contract.Configure{Model: "m"}, Model, ""},
		"an unknown mode": {contract.Configure{Permissions: "x"}, Nothing, "no permission mode"},
		"a risk":          {contract.Configure{Permissions: "allow-all"}, Nothing, "i_accept_the_risk"},
		"of one agent":    {contract.Configure{Permissions: "rules", ID: "orch-1"}, Nothing, "leave out id"},
		"the same mode":   {contract.Configure{Permissions: "ask"}, Nothing, "already"},
		"a mode":          {contract.Configure{Permissions: "rules"}, Policy, "permissions: rules"},
		"no rule":         {contract.Configure{Deny: "Bash("}, Nothing, "deny: "},
		"the same rule":   {contract.Configure{Allow: "Bash(ls)"}, Nothing, "is a rule already"},
		"a rule":          {contract.Configure{Deny: "Bash(rm *)"}, Policy, "from now on: deny Bash(rm *)"},
	} {
		o := runconfig.Options{Permissions: "ask", Allow: []string{"Bash(ls)"}}
		before := o
		var out effect.Collector
		if got := Configure(&out, &o, "r", c.cmd); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
		answer := ""
		for _, e := range out.Effects() {
			switch b := e.(effect.Emit).Event.Body.(type) {
			case contract.Accepted:
				answer += b.Message
			case contract.Rejected:
				answer += b.Message
			}
		}
		if !strings.Contains(answer, c.answer) || (answer == "") != (c.want == Model) {
			t.Errorf("%s: answered %q", name, answer)
		}
		if same := SameRules(&before, &o); same != (c.want != Policy) {
			t.Errorf("%s: the rules are the same: %v", name, same)
		}
	}
}
