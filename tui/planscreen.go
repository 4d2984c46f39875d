package tui

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/gdamore/tcell/v2"
	"github.com/rivo/tview"

	"github.com/arbiter-cli/arbiter/sanitize"
	"github.com/arbiter-cli/arbiter/supervisor"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/tui/eventtext"
	"github.com/arbiter-cli/arbiter/tui/keys"
	"github.com/arbiter-cli/arbiter/tui/render"
	"github.com/arbiter-cli/arbiter/tui/view"
)

// planScreen shows the full plan, to be read and changed. The changes belong to the app, so that they
// outlive the screen; once saved they belong to the run.
type planScreen struct {
	listScreen
	line  *view.Editor // the text of the step that the user is editing; nil: none
	order []string     // the keys of the rows, by step: a step stays the current one wherever others put it
}

func newPlanScreen(d *app) *planScreen {
	p := &planScreen{listScreen: newListScreen(d, keys.Plan, "THE PLAN", view.ListColumn{},
		view.ListColumn{Head: "STEP", Wide: true}, view.ListColumn{Head: "MODE", Most: 14},
		view.ListColumn{Head: "AGENT", Most: 18})}
	p.Empty, p.Preview = "No plan is laid yet.", p.preview
	return p
}

// draw implements screen: while a step is written, its text is shown below the page.
func (p *planScreen) draw(s tcell.Screen, x, y, w, h int) {
	rows := 0
	if p.line != nil && h > 0 {
		rows = min(p.line.Rows(w, max(h/maxInput, 1)), h)
		p.line.SetRect(x, y+h-rows, w, rows)
	}
	paint(p.List, s, x, y, w, h-rows)
	if rows > 0 {
		p.line.Draw(s)
	}
}

func (p *planScreen) renew() {
	s := p.d.session.state
	if s == nil {
		return
	}
	draft := p.d.plan.follow()
	steps := view.SnapshotSteps(s, draft.Steps())
	p.order = nil
	rows, done := make([]view.ListRow, 0, len(steps)), 0
	for i, step := range steps {
		if step.Status == contract.StepDone {
			done++
		}
		step.Touched = draft.Changed() && draft.Touched(i)
		row := p.row(i, step)
		for row.Key = step.Text; slices.Contains(p.order, row.Key); row.Key += "\n" { // of equal texts
		}
		p.order, rows = append(p.order, row.Key), append(rows, row)
	}
	p.Set(rows)
	p.Warning = ""
	for _, c := range draft.Clashes() {
		p.Warning += "Meanwhile: " + sanitize.Line(c, 400) + ".\n"
	}
	p.Note = nil
	if draft.Changed() {
		p.Note = render.Of(render.Warn, "changed, not saved  ")
	}
	p.Note = p.Note.Append(render.Dim, fmt.Sprintf("%d of %d", done, len(steps)))
	if all, _ := supervisor.ForecastPlan(&s.Options, draft.Steps()); all.From > 0 {
		p.Note = p.Note.Append(render.Dim, "  "+eventtext.Price(all))
	}
}

func (p *planScreen) row(i int, step view.PageStep) view.ListRow {
	mark, text := view.StepMark(p.d.look.Glyphs, step.Status)
	mark.Text += fmt.Sprintf(" %d", i+1)
	number := render.Line{mark}
	if step.Touched {
		number = number.Append(render.Warn, "*")
	}
	return view.ListRow{Value: step, Find: step.Text, Cells: []render.Line{number,
		render.Of(text, sanitize.Line(step.Text, 0)), render.Of(render.Dim, step.Mode),
		render.Of(render.Dim, cmp.Or(step.Agent, step.Price))}}
}

