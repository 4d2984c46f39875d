package tui

import (
	"slices"
	"strings"

	"github.com/arbiter-cli/arbiter/supervisor"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/tui/view"
)

// queuedEdit is a waiting message of the person that is being changed.
type queuedEdit struct {
	id   string // of the message; empty: the user edits none
	was  string // its original text
	put  string // as it was put into the input
	sent string // its new text, until the run has accepted it
}

// queuedEdits changes waiting messages of the person.
type queuedEdits struct {
	d      *app
	queued queuedEdit
}

// recall puts a waiting message into the input: the last one, or the one before the one being edited. It
// returns false if there is none.
func (q *queuedEdits) recall() bool {
	if q.d.session.state == nil || q.d.session.run == nil || q.d.session.over() {
		return false
	}
	list := view.SlashWaiting(q.d.session.state)
	at := len(list) - 1
	if q.queued.id != "" {
		at = slices.IndexFunc(list, func(m supervisor.Mail) bool { return m.ID == q.queued.id }) - 1
	}
	if at < 0 {
		return false
	}
	q.queued = queuedEdit{id: list[at].ID, was: list[at].Text, put: list[at].Text}
	if strings.HasPrefix(q.queued.was, "/") {
		q.queued.put = "/" + q.queued.was // not a command
	}
	q.d.prompt.input.SetText(q.queued.put)
	q.queued.put = q.d.prompt.input.Text()
	q.d.prompt.relabel()
	return true
}

// key passes a key to the change of a message, and reports whether the key has a meaning.
func (q *queuedEdits) key(key string) bool {
	switch {
	case key == "Up" && (q.queued.id == "" && q.d.prompt.input.Empty() || q.queued.id != "" &&
		q.d.prompt.input.Text() == q.queued.put) && !q.d.prompt.input.PopupOpen() && !q.d.prompt.input.Browsing():
		return q.recall()
	case q.queued.id == "":
		return false
	case key == "Esc" && !q.d.prompt.input.PopupOpen():
		q.exitWord()
		q.d.flash("It stays as it was.")
	default:
		return false
	}
	return true
}

// exitWord ends the change of a message and leaves it unchanged.
func (q *queuedEdits) exitWord() {
	q.queued.id, q.queued.was = "", ""
	q.d.prompt.input.Clear()
	q.d.prompt.relabel()
}

// reword sends the new text of the message being changed.
func (q *queuedEdits) reword(text string) bool {
	id := q.queued.id
	if text == q.queued.was {
		q.exitWord()
		return true
	}
	if !q.d.session.send(contract.EditMessage{MessageID: id, Text: text}) {
		return false
	}
	q.queued = queuedEdit{sent: text}
	q.d.session.remember(text)
	return true
}

// withdraw withdraws the message being changed.
func (q *queuedEdits) withdraw() {
	if q.queued.id == "" {
		q.d.flash("No word is being changed: Up takes one that waits.")
	} else if q.d.session.send(contract.WithdrawMessage{MessageID: q.queued.id}) {
		q.exitWord()
	}
}

// unedited restores a new text that came too late.
func (q *queuedEdits) unedited() {
	if q.queued.sent != "" && q.d.prompt.input.Empty() {
		q.d.prompt.input.SetText(q.queued.sent)
		q.d.prompt.write()
	}
	q.queued.sent = ""
}

// noticeSent detects that the message being changed was sent meanwhile. The text in the input is kept; it
// would be another message.
func (q *queuedEdits) noticeSent() {
	if q.queued.id == "" || q.d.session.state == nil {
		return
	}
	if !slices.ContainsFunc(view.SlashWaiting(q.d.session.state),
		func(m supervisor.Mail) bool { return m.ID == q.queued.id }) {
		q.queued.id, q.queued.was = "", ""
		q.d.flash("That word is on its way already. What stands here would be another one.")
	}
}
