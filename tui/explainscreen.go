package tui

import (
	"context"
	"strconv"

	"github.com/arbiter-cli/arbiter/supervisor"
	"github.com/arbiter-cli/arbiter/supervisor/words"
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
	run := state.Options.Run
	cs.d.readText("THE DECISION", func(ctx context.Context) (string, error) {
		text, err := cs.d.f.options.Host.Explain(ctx, run, number)
		return words.Fenced(text), err
	})
	return true
}

// readText shows a text when a worker has read it, unless the person has gone on.
func (d *app) readText(title string, read func(context.Context) (string, error)) {
	shown := d.screen()
	d.flash("Reading …")
	d.f.work(func(ctx context.Context) {
		text, err := read(ctx)
		d.f.post(func() {
			if d.screen() != shown {
				return
			}
			d.word = flash{}
			if err != nil {
				d.flash(err.Error())
				return
			}
			d.open(newTextScreen(d, title, func(*supervisor.State) string { return text }))
		})
	})
}
