package tui

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/arbiter-cli/arbiter/sanitize"
	"github.com/arbiter-cli/arbiter/supervisor"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/words"
	"github.com/arbiter-cli/arbiter/tui/view"
)

// commands executes slash commands.
type commands struct{ d *app }

// slashHere are the slash commands of the screen itself.
var slashHere map[string]func(d *app, c view.EditorCommand) bool

func init() { // in init, because they refer to the app
	always := func(do func(d *app)) func(*app, view.EditorCommand) bool {
		return func(d *app, _ view.EditorCommand) bool { do(d); return true }
	}
	slashHere = map[string]func(d *app, c view.EditorCommand) bool{
		"now": always(func(d *app) {
			d.open(newTextScreen(d, "WHAT GOES ON", func(s *supervisor.State) string {
				return view.Now(s, d.session.work, d.now())
			}))
		}),
		"plan":    always(func(d *app) { d.open(newPlanScreen(d)) }),
		"allow":   func(d *app, c view.EditorCommand) bool { return d.permissions.permitCommand(c) },
		"deny":    func(d *app, c view.EditorCommand) bool { return d.permissions.permitCommand(c) },
		"focus":   func(d *app, c view.EditorCommand) bool { d.focusOn(c.Arg(0)); return true },
		"logbook": always(func(d *app) { d.open(newLogbook(d)) }),
		"halt":    always(func(d *app) { d.session.halt() }),
		"attach": func(d *app, c view.EditorCommand) bool {
			d.f.post(func() { d.session.attach(c.Arg(0)) }) // after the command is removed from the input
			return true
		},
		"inbox":  always(func(d *app) { d.f.post(d.inbox.open) }), // after the command is removed from the input
		"answer": always(func(d *app) { d.f.post(d.inbox.open) }),
		"changes": func(d *app, c view.EditorCommand) bool {
			list := newChangesScreen(d)
			list.wanted = strings.TrimSpace(c.Arg(0))
			d.open(list)
			return true
		},
		"model":    always(func(d *app) { d.commands.chooseModel("") }),
		"settings": func(d *app, c view.EditorCommand) bool { return settingActions{d}.command(c) },
		"revert":   func(d *app, c view.EditorCommand) bool { return d.changes.revertCommand(c) },
		"land":     always(func(d *app) { d.changes.askLand(nil) }),
		"explain":  func(d *app, c view.EditorCommand) bool { return d.commands.explainCommand(c) },
		"timeline": always(func(d *app) { d.open(&timelineScreen{d: d}) }),
		"runs":     always(func(d *app) { d.open(newRunsScreen(d)) }),
		"resume":   func(d *app, c view.EditorCommand) bool { return d.commands.resumeCommand(c) },
		"file": func(d *app, c view.EditorCommand) bool {
			if c.Arg(0) == "" {
				d.commands.documents()
			} else {
				d.commands.give(c.Arg(0))
			}
			return true
		},
		"image": func(d *app, c view.EditorCommand) bool {
			d.f.post(func() { d.prompt.attach(c.Arg(0), d.flash) }) // after the command is removed from the input
			return true
		},
		"save":  func(d *app, c view.EditorCommand) bool { return d.commands.saveCommand(c) },
		"theme": func(d *app, c view.EditorCommand) bool { return d.commands.themeCommand(c) },
		"trust": always(func(d *app) { d.f.post(d.dialogs.trustCommand) }), // after its removal from the input
		"mouse": always((*app).toggleMouse),
		"search": func(d *app, c view.EditorCommand) bool {
			d.search.begin(d.runScreen.talk)
			d.search.typing, d.search.text = false, c.Rest
			d.prompt.read()
			d.search.first(d, d.runScreen.talk)
			return true
		},
		"copy": always(func(d *app) { d.copy(d.runScreen.talk.words()) }),
		"edit": always(func(d *app) { d.f.post(d.prompt.edit) }), // after the command is removed from the input
		"help": always(func(d *app) { d.open(newHelpScreen(d)) }),
		"tour": always(func(d *app) { d.f.post(func() { d.dialogs.showTour(0) }) }), // after its removal from the input
		"quit": always(func(d *app) { d.dialogs.askLeave() }),
	}
}

func (cs *commands) slash(c view.EditorCommand) bool {
	if c.Name == "deny" && cs.d.permissions.refusing() {
		return cs.d.permissions.permitCommand(c) // the text is the reason
	}
	body, ok, err := view.CommandsFor(cs.d.session.state, c)
	answer, answered := view.SlashAnswers[c.Name]
	switch {
	case err != nil:
		cs.d.flash(view.Sentence(err.Error()))
		return false
	case !ok && answered:
		text := func(s *supervisor.State) string { return answer.Text(s, c.Arg(0)) }
		cs.d.open(newTextScreen(cs.d, answer.Title, text))
		return true
	case !ok:
		return slashHere[c.Name](cs.d, c)
	}
	if say, ok := body.(contract.Say); ok && !cs.d.session.runs() {
		return cs.d.prompt.submit(say.Text) // a task has no strength
	}
	body = cs.meant(body)
	if !cs.order(body) {
		return false
	}
	cs.d.runScreen.talk.Bottom()
	return true
}

// meant addresses a command without an agent to the agent that the user writes to.
func (cs *commands) meant(body contract.CommandBody) contract.CommandBody {
	switch b := body.(type) {
	case contract.Say:
		b.To = cmp.Or(b.To, cs.d.prompt.to)
		return b
	case contract.Interrupt:
		b.ID = cmp.Or(b.ID, cs.d.prompt.to)
		return b
	}
	return body
}

