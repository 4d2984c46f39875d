package view

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/tui/eventtext"
	"github.com/arbiter-cli/arbiter/tui/tuitest"
)

// TestEveryEvent draws every event of the contract in every way. One width is compared with a golden file; at every
// other one the cards are sound, and an unfolded card has the same text. An event that has no sample fails, so that
// none is forgotten.
func TestEveryEvent(t *testing.T) {
	all := samples()
	var b strings.Builder
	for _, name := range contract.EventNames() {
		if len(all[name]) == 0 {
			t.Errorf("%s has no sample", name)
		}
		for i, e := range all[name] {
			if got := e.Event.Body.EventName(); got != name {
				t.Fatalf("the sample of %s is a %s", name, got)
			}
			plain, _ := eventtext.Text(e, nil)
			fmt.Fprintf(&b, "%s %d\n%s\n%s", name, i, strings.TrimRight(plain, "\n"), dump(EventLog(e, options(100), false)))
			drawn := map[string]bool{"": true}
			for _, renderer := range renderers {
				for _, open := range []bool{false, true} {
					o := options(60)
					o.Open = open
					c := renderer.make(e, o)
					if text := dump(c); (renderer.name == "talk" || renderer.name == "stream") && !drawn[text] {
						drawn[text] = true
						fmt.Fprintf(&b, "%s:\n%s", renderer.name, text)
					}
					for _, width := range []int{100, 60, 30, 10} {
						o.Width = width
						narrow := renderer.make(e, o)
						if err := sound(narrow, o); err != nil {
							t.Errorf("%s %d, %s, %d columns: %v", name, i, renderer.name, width, err)
						}
						got, want := lettersEvent(narrow), lettersEvent(c)
						whole := open && width >= 30 && renderer.name != "log" && !strings.Contains(got+want, "…")
						if whole && got != want {
							t.Errorf("%s %d, %s: %d columns show %q, 60 columns %q", name, i, renderer.name, width, got, want)
						}
					}
				}
			}
			b.WriteByte('\n')
		}
	}
	for name := range all {
		if !slices.Contains(contract.EventNames(), name) {
			t.Errorf("%s is not an event of the contract", name)
		}
	}
	tuitest.File(t, "events", b.String())
}

// lettersEvent returns the text of a card without blanks and separators, which is the same however its lines are
// wrapped.
func lettersEvent(c EventView) string {
	return strings.Join(strings.Fields(strings.NewReplacer("·", "", "─", "").Replace(textEventOf(c))), "")
}

// dump renders a card as text: its gutter's indent, its head with the time after a bar, and its lines
// between bars.
func dump(c EventView) string {
	var b strings.Builder
	indent := strings.Repeat(" ", c.Indent*IndentColumns)
	if n := len(c.Head); n > 0 {
		fmt.Fprintf(&b, "%s== %s | %s\n", indent, c.Head[:n-1].Text(), c.Head[n-1].Text)
	}
	for _, l := range c.Lines {
		fmt.Fprintf(&b, "%s|%s\n", indent, l.Text())
	}
	if c.Foldable {
		b.WriteString(indent + "(folds)\n")
	}
	return b.String()
}
