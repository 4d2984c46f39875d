package tui

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/arbiter-cli/arbiter/sanitize"
	"github.com/arbiter-cli/arbiter/supervisor"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/words"
	"github.com/arbiter-cli/arbiter/tui/eventtext"
	"github.com/arbiter-cli/arbiter/tui/keys"
	"github.com/arbiter-cli/arbiter/tui/render"
	"github.com/arbiter-cli/arbiter/tui/view"
)

// inboxPanel is the panel of all that waits for a person, or the dialog of the only permission request, over the
// visible screen.
type inboxPanel struct {
	d        *app
	panel    view.InboxPanel
	alone    string               // the request that it is about; empty: it is about all that waits
	shown    *dialog              // nil: it is not open
	answered map[string]time.Time // answered here, not yet accepted by the run; by id: since when it waited
}

// isOpen reports whether the panel is open, even behind a page that was opened over it.
func (b *inboxPanel) isOpen() bool {
	return b.shown != nil && b.d.dialogs.open == b.shown && b.alone == ""
}

// about returns the request whose dialog is open; empty: none is.
func (b *inboxPanel) about() string {
	if b.shown == nil || b.d.dialogs.open != b.shown {
		return ""
	}
	return b.alone
}

// open shows the panel because a person asked for it.
func (b *inboxPanel) open() {
	if b.isOpen() && b.d.dialogs.asking() == b.shown {
		return
	}
	if len(b.waiting()) == 0 {
		b.d.flash("Nothing waits for you.")
		return
	}
	b.show("", false, false)
}

// show shows the panel with an item selected, or the first one; alone: the dialog of that request. own: it was opened
// by an event, not by a key.
func (b *inboxPanel) show(id string, own, alone bool) {
	if b.alone = ""; alone {
		b.alone = id
	}
	b.panel = view.InboxPanel{Alone: alone}
	b.panel.Set(b.items())
	b.panel.Select(id)
	if _, ok := b.panel.Current(); !ok {
		return // the run ends
	}
	g := b.d.dialogs.show(b.panel.Data(b.d.look), nil)
	b.shown = g
	if g.own = own; own {
		g.ask.Arm(now())
	}
	closed := g.close
	g.close = func() { closed(); b.d.permissions.putAside(id) }
	g.dismiss = func() { // otherwise the other requests would open in its place
		closed()
		for _, r := range b.d.permissions.requests() {
			b.d.permissions.putAside(r.ID)
		}
	}
	if !alone {
		g.context, g.close = keys.Inbox, g.dismiss
	}
	g.answer = b.answer
	g.renote = b.renew
	g.act = b.act
	g.row = func(i int) { b.panel.Go(i); b.anew() }
}

// act performs the actions that only the panel has.
func (b *inboxPanel) act(a keys.Action) bool {
	switch a {
	case keys.NextItem:
		b.panel.Move(1)
	case keys.PrevItem:
		b.panel.Move(-1)
	case keys.FirstStep:
		if !b.panel.Back() {
			return true
		}
	case keys.AnswerAll:
		if why := b.panel.All(); why != "" {
			b.d.flash(why)
			return true
		}
	default:
		return false
	}
	b.anew()
	if a == keys.AnswerAll && b.shown.own { // it may be the first letter of a word
		b.shown.typed = 'A'
		b.shown.ask.Arm(now())
	}
	return true
}

func (b *inboxPanel) anew() { b.shown.ask.Set(b.panel.Data(b.d.look)) }

// renew updates the panel. If the selected item is gone, keys are ignored for a moment: they were meant for
// that item.
func (b *inboxPanel) renew() {
	items := b.items()
	if len(items) == 0 {
		b.shown.close()
		return
	}
	if gone := b.panel.Set(items); gone {
		b.anew()
		b.shown.ask.Arm(now())
		return
	}
	b.shown.ask.Renew(b.panel.Data(b.d.look))
}

func (b *inboxPanel) answer(value string) {
	a, given := b.panel.Answer(value)
	if !given {
		b.shown.own = b.shown.own && b.shown.typed != 0
		b.anew()
		return
	}
	b.shown.own, b.shown.typed = false, 0 // the user is working in it
	switch a.Act {
	case view.InboxWrite:
		b.shown.close()
		b.d.toInput()
		b.d.prompt.to = ""
		b.d.prompt.write()
		return
	case view.InboxRefuse, view.InboxSay:
		b.shown.close()
		b.d.permissions.answer(a.IDs[0], a.Act == view.InboxSay)
		return
	case view.InboxChoose:
		b.shown.close()
		if b.d.recovery.take(a.Option) && b.d.dialogs.open == nil { // ending the run is asked about
			b.took(a.IDs...)
			b.again()
		}
		return
	case view.InboxAllow, view.InboxDeny:
	}
	for _, id := range a.IDs {
		if r, ok := b.d.session.state.Permission.Find(id); ok {
			b.d.session.send(contract.Permit{Request: r.ID, Behavior: string(a.Act), Action: r.Key(), Rule: a.Rule,
				Scope: a.Scope})
		}
		b.took(id)
	}
	if b.alone != "" {
		b.shown.close()
		return
	}
	b.again()
}

