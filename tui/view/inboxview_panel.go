package view

// This part of the package is the panel of what waits for a human, as data: which item is selected, which
// step of its answer is shown, and what a choice means. A dialog of package pages draws it; the screen
// performs the answers.

import (
	"slices"

	"github.com/arbiter-cli/arbiter/supervisor"
	"github.com/arbiter-cli/arbiter/supervisor/words"
	"github.com/arbiter-cli/arbiter/tui/render"
)

// InboxItem is one thing that waits. Its texts are fit for the screen.
type InboxItem struct {
	ID    string
	Kind  supervisor.InboxKind
	Asks  string // who asks for what: "Orchestrator I asks leave"
	Role  render.Role
	Text  string                        // what it is about, on one line
	Age   string                        // "for 5 min"
	Head  []render.Line                 // who asks for what exactly, and why
	Body  func(width int) []render.Line // all of it
	Note  string                        // what happens without an answer
	Ways  []InboxWay                    // of trust and recovery: the options
	Rules []InboxRule                   // of a permission request: those that cover it, narrow ones first
}

// InboxWay is an option of a choose command.
type InboxWay struct {
	Option, Label string
	Irreversible  bool // it cannot be undone
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
	InboxWrite  InboxAct = "write"  // the answer is written next
	InboxChoose InboxAct = "choose" // an option is taken
)

// InboxAnswer is the chosen answer.
type InboxAnswer struct {
	IDs    []string // of the items that are answered
	Act    InboxAct
	Always bool   // of Allow: also in later runs
	Run    bool   // of Allow: for the whole run
	Rule   string // with Always or Run: the rule that is allowed; empty: only this action
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

// Len returns how many items there are.
func (p *InboxPanel) Len() int { return len(p.items) }

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
	var many []InboxItem
	for _, i := range p.items {
		if i.Kind == at.Kind || i.written() && at.written() {
			many = append(many, i)
		}
	}
	if len(many) < 2 {
		return "There is no other one of its kind."
	}
	p.step, p.many = all, many
	return ""
}

// written reports whether a message answers it.
func (i InboxItem) written() bool {
	return i.Kind == supervisor.InboxQuestion || i.Kind == supervisor.InboxAcceptance
}

// kindOf counts the items of the current kind.
func (p *InboxPanel) kindOf(at InboxItem) int {
	n := 0
	for _, i := range p.items {
		if i.Kind == at.Kind || i.written() && at.written() {
			n++
		}
	}
	return n
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
		a.Act, a.Run, a.Always, a.Rule = InboxAllow, p.step == forRun, p.step == always, value
		p.step = inboxFirst
		return a, true
	case at.Kind != supervisor.InboxPermission && !at.written():
		a.Act, a.Option = InboxChoose, value
		return a, true
	}
	switch value {
	case run:
		if len(at.Rules) > 0 {
			p.step = forRun
			return InboxAnswer{}, false
		}
		a.Act, a.Run = InboxAllow, true
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
	run  = "run"
	ever = "always"
	back = "back"
)

// several returns a number of items of a kind in words.
func several(n int, at InboxItem) string {
	if at.written() {
		return words.Count(n, "question")
	}
	return words.Count(n, "permission request")
}
