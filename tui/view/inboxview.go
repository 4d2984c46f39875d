package view

// This part of the package is the panel of what waits for a human, as data: which item is selected, which
// step of its answer is shown, and what a choice means. A dialog of package pages draws it; the screen
// performs the answers.

import (
	"fmt"
	"slices"
	"strings"

	"github.com/arbiter-cli/arbiter/sanitize"
	"github.com/arbiter-cli/arbiter/supervisor"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
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
		}
		if slices.ContainsFunc(d.Choices, func(c PageChoice) bool { return c.ReadToEnd }) {
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
	if p.Alone {
		p.alone(&d, at)
	}
	return d
}

// alone makes it the dialog of one request, whose first answers have letters as keys.
func (p *InboxPanel) alone(d *AskData, at InboxItem) {
	d.List = nil
	if p.step != inboxFirst {
		d.Title = map[inboxStep]string{forRun: "Allow for this run", always: "Always allow here"}[p.step]
		return
	}
	c, letters := d.Choices, "yn"
	if d.Title = "Permission request"; !at.Elicits {
		d.Choices, d.Focus, letters = []PageChoice{c[0], c[3], c[4], c[1], c[2]}, 3, "yawnr"
	}
	for i, key := range letters {
		d.Choices[i].Key = key
	}
	d.Note, d.Unread = at.Note, strings.TrimSpace(d.Unread+" "+at.Note)
}

func (p *InboxPanel) rows() *AskList {
	l := &AskList{At: p.at}
	for _, i := range p.items {
		l.Rows = append(l.Rows, AskRow{Right: i.Age, Left: render.Line{
			{Text: i.Asks, Role: i.Role}, {Text: "  " + i.Text, Role: render.Base},
		}})
	}
	return l
}

func (p *InboxPanel) hints(at InboxItem) []string {
	var list []string
	if at.Note != "" {
		list = append(list, strings.TrimSuffix(at.Note, "."))
	}
	if len(p.items) > 1 {
		list = append(list, "j k: the others")
	}
	if n := len(p.alike(at)); n > 1 && !at.Kind.Chosen() {
		list = append(list, fmt.Sprintf("A: all %s", several(n, at)))
	}
	return append(list, "Esc: later")
}

