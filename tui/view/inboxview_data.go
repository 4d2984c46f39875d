package view

import (
	"fmt"
	"slices"
	"strings"

	"github.com/arbiter-cli/arbiter/sanitize"
	"github.com/arbiter-cli/arbiter/supervisor"
	"github.com/arbiter-cli/arbiter/supervisor/policy"
	"github.com/arbiter-cli/arbiter/supervisor/words"
	"github.com/arbiter-cli/arbiter/tui/render"
)

// digits are the keys of answers.
const digits = "123456789"

// Data returns the panel as a dialog. Its answers have digits as keys.
func (p *InboxPanel) Data(look *render.Look) AskData {
	at, ok := p.Current()
	if !ok {
		return AskData{}
	}
	sep := " " + look.Glyphs.Separator + " "
	d := AskData{Title: "What waits for you", Tone: render.Alert, Head: at.Head, Body: at.Body, List: p.rows()}
	if len(p.items) > 1 {
		d.Title += fmt.Sprintf("%s%d of %d", sep, p.at+1, len(p.items))
	}
	switch p.step {
	case inboxFirst:
		d.Choices = at.choices()
		d.Note = strings.Join(p.hints(at), sep)
		d.Unread = "There is more of it: Space reads on."
		if at.Kind == supervisor.InboxPermission {
			d.Focus = 1
			d.Unread += " Beyond this once it is allowed only when it was read to its end."
		}
	case forRun, always:
		p.scopes(&d, at)
	case all:
		p.allOf(&d)
	}
	for i := range d.Choices[:min(len(d.Choices), len(digits))] {
		d.Choices[i].Key = rune(digits[i])
	}
	return d
}

// rows returns the list.
func (p *InboxPanel) rows() *AskList {
	l := &AskList{At: p.at}
	for _, i := range p.items {
		l.Rows = append(l.Rows, AskRow{Right: i.Age, Left: render.Line{
			{Text: i.Asks, Role: i.Role}, {Text: "  " + i.Text, Role: render.Base},
		}})
	}
	return l
}

// hints returns the keys that work besides the digits.
func (p *InboxPanel) hints(at InboxItem) []string {
	var list []string
	if at.Note != "" {
		list = append(list, strings.TrimSuffix(at.Note, "."))
	}
	if len(p.items) > 1 {
		list = append(list, "j k: the others")
	}
	if n := p.kindOf(at); n > 1 && !at.Kind.Chosen() {
		list = append(list, fmt.Sprintf("A: all %s", several(n, at)))
	}
	return append(list, "Esc: later")
}

// choices returns the possible answers to an item.
func (i InboxItem) choices() []PageChoice {
	switch {
	case i.Kind == supervisor.InboxPermission:
		return []PageChoice{
			{Value: string(InboxAllow), Label: "Allow once"},
			{Value: string(InboxDeny), Label: "Deny"},
			{Value: string(InboxRefuse), Label: "Deny, and say why"},
			{Value: run, Label: "Allow for the run", ReadToEnd: true},
			{Value: ever, Label: "Always here", ReadToEnd: true},
		}
	case i.written():
		return []PageChoice{{Value: string(InboxWrite), Label: "Write the answer"}}
	}
	var list []PageChoice
	for _, w := range i.Ways {
		list = append(list, PageChoice{Value: w.Option, Label: w.Label, Irreversible: w.Irreversible})
	}
	return list
}

// scopes asks what exactly is allowed from now on, and reports what else each rule settles.
func (p *InboxPanel) scopes(d *AskData, at InboxItem) {
	d.Head = []render.Line{render.Of(render.Base, "Not asked for again until the run ends:")}
	d.Note = "A rule allows all that it covers. Rules that deny still win. Backspace: back."
	if p.step == always {
		d.Head = []render.Line{render.Of(render.Base, "Not asked for again in this workspace, in later runs too:")}
		d.Note = "A rule allows all that it covers. Rules that deny, or ask, still win. Backspace: back."
	}
	d.Choices = []PageChoice{{Label: "This exact action"}}
	type ruleItems struct {
		rule  string
		items []InboxItem
	}
	var more []ruleItems
	for _, r := range at.Rules {
		var also []InboxItem
		for _, i := range p.items {
			if i.ID != at.ID && slices.Contains(r.Covers, i.ID) {
				also = append(also, i)
			}
		}
		label := sanitize.Line(r.Text, 300)
		if len(also) > 0 {
			label += fmt.Sprintf("  (and %d more)", len(also))
			more = append(more, ruleItems{sanitize.Line(r.Text, 300), also})
		}
		label += ": " + sanitize.Line(policy.Words(r.Text), 300)
		d.Choices = append(d.Choices, PageChoice{Value: r.Text, Label: label, Irreversible: true})
	}
	d.Body = func(width int) []render.Line {
		lines := at.Body(width)
		for _, m := range more {
			lines = append(lines, nil)
			lines = append(lines, render.WrapText(render.Warn, m.rule+" also settles "+
				words.Count(len(m.items), "request")+":", width)...)
			for _, i := range m.items {
				lines = append(lines, i.brief(width)...)
			}
		}
		return lines
	}
}

// allOf asks what to do with all items of a kind, and shows each in full.
func (p *InboxPanel) allOf(d *AskData) {
	at := p.many[0]
	n := several(len(p.many), at)
	d.List = nil
	d.Head = []render.Line{render.Of(render.Strong, n+", answered at once:")}
	d.Body = func(width int) []render.Line {
		var lines []render.Line
		for i, m := range p.many {
			if i > 0 {
				lines = append(lines, nil)
			}
			lines = append(lines, render.WrapText(m.Role, fmt.Sprintf("%d. %s, %s", i+1, m.Asks, m.Age), width)...)
			lines = append(lines, m.Body(width)...)
		}
		return lines
	}
	d.Note = "Backspace: back. Esc: later."
	if at.written() {
		d.Choices = []PageChoice{{Value: string(InboxWrite), Label: "Write one answer to all"},
			{Value: back, Label: "Back"}}
		return
	}
	d.Choices = []PageChoice{
		{
			Value:        string(InboxAllow),
			Label:        fmt.Sprintf("Allow these %d once", len(p.many)),
			ReadToEnd:    true,
			Irreversible: true,
		},
		{Value: string(InboxDeny), Label: fmt.Sprintf("Deny these %d", len(p.many))},
		{Value: back, Label: "Back"},
	}
	d.Focus = 2
	d.Unread = "There is more of it: Space reads on. All of them are allowed only when they were read to the end."
}

// brief lays out an item below a rule that settles it.
func (i InboxItem) brief(width int) []render.Line {
	var lines []render.Line
	for n, l := range render.WrapText(render.Base, i.Asks+": "+i.Text, max(width-2, 1)) {
		lead := "  "
		if n == 0 {
			lead = "- "
		}
		lines = append(lines, append(render.Of(render.Dim, lead), l...))
	}
	return lines
}
