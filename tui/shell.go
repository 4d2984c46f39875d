package tui

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/arbiter-cli/arbiter/internal/backlog"
	"github.com/arbiter-cli/arbiter/sanitize"
	"github.com/arbiter-cli/arbiter/tui/eventtext"
	"github.com/arbiter-cli/arbiter/tui/keys"
	"github.com/arbiter-cli/arbiter/tui/render"
	"github.com/arbiter-cli/arbiter/tui/view"
)

// shellLimit is the time limit of a person's own command.
const shellLimit = 10 * time.Minute

// shell runs a person's own commands, one at a time, and shows each on a card.
type shell struct {
	d      *app
	card   *view.ShellCard    // the last one; nil: there was none
	cancel context.CancelFunc // ends it
	shown  *dialog            // its card, nil while it is closed
	limit  time.Duration      // of a command
}

// shellLine returns the line of a text such as "!make test"; ok is false for other texts.
func shellLine(text string) (line string, ok bool) {
	line, ok = strings.CutPrefix(text, "!")
	return strings.TrimSpace(line), ok && !strings.HasPrefix(line, "!")
}

// run runs a line. Without one it shows the last card.
func (sh *shell) run(line string) bool {
	switch {
	case sh.card != nil && (line == "" || !sh.card.Over()):
		if line != "" {
			sh.d.flash("Your last command runs. Esc stops it.")
		}
		sh.show()
		return line == ""
	case line == "":
		sh.d.flash("Write a command behind the !, such as !git status.")
		return false
	}
	sh.d.session.remember("!" + line)
	dir := sh.d.session.found.CWD
	if s := sh.d.session.state; s != nil {
		dir = s.Options.CWD
	}
	card := view.NewCard(line, now(), func() { backlog.Hint(sh.d.f.pump.again) })
	ctx, cancel := context.WithTimeout(sh.d.f.ctx, sh.limit)
	sh.card, sh.cancel = card, cancel
	sh.d.f.work(func(context.Context) {
		defer cancel()
		how, err := sh.d.f.options.Host.Shell(ctx, dir, line, card)
		good := err == nil && how == 0
		card.End(sh.end(ctx, how, err), good, now())
		sh.d.f.post(func() {
			if !sh.inSight() {
				sh.d.flash("Your command has ended. ! shows it: " + card.Line())
			}
		})
	})
	sh.show()
	return true
}

func (sh *shell) end(ctx context.Context, code int, err error) string {
	switch {
	case context.Cause(ctx) == context.DeadlineExceeded:
		return "stopped, because it took longer than " + eventtext.Span(sh.limit)
	case ctx.Err() != nil:
		return "stopped"
	case err != nil:
		return sanitize.Line(err.Error(), 300)
	}
	return fmt.Sprintf("exit code %d", code)
}

func (sh *shell) show() {
	g := sh.d.dialogs.show(sh.data(), nil)
	sh.shown = g
	g.context = keys.Shell
	g.answer = func(string) { sh.add() }
	g.dismiss = func() {
		if sh.card.Over() {
			g.close()
			return
		}
		sh.cancel()
	}
	g.act = sh.act
	sh.renew()
}

// inSight reports whether the card is open, even behind a page.
func (sh *shell) inSight() bool { return sh.shown != nil && sh.d.dialogs.open == sh.shown }

func (sh *shell) renew() {
	if sh.inSight() {
		sh.shown.ask.Renew(sh.data())
		sh.shown.ask.Follow()
	}
}

// act performs an action that only the card has.
func (sh *shell) act(a keys.Action) bool {
	switch a {
	case keys.Choose:
		sh.add()
	case keys.Copy:
		sh.d.copy(sh.card.Text())
	default:
		return false
	}
	return true
}

// add adds the output to the input, for the addressed agent, once the command has ended.
func (sh *shell) add() {
	if !sh.card.Over() {
		return
	}
	sh.shown.close()
	sh.d.toInput()
	sh.d.prompt.write()
	sh.d.prompt.input.Paste(sh.card.Text())
}

func (sh *shell) data() view.AskData {
	data := view.AskData{
		Title: "Your command", Tone: render.FrameFocus, Head: sh.card.Head(now()), Body: sh.card.Body,
		Choices: []view.PageChoice{{Value: yes, Label: "Add it to the input"}},
		Note:    "Esc closes it.",
	}
	if !sh.card.Over() {
		data.Choices, data.Note = nil, "Esc stops it, with all that it has started."
	}
	return data
}
