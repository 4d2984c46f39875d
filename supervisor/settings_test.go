package supervisor

import (
	"strings"
	"testing"

	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/runconfig"
)

// TestConfigure: one setting at a time, each answered once; a rejected command changes nothing.
func TestConfigure(t *testing.T) {
	for name, c := range map[string]struct {
		cmd    contract.Configure
		policy bool // the rules change
		answer string
	}{
		"nothing":         {contract.Configure{}, false, "changes nothing"},
		"two":             {contract.Configure{Model: "m", Allow: "Bash(ls)"}, false, "allow and model are given"},
		"a model":         {contract.Configure{Model: "m"}, false, "no living agent"},
		"an unknown mode": {contract.Configure{Permissions: "x"}, false, "no permission mode"},
		"a risk":          {contract.Configure{Permissions: "allow-all"}, false, "i_accept_the_risk"},
		"of one agent":    {contract.Configure{Permissions: "rules", ID: "orch-1"}, false, "leave out id"},
		"the same mode":   {contract.Configure{Permissions: "ask"}, false, "already"},
		"a mode":          {contract.Configure{Permissions: "rules"}, true, "permissions: rules"},
		"no rule":         {contract.Configure{Deny: "Bash("}, false, "deny: "},
		"the same rule":   {contract.Configure{Allow: "Bash(ls)"}, false, "is a rule already"},
		"a rule":          {contract.Configure{Deny: "Bash(rm *)"}, true, "from now on: deny Bash(rm *)"},
	} {
		before := runconfig.Options{Permissions: "ask", Allow: []string{"Bash(ls)"}}
		st := &step{State: State{Options: before}}
		st.configure("r", c.cmd)
		answer := ""
		for _, b := range emitted[contract.Accepted](st) {
			answer += b.Message
		}
		for _, b := range emitted[contract.Rejected](st) {
			answer += b.Message
		}
		if !strings.Contains(answer, c.answer) {
			t.Errorf("%s: answered %q", name, answer)
		}
		if same := SameRules(&before, &st.Options); same == c.policy || st.Permission.Changes > 0 != c.policy {
			t.Errorf("%s: the rules are the same: %v", name, same)
		}
	}
}
