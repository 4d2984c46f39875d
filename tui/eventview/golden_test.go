package eventview

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/tui/eventtext"
	"github.com/arbiter-cli/arbiter/tui/tuitest"
)

// TestEveryEvent draws every event of the contract in every way, and compares it with its golden file. An
// event that has no sample fails, so that none is forgotten.
func TestEveryEvent(t *testing.T) {
	all := samples()
	for _, name := range contract.EventNames() {
		if len(all[name]) == 0 {
			t.Errorf("%s has no sample", name)
		}
		t.Run(name, func(t *testing.T) {
			var b strings.Builder
			for i, e := range all[name] {
				if got := e.Event.Body.EventName(); got != name {
					t.Fatalf("the sample is a %s", got)
				}
				plain, ok := eventtext.Text(e, nil)
				fmt.Fprintf(&b, "#%d plain %v\n%s\n", i, ok, plain)
				for _, width := range []int{100, 60, 30, 10} {
					talk := map[bool]string{}
					for _, renderer := range renderers {
						if renderer.name == "raw" && width != 60 {
							continue
						}
						for _, open := range []bool{false, true} {
							o := options(width)
							o.Open = open
							c := renderer.make(e, o)
							if err := sound(c, o); err != nil {
								t.Errorf("#%d %s %d: %v", i, renderer.name, width, err)
							}
							if open && !c.Foldable {
								continue // unchanged
							}
							text := dump(c)
							if renderer.name == "talk" {
								talk[open] = text
							} else if renderer.name == "stream" && text == talk[open] {
								continue
							}
							fmt.Fprintf(&b, "\n#%d %s %d%s\n%s", i, renderer.name, width,
								map[bool]string{true: " open"}[open], text)
						}
					}
				}
				b.WriteByte('\n')
			}
			tuitest.File(t, name, b.String())
		})
	}
	for name := range all {
		if !slices.Contains(contract.EventNames(), name) {
			t.Errorf("%s is not an event of the contract", name)
		}
	}
}

// dump renders a card as text: its gutter's indent, its head with the time after a bar, and its lines
// between bars.
func dump(c View) string {
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
