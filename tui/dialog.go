package tui

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	"github.com/gdamore/tcell/v2"

	"github.com/arbiter-cli/arbiter/sanitize"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/tui/keys"
	"github.com/arbiter-cli/arbiter/tui/render"
	"github.com/arbiter-cli/arbiter/tui/view"
)

// dialog is a question to the person, over everything else.
type dialog struct {
	ask     *view.Ask
	own     bool // it was opened by an event, not by a key
	typed   rune // the letter that opened it, which may be the first of a word
	depth   int  // how many screens there were when it was opened
	twice   bool // pressing the key that opened it again means yes
	answer  func(value string)
	close   func()
	first   bool   // it says what prevents the start of a run
	dismiss func() // called when the user closes it without an answer
	renote  func() // refreshes what changes while it is open; may be nil

	context keys.Context             // the keys that work in it
	act     func(a keys.Action) bool // performs actions that only this dialog has; may be nil
	row     func(i int)              // a row of its list was clicked
}

// Values of answers.
const (
	yes    = "yes"
	no     = "no"
	why    = "why"
	detach = "detach"
	quit   = "quit" // leaves the program
	// On a card of the tour.
	onward   = "next"
	backward = "back"
)

// key answers the dialog, scrolls it, or closes it. It returns false if the key was meant for something
// else.
func (g *dialog) key(e *tcell.EventKey, key string) bool {
	early := g.own && !g.ask.Armed(now())
	if e.Key() == tcell.KeyRune && e.Modifiers()&(tcell.ModAlt|tcell.ModCtrl) == 0 {
		value, ok := g.ask.Press(e.Rune(), now())
		if ok {
			g.typed = e.Rune()
			g.answer(value)
			return true
		}
		if early || g.own && g.typed != 0 {
			return false // the user is typing
		}
	}
	a, ok := keys.Look(g.context, key)
	if !ok {
		return false
	}
	if g.act != nil && g.act(a) {
		return true
	}
	switch a {
	case keys.NextChoice:
		g.ask.Next()
	case keys.PrevChoice:
		g.ask.Prev()
	case keys.Choose:
		if value, ok := g.ask.Choose(now()); ok {
			g.typed = 0
			g.answer(value)
		}
	case keys.Back:
		g.dismiss()
	case keys.Leave:
		if !g.twice {
			g.dismiss()
			return false // and ask whether to leave
		}
		g.answer(yes) // pressed twice means yes
	case keys.Detach:
		if !g.twice {
			return false
		}
		g.answer(detach)
	default:
		return leaf(g.ask, a)
	}
	return true
}

func (g *dialog) mouse() mouseHandler {
	return wheel(g.ask, func(x, y int) {
		if i, ok := g.ask.Row(x, y); ok && g.row != nil {
			g.row(i)
		} else if value, ok := g.ask.Click(x, y, now()); ok {
			g.answer(value)
		}
	})
}

// dialogs is the layer over the screens that holds the open dialog.
type dialogs struct {
	d          *app
	open       *dialog // nil: none is open
	trustAsked bool    // the user was asked whether the workspace is trusted
}

// asking returns the visible dialog, or nil: a page or a list that was opened over a dialog hides it, and returns to
// it.
func (ds *dialogs) asking() *dialog {
	if ds.open == nil || len(ds.d.screens) > ds.open.depth || ds.d.picker.open() {
		return nil
	}
	return ds.open
}

func (ds *dialogs) show(data view.AskData, answer func(string)) *dialog {
	g := &dialog{ask: view.NewAsk(ds.d.look), depth: len(ds.d.screens), context: keys.Ask}
	g.ask.Set(data)
	g.close = func() {
		if ds.open == g {
			ds.open = nil
		}
	}
	g.dismiss = func() { g.close() }
	g.answer = func(value string) { g.close(); answer(value) }
	ds.open = g
	return g
}

// arrive shows a dialog that no key has asked for: for a moment keys are meant for something else.
func (ds *dialogs) arrive(data view.AskData, answer func(string)) *dialog {
	g := ds.show(data, answer)
	g.ask.Arm(now())
	return g
}

func wrapped(text string) func(width int) []render.Line {
	return func(width int) []render.Line { return render.WrapText(render.Base, text, width) }
}

// showText shows a text that has to be read; it stays until the person closes it.
func (ds *dialogs) showText(title, text string) {
	ds.arrive(view.AskData{
		Title: title, Tone: render.Alert, Body: wrapped(sanitize.Text(text)),
		Choices: []view.PageChoice{{Value: yes, Key: 'y', Label: "So be it"}},
	}, func(string) {})
}

