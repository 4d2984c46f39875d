package runloop

import (
	"testing"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/rehearsal/corpus"
	"github.com/arbiter-cli/arbiter/supervisor/policy"
)

// TestNoQuestionMoreThanTheCLI: Arbiter neither asks about nor denies a daily command line that the CLI allows
// in its default mode, neither without rules nor with rules about something else.
func TestNoQuestionMoreThanTheCLI(t *testing.T) {
	t.Parallel()
	lines := corpus.DailyLines(t, "../..").Lines
	for name, p := range map[string]policy.Policy{
		"no rules":     {Mode: policy.ModeAsk},
		"accept edits": {Mode: policy.ModeAcceptEdits},
		"deny":         {Mode: policy.ModeAsk, Deny: rulesFor(t, "Bash(git push *)", "Bash(rm -rf *)", "Bash(sudo *)")},
		"typical": {Mode: policy.ModeAsk, Allow: rulesFor(t, "Bash(go test *)", "Bash(npm *)", "Bash(git *)", "Edit"),
			Ask: rulesFor(t, "Bash(git push *)"), Deny: rulesFor(t, "Bash(rm -rf *)", "Bash(curl *)")},
	} {
		l := court(t, p, nil)
		for _, line := range lines {
			if line.Asks {
				continue
			}
			if r, f := judgement(t, l, "orch-1", bashCall(line.Line)); r.Behavior != bridge.Allow {
				t.Errorf("%s: %s by %s %s (%s): %q", name, r.Behavior, f.By, f.Rule, f.Reason, line.Line)
			}
		}
	}
}