// took hides what was answered. If the same thing is asked again, it is shown: it then waits since another
// time.
func (b *inboxPanel) took(ids ...string) {
	if b.answered == nil {
		b.answered = map[string]time.Time{}
	}
	for _, i := range b.d.session.inbox {
		if slices.Contains(ids, i.ID) {
			b.answered[i.ID] = i.Since
		}
	}
}

// isAnswered reports whether something was answered here, and the run has not accepted the answer yet.
func (b *inboxPanel) isAnswered(id string, since time.Time) bool {
	at, ok := b.answered[id]
	return ok && at.Equal(since)
}

func (b *inboxPanel) again() {
	if len(b.waiting()) == 0 {
		if b.isOpen() {
			b.shown.close()
		}
		return
	}
	if !b.isOpen() {
		b.show("", false, false)
		b.shown.ask.Arm(now())
		return
	}
	b.renew()
}

// waiting returns the items that wait and were not answered here, the oldest first.
func (b *inboxPanel) waiting() []supervisor.InboxItem {
	list := slices.Clone(b.d.session.inbox)
	maps.DeleteFunc(b.answered, func(id string, _ time.Time) bool {
		return !slices.ContainsFunc(list, func(i supervisor.InboxItem) bool { return i.ID == id })
	})
	return slices.DeleteFunc(list, func(i supervisor.InboxItem) bool { return b.isAnswered(i.ID, i.Since) })
}

func (b *inboxPanel) items() []view.InboxItem {
	var list []view.InboxItem
	for _, i := range b.waiting() {
		if b.alone != "" && i.ID != b.alone {
			continue
		}
		item := view.InboxItem{
			ID: i.ID, Kind: i.Kind, Asks: eventtext.Asks(i, b.d.session.name(i.Agent)), Role: render.Speaker(i.Agent),
			Text: sanitize.Line(words.FirstLine(strings.TrimSpace(i.Text)), 300), Age: eventtext.Age(i, now()),
		}
		if i.Request == nil { // a call is shown as it is
			item.Text = eventtext.Plain(item.Text)
		}
		item.Head = []render.Line{{{Text: item.Asks, Role: item.Role}, {Text: ", " + item.Age, Role: render.Dim}}}
		switch i.Kind {
		case supervisor.InboxPermission:
			r, _ := b.d.session.state.Permission.Find(item.ID)
			item.Head, item.Note, item.Elicits = b.d.permissions.head(&r), eventtext.DeniedAt(r.Deadline), r.Elicits()
			item.Body = func(width int) []render.Line {
				return view.Action(view.SlashWord(r.Params.Tool), json.RawMessage(r.Params.Input),
					view.EventOptions{Width: width, Look: b.d.look, Open: true, Now: now(), Name: b.d.session.name})
			}
			if n := len(b.d.permissions.requests()); n > 1 && b.alone != "" {
				item.Note = strings.TrimSpace(fmt.Sprintf("%s %d requests wait; Alt+p: all of them.", item.Note, n))
			}
			for _, rule := range r.Suggestions {
				item.Rules = append(item.Rules, view.InboxRule{Text: rule, Covers: supervisor.Covered(b.d.session.state, rule)})
			}
		case supervisor.InboxRecovery:
			ways, outside := splitWays(i.Choices)
			item.Ways = ways
			item.Body = func(width int) []render.Line { return b.d.recovery.problemLines(width, i.Text, outside) }
		case supervisor.InboxTrust, supervisor.InboxLimit:
			item.Ways, _ = splitWays(i.Choices)
			item.Body = b.prose(i.Text)
		case supervisor.InboxQuestion, supervisor.InboxAcceptance:
			item.Body = b.prose(i.Text)
		}
		list = append(list, item)
	}
	return list
}

func (b *inboxPanel) prose(text string) func(width int) []render.Line {
	return func(width int) []render.Line {
		return render.Markdown(sanitize.Text(text), render.MarkdownOptions{Width: width, Look: b.d.look})
	}
}