// showReport shows what came of a long action: its report, or why it was not done.
func (ds *dialogs) showReport(done, report string, err error) {
	ds.d.word = flash{}
	if err != nil {
		done, report = "Not "+strings.ToLower(done), err.Error()
	}
	ds.showText(done, report)
}

// askResume says that the process of the run has gone, and offers to continue it.
func (ds *dialogs) askResume() {
	ds.show(view.AskData{
		Title: "The run was interrupted", Tone: render.Alert,
		Body: wrapped("The process that played it was killed or crashed. Its agents have ended with it; nothing that was " +
			"recorded is lost. Later: /resume, or arbiter --resume" + ds.d.session.found.State + "."),
		Choices: []view.PageChoice{
			{Value: yes, Key: 'r', Label: "Resume it"},
			{Value: no, Key: 'n', Label: "Not now"},
		},
	}, func(value string) {
		if value == yes {
			ds.d.session.resume()
		}
	}).own = true
}

func (ds *dialogs) askLeave() {
	if ds.d.session.leaving {
		ds.d.session.run.Stop() // in a hurry
		ds.d.flash("In haste, then.")
		return
	}
	if !ds.d.session.runs() && !ds.d.session.begun.starting || ds.d.playback() != nil {
		ds.d.f.Leave()
		return
	}
	head := []render.Line{render.Of(render.Base,
		"Stop: the agents end cleanly, and arbiter --resume"+ds.d.session.found.State+" continues the run."),
		render.Of(render.Base, "Leave it running: arbiter"+ds.d.session.found.State+" in this directory shows it again.")}
	if ds.d.plan.unsaved() {
		head = append(head, render.Of(render.Warn, "Your changes to the plan are not saved."))
	}
	ds.show(view.AskData{
		Title: "Leave?", Tone: render.Alert, Head: head,
		Choices: []view.PageChoice{
			{Value: no, Key: 'n', Label: "Stay"},
			{Value: yes, Key: 'y', Label: "Stop and leave"},
			{Value: detach, Key: 'd', Label: "Leave it running"},
		},
		Note: "Ctrl+C again stops it. Ctrl+D leaves it running.",
	}, func(value string) {
		switch value {
		case yes:
			ds.d.session.leave()
		case detach:
			ds.d.session.detach()
		}
	}).twice = true
}

func (ds *dialogs) askKill(id string) {
	switch {
	case id == "":
		ds.d.flash("Mark an Orchestrator first: Tab.")
		return
	case id == contract.Arbiter:
		ds.d.flash("Without the Arbiter there is no run: /cancel ends it.")
		return
	}
	ds.sure("End "+ds.d.session.name(id)+"?", "Let it work", "End it", func() { ds.d.session.send(contract.Kill{ID: id}) },
		render.Of(render.Base, "Its turn is cut off. What it did stays in the files, and a record of it is passed on."))
}

// sure asks before an action that cannot be undone.
func (ds *dialogs) sure(title, keep, label string, do func(), head ...render.Line) {
	ds.show(view.AskData{
		Title: title, Tone: render.Danger, Head: head,
		Choices: []view.PageChoice{{Value: no, Key: 'n', Label: keep},
			{Value: yes, Key: 'y', Label: label, Irreversible: true}},
	}, func(value string) {
		if value == yes {
			do()
		}
	})
}

func (ds *dialogs) askEnd(title string, do func()) bool {
	return ds.confirm(title,
		"Every agent is stopped in the middle of what it does, with all that its tools have started. What is in the "+
			"files stays; what was left half-done is said at the end.", "End it", do)
}

// confirm asks before an action on the run that cannot be undone.
func (ds *dialogs) confirm(title, text, label string, do func()) bool {
	if !ds.d.session.runs() {
		ds.d.session.noRun()
		return false
	}
	ds.sure(title, "No", label, do, render.Of(render.Base, text))
	return true
}

// showTour shows a card of the tour, from 0.
func (ds *dialogs) showTour(at int) {
	steps := view.TourSteps()
	step := steps[at]
	data := view.AskData{
		Title: fmt.Sprintf("A tour %s %d of %d: %s", ds.d.look.Glyphs.Separator, at+1, len(steps), step.Title),
		Tone:  render.FrameFocus,
		Body:  wrapped(step.Text),
		Note:  "Esc ends the tour.",
	}
	if at+1 < len(steps) {
		data.Choices = append(data.Choices, view.PageChoice{Value: onward, Key: 'n', Label: "Next"})
	}
	if at > 0 {
		data.Choices = append(data.Choices, view.PageChoice{Value: backward, Key: 'b', Label: "Back"})
	}
	data.Choices = append(data.Choices, view.PageChoice{Value: no, Key: 'e', Label: "End"})
	if at+1 == len(steps) {
		data.Focus = len(data.Choices) - 1
	}
	ds.show(data, func(value string) {
		switch value {
		case onward:
			ds.showTour(at + 1)
		case backward:
			ds.showTour(at - 1)
		}
	})
}