func (i InboxItem) choices() []PageChoice {
	switch {
	case i.Elicits:
		return []PageChoice{{Value: string(InboxSay), Label: "Answer"}, {Value: string(InboxDeny), Label: "Deny"}}
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
	return slices.Clone(i.Ways)
}

// scopes asks what exactly is allowed from now on, and reports what else each rule settles.
func (p *InboxPanel) scopes(d *AskData, at InboxItem) {
	until := "Not asked for again until the run ends:"
	note := "A rule allows all that it covers. Rules that deny still win."
	if p.step == always {
		until = "Not asked for again in this workspace, in later runs too:"
		note = "A rule allows all that it covers. Rules that deny, or ask, still win."
	}
	d.Head, d.Note = []render.Line{render.Of(render.Base, until)}, note+" Backspace: back."
	if p.Alone {
		d.Note = "Esc: not now. " + note
	}
	d.Choices = []PageChoice{{Label: "This exact action"}}
	var more []func(width int) []render.Line // what else each rule settles
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
			more = append(more, func(width int) []render.Line {
				lines := append([]render.Line{nil}, render.WrapText(render.Warn,
					sanitize.Line(r.Text, 300)+" also settles "+words.Count(len(also), "request")+":", width)...)
				for _, i := range also {
					lines = append(lines, i.brief(width)...)
				}
				return lines
			})
		}
		label += ": " + sanitize.Line(words.Rules(r.Text), 300)
		d.Choices = append(d.Choices, PageChoice{Value: r.Text, Label: label, Irreversible: true})
	}
	d.Body = func(width int) []render.Line {
		lines := at.Body(width)
		for _, m := range more {
			lines = append(lines, m(width)...)
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

// InboxItem is one thing that waits. Its texts are fit for the screen.
type InboxItem struct {
	ID    string
	Kind  supervisor.InboxKind
	Asks  string // who asks for what: "Orchestrator I asks permission"
	Role  render.Role
	Text  string                        // what it is about, on one line
	Age   string                        // "for 5 min"
	Head  []render.Line                 // who asks for what exactly, and why
	Body  func(width int) []render.Line // all of it
	Note  string                        // what happens without an answer
	Ways  []PageChoice                  // of trust and recovery: the options
	Rules []InboxRule                   // of a permission request: those that cover it, narrow ones first
	// Elicits marks a permission request that is a question of an MCP server: what allows it is an answer.
	Elicits bool
}

// InboxRule is a permission rule. Settles are the ids of the open requests that it covers, its own among them.
type InboxRule struct {
	Text   string
	Covers []string
}

// InboxAct is the effect of an answer.
type InboxAct string

// The acts.
const (
	InboxAllow  InboxAct = "allow"
	InboxDeny   InboxAct = "deny"
	InboxRefuse InboxAct = "refuse" // deny, for a reason that is written next
	InboxSay    InboxAct = "say"    // allow, with an answer that is written next
	InboxWrite  InboxAct = "write"  // the answer is written next
	InboxChoose InboxAct = "choose" // an option is taken
)

// InboxAnswer is the chosen answer.
type InboxAnswer struct {
	IDs    []string // of the items that are answered
	Act    InboxAct
	Scope  string // of Allow: of the contract; empty: once
	Rule   string // with a scope: the rule that is allowed; empty: only this action
	Option string // of Choose
}

// inboxStep is the current question of the panel.
type inboxStep uint8

const (
	inboxFirst inboxStep = iota // what to do with the current item
	forRun                      // what exactly is allowed for the run
	always                      // what exactly is always allowed
	all                         // what to do with all items of a kind
)

// InboxPanel is the list of what waits, with one selected item. The zero value is empty.
type InboxPanel struct {
	Alone bool // it is about one permission request, which is its only item

	items []InboxItem
	at    int
	step  inboxStep
	many  []InboxItem // the items of step all: those that existed when it was opened
}

// Set replaces the items. The selected item and the step stay. It returns true if the selected item is
// gone, so that a key pressed at this moment may be meant for it.
func (p *InboxPanel) Set(items []InboxItem) (gone bool) {
	before, had := p.Current()
	p.items = items
	i := slices.IndexFunc(items, func(i InboxItem) bool { return had && i.ID == before.ID })
	p.at = max(min(p.at, len(items)-1), 0)
	if i >= 0 {
		p.at = i
	}
	if p.step == all {
		if slices.ContainsFunc(p.many, func(m InboxItem) bool { return p.has(m.ID) }) {
			return false
		}
		p.step = inboxFirst
		return true
	}
	if i < 0 {
		p.step = inboxFirst
	}
	return had && i < 0
}

func (p *InboxPanel) has(id string) bool {
	return slices.ContainsFunc(p.items, func(i InboxItem) bool { return i.ID == id })
}

// Current returns the selected item.
func (p *InboxPanel) Current() (InboxItem, bool) {
	if p.at >= len(p.items) {
		return InboxItem{}, false
	}
	return p.items[p.at], true
}

// Move selects an item further down, or further up. The first comes after the last.
func (p *InboxPanel) Move(by int) {
	if n := len(p.items); n > 0 {
		p.Go((p.at + by + n) % n)
	}
}

// Go selects the item with an index.
func (p *InboxPanel) Go(i int) { p.at, p.step = max(min(i, len(p.items)-1), 0), inboxFirst }

// Select selects the item with an id.
func (p *InboxPanel) Select(id string) {
	if i := slices.IndexFunc(p.items, func(i InboxItem) bool { return i.ID == id }); i >= 0 {
		p.Go(i)
	}
}

// Back returns to the first step. It reports false if it is shown already.
func (p *InboxPanel) Back() bool {
	was := p.step
	p.step = inboxFirst
	return was != inboxFirst
}

// All asks what to do with all items of the current kind. why says why that is not possible.
func (p *InboxPanel) All() (why string) {
	at, ok := p.Current()
	if !ok {
		return "Nothing waits for you."
	}
	if at.Kind.Chosen() {
		return "A choice is made for one at a time."
	}
	many := p.alike(at)
	if len(many) < 2 {
		return "There is no other one of its kind."
	}
	p.step, p.many = all, many
	return ""
}

func (i InboxItem) written() bool {
	return i.Kind == supervisor.InboxQuestion || i.Kind == supervisor.InboxAcceptance
}

// alike lists the items that one answer may be for. Each question of an MCP server has an answer of its own.
func (p *InboxPanel) alike(at InboxItem) (list []InboxItem) {
	for _, i := range p.items {
		if !i.Elicits && !at.Elicits && (i.Kind == at.Kind || i.written() && at.written()) {
			list = append(list, i)
		}
	}
	return list
}

// Answer handles a choice of [InboxPanel.Data]. It returns false if the choice leads to another step.
func (p *InboxPanel) Answer(value string) (a InboxAnswer, given bool) {
	at, ok := p.Current()
	if !ok {
		return InboxAnswer{}, false
	}
	a = InboxAnswer{IDs: []string{at.ID}}
	switch {
	case p.step == all && value == back:
		p.step = inboxFirst
		return InboxAnswer{}, false
	case p.step == all:
		a.IDs = nil
		for _, m := range p.many {
			if p.has(m.ID) { // the others were answered elsewhere
				a.IDs = append(a.IDs, m.ID)
			}
		}
		a.Act = InboxAct(value)
		p.step = inboxFirst
		return a, true
	case p.step == forRun, p.step == always:
		a.Act, a.Scope, a.Rule = InboxAllow, map[inboxStep]string{forRun: run, always: ever}[p.step], value
		p.step = inboxFirst
		return a, true
	case at.Kind != supervisor.InboxPermission && !at.written():
		a.Act, a.Option = InboxChoose, value
		return a, true
	}
	switch value {
	case run:
		if len(at.Rules) > 0 || p.Alone {
			p.step = forRun
			return InboxAnswer{}, false
		}
		a.Act, a.Scope = InboxAllow, run
	case ever:
		p.step = always
		return InboxAnswer{}, false
	default:
		a.Act = InboxAct(value)
	}
	return a, true
}

// Values of choices that are not acts.
const (
	run  = contract.ScopeRun
	ever = contract.ScopeAlways
	back = "back"
)

func several(n int, at InboxItem) string {
	if at.written() {
		return words.Count(n, "question")
	}
	return words.Count(n, "permission request")
}
