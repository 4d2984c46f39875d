package main

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/arbiter-cli/arbiter/supervisor/contract"
)

// dollars matches amounts, with their mark if they have one.
var dollars = regexp.MustCompile(`\$\d+\.\d+( simulated)?`)

// TestDollarsOfARehearsalAreMarked: each amount of a rehearsal is marked as simulated, and usage leaves them
// out.
func TestDollarsOfARehearsalAreMarked(t *testing.T) {
	t.Parallel()
	s := start(t, nil, "--stand-in", "--json", "--scenario", "dialogue", "--task", "Name it", "--max-cost", "0.0123")
	limits := []string{"$0.0123", "$0.01"} // the limit, and its printed form
	await[contract.Budget](s, "word of the limit", nil)
	printed := func(args ...string) {
		t.Helper()
		out, _ := s.output(0, args...)
		found := dollars.FindAllString(out, -1)
		if len(found) == 0 {
			t.Errorf("%v tells no cost:\n%s", args, out)
		}
		for _, amount := range found {
			if !strings.HasSuffix(amount, " simulated") && !slices.Contains(limits, amount) &&
				!strings.Contains(strings.ReplaceAll(out, `\`, ""), "raise the limit to "+amount) {
				t.Errorf("%v prints %s:\n%s", args, amount, out)
			}
		}
	}
	printed("ps")
	printed("status")
	s.finishesAtLimit()
	s.finish(contract.ExitLimit)
	for _, args := range [][]string{{"report"}, {"report", "--format", "html"}, {"report", "--format", "github"},
		{"sessions", "show"}, {"logs"}} {
		printed(append(args, s.run())...)
	}
	if out, _ := s.output(0, "usage"); dollars.MatchString(out) {
		t.Errorf("usage counts a rehearsal:\n%s", out)
	}
}
