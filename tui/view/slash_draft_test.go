package view

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/arbiter-cli/arbiter/supervisor/contract"
)

// laidSlash parses a plan in short form: "*build:tester" is an active step for the tester.
func laidSlash(short string) []contract.Step {
	plan := []contract.Step{}
	status := map[byte]string{'*': "active", '+': "done", '-': "skipped", '!': "failed"}
	for s := range strings.FieldsSeq(short) {
		step := contract.Step{Status: contract.StepPending}
		if st := status[s[0]]; st != "" {
			step.Status, s = st, s[1:]
		}
		step.Text, step.Mode, _ = strings.Cut(s, ":")
		plan = append(plan, step)
	}
	return plan
}

// TestDraftFollows: changes by the user and by the run to different things are all in the merged plan; if
// both changed the same thing, the user's version wins, and that is reported.
func TestDraftFollows(t *testing.T) {
	for name, tt := range map[string]struct {
		base   string
		mine   func(d *Draft)
		theirs string
		want   string
		clash  string // of what; empty: none
	}{
		"untouched": {"read build", func(*Draft) {}, "+read *build", "+read *build", ""},
		"other steps": {"*read build", func(d *Draft) { d.Mark(1, "skipped") }, "+read build", "+read -build",
			""},
		"other fields": {"read build", func(d *Draft) { d.SetMode(1, "tester") }, "read *build",
			"read *build:tester", ""},
		"the same": {"read build", func(d *Draft) { d.Mark(0, "done") }, "+read *build", "+read *build", ""},
		"one field": {"read build", func(d *Draft) { d.Mark(1, "skipped") }, "+read +build", "+read -build",
			"build"},
		"my text, their mark": {"read build", func(d *Draft) { d.SetText(1, "forge") }, "read *build", "read *forge",
			""},
		"both texts": {"read build", func(d *Draft) { d.SetText(1, "forge") }, "read cast", "read forge",
			"text"},
		"mine is added": {"read build", func(d *Draft) { d.Add(1, "plan") }, "+read build", "+read plan build",
			""},
		"theirs is added": {"read build", func(d *Draft) { d.Mark(0, "done") }, "read think build ship",
			"+read think build ship", ""},
		"both add":     {"read", func(d *Draft) { d.Add(1, "mine") }, "read theirs", "read theirs mine", ""},
		"both add one": {"read", func(d *Draft) { d.Add(1, "ship") }, "read *ship", "read *ship", ""},
		"mine is moved": {"read build ship", func(d *Draft) { d.Move(2, -2) }, "+read build ship",
			"ship +read build", ""},
		"mine is deleted": {"read build ship", func(d *Draft) { d.Delete(1) }, "+read build ship", "+read ship",
			""},
		"deleted, and done": {"read build ship", func(d *Draft) { d.Delete(1) }, "read +build ship", "read ship",
			"build"},
		"theirs is gone": {"read build ship", func(d *Draft) { d.Mark(0, "done") }, "read ship", "+read ship", ""},
		"gone, but changed": {"read build ship", func(d *Draft) { d.SetMode(1, "tester") }, "read ship",
			"read build:tester ship", "build"},
		"another plan":        {"read build", func(d *Draft) { d.Mark(0, "done") }, "a b c", "a b c +read", "read"},
		"emptied":             {"read build", func(d *Draft) { d.Mark(0, "done") }, "", "+read", "read"},
		"twice the same text": {"go go", func(d *Draft) { d.Mark(1, "skipped") }, "+go go", "+go -go", ""},
	} {
		t.Run(name, func(t *testing.T) {
			d := NewDraft(laidSlash(tt.base))
			tt.mine(d)
			d.Follow(laidSlash(tt.theirs))
			if diff := cmp.Diff(laidSlash(tt.want), d.Steps()); diff != "" {
				t.Errorf("merged (-want +got):\n%s", diff)
			}
			clashes := strings.Join(d.Clashes(), "\n")
			if tt.clash == "" != (clashes == "") || !strings.Contains(clashes, tt.clash) {
				t.Errorf("clashes %q, want of %q", clashes, tt.clash)
			}
			if d.Follow(laidSlash(tt.theirs)) {
				t.Error("what is merged is merged again")
			}
			if changed := tt.want != tt.theirs; d.Changed() != changed {
				t.Errorf("changed: %v", !changed)
			}
		})
	}
}

// TestDraftLosesNothing: whatever both do, a step that one of them added or changed and the other left
// alone is in the merged plan, exactly once.
func TestDraftLosesNothing(t *testing.T) {
	for seed := range uint64(3000) {
		r := rand.New(rand.NewPCG(seed, 6))
		base := laidSlash("a b c d e")[:r.IntN(6)]
		d, theirs := NewDraft(base), slices.Clone(base)
		added := func(who string) string { return who + string(rune('A'+r.IntN(20))) }
		var mine []string
		for range 1 + r.IntN(4) {
			switch n := d.Len(); {
			case n == 0 || r.IntN(3) == 0:
				text := added("m")
				mine = append(mine, text)
				d.Add(r.IntN(n+1), text)
			case r.IntN(2) == 0:
				d.Move(r.IntN(n), r.IntN(5)-2)
			default:
				d.Mark(r.IntN(n), "done")
			}
		}
		var other []string
		for range r.IntN(4) {
			text := added("t")
			if slices.Contains(other, text) {
				continue
			}
			other = append(other, text)
			theirs = slices.Insert(theirs, r.IntN(len(theirs)+1), contract.Step{Text: text, Status: "pending"})
		}
		before := d.Steps()
		d.Follow(theirs)
		got := d.Steps()
		if want := len(before) + len(other); len(got) != want {
			t.Fatalf("seed %d: %d steps, want %d: %v", seed, len(got), want, got)
		}
		for _, s := range before {
			if !slices.Contains(got, s) {
				t.Fatalf("seed %d: %v is lost: %v", seed, s, got)
			}
		}
		for _, text := range slices.Concat(mine, other) {
			if !slices.ContainsFunc(got, func(s contract.Step) bool { return s.Text == text }) {
				t.Fatalf("seed %d: %q is lost: %v", seed, text, got)
			}
		}
		if len(d.Clashes()) > 0 {
			t.Fatalf("seed %d: %v", seed, d.Clashes())
		}
	}
}
