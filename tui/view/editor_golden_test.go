package view

import (
	"fmt"
	"strings"
	"testing"

	"github.com/arbiter-cli/arbiter/tui/render"
	"github.com/arbiter-cli/arbiter/tui/tuitest"
)

func TestComposerGolden(t *testing.T) {
	for _, size := range [][2]int{{78, 4}, {38, 4}, {38, 1}, {14, 6}} {
		r := newRig(t, size[0], size[1])
		var b strings.Builder
		show := func(name string) {
			r.draw()
			fmt.Fprintf(&b, "%s (%d rows)\n%s", name, r.c.Rows(r.width, 10),
				rows(r.screen, r.x, r.y, r.width, r.height))
		}
		r.c.SetPlaceholder("Speak, mortal.")
		show("empty")
		r.write("Build a parser for the language of the old ones, 漢字 and all, and prove that it is right.\nThen rest.")
		show("written")
		r.press("Up", "Home", "Shift+Right", "Shift+Right", "Shift+Right")
		show("selected")
		r.c.Clear()
		r.c.SetTo("to Orchestrator II", "steer", render.SpeakerOrch2)
		r.write("see ")
		r.c.Paste(strings.Repeat("a line of the log\n", 12345))
		r.c.Insert(" [red]for[-] what\twent wrong 👨‍👩‍👧‍👦")
		show("to somebody, with a paste")
		b.WriteString(styles(r.screen, r.x, r.y, r.width, r.height))
		r.c.Clear()
		r.write("/summon architect")
		show("a command")
		tuitest.File(t, fmt.Sprintf("composer-%dx%d", size[0], size[1]), b.String())
	}
}
