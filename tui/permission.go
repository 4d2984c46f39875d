package tui

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/arbiter-cli/arbiter/sanitize"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/permission"
	"github.com/arbiter-cli/arbiter/tui/editor"
	"github.com/arbiter-cli/arbiter/tui/eventview"
	"github.com/arbiter-cli/arbiter/tui/pages"
	"github.com/arbiter-cli/arbiter/tui/render"
	"github.com/arbiter-cli/arbiter/tui/slash"
)

// Values of answers to a permission request, beside yes and no.
const (
	forRun = "run"
	always = "always"
	why    = "why"
)

// askNext opens the next permission request that waits, unless the person is writing or
// reads a page, or has put it aside.
func (d *app) askNext() {
	if d.state == nil {
		return
	}
	permits := d.state.Permission.Open
	if d.tab != nil && d.tab.request != "" && !d.asked(d.tab.request) {
		d.tab.close() // it was answered elsewhere, or withdrawn
	}
	d.dismissed = slices.DeleteFunc(d.dismissed, func(id string) bool { return !d.asked(id) })
	if d.tab != nil && d.tab.renote != nil {
		d.tab.renote()
	}
	if d.tab != nil || d.picker.open() || !d.screen().writes() || d.writing() && !d.input.Empty() {
		return
	}
	for i := range permits {
		if !slices.Contains(d.dismissed, permits[i].ID) {
			d.judge(&permits[i], true)
			return
		}
	}
}

// asked reports whether a request is open.
func (d *app) asked(id string) bool {
	return slices.ContainsFunc(d.state.Permission.Open, func(p permission.Request) bool { return p.ID == id })
}

// judge asks for a permission. The answer names the action that was shown.
func (d *app) judge(p *permission.Request, own bool) {
	asked := *p
	var g *dialog
	g = d.show(d.permitData(p), func(value string) {
		c := contract.Permit{Request: asked.ID, Behavior: "allow", Action: asked.Key()}
		switch value {
		case no:
			c.Behavior = "deny"
		case why:
			d.putAside(asked.ID)
			d.denied = asked.ID
			for !d.screen().writes() && len(d.screens) > 1 {
				d.back()
			}
			d.input.SetText("/deny ")
			d.write()
			return
		case forRun:
			if c.Scope = contract.ScopeRun; len(asked.Suggestions) > 0 {
				d.widen(g, asked, c)
				return
			}
		case always:
			c.Scope = contract.ScopeAlways
			d.widen(g, asked, c)
			return
		}
		d.putAside(asked.ID) // until the run has taken it
		d.send(c)
	})
	d.hold(g, asked.ID, own)
	g.renote = func() { g.ask.Annotate(d.permitNotes(&asked)) }
}

// hold makes a dialog one about a request, which is put aside when it is closed.
func (d *app) hold(g *dialog, id string, own bool) {
	g.request, g.own = id, own
	if own {
		g.ask.Arm(now())
	}
	closed := g.close
	g.close = func() { closed(); d.putAside(id) }
	g.dismiss = func() { // and the others do not come in its place
		g.close()
		for _, p := range d.state.Permission.Open {
			d.putAside(p.ID)
		}
	}
}

func (d *app) putAside(id string) {
	if !slices.Contains(d.dismissed, id) {
		d.dismissed = append(d.dismissed, id)
	}
}

// widen asks what exactly is allowed from now on: the action itself, or a rule that covers
// it. No single key leads here and through it: where the letter that led here, in a dialog
// that came by itself, was the first of a word, the rest of the word leads back to the input.
func (d *app) widen(from *dialog, p permission.Request, c contract.Permit) {
	title, until, note := "Allow for this run", "Not asked for again until the run ends:", "Rules that deny still win."
	if c.Scope == contract.ScopeAlways {
		title, until, note = "Always allow here", "Not asked for again in this workspace, in later runs too:", "Rules that deny, or ask, still win."
	}
	data := pages.AskData{
		Title: title, Tone: render.Alert,
		Head:    []render.Line{render.Of(render.Base, until)},
		Choices: []pages.Choice{{Value: "", Key: '1', Label: "This exact action"}},
		Body:    func(width int) []render.Line { return d.actionLines(&p, width) },
		Note:    "Esc: not now. A rule allows all that it covers. " + note,
	}
	for i, rule := range p.Suggestions {
		data.Choices = append(data.Choices, pages.Choice{Value: rule, Key: rune('2' + i), Label: sanitize.Line(rule, 300), Grave: true})
	}
	g := d.show(data, func(rule string) {
		c.Rule = rule
		d.putAside(p.ID)
		d.send(c)
	})
	d.hold(g, p.ID, false)
	if g.own = from.own && from.typed != 0; g.own {
		g.typed = from.typed
		d.dismissed = slices.DeleteFunc(d.dismissed, func(id string) bool { return id == p.ID })
	}
}