// order sends a slash command to the run. It asks first if the command cannot be undone.
func (cs *commands) order(body contract.CommandBody) bool {
	switch b := body.(type) {
	case contract.Cancel:
		return cs.d.dialogs.askEnd("End the run?", func() { cs.d.session.send(b) })
	case contract.Reset:
		return cs.d.dialogs.confirm("Reset?", "Every Orchestrator is released, and the task and the plan are dropped. "+
			"The Arbiter stays, and asks what is wanted. Files stay as they are.", "Reset",
			func() { cs.d.session.send(b) })
	case contract.ForceAgent:
		if !view.HasMode(cs.d.session.state, b.Mode) {
			cs.d.flash(fmt.Sprintf("There is no mode %q: /agents lists them.", view.SlashWord(b.Mode)))
			return false
		}
		return cs.d.session.send(contract.ForceAgent{Mode: b.Mode})
	case contract.Choose:
		return cs.d.recovery.take(b.Option)
	case contract.Configure:
		if b.Permissions == view.AllowAll && !b.AcceptRisk {
			return cs.d.permissions.askAllowAll(b)
		}
	}
	return cs.d.session.send(body)
}

func (cs *commands) resumeCommand(c view.EditorCommand) bool {
	if cs.d.session.runs() {
		cs.d.flash("A run is being played. Leave it first: /quit.")
		return false
	}
	id := c.Arg(0)
	if id == "" && cs.d.session.interrupted() {
		cs.d.session.resume()
		return true
	}
	for _, r := range cs.d.session.found.Runs {
		if id == "" || strings.HasPrefix(r.ID, id) {
			cs.d.session.begin(Begin{Resume: r.ID})
			return true
		}
	}
	if id != "" {
		cs.d.session.begin(Begin{Resume: id}) // the host knows runs of other directories, too
		return true
	}
	cs.d.flash("There is no run to take up in this directory.")
	return false
}

func (cs *commands) saveCommand(c view.EditorCommand) bool {
	name := c.Arg(0)
	if name == "" {
		name = "arbiter-" + time.Now().Format("2006-01-02-150405") + ".md"
	}
	cs.d.flash("Saving …")
	names := cs.d.session.names()
	save := func(ctx context.Context) (string, error) {
		return cs.d.f.options.Host.Save(name, cs.d.f.conversation(ctx, names))
	}
	ask(cs.d.f, save, func(path string, err error) {
		if err != nil {
			cs.d.flash("Not saved: " + err.Error())
		} else {
			cs.d.flash("Saved: " + path)
		}
	})
	return true
}

func (cs *commands) themeCommand(c view.EditorCommand) bool {
	o := cs.d.f.options
	o.Theme = c.Arg(0)
	look, err := newLook(o, cs.d.f.screen.Colors())
	if err != nil {
		cs.d.flash(err.Error())
		return false
	}
	cs.d.chosen = true
	cs.d.setLook(look)
	return true
}

// toggleMouse gives the mouse to the terminal, or takes it back.
func (d *app) toggleMouse() {
	d.f.options.Mouse = !d.f.options.Mouse
	d.f.app.EnableMouse(d.f.options.Mouse)
	if d.f.options.Mouse {
		d.flash("The mouse works here again.")
		return
	}
	d.flash("The terminal has the mouse. /mouse takes it back.")
}

func (cs *commands) give(path string) {
	ask(cs.d.f, func(context.Context) (string, error) { return cs.d.f.options.Host.ReadDocument(path) },
		func(text string, err error) {
			if err != nil {
				cs.d.flash(err.Error())
			} else if !cs.d.prompt.submit(words.Requirements(view.SlashWord(path), text)) {
				cs.d.flash("Not sent: " + cs.d.word.text)
			}
		})
}

func (cs *commands) documents() {
	cs.d.flash("Looking for files …")
	ask(cs.d.f, func(ctx context.Context) ([]Document, error) { return cs.d.f.options.Host.Documents(ctx), nil },
		func(list []Document, _ error) {
			cs.d.word = flash{}
			items := make([]choice, 0, len(list))
			for _, f := range list {
				note := words.Bytes(f.Bytes)
				if f.Title != "" {
					note = sanitize.Line(f.Title, 60) + "  " + note
				}
				items = append(items, choice{text: f.Path, note: note, value: f.Path})
			}
			cs.d.choose("Requirements", "There is no Markdown file in this workspace.", items,
				func(v any) { cs.give(v.(string)) })
		})
}

// chooseSummon lets the person choose the mode of a new Orchestrator.
func (cs *commands) chooseSummon() {
	if !cs.d.session.runs() {
		cs.d.flash("There is no run. Speak, and one begins.")
		return
	}
	cs.d.choose("Summon", "This run has no modes.", modeItems(cs.d.session.state),
		func(v any) { cs.d.session.send(contract.ForceAgent{Mode: v.(string)}) })
}

// models returns the models that can be chosen, with what is known about them.
func (cs *commands) models() []view.ModelInfo {
	return view.SnapshotModels(cs.d.session.state, cs.d.f.activity.Models())
}

// chooseModel opens the list of models for an agent; an empty id stands for all.
func (cs *commands) chooseModel(id string) {
	if !cs.d.session.runs() {
		cs.d.flash("There is no run. The setting of the next one: /settings model NAME.")
		return
	}
	var items []choice
	for _, m := range cs.models() {
		items = append(items, choice{text: m.Name, note: m.About(), value: m.Name})
	}
	cs.d.choose(view.ModelTitle, "", items, func(v any) {
		cs.d.session.send(contract.Configure{Model: v.(string), ID: id})
	})
}
