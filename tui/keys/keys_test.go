package keys

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/arbiter-cli/arbiter/internal/testkit"

	"github.com/gdamore/tcell/v2"
)

// TestTableIsSound: within a context a key has one meaning, which the help says, and every row has a help text.
func TestTableIsSound(t *testing.T) {
	for _, c := range Contexts {
		seen := map[string]Action{}
		n := 0
		for _, b := range table {
			if b.Context != c {
				continue
			}
			n++
			testkit.Check(t, b.Help != "" && b.Action != "" && len(b.Keys) != 0, "%s: an incomplete row %+v", c, b)
			for _, k := range b.Keys {
				other, ok := seen[k]
				testkit.Check(t, !ok, "%s: %s leads to %q and to %q", c, k, other, b.Action)
				seen[k] = b.Action
				a, ok := Look(c, k)
				testkit.Check(t, ok && a == b.Action, "%s: %s is looked up as %q", c, k, a)
			}
		}
		testkit.Check(t, n != 0, "%s has no keys", c)
		for _, b := range For(c) {
			for _, k := range b.Keys {
				a, _ := Look(c, k)
				testkit.Check(t, a == b.Action, "%s: the help says that %s does %q, it does %q", c, k, b.Action, a)
			}
		}
	}
	for _, b := range table {
		testkit.Check(t, slices.Contains(Contexts, b.Context), "%q is not a context of the help", b.Context)
	}
	a, ok := Look(Focus, "G")
	testkit.Check(t, ok && a == Bottom, "an agent's stream does not scroll as the conversation does: %q", a)
	a, ok = Look(Ask, "Ctrl+C")
	testkit.Check(t, ok && a == Leave, "one cannot leave from a question: %q", a)
	_, ok = Look(Ask, "G")
	testkit.Check(t, !ok, "a question knows a key that is not its own")
	for _, key := range []string{"y", "a", "w", "n", "r", "1"} {
		a, _ = Look(Ask, key)
		testkit.Check(t, a == Answer, "the help of a question does not name %s: %q", key, a)
	}
}

func TestNames(t *testing.T) {
	for _, tt := range []struct {
		key  tcell.Key
		r    rune
		mod  tcell.ModMask
		want string
	}{
		{tcell.KeyRune, 'j', 0, "j"}, {tcell.KeyRune, 'G', tcell.ModShift, "G"}, {tcell.KeyRune, ' ', 0, "Space"},
		{tcell.KeyRune, 'p', tcell.ModAlt, "Alt+p"},
		{tcell.KeyRune, '1', tcell.ModAlt, "Alt+1"}, {tcell.KeyCtrlD, 4, tcell.ModCtrl, "Ctrl+D"},
		{tcell.KeyEnter, '\r', 0, "Enter"}, {tcell.KeyEnter, '\r', tcell.ModShift, "Shift+Enter"},
		{tcell.KeyEnter, '\r', tcell.ModAlt, "Alt+Enter"},
		{tcell.KeyRune, 'm', tcell.ModCtrl | tcell.ModAlt, "Alt+Enter"},
		{tcell.KeyCtrlJ, '\n', tcell.ModCtrl, "Ctrl+J"}, {tcell.KeyTab, '\t', 0, "Tab"},
		{tcell.KeyBacktab, 0, tcell.ModShift, "Shift+Tab"},
		{tcell.KeyUp, 0, tcell.ModShift, "Shift+Up"}, {tcell.KeyHome, 0, tcell.ModCtrl, "Ctrl+Home"},
		{tcell.KeyF1, 0, 0, "F1"}, {tcell.KeyEsc, 0, 0, "Esc"}, {tcell.KeyPgUp, 0, 0, "PgUp"},
		{tcell.KeyCtrlUnderscore, 0, tcell.ModCtrl, "Ctrl+_"}, {tcell.KeyBackspace2, 0, 0, "Backspace"},
		{tcell.KeyRune, '你', 0, "你"},
	} {
		testkit.Same(t, fmt.Sprintf("%v %q %v is called", tt.key, tt.r, tt.mod), tt.want,
			Name(tcell.NewEventKey(tt.key, tt.r, tt.mod)))
	}
}

// TestFooters: every page has a footer, and each key in it does what the footer says.
func TestFooters(t *testing.T) {
	for _, c := range Contexts {
		hints := Footer(c)
		own := slices.Contains([]Context{Everywhere, Insert, Ask, Inbox, Shell, Pick}, c)
		testkit.Check(t, own == (len(hints) == 0), "the footer of %q is %v", c, hints)
		for i, h := range hints {
			for n, key := range strings.Split(h.Keys, " ") {
				a, ok := Look(c, key)
				testkit.Check(t, ok && a == footers[c][i].actions[n], "%q: %q does %q, not %s", c, key, a, h.Text)
			}
		}
	}
	testkit.Same(t, "the files of a difference are reached by", (Hint{"Tab Shift+Tab", "file"}), Footer(Diff)[5])
}
