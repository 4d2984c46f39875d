package tui

import (
	"context"
	"strconv"
	"strings"

	"github.com/arbiter-cli/arbiter/supervisor"
	"github.com/arbiter-cli/arbiter/tui/view"
)

// explainCommand shows how a decision was made: that with the given number, or the last one.
func (cs *commands) explainCommand(c view.EditorCommand) bool {
	state, number := cs.d.session.state, 0
	if arg := c.Arg(0); arg != "" {
		n, err := strconv.Atoi(arg)
		if err != nil || n < 1 {
			cs.d.flash("/explain takes the number of a decision, as its line in the conversation has it.")
			return false
		}
		number = n
	}
	if state == nil {
		cs.d.flash("No run is shown, so there is no decision to explain.")
		return false
	}
	run, shown := state.Options.Run, cs.d.screen()
	cs.d.flash("Reading …")
	cs.d.f.work(func(ctx context.Context) {
		text, err := cs.d.f.options.Host.Explain(ctx, run, number)
		cs.d.f.post(func() {
			if cs.d.screen() != shown {
				return // the user went on
			}
			cs.d.word = flash{}
			if err != nil {
				cs.d.flash(err.Error())
				return
			}
			cs.d.open(newTextScreen(cs.d, "THE DECISION", func(*supervisor.State) string { return literally(text) }))
		})
	})
	return true
}

// literally returns a text in a form that is shown unchanged, and not as Markdown.
func literally(text string) string {
	fence := "```"
	for strings.Contains(text, fence) {
		fence += "`"
	}
	return fence + "\n" + text + "\n" + fence
}
