package view

import (
	"strings"
	"testing"

	"github.com/arbiter-cli/arbiter/tui/keys"
)

// TestSteps: each step names keys that exist, and can be read in a few seconds.
func TestSteps(t *testing.T) {
	words := 0
	for _, s := range TourSteps() {
		if s.Title == "" || strings.ContainsAny(s.Text, "{}\t") || strings.Contains(s.Text, "  ") {
			t.Errorf("%s: %s", s.Title, s.Text)
		}
		words += len(strings.Fields(s.Text))
	}
	if words > 250 {
		t.Errorf("%d words are read in more than a minute", words)
	}
	for word, p := range named {
		if a, ok := keys.Look(p.context, keys.KeyOf(p.context, p.action)); !ok || a != p.action {
			t.Errorf("no key of %q does %s", p.context, p.action)
		}
		used := false
		for _, s := range tourTexts {
			used = used || strings.Contains(s.Text, "{"+word+"}")
		}
		if !used {
			t.Errorf("no step names %s", word)
		}
	}
}
