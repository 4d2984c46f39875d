package runloop

import (
	"testing"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/rehearsal/corpus"
	"github.com/arbiter-cli/arbiter/supervisor/runconfig"
)

// TestNoQuestionMoreThanTheCLI: Arbiter neither asks about nor denies a daily command line that the CLI allows
// in its default mode, neither without rules nor with rules about something else.
func TestNoQuestionMoreThanTheCLI(t *testing.T) {
	t.Parallel()
	lines := corpus.DailyLines(t, "../..").Lines
	for name, o := range map[string]runconfig.Options{
		"no rules":     {Permissions: "ask"},
		"accept edits": {Permissions: "accept-edits"},
		"deny":         {Permissions: "ask", Deny: []string{"Bash(git push *)", "Bash(rm -rf *)", "Bash(sudo *)"}},
		"typical": {Permissions: "ask", Allow: []string{"Bash(go test *)", "Bash(npm *)", "Bash(git *)", "Edit"},
			Ask: []string{"Bash(git push *)"}, Deny: []string{"Bash(rm -rf *)", "Bash(curl *)"}},
	} {
		l := court(t, o, nil)
		for _, line := range lines {
			if line.Asks {
				continue
			}
			if r, f := judgement(t, l, "orch-1", bashCall(line.Line)); r.Behavior != bridge.Pass {
				t.Errorf("%s: %s by %s %s (%s): %q", name, r.Behavior, f.By, f.Rule, f.Reason, line.Line)
			}
		}
	}
}
