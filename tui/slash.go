package tui

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/arbiter-cli/arbiter/sanitize"
	"github.com/arbiter-cli/arbiter/supervisor"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/runconfig"
	"github.com/arbiter-cli/arbiter/supervisor/words"
	"github.com/arbiter-cli/arbiter/tui/keys"
	"github.com/arbiter-cli/arbiter/tui/render"
	"github.com/arbiter-cli/arbiter/tui/view"
)

// slashHere are the slash commands of the screen itself.
var slashHere map[string]func(d *app, c view.EditorCommand) bool

func init() { // in init, because they refer to the app
	always := func(do func(d *app)) func(*app, view.EditorCommand) bool {
		return func(d *app, _ view.EditorCommand) bool { do(d); return true }
	}
	then := func(do func(d *app, arg string)) func(*app, view.EditorCommand) bool {
		return func(d *app, c view.EditorCommand) bool {
			d.f.post(func() { do(d, c.Arg(0)) }) // after the command is removed from the input
			return true
		}
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
		"attach":  then(func(d *app, agent string) { d.session.attach(agent) }),
		"inbox":   then(func(d *app, _ string) { d.inbox.open() }),
		"answer":  then(func(d *app, _ string) { d.inbox.open() }),
		"changes": func(d *app, c view.EditorCommand) bool {
			list := newChangesScreen(d)
			list.wanted = strings.TrimSpace(c.Arg(0))
			d.open(list)
			return true
		},
		"model":    always((*app).chooseModel),
		"settings": (*app).settingsCommand,
		"revert":   (*app).revertCommand,
		"land":     always(func(d *app) { d.askLand(nil) }),
		"explain":  (*app).explainCommand,
		"timeline": always(func(d *app) { d.open(&timelineScreen{d: d}) }),
		"runs":     always(func(d *app) { d.open(newRunsScreen(d)) }),
		"resume":   (*app).resumeCommand,
		"file":     func(d *app, c view.EditorCommand) bool { d.give(c.Arg(0)); return true },
		"image":    then(func(d *app, path string) { d.prompt.attach(path, d.flash) }),
		"save":     (*app).saveCommand,
		"theme":    (*app).themeCommand,
		"trust":    then(func(d *app, _ string) { d.dialogs.trustCommand() }),
		"mouse":    always((*app).toggleMouse),
		"search": func(d *app, c view.EditorCommand) bool {
			d.search.begin(d.visible())
			d.search.typing, d.search.text = false, c.Rest
			d.prompt.read()
			d.search.look(d, d.visible(), true, true)
			return true
		},
		"copy": always(func(d *app) { d.copy(d.visible().words()) }),
		"edit": then(func(d *app, _ string) { d.prompt.edit() }),
		"help": always(func(d *app) { d.open(newHelpScreen(d)) }),
		"tour": then(func(d *app, _ string) { d.dialogs.showTour(0) }),
		"quit": always(func(d *app) { d.dialogs.askLeave() }),
	}
}

func (d *app) slash(c view.EditorCommand) bool {
	if _, ok := d.permissions.begun(c.Name); ok {
		return d.permissions.permitCommand(c) // the text is the reason, or the answer
	}
	c = view.Addressed(d.session.state, c)
	body, ok, err := view.CommandsFor(d.session.state, c)
	answer, answered := view.SlashAnswers[c.Name]
	switch {
	case err != nil:
		d.flash(view.Sentence(err.Error()))
		return false
	case !ok && answered:
		text := func(s *supervisor.State) string { return answer.Text(s, c.Arg(0)) }
		d.open(newTextScreen(d, answer.Title, text))
		return true
	case !ok:
		return slashHere[c.Name](d, c)
	}
	if say, ok := body.(contract.Say); ok && !d.session.runs() {
		return d.prompt.submit(say.Text) // a task has no strength
	}
	body = d.meant(body)
	if !d.order(body) {
		return false
	}
	d.runScreen.talk.Bottom()
	return true
}

// meant addresses a command without an agent to the agent that the user writes to.
func (d *app) meant(body contract.CommandBody) contract.CommandBody {
	switch b := body.(type) {
	case contract.Say:
		b.To = cmp.Or(b.To, d.prompt.to)
		return b
	case contract.Interrupt:
		b.ID = cmp.Or(b.ID, d.prompt.to)
		return b
	}
	return body
}

// order sends a slash command to the run. It asks first if the command cannot be undone.
func (d *app) order(body contract.CommandBody) bool {
	switch b := body.(type) {
	case contract.Cancel:
		return d.dialogs.askEnd("End the run?", func() { d.session.send(b) })
	case contract.Reset:
		return d.dialogs.confirm("Reset?", "Every Orchestrator is released, and the task and the plan are dropped. "+
			"The Arbiter stays, and asks what is wanted. Files stay as they are.", "Reset",
			func() { d.session.send(b) })
	case contract.ForceAgent:
		if !view.HasMode(d.session.state, b.Mode) {
			d.flash(fmt.Sprintf("There is no mode %q: /agents lists them.", view.SlashWord(b.Mode)))
			return false
		}
		return d.session.send(contract.ForceAgent{Mode: b.Mode})
	case contract.Choose:
		return d.recovery.take(b.Option)
	case contract.Configure:
		if b.Permissions == string(runconfig.ModeAllowAll) && !b.AcceptRisk {
			return d.permissions.askAllowAll(b)
		}
	}
	return d.session.send(body)
}

