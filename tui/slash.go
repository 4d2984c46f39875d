package tui

import (
	"cmp"
	"context"
	"strings"
	"time"

	"github.com/arbiter-cli/arbiter/supervisor"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/roster"
	"github.com/arbiter-cli/arbiter/tui/editor"
	"github.com/arbiter-cli/arbiter/tui/render"
	"github.com/arbiter-cli/arbiter/tui/slash"
)

// slashHere are the slash commands of the screen itself.
var slashHere map[string]func(d *app, c editor.Command) bool

func init() { // not at once: they lead back to the app
	always := func(do func(d *app)) func(*app, editor.Command) bool {
		return func(d *app, _ editor.Command) bool { do(d); return true }
	}
	slashHere = map[string]func(d *app, c editor.Command) bool{
		"plan":    always(func(d *app) { d.open(newPlanScreen(d)) }),
		"allow":   (*app).permitCommand,
		"deny":    (*app).permitCommand,
		"focus":   func(d *app, c editor.Command) bool { d.focusOn(c.Arg(0)); return true },
		"logbook": always((*app).openLogbook),
		"halt":    always((*app).halt),
		"attach": func(d *app, c editor.Command) bool {
			d.f.post(func() { d.attach(c.Arg(0)) }) // when the command is out of the input
			return true
		},
		"sessions": always(func(d *app) { d.open(newSessionsScreen(d)) }),
		"resume":   (*app).resumeCommand,
		"file":     (*app).fileCommand,
		"save":     (*app).saveCommand,
		"theme":    (*app).themeCommand,
		"search":   (*app).searchCommand,
		"copy":     always(func(d *app) { d.copy(d.runScreen.talk.words()) }),
		"edit":     always(func(d *app) { d.f.post(d.edit) }), // when the command is out of the input
		"help":     always(func(d *app) { d.open(newHelpScreen(d)) }),
		"quit":     always((*app).askLeave),
	}
}

// slash executes what was written with a slash.
func (d *app) slash(c editor.Command) bool {
	if c.Name == "deny" && d.refusing() {
		return d.permitCommand(c) // whatever the reason reads like
	}
	body, ok, err := slash.For(d.state, c)
	told, answered := slash.Answers[c.Name]
	switch {
	case err != nil:
		d.flash(editor.Sentence(err.Error()))
		return false
	case !ok && answered:
		d.answer(told, c.Arg(0))
		return true
	case !ok:
		return slashHere[c.Name](d, c)
	}
	if say, ok := body.(contract.Say); ok && (d.run == nil || d.over()) {
		return d.say(say.Text) // a first word is one whatever its strength
	}
	body = d.meant(body)
	if !d.order(body) {
		return false
	}
	d.runScreen.talk.Bottom()
	return true
}

// answer shows a text that a command is answered with.
func (d *app) answer(t slash.Answer, arg string) {
	d.open(newTextScreen(d, t.Title, func(s *supervisor.State) string { return t.Text(s, arg) }))
}

// meant addresses what names nobody to the agent that is being written to.
func (d *app) meant(body contract.CommandBody) contract.CommandBody {
	switch b := body.(type) {
	case contract.Say:
		b.To = cmp.Or(b.To, d.to)
		return b
	case contract.Interrupt:
		b.ID = cmp.Or(b.ID, d.to)
		return b
	}
	return body
}

// order sends what was asked for with a slash. What cannot be taken back is asked
// about first.
func (d *app) order(body contract.CommandBody) bool {
	switch b := body.(type) {
	case contract.Cancel:
		return d.askEnd("End the run?", func() { d.send(b) })
	case contract.Reset:
		return d.askReset()
	case contract.ForceAgent:
		return d.modeCommand(b.Mode)
	case contract.Choose:
		return d.take(b.Option)
	case contract.Configure:
		if b.Permissions == allowAll && !b.AcceptRisk {
			return d.askAllowAll(b)
		}
	}
	return d.send(body)
}

// resumeCommand takes a run up again.
func (d *app) resumeCommand(c editor.Command) bool {
	if d.run != nil && !d.over() {
		d.flash("A run is being played. Leave it first: /quit.")
		return false
	}
	id := c.Arg(0)
	for _, r := range d.found.Runs {
		if id == "" || strings.HasPrefix(r.ID, id) {
			d.begin(Begin{Resume: r.ID})
			return true
		}
	}
	if id != "" {
		d.begin(Begin{Resume: id}) // the host knows more runs than those of this directory
		return true
	}
	d.flash("There is no run to take up in this directory.")
	return false
}

func (d *app) fileCommand(c editor.Command) bool {
	if c.Arg(0) == "" {
		d.documents()
	} else {
		d.give(c.Arg(0))
	}
	return true
}

// saveCommand writes the conversation into a file.
func (d *app) saveCommand(c editor.Command) bool {
	name := c.Arg(0)
	if name == "" {
		name = "arbiter-" + time.Now().Format("2006-01-02-150405") + ".md"
	}
	d.flash("Saving …")
	names := d.names()
	d.f.work(func(ctx context.Context) {
		path, err := d.f.options.Host.Save(name, d.f.conversation(ctx, names))
		d.f.post(func() {
			if err != nil {
				d.flash("Not saved: " + err.Error())
			} else {
				d.flash("Saved: " + path)
			}
		})
	})
	return true
}

// themeCommand changes the colours.
func (d *app) themeCommand(c editor.Command) bool {
	o := d.f.options
	o.Theme = c.Arg(0)
	look, err := newLook(o, d.f.screen.Colors())
	if err != nil {
		d.flash(err.Error())
		return false
	}
	d.chosen = true
	d.setLook(look)
	return true
}

func (d *app) searchCommand(c editor.Command) bool {
	d.search.begin(d.runScreen.talk)
	d.search.typing, d.search.text = false, c.Rest
	d.read()
	d.search.next(d, d.runScreen.talk, true)
	return true
}

func (d *app) agents() []*roster.Agent {
	if d.state == nil {
		return nil
	}
	return d.state.Agents
}

func (d *app) agentCandidates() []editor.Candidate {
	var list []editor.Candidate
	for i := range d.agents() {
		if a := d.agents()[i]; a.Alive() {
			list = append(list, editor.Candidate{Text: a.ID, Note: d.name(a.ID)})
		}
	}
	return list
}

func (d *app) modeCandidates() []editor.Candidate {
	var list []editor.Candidate
	for _, m := range slash.Modes(d.state) {
		list = append(list, editor.Candidate{Text: m.Name, Note: slash.Word(m.Description)})
	}
	return list
}

func themeCandidates() []editor.Candidate {
	var list []editor.Candidate
	for _, name := range render.ThemeNames() {
		list = append(list, editor.Candidate{Text: name})
	}
	return list
}

// names is how everybody is called, for a worker.
func (d *app) names() func(string) string {
	s := d.state
	return func(id string) string { return slash.Name(s, id) }
}
