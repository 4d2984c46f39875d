package policy

import (
	"encoding/json"
	"path/filepath"
	"testing"

	"github.com/arbiter-cli/arbiter/rehearsal/corpus"
)

// TestAttacks: what a deny or ask rule of its group is about, it denies or asks about. The real CLI and bash show
// in other tests what each line does.
func TestAttacks(t *testing.T) {
	for i, g := range corpus.Attacks(t, "../..") {
		if len(g.Deny)+len(g.Ask) == 0 {
			continue
		}
		place := corpus.NewAttackPlace(t, filepath.Join(t.TempDir(), "place"), g)
		p := Policy{CWD: place.Work, Home: place.Home, Deny: mustRules(t, g.Deny...), Ask: mustRules(t, g.Ask...)}
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
			if d := p.Decide(r); d.Behavior != Deny && d.Behavior != Ask {
				t.Errorf("row %d, group %d, deny %v ask %v: no rule is about %s", g.Row, i, g.Deny, g.Ask, a.Text())
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
		p := Policy{CWD: place, Home: filepath.Join(place, "home")}
		if deny {
			p.Deny = mustRules(t, rules...)
		} else {
			p.Ask = mustRules(t, rules...)
		}
		asked := 0
		for _, l := range corpus.DailyLines(t, "../..").Lines {
			d := p.Decide(Request{Tool: "Bash", Input: bashInput(l.Line)})
			if d.By == ByRule && !l.Asks {
				t.Errorf("%q: %s", l.Line, d.Reason)
			}
			if d.By == ByRule {
				asked++
				t.Logf("%s %q: %s", d.Behavior, l.Line, d.Reason)
			}
		}
		t.Logf("%d lines with a question or a denial", asked)
	}
}