func (d *app) resumeCommand(c view.EditorCommand) bool {
	if d.session.runs() {
		d.flash("A run is being played. Leave it first: /quit.")
		return false
	}
	id := c.Arg(0)
	if id == "" && d.session.interrupted() {
		d.session.resume()
		return true
	}
	runs := d.session.found.Runs
	if i := slices.IndexFunc(runs, func(r RunInfo) bool { return strings.HasPrefix(r.ID, id) }); i >= 0 {
		id = runs[i].ID
	}
	if id == "" {
		d.flash("There is no run to take up in this directory.")
		return false
	}
	d.session.begin(Begin{Resume: id}) // the host knows runs of other directories, too
	return true
}

func (d *app) saveCommand(c view.EditorCommand) bool {
	name := c.Arg(0)
	if name == "" {
		name = "arbiter-" + time.Now().Format("2006-01-02-150405") + ".md"
	}
	d.flash("Saving …")
	state := d.session.state
	save := func(ctx context.Context) (string, error) {
		text := d.f.conversation(ctx, func(id string) string { return view.SlashName(state, id) })
		return d.f.options.Host.Save(name, text)
	}
	ask(d.f, save, func(path string, err error) {
		if err != nil {
			d.flash("Not saved: " + err.Error())
		} else {
			d.flash("Saved: " + path)
		}
	})
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

// give gives a file of requirements to the run; without a path the person chooses one.
func (d *app) give(path string) {
	if path == "" {
		d.documents()
		return
	}
	ask(d.f, func(context.Context) (string, error) { return d.f.options.Host.ReadDocument(path) },
		func(text string, err error) {
			if err != nil {
				d.flash(err.Error())
			} else if !d.prompt.submit(words.Requirements(view.SlashWord(path), text)) {
				d.flash("Not sent: " + d.word.text)
			}
		})
}

func (d *app) documents() {
	d.flash("Looking for files …")
	ask(d.f, func(ctx context.Context) ([]Document, error) { return d.f.options.Host.Documents(ctx), nil },
		func(list []Document, _ error) {
			d.word = flash{}
			items := make([]choice, 0, len(list))
			for _, f := range list {
				note := words.Bytes(f.Bytes)
				if f.Title != "" {
					note = sanitize.Line(f.Title, 60) + "  " + note
				}
				items = append(items, choice{text: f.Path, note: note, value: f.Path})
			}
			d.choose("Requirements", "There is no Markdown file in this workspace.", items,
				func(v any) { d.give(v.(string)) })
		})
}

// chooseSummon lets the person choose the mode of a new Orchestrator.
func (d *app) chooseSummon() {
	if !d.session.runs() {
		d.flash("There is no run. Speak, and one begins.")
		return
	}
	d.choose("Summon", "This run has no modes.", modeItems(d.session.state),
		func(v any) { d.session.send(contract.ForceAgent{Mode: v.(string)}) })
}

// chooseModel opens the list of models for all agents.
func (d *app) chooseModel() {
	if !d.session.runs() {
		d.flash("There is no run. The setting of the next one: /settings model NAME.")
		return
	}
	var items []choice
	for _, m := range d.models() {
		items = append(items, choice{text: m.Name, note: m.About(), value: m.Name})
	}
	d.choose(view.ModelTitle, "", items, func(v any) {
		d.session.send(contract.Configure{Model: v.(string)})
	})
}

// pageKeys are the actions that open pages for which there is no command.
var pageKeys = []keys.Action{keys.WayOut, keys.Judge, keys.CycleGrants, keys.Strength}

// paletteItems returns the agents, the commands, and actions that only keys have. The value of each is called when
// the user chooses it.
func (d *app) paletteItems() []choice {
	var list []choice
	for _, a := range d.session.agents() {
		if view.SlashOver(a) {
			continue
		}
		note := a.Mode
		if a.Alive() {
			note = strings.TrimSpace(note + "  look at it")
		}
		list = append(list, choice{d.session.name(a.ID) + "  " + a.ID, view.SlashWord(note), render.Speaker(a.ID),
			func() { d.focusOn(a.ID) }})
	}
	for _, s := range view.EditorCommands {
		list = append(list, choice{text: "/" + s.Name + "  " + s.Help, note: s.Args,
			value: func() { d.pick(s) }})
	}
	for _, b := range keys.Own(keys.Everywhere) {
		if slices.Contains(pageKeys, b.Action) {
			list = append(list, choice{text: b.Help, note: b.Keys[0], value: func() { d.act(b.Action) }})
		}
	}
	return list
}

// pick runs a command, or writes it into the input if it needs an argument. A command that acts on
// waiting requests or running work is also only written: a few letters and Enter must not run it.
func (d *app) pick(s view.EditorSpec) {
	_, answers := view.SlashAnswers[s.Name]
	if s.Args == "" || answers || s.Name == "plan" {
		d.slash(view.EditorCommand{Name: s.Name})
		return
	}
	d.toInput()
	d.prompt.input.Begin("/" + s.Name + " ")
	d.prompt.write()
}
