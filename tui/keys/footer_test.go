package keys

import (
	"slices"
	"strings"
	"testing"
)

// TestFooters: every page has a footer, and each key in it does what the footer says.
func TestFooters(t *testing.T) {
	for _, c := range Contexts {
		hints := Footer(c)
		if own := slices.Contains([]Context{Everywhere, Insert, Ask, Inbox, Shell, Pick}, c); own != (len(hints) == 0) {
			t.Errorf("the footer of %q is %v", c, hints)
		}
		for i, h := range hints {
			for n, key := range strings.Split(h.Keys, " ") {
				if a, ok := Look(c, key); !ok || a != footers[c][i].actions[n] {
					t.Errorf("%q: %q does %q, not %s", c, key, a, h.Text)
				}
			}
		}
	}
	if got := Footer(Diff)[5]; got != (Hint{"Tab Shift+Tab", "file"}) {
		t.Errorf("the files of a difference are reached by %+v", got)
	}
}
