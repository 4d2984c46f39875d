package tui

import (
	"slices"
	"strings"

	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/conversation"
	"github.com/arbiter-cli/arbiter/tui/slash"
)

// queuedEdit is a word of the person's that waits, while it is being changed.
type queuedEdit struct {
	id   string // of the message; empty: none is being changed
	was  string // its text
	put  string // as it was put into the input
	sent string // its new text, until the run has taken it
}

// recall takes a word that waits into the input: the last one, or the one before that
// which is being looked at. It reports false if there is none.
func (d *app) recall() bool {
	if d.state == nil || d.run == nil || d.over() {
		return false
	}
	list := slash.Waiting(d.state)
	at := len(list) - 1
	if d.queued.id != "" {
		at = slices.IndexFunc(list, func(m conversation.Mail) bool { return m.ID == d.queued.id }) - 1
	}
	if at < 0 {
		return false
	}
	d.queued = queuedEdit{id: list[at].ID, was: list[at].Text, put: list[at].Text}
	if strings.HasPrefix(d.queued.was, "/") {
		d.queued.put = "/" + d.queued.was // no command
	}
	d.input.SetText(d.queued.put)
	d.queued.put = d.input.Text()
	d.prompt()
	return true
}

// queuedEditKey gives a key to the change of a word, and reports whether it meant something.
func (d *app) queuedEditKey(key string) bool {
	switch {
	case key == "Up" && (d.queued.id == "" && d.input.Empty() || d.queued.id != "" && d.input.Text() == d.queued.put) && !d.input.PopupOpen() && !d.input.Browsing():
		return d.recall()
	case d.queued.id == "":
		return false
	case key == "Esc" && !d.input.PopupOpen():
		d.exitWord()
		d.flash("It stays as it was.")
	default:
		return false
	}
	return true
}

// exitWord leaves the word that is being changed as it is.
func (d *app) exitWord() {
	d.queued.id, d.queued.was = "", ""
	d.input.Clear()
	d.prompt()
}

// reword has the word that is being changed say something else.
func (d *app) reword(text string) bool {
	id := d.queued.id
	if text == d.queued.was {
		d.exitWord()
		return true
	}
	if !d.send(contract.EditMessage{MessageID: id, Text: text}) {
		return false
	}
	d.queued = queuedEdit{sent: text}
	d.remember(text)
	return true
}

// withdraw takes the word that is being changed back for good.
func (d *app) withdraw() {
	if d.queued.id == "" {
		d.flash("No word is being changed: Up takes one that waits.")
	} else if d.send(contract.WithdrawMessage{MessageID: d.queued.id}) {
		d.exitWord()
	}
}

// unedited gives a new text back that came too late.
func (d *app) unedited() {
	if d.queued.sent != "" && d.input.Empty() {
		d.input.SetText(d.queued.sent)
		d.write()
	}
	d.queued.sent = ""
}

// noticeSent notices that the word that is being changed was sent meanwhile. What stands in
// the input is not lost; it would be another word.
func (d *app) noticeSent() {
	if d.queued.id == "" || d.state == nil {
		return
	}
	if !slices.ContainsFunc(slash.Waiting(d.state), func(m conversation.Mail) bool { return m.ID == d.queued.id }) {
		d.queued.id, d.queued.was = "", ""
		d.flash("That word is on its way already. What stands here would be another one.")
	}
}
