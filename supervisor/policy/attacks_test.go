package policy

import (
	"encoding/json"
	"path/filepath"
	"testing"

	"github.com/arbiter-cli/arbiter/rehearsal/corpus"
)

// TestAttacks: no line of testdata/commands/attacks.yaml is allowed by any mode, by any rule of its group, or
// as harmless. The same lines are played with the real CLI in cmd/arbiter.
func TestAttacks(t *testing.T) {
	for i, g := range corpus.Attacks(t, "../..") {
		place := corpus.NewAttackPlace(t, filepath.Join(t.TempDir(), "place"), g)
		for _, mode := range g.Modes {
			p := Policy{Mode: Mode(mode), CWD: place.Work, Home: place.Home,
				Allow: mustRules(t, g.Allow...), Deny: mustRules(t, g.Deny...), Ask: mustRules(t, g.Ask...)}
			for _, a := range g.Attacks {
				if a.Harmless {
					continue
				}
				r := Request{Tool: "Bash", Input: bashInput(a.Text()), CWD: filepath.Join(place.Work, a.CWD)}
				if a.Tool != "" {
					input, err := json.Marshal(a.Input)
					if err != nil {
						t.Fatal(err)
					}
					r.Tool, r.Input = a.Tool, input
				}
				d := p.Decide(r)
				harmless := (p.Mode == ModeRules || a.Check != "") && d.By == ByMode && p.Harmless(r)
				if d.Behavior == Allow || harmless {
					t.Errorf("row %d, group %d, mode %s, allow %v deny %v ask %v: %s\n  is allowed (%s, harmless %v)",
						g.Row, i, mode, g.Allow, g.Deny, g.Ask, a.Text(), d.Reason, harmless)
				}
			}
		}
	}
}

// TestDailyLines: for lines that engineers' agents run every day, and that the CLI runs without a question,
// there is never a doubt about a rule that is not about them.
func TestDailyLines(t *testing.T) {
	place := t.TempDir()
	corpus.DailyPlace(t, place)
	rules := []string{"Bash(git push *)", "Bash(rm -rf *)", "Bash(sudo *)", "Bash(npm publish *)", "Edit(.env)"}
	for _, deny := range []bool{true, false} {
		p := Policy{Mode: ModeAsk, CWD: place, Home: filepath.Join(place, "home")}
		if deny {
			p.Deny = mustRules(t, rules...)
		} else {
			p.Ask = mustRules(t, rules...)
		}
		for _, l := range corpus.DailyLines(t, "../..").Lines {
			d := p.Decide(Request{Tool: "Bash", Input: bashInput(l.Line)})
			if d.By == ByRule && !l.Asks {
				t.Errorf("%q: %s", l.Line, d.Reason)
			}
		}
	}
}
