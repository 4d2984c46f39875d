package tui

import (
	"slices"
	"strings"

	"github.com/arbiter-cli/arbiter/supervisor"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/tui/slash"
)

// retouch is a word of the person's that waits, while it is being changed.
type retouch struct {
	id   string // of the message; empty: none is being changed
	was  string // its text
	put  string // as it was put into the input
	sent string // its new text, until the run has taken it
}

// recall takes a word that waits into the input: the last one, or the one before that
// which is being looked at. It reports false if there is none.
func (d *desk) recall() bool {
	if d.state == nil || d.run == nil || d.over() {
		return false
	}
	list := slash.Waiting(d.state)
	at := len(list) - 1
	if d.touch.id != "" {
		at = slices.IndexFunc(list, func(m supervisor.Mail) bool { return m.ID == d.touch.id }) - 1
	}
	if at < 0 {
		return false
	}
	d.touch = retouch{id: list[at].ID, was: list[at].Text, put: list[at].Text}
	if strings.HasPrefix(d.touch.was, "/") {
		d.touch.put = "/" + d.touch.was // no command
	}
	d.input.SetText(d.touch.put)
	d.touch.put = d.input.Text()
	d.prompt()
	return true
}

// retouchKey gives a key to the change of a word, and reports whether it meant something.
func (d *desk) retouchKey(key string) bool {
	switch {
	case key == "Up" && (d.touch.id == "" && d.input.Empty() || d.touch.id != "" && d.input.Text() == d.touch.put) && !d.input.PopupOpen() && !d.input.Browsing():
		return d.recall()
	case d.touch.id == "":
		return false
	case key == "Esc" && !d.input.PopupOpen():
		d.leaveWord()
		d.flash("It stays as it was.")
	default:
		return false
	}
	return true
}

// leaveWord leaves the word that is being changed as it is.
func (d *desk) leaveWord() {
	d.touch.id, d.touch.was = "", ""
	d.input.Clear()
	d.prompt()
}

// reword has the word that is being changed say something else.
func (d *desk) reword(text string) bool {
	id := d.touch.id
	if text == d.touch.was {
		d.leaveWord()
		return true
	}
	if !d.send(contract.EditMessage{MessageID: id, Text: text}) {
		return false
	}
	d.touch = retouch{sent: text}
	d.remember(text)
	return true
}

// withdraw takes the word that is being changed back for good.
func (d *desk) withdraw() {
	if d.touch.id == "" {
		d.flash("No word is being changed: Up takes one that waits.")
	} else if d.send(contract.WithdrawMessage{MessageID: d.touch.id}) {
		d.leaveWord()
	}
}

// unedited gives a new text back that came too late.
func (d *desk) unedited() {
	if d.touch.sent != "" && d.input.Empty() {
		d.input.SetText(d.touch.sent)
		d.write()
	}
	d.touch.sent = ""
}

// heedSent notices that the word that is being changed was sent meanwhile. What stands in
// the input is not lost; it would be another word.
func (d *desk) heedSent() {
	if d.touch.id == "" || d.state == nil {
		return
	}
	if !slices.ContainsFunc(slash.Waiting(d.state), func(m supervisor.Mail) bool { return m.ID == d.touch.id }) {
		d.touch.id, d.touch.was = "", ""
		d.flash("That word is on its way already. What stands here would be another one.")
	}
}
