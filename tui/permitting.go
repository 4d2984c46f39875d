package tui

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/arbiter-cli/arbiter/sanitize"
	"github.com/arbiter-cli/arbiter/supervisor"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/tui/card"
	"github.com/arbiter-cli/arbiter/tui/cell"
	"github.com/arbiter-cli/arbiter/tui/composer"
	"github.com/arbiter-cli/arbiter/tui/orders"
	"github.com/arbiter-cli/arbiter/tui/pages"
)

// Values of answers to a permission request, beside yes and no.
const (
	forRun = "run"
	always = "always"
	why    = "why"
)

// askNext opens the next permission request that waits, unless the person is writing
// or has put it aside.
func (d *desk) askNext() {
	if d.state == nil {
		return
	}
	permits := d.state.Permits
	if d.tab != nil && d.tab.request != "" && !d.asked(d.tab.request) {
		d.tab.close() // it was answered elsewhere, or withdrawn
	}
	d.aside = slices.DeleteFunc(d.aside, func(id string) bool { return !d.asked(id) })
	if d.tab != nil || d.offer.open() || d.writing() && !d.input.Empty() {
		return
	}
	for i := range permits {
		if !slices.Contains(d.aside, permits[i].ID) {
			d.judge(&permits[i], true)
			return
		}
	}
}

// asked says whether a request is open.
func (d *desk) asked(id string) bool {
	return slices.ContainsFunc(d.state.Permits, func(p supervisor.Permit) bool { return p.ID == id })
}

// judge asks for a permission. The answer names the action that was shown.
func (d *desk) judge(p *supervisor.Permit, own bool) {
	asked := *p
	data := d.permitData(p)
	if own { // whoever begins to write says what, when, review: these are no answers
		for i := range data.Choices {
			if v := data.Choices[i].Value; v == always || v == why {
				data.Choices[i].Key = 0
			}
		}
	}
	g := d.show(data, func(value string) {
		c := contract.Permit{Request: asked.ID, Behavior: "allow", Action: asked.Hash()}
		switch value {
		case no:
			c.Behavior = "deny"
		case why:
			d.putAside(asked.ID)
			d.denied = asked.ID
			d.input.SetText("/deny ")
			d.write()
			return
		case forRun:
			if c.Scope = contract.ScopeRun; len(asked.Suggestions) > 0 {
				d.widen(asked, c)
				return
			}
		case always:
			c.Scope = contract.ScopeAlways
			d.widen(asked, c)
			return
		}
		d.putAside(asked.ID) // until the run has taken it
		d.send(c)
	})
	d.hold(g, asked.ID, own)
}

// hold makes a dialog one about a request, which is put aside when it is closed.
func (d *desk) hold(g *dialog, id string, own bool) {
	g.request, g.own = id, own
	if own {
		g.ask.Arm(now())
	}
	closed := g.close
	g.close = func() { closed(); d.putAside(id) }
}

func (d *desk) putAside(id string) {
	if !slices.Contains(d.aside, id) {
		d.aside = append(d.aside, id)
	}
}

// widen asks what exactly is allowed from now on: the action itself, or a rule that covers
// it. No single key leads here and through it.
func (d *desk) widen(p supervisor.Permit, c contract.Permit) {
	title, until, note := "Allow for this run", "Not asked for again until the run ends:", "Rules that deny still win."
	if c.Scope == contract.ScopeAlways {
		title, until, note = "Always allow here", "Not asked for again in this workspace, in later runs too:", "Rules that deny, or ask, still win."
	}
	data := pages.AskData{
		Title: title, Tone: cell.Alert,
		Head:    []cell.Line{cell.Of(cell.Base, until)},
		Choices: []pages.Choice{{Value: "", Key: '1', Label: "This exact action"}},
		Body:    func(width int) []cell.Line { return d.actionLines(&p, width) },
		Note:    "Esc: not now. A rule allows all that it covers. " + note,
	}
	for i, rule := range p.Suggestions {
		data.Choices = append(data.Choices, pages.Choice{Value: rule, Key: rune('2' + i), Label: sanitize.Line(rule, 300), Grave: true})
	}
	d.putAside(p.ID)
	g := d.show(data, func(rule string) {
		c.Rule = rule
		d.putAside(p.ID)
		d.send(c)
	})
	d.hold(g, p.ID, false)
}