// lack is what prevents the start of a run.
type lack struct{ title, why string }

// What may be missing.
var (
	noClaude  = lack{"I have no voice yet.", "Arbiter works through Claude Code, the program claude, and found none."}
	oddClaude = lack{"This voice does not answer.", "was found, but Arbiter cannot drive it."}
	loggedOut = lack{"I do not know you yet.", "is installed, but you are not logged in. Log in with your Claude " +
		"account, or set ANTHROPIC_API_KEY and start again."}
)

// lack returns what prevents the start of a run, as far as known; nil: nothing.
func (s *session) lack() *lack {
	f := s.found
	switch {
	case s.begun.failure.Category == "auth":
		return &loggedOut
	case s.begun.failure.Category == "unsupported":
		return &oddClaude
	case s.begun.failure.Message != "":
		return &noClaude
	case !s.known || s.rehearse || s.state != nil && s.state.Options.Rehearsal:
		return nil
	case f.Claude == "" && f.Missing:
		return &noClaude
	case f.Claude == "":
		return &oddClaude
	case f.Login == LoginNo:
		return &loggedOut
	}
	return nil
}

// askFirst says what is missing, and offers what can be done about it. It stays until something was chosen.
func (ds *dialogs) askFirst(l *lack) {
	choices := []view.PageChoice{{Value: "retry", Key: 't', Label: "Try again"},
		{Value: "rehearse", Key: 'r', Label: "Rehearse: a run with scripted words, at no cost"},
		{Value: quit, Key: 'q', Label: "Quit"}}
	if l == &loggedOut {
		choices = append([]view.PageChoice{{Value: "login", Key: 'l', Label: "Log in, here"}}, choices...)
	}
	was := ds.open
	g := ds.show(view.AskData{Title: l.title, Tone: render.Alert, Choices: choices,
		Body: func(width int) []render.Line { return ds.firstLines(l, width) }}, ds.answerFirst)
	if was == nil || !was.first { // it is new to the person
		g.ask.Arm(now())
	}
	g.first = true
	g.dismiss = ds.d.f.Leave
	g.answer = func(value string) {
		if value == "rehearse" {
			g.close()
		}
		ds.answerFirst(value) // it stays open while the rest is looked at again: keys are not typed into the input
	}
}

func (ds *dialogs) firstLines(l *lack, width int) []render.Line {
	f := ds.d.session.found
	why := l.why
	if l != &noClaude {
		why = strings.TrimSpace("claude "+view.SlashWord(f.Claude)) + " " + why
	}
	lines := render.WrapText(render.Base, why, width)
	if l != &loggedOut {
		lines = append(lines, nil, render.Of(render.Code, "npm install -g @anthropic-ai/claude-code"), nil)
		lines = append(lines, render.WrapText(render.Dim,
			"If it is somewhere else, name it: arbiter --claude PATH, or set ARBITER_CLAUDE.", width)...)
	}
	if p := cmp.Or(ds.d.session.begun.failure.Message, f.Problem); p != "" {
		lines = append(lines, render.WrapText(render.Warn, sanitize.Line(p, 500), width)...)
	}
	if f.Path != "" {
		lines = append(lines, render.WrapText(render.Dim, "Found at "+view.SlashWord(f.Path), width)...)
	}
	return lines
}

func (ds *dialogs) answerFirst(value string) {
	d := ds.d
	failed := &d.session.begun.failure
	switch value {
	case quit:
		d.f.Leave()
	case "login", "retry":
		failed.Message, failed.Category = "", ""
		if value == "login" && !d.outside(Host.Login) {
			return
		}
		d.session.known = false
		if d.word.text == "" {
			d.flash("Patience.")
		}
		d.f.work(d.session.inspect)
	case "rehearse":
		failed.Message, failed.Category = "", ""
		d.session.rehearse, d.session.found.Rehearsal = true, true
		if !d.prompt.input.Empty() {
			d.session.begin(Begin{Task: d.prompt.input.Text(), Rehearse: true})
			d.prompt.input.Clear()
			return
		}
		d.prompt.write()
		d.flash("A rehearsal: say anything, and a scripted model plays.")
	}
}