// permitData is what a person has to know to decide: who asks, for what exactly, why, and
// where it would be done.
func (d *app) permitData(p *permission.Request) pages.AskData {
	tool := slash.Word(p.Params.Tool)
	head := []render.Line{append(d.requester(p), render.Span{Text: " wants to use ", Role: render.Base}, render.Span{Text: tool, Role: render.Strong})}
	for _, reason := range slices.Compact([]string{sanitize.Line(p.Why, 300), sanitize.Line(p.Params.Reason, 500)}) {
		if reason != "" {
			head = append(head, render.Line{{Text: "why    ", Role: render.Dim}, {Text: reason, Role: render.Base}})
		}
	}
	where := sanitize.Line(d.state.Options.CWD, 300)
	if d.state.Options.Sandbox == nil {
		where += "  (no sandbox)"
	}
	head = append(head, render.Line{{Text: "where  ", Role: render.Dim}, {Text: where, Role: render.Base}})
	data := pages.AskData{
		Title: "A hand asks leave", Tone: render.Alert, Head: head,
		Body: func(width int) []render.Line { return d.actionLines(p, width) },
		Choices: []pages.Choice{
			{Value: yes, Key: 'y', Label: "Allow once"},
			{Value: forRun, Key: 'a', Label: "Allow for the run", Whole: true},
			{Value: always, Key: 'w', Label: "Always here", Whole: true},
			{Value: no, Key: 'n', Label: "Deny"},
			{Value: why, Key: 'r', Label: "Deny, and say why"},
		},
		Focus: 3,
	}
	data.Note, data.Unread = d.permitNotes(p)
	return data
}

// permitNotes say when a request is denied by itself, and how many wait; the second one is
// for as long as the action was not read to its end.
func (d *app) permitNotes(p *permission.Request) (note, unread string) {
	if wait := d.state.Options.PermissionWait; wait > 0 {
		note = fmt.Sprintf("Denied by itself at %s.", p.At.Add(wait).Local().Format("15:04"))
	}
	if n := len(d.state.Permission.Open); n > 1 {
		note += fmt.Sprintf(" %d requests wait; Alt+p: the next.", n)
	}
	note = strings.TrimSpace(note)
	return note, strings.TrimSpace("There is more of it: Space reads on. Beyond this once it is allowed only when it was read to its end. " + note)
}

// requester says who asks.
func (d *app) requester(p *permission.Request) render.Line {
	id := p.Params.ID
	l := render.Line{{Text: d.name(id), Role: render.Speaker(id)}}
	for i := range d.agents() {
		if a := d.state.Agents[i]; a.ID == id && a.Mode != "" {
			l = append(l, render.Span{Text: " (" + slash.Word(a.Mode) + ")", Role: render.Dim})
		}
	}
	if p.Params.Subagent != "" {
		l = append(l, render.Span{Text: ", for a subagent of its own,", Role: render.Warn})
	}
	return l
}

// actionLines are the exact command or change, whole.
func (d *app) actionLines(p *permission.Request, width int) []render.Line {
	return eventview.Action(slash.Word(p.Params.Tool), json.RawMessage(p.Params.Input), eventview.Options{Width: width, Look: d.look, Open: true, Now: now(), Name: d.name})
}

// permitCommand answers the permission request that waits, or the one whose refusal was
// begun in its dialog. With several it would not be sure which one was meant.
func (d *app) permitCommand(c editor.Command) bool {
	if d.state == nil || len(d.state.Permission.Open) == 0 {
		d.flash("Nobody asks leave.")
		return false
	}
	request := &d.state.Permission.Open[0]
	if c.Name == "deny" && d.refusing() {
		request = &d.state.Permission.Open[slices.IndexFunc(d.state.Permission.Open, func(p permission.Request) bool { return p.ID == d.denied })]
	} else if n := len(d.state.Permission.Open); n > 1 {
		d.flash(fmt.Sprintf("%d requests wait: Alt+p shows the first.", n))
		return false
	}
	d.denied = ""
	return d.send(slash.Permit(c, request))
}

// refusing reports whether the refusal of a request that waits was begun in its dialog.
func (d *app) refusing() bool { return d.state != nil && d.asked(d.denied) }

// askAllowAll has the risk accepted before everything is allowed.
func (d *app) askAllowAll(c contract.Configure) bool {
	text := "Every agent may then run anything, and nobody is asked. What you deny stays denied."
	if d.state != nil && d.state.Options.Sandbox == nil {
		text += " No sandbox confines them: they can do all that you can do on this machine."
	}
	return d.grave("Allow everything?", text, "I accept the risk", func() {
		c.AcceptRisk = true
		d.send(c)
	})
}

// ruleCandidates complete /allow.
func (d *app) ruleCandidates() []editor.Candidate {
	if d.state == nil || len(d.state.Permission.Open) == 0 {
		return nil
	}
	var list []editor.Candidate
	for _, rule := range d.state.Permission.Open[0].Suggestions {
		list = append(list, editor.Candidate{Text: sanitize.Line(rule, 300)})
	}
	return list
}