// preview shows a step, the agents' own lists, and the task in full.
func (p *planScreen) preview(row view.ListRow, width int) []render.Line {
	s, step := p.d.session.state, row.Value.(view.PageStep)
	lines := render.WrapText(render.Base, step.Text, width)
	if step.Price != "" {
		lines = append(lines, render.Of(render.Dim, step.Price+", by earlier runs in this directory"))
	}
	if step.Touched {
		lines = append(lines, render.Of(render.Warn, "You have changed it; w saves."))
	}
	for _, t := range view.SnapshotTasks(s) {
		lines = append(append(lines, nil), view.TaskLines(p.d.look, t, width)...)
	}
	if text := view.TaskText(s.Task.Text); text != "" {
		lines = append(append(lines, nil), render.WrapText(render.Emphasis, text, width)...)
	}
	return lines
}

var statusOf = map[keys.Action]string{
	keys.StepDone: contract.StepDone, keys.StepActive: contract.StepActive, keys.StepPending: contract.StepPending,
	keys.StepFailed: contract.StepFailed, keys.StepSkipped: contract.StepSkipped,
}

func (p *planScreen) act(a keys.Action) bool {
	switch a {
	case keys.Back:
		p.leave(p.d.back)
		return true
	case keys.WriteSlash: // the input is on the screen below
		p.leave(func() { p.d.back(); p.d.act(keys.WriteSlash) })
		return true
	case keys.StepAdd, keys.StepText, keys.StepMode, keys.StepUp, keys.StepDown, keys.StepDelete, keys.Save,
		keys.StepDone, keys.StepActive, keys.StepPending, keys.StepFailed, keys.StepSkipped:
		switch {
		case p.d.session.state == nil:
			p.d.flash("There is no run yet, and no plan.")
			return true
		case a != keys.Save && (!p.d.session.runs() || p.d.session.ending()):
			p.d.flash("The run is over, and its plan stands as it is. Speak, and it goes on.")
			return true
		}
		p.edit(a)
		p.renew()
		return true
	}
	return p.listScreen.act(a)
}

func (p *planScreen) edit(a keys.Action) {
	draft := p.d.plan.follow()
	row, _ := p.Chosen()
	at := slices.Index(p.order, row.Key) // -1: there is none
	switch {
	case a == keys.Save:
		p.save(func() {})
	case a == keys.StepAdd:
		p.write("", at+1, true)
	case at < 0 || at >= draft.Len():
		p.d.flash("There is no step yet: a adds one.")
	case a == keys.StepText:
		p.write(draft.Steps()[at].Text, at, false)
	case a == keys.StepMode:
		p.chooseMode(at)
	case a == keys.StepUp || a == keys.StepDown:
		by := 1
		if a == keys.StepUp {
			by = -1
		}
		at = draft.Move(at, by)
		p.renew()
		p.Choose(p.order[at])
	case a == keys.StepDelete:
		draft.Delete(at)
	default:
		draft.Mark(at, statusOf[a])
	}
}

// write lets the person write the text of a step: of a new one at that place, or of the existing one.
func (p *planScreen) write(text string, at int, add bool) {
	was := view.NewDraft(p.d.plan.draft.Steps())
	p.line = view.NewEditor(p.d.look)
	p.line.Plain, p.line.MaxBytes = true, 16<<10
	p.line.OnCopy, p.line.OnNotice = p.d.copy, p.d.flash
	p.line.SetTo("step", "", render.SpeakerHuman)
	p.line.SetPlaceholder("What is to be done. Enter keeps it, Esc does not.")
	p.line.SetText(text)
	p.line.Focus(func(tview.Primitive) {})
	shown := strings.TrimRight(p.line.Text(), " \t\n")
	p.line.OnSend = func(text string) bool {
		p.line = nil
		if !add && text == shown {
			return true // an unprintable text is not a change
		}
		at = p.place(was, at, add)
		switch draft := p.d.plan.draft; {
		case add:
			draft.Add(at, text)
		case at < 0:
			p.d.flash("That step is no longer in the plan; your text was added at its end.")
			at = draft.Len()
			draft.Add(at, text)
		default:
			draft.SetText(at, text)
		}
		p.renew()
		p.Choose(p.order[at])
		return true
	}
}