// beginning returns to the screen before a run, from which nothing is begun if something is missing.
func (d *app) beginning() {
	if _, home := d.screens[0].(*homeScreen); !home {
		d.base(newHomeScreen(d))
	}
	if l := d.session.lack(); l != nil {
		d.dialogs.askFirst(l)
	} else if g := d.dialogs.open; g != nil && g.first {
		g.close()
	}
}

// askTrust asks once, before a run begins, whether files of the workspace may be loaded. A person who is
// writing is not interrupted, and continues without them.
func (ds *dialogs) askTrust() {
	f := ds.d.session.found
	_, idle := ds.d.screen().(*homeScreen)
	if ds.trustAsked || f.Trusted || len(f.Trust.Items) == 0 || f.Rehearsal || ds.d.session.rehearse || !idle ||
		ds.d.session.run != nil || ds.d.session.begun.starting || ds.open != nil || !ds.d.prompt.input.Empty() {
		return
	}
	ds.trustAsked = true
	ds.showTrust()
}

// trustCommand asks whether to trust the workspace, whenever the person wants to.
func (ds *dialogs) trustCommand() {
	f := ds.d.session.found
	switch {
	case f.Rehearsal || ds.d.session.rehearse:
		ds.d.flash("A rehearsal loads nothing of the workspace.")
	case f.Trusted:
		ds.d.flash("This workspace is trusted. `arbiter trust --revoke" + f.State + "` takes that back.")
	case f.Trust.Problem != "":
		ds.d.flash("Its trust is not known: " + sanitize.Line(f.Trust.Problem, 300))
	default:
		ds.showTrust()
	}
}

// showTrust asks whether files of the workspace may be loaded.
func (ds *dialogs) showTrust() {
	f := ds.d.session.found
	head := "This workspace brings along what can run code, or redirect an agent. Nothing of it is loaded unless you " +
		"trust it."
	switch {
	case f.Trust.Changed:
		head = "This workspace is not as you trusted it. Nothing of what it brings along is loaded unless you trust " +
			"it anew."
	case len(f.Trust.Items) == 0:
		head = "This workspace brings along nothing that runs code. Its texts for agents are loaded only if you trust it."
	}
	if len(f.Trust.Texts) > 0 {
		head += " That holds for " + sanitize.Line(strings.Join(f.Trust.Texts, ", "), 200) + ", too."
	}
	items := f.Trust.Items
	// No single key trusts: a task may begin with any letter.
	g := ds.arrive(view.AskData{
		Title: "Trust this workspace?", Tone: render.Alert,
		Head: []render.Line{render.Of(render.Base, head), render.Of(render.Dim, sanitize.Line(f.CWD, 200))},
		Body: func(width int) []render.Line { return trustLines(items, width) },
		Choices: []view.PageChoice{
			{Value: no, Key: 'w', Label: "Go on without"},
			{Value: yes, Label: "Trust it, as it is now", Irreversible: true},
			{Value: quit, Key: 'q', Label: "Quit"},
		},
		Note: "Any change is asked about again.",
	}, ds.answerTrust)
	g.own = true
}

func (ds *dialogs) answerTrust(value string) {
	switch value {
	case quit:
		ds.d.f.Leave()
	case yes:
		ask(ds.d.f, func(ctx context.Context) (Trust, error) { return Trust{}, ds.d.f.options.Host.Trust(ctx) },
			func(asks Trust, err error) {
				if err != nil {
					ds.d.flash("Not trusted: " + sanitize.Line(err.Error(), 300))
					return
				}
				ds.d.session.found.Trusted, ds.d.session.found.Trust = true, asks
				ds.d.screen().renew()
				ds.d.flash("Trusted, as it is now. Its configuration file counts from the next start.")
			})
	default:
		ds.d.f.options.Host.Without()
	}
}

// trustLines lays out the items, file by file, with a mark for changed ones.
func trustLines(items []TrustItem, width int) []render.Line {
	var lines []render.Line
	file := ""
	for _, i := range items {
		if i.File != file {
			file = i.File
			lines = append(lines, render.WrapText(render.Strong, sanitize.Line(file, 300), width)...)
		}
		text := view.SlashWord(i.Kind)
		if i.Name != "" {
			text += " " + sanitize.Line(i.Name, 120)
		}
		text += ": " + sanitize.Line(i.What, 300)
		role := render.Base
		if i.How != "" {
			role, text = render.Warn, fmt.Sprintf("%s: %s", view.SlashWord(i.How), text)
		}
		lines = append(lines, render.Behind(render.Of(render.Base, "  "),
			render.WrapText(role, text, max(width-2, 1)))...)
	}
	return lines
}
