package tui

import (
	"context"
	"fmt"
	"strings"

	"github.com/arbiter-cli/arbiter/sanitize"
	"github.com/arbiter-cli/arbiter/tui/render"
	"github.com/arbiter-cli/arbiter/tui/view"
)

// lack is what prevents the start of a run.
type lack struct {
	title, why string
	install    bool // Claude Code has to be installed
	login      bool // a login is missing
}

// What may be missing.
var (
	noClaude = lack{"I have no voice yet.", "Arbiter works through Claude Code, the program claude, and found none.",
		true, false}
	oddClaude = lack{"This voice does not answer.", "was found, but Arbiter cannot drive it.", true, false}
	loggedOut = lack{"I do not know you yet.", "is installed, but you are not logged in. Log in with your Claude " +
		"account, or set ANTHROPIC_API_KEY and start again.", false, true}
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
	if l.login {
		choices = append([]view.PageChoice{{Value: "login", Key: 'l', Label: "Log in, here"}}, choices...)
	}
	g := ds.show(view.AskData{Title: l.title, Tone: render.Alert, Choices: choices,
		Body: func(width int) []render.Line { return ds.firstLines(l, width) }}, ds.answerFirst)
	g.first = true
	g.dismiss = ds.d.f.Leave
	g.answer = func(value string) {
		if value == "rehearse" {
			g.close()
		}
		ds.answerFirst(value) // it stays open while the rest is looked at again: keys are not typed into the input
	}
}

// firstLines explains what is missing.
func (ds *dialogs) firstLines(l *lack, width int) []render.Line {
	f := ds.d.session.found
	why := l.why
	if l != &noClaude {
		why = strings.TrimSpace("claude "+view.SlashWord(f.Claude)) + " " + why
	}
	lines := render.WrapText(render.Base, why, width)
	if l.install {
		lines = append(lines, nil, render.Of(render.Code, "npm install -g @anthropic-ai/claude-code"), nil)
		lines = append(lines, render.WrapText(render.Dim,
			"If it is somewhere else, name it: arbiter --claude PATH, or set ARBITER_CLAUDE.", width)...)
	}
	if p := ds.d.session.begun.failure.Message; p != "" {
		lines = append(lines, render.WrapText(render.Warn, sanitize.Line(p, 500), width)...)
	} else if f.Problem != "" {
		lines = append(lines, render.WrapText(render.Warn, sanitize.Line(f.Problem, 500), width)...)
	}
	if f.Path != "" {
		lines = append(lines, render.WrapText(render.Dim, "Found at "+view.SlashWord(f.Path), width)...)
	}
	return lines
}

// answerFirst performs what was chosen.
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

// quit is the answer that leaves the program.
const quit = "quit"

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
		ds.d.flash("This workspace is trusted. `arbiter trust --revoke` takes that back.")
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
	g := ds.show(view.AskData{
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
	g.ask.Arm(now())
}

func (ds *dialogs) answerTrust(value string) {
	switch value {
	case quit:
		ds.d.f.Leave()
	case yes:
		ds.d.f.work(func(ctx context.Context) {
			err := ds.d.f.options.Host.Trust(ctx)
			ds.d.f.post(func() {
				if err != nil {
					ds.d.flash("Not trusted: " + sanitize.Line(err.Error(), 300))
					return
				}
				ds.d.session.found.Trusted, ds.d.session.found.Trust = true, Trust{}
				ds.d.screen().renew()
				ds.d.flash("Trusted, as it is now. Its configuration file counts from the next start.")
			})
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
		for _, l := range render.WrapText(role, text, max(width-2, 1)) {
			lines = append(lines, append(render.Line{{Text: "  ", Role: render.Base}}, l...))
		}
	}
	return lines
}