// place returns the current place of a step that was at a place when its text began to be written: the plan
// may have changed meanwhile. -1: the step was removed.
func (p *planScreen) place(was *view.Draft, at int, add bool) int {
	before, now := was.Steps(), p.d.plan.follow().Steps()
	find := func(i int) int {
		if i < len(now) && now[i].Text == before[i].Text {
			return i
		}
		return slices.IndexFunc(now, func(s contract.Step) bool { return s.Text == before[i].Text })
	}
	switch {
	case !add:
		return find(at)
	case at == 0 || at > len(before):
		return min(at, len(now))
	}
	if i := find(at - 1); i >= 0 {
		return i + 1
	}
	return len(now)
}

func (p *planScreen) key(e *tcell.EventKey, key string) bool {
	if p.line == nil {
		return false
	}
	if key == "Ctrl+C" || !p.line.Key(e) && key == "Esc" {
		p.line = nil
	}
	return true
}

func (p *planScreen) paste(text string) {
	if p.line != nil {
		p.line.Paste(text)
	}
}

func (p *planScreen) chooseMode(at int) {
	was := view.NewDraft(p.d.plan.draft.Steps())
	items := append([]choice{{text: "(any)", note: "the decider chooses", value: ""}},
		modeItems(p.d.session.state)...)
	p.d.choose("The mode for step "+fmt.Sprint(at+1), "This run has no modes.", items, func(v any) {
		if at := p.place(was, at, false); at >= 0 {
			p.d.plan.draft.SetMode(at, v.(string))
		}
		p.renew()
	})
}

// save sends the changed plan, all at once; it asks about conflicts first.
func (p *planScreen) save(then func()) {
	d := p.d
	draft := d.plan.follow()
	switch {
	case !draft.Changed():
		d.plan.draft = nil
		d.flash("The plan is as it was: there is nothing to save.")
		then()
	case len(draft.Clashes()) > 0:
		d.dialogs.show(view.AskData{
			Title: "Others changed it, too", Tone: render.Danger,
			Body: wrapped(sanitize.Text(strings.Join(draft.Clashes(), ".\n") + ".")),
			Choices: []view.PageChoice{
				{Value: no, Key: 'n', Label: "Go on changing it"},
				{Value: yes, Key: 's', Label: "Save mine", Irreversible: true},
				{Value: why, Key: 't', Label: "Take theirs", Irreversible: true},
			},
		}, func(value string) {
			switch value {
			case yes:
				p.send(then)
			case why:
				p.drop(then)
			}
		})
	default:
		p.send(then)
	}
}

func (p *planScreen) send(then func()) {
	if !p.d.session.send(contract.SetPlan{Steps: p.d.plan.follow().Steps()}) {
		return
	}
	p.d.plan.draft = nil
	then()
	p.d.screen().renew()
}

func (p *planScreen) drop(then func()) {
	p.d.plan.draft = nil
	p.d.flash("Your changes to the plan are dropped.")
	then()
	p.d.screen().renew()
}

// leave goes to another screen, after asking what to do with changes.
func (p *planScreen) leave(then func()) {
	if !p.d.plan.unsaved() {
		p.d.plan.draft = nil
		then()
		return
	}
	p.d.dialogs.show(view.AskData{
		Title: "The plan was changed", Tone: render.Alert,
		Head: []render.Line{render.Of(render.Base, "Nothing of it is saved yet.")},
		Choices: []view.PageChoice{
			{Value: yes, Key: 's', Label: "Save"},
			{Value: why, Key: 'd', Label: "Drop the changes", Irreversible: true},
			{Value: no, Key: 'n', Label: "Go on"},
		},
		Focus: 2,
	}, func(value string) {
		switch value {
		case yes:
			p.save(then)
		case why:
			p.drop(then)
		}
	})
}

func modeItems(s *supervisor.State) []choice {
	var items []choice
	for _, m := range view.Modes(s) {
		items = append(items, choice{text: view.SlashWord(m.Name), note: view.SlashWord(m.Description), value: m.Name})
	}
	return items
}
