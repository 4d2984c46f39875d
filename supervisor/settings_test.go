package supervisor

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
		want   SettingsChange
		answer string
	}{
		"nothing":         {contract.Configure{}, SettingsNothing, "changes nothing"},
		"two":             {contract.Configure{Model: "m", Allow: "Bash(ls)"}, SettingsNothing, "allow and model are given"},
		"a model":         {contract.Configure{Model: "m"}, SettingsModel, ""},
		"an unknown mode": {contract.Configure{Permissions: "x"}, SettingsNothing, "no permission mode"},
		"a risk":          {contract.Configure{Permissions: "allow-all"}, SettingsNothing, "i_accept_the_risk"},
		"of one agent":    {contract.Configure{Permissions: "rules", ID: "orch-1"}, SettingsNothing, "leave out id"},
		"the same mode":   {contract.Configure{Permissions: "ask"}, SettingsNothing, "already"},
		"a mode":          {contract.Configure{Permissions: "rules"}, SettingsPolicy, "permissions: rules"},
		"no rule":         {contract.Configure{Deny: "Bash("}, SettingsNothing, "deny: "},
		"the same rule":   {contract.Configure{Allow: "Bash(ls)"}, SettingsNothing, "is a rule already"},
		"a rule":          {contract.Configure{Deny: "Bash(rm *)"}, SettingsPolicy, "from now on: deny Bash(rm *)"},
	} {
		o := runconfig.Options{Permissions: "ask", Allow: []string{"Bash(ls)"}}
		before := o
		var out effect.Collector
		if got := ConfigureSettings(&out, &o, "r", c.cmd); got != c.want {
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
		if !strings.Contains(answer, c.answer) || (answer == "") != (c.want == SettingsModel) {
			t.Errorf("%s: answered %q", name, answer)
		}
		if same := SameRules(&before, &o); same != (c.want != SettingsPolicy) {
			t.Errorf("%s: the rules are the same: %v", name, same)
		}
	}
}