// permitData is what a person has to know to decide: who asks, for what exactly, why, and
// where it would be done.
func (d *desk) permitData(p *supervisor.Permit) pages.AskData {
	tool := orders.Word(p.Params.Tool)
	head := []cell.Line{append(d.petitioner(p), cell.Span{Text: " wants to use ", Role: cell.Base}, cell.Span{Text: tool, Role: cell.Strong})}
	for _, reason := range slices.Compact([]string{sanitize.Line(p.Why, 300), sanitize.Line(p.Params.Reason, 500)}) {
		if reason != "" {
			head = append(head, cell.Line{{Text: "why    ", Role: cell.Dim}, {Text: reason, Role: cell.Base}})
		}
	}
	where := sanitize.Line(d.state.Options.CWD, 300)
	if d.state.Options.Sandbox == nil {
		where += "  (no sandbox)"
	}
	head = append(head, cell.Line{{Text: "where  ", Role: cell.Dim}, {Text: where, Role: cell.Base}})
	data := pages.AskData{
		Title: "A hand asks leave", Tone: cell.Alert, Head: head,
		Body: func(width int) []cell.Line { return d.actionLines(p, width) },
		Choices: []pages.Choice{
			{Value: yes, Key: 'y', Label: "Allow once"},
			{Value: forRun, Key: 'a', Label: "Allow for the run", Whole: true},
			{Value: always, Key: 'w', Label: "Always here", Whole: true},
			{Value: no, Key: 'n', Label: "Deny"},
			{Value: why, Key: 'r', Label: "Deny, and say why"},
		},
		Focus: 3,
	}
	if wait := d.state.Options.PermissionWait; wait > 0 {
		data.Note = fmt.Sprintf("Denied by itself at %s.", p.At.Add(wait).Local().Format("15:04"))
	}
	if n := len(d.state.Permits); n > 1 {
		data.Note += fmt.Sprintf(" %d requests wait.", n)
	}
	data.Note = strings.TrimSpace(data.Note)
	data.Unread = strings.TrimSpace("There is more of it: Space reads on. Beyond this once it is allowed only when it was read to its end. " + data.Note)
	return data
}

// petitioner says who asks.
func (d *desk) petitioner(p *supervisor.Permit) cell.Line {
	id := p.Params.ID
	l := cell.Line{{Text: d.name(id), Role: cell.Speaker(id)}}
	for i := range d.agents() {
		if a := d.state.Agents[i]; a.ID == id && a.Mode != "" {
			l = append(l, cell.Span{Text: " (" + orders.Word(a.Mode) + ")", Role: cell.Dim})
		}
	}
	if p.Params.Subagent != "" {
		l = append(l, cell.Span{Text: ", for a subagent of its own,", Role: cell.Warn})
	}
	return l
}

// actionLines are the exact command or change, whole.
func (d *desk) actionLines(p *supervisor.Permit, width int) []cell.Line {
	return card.Action(orders.Word(p.Params.Tool), json.RawMessage(p.Params.Input), card.Options{Width: width, Look: d.look, Open: true, Now: now(), Name: d.name})
}

// permitCommand answers the permission request that waits, or the one whose refusal was
// begun in its dialog. With several it would not be sure which one was meant.
func (d *desk) permitCommand(c composer.Command) bool {
	if d.state == nil || len(d.state.Permits) == 0 {
		d.flash("Nobody asks leave.")
		return false
	}
	request := &d.state.Permits[0]
	if i := slices.IndexFunc(d.state.Permits, func(p supervisor.Permit) bool { return p.ID == d.denied }); i >= 0 && c.Name == "deny" {
		request = &d.state.Permits[i]
	} else if n := len(d.state.Permits); n > 1 {
		d.flash(fmt.Sprintf("%d requests wait: Alt+p shows the first.", n))
		return false
	}
	d.denied = ""
	return d.send(orders.Permit(c, request))
}

// ruleCandidates complete /allow.
func (d *desk) ruleCandidates() []composer.Candidate {
	if d.state == nil || len(d.state.Permits) == 0 {
		return nil
	}
	var list []composer.Candidate
	for _, rule := range d.state.Permits[0].Suggestions {
		list = append(list, composer.Candidate{Text: sanitize.Line(rule, 300)})
	}
	return list
}
