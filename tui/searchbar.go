package tui

import (
	"context"

	"github.com/gdamore/tcell/v2"

	"github.com/arbiter-cli/arbiter/sanitize"
)

// searchBar is a search in a text.
type searchBar struct {
	typing bool
	text   string
	view   *reader
	at     int                // the last entry found, -1: none
	cancel context.CancelFunc // cancels the current search
	number int                // number of the last search: a late answer is dropped
}

// begin lets the person write the text to search for.
func (h *searchBar) begin(v *reader) { h.typing, h.text, h.view, h.at = true, "", v, -1 }

// key handles keys while the text is being written.
func (h *searchBar) key(d *app, e *tcell.EventKey, key string) bool {
	if s, ok := d.screen().(writer); ok && s.key(e, key) {
		return true
	}
	if !h.typing {
		return false
	}
	switch {
	case key == "Esc" || key == "Ctrl+C":
		h.typing = false
		h.view.Match("")
	case key == "Enter":
		h.typing = false
		h.view.Match(h.text)
		h.first(d, h.view)
	default:
		h.text = lineAfter(h.text, e, key)
	}
	return true
}

// lineAfter returns a line after a key was pressed while it is written.
func lineAfter(line string, e *tcell.EventKey, key string) string {
	switch {
	case key == "Backspace" && line != "":
		r := []rune(line)
		return string(r[:len(r)-1])
	case key == "Ctrl+U":
		return ""
	case e.Key() == tcell.KeyRune:
		return sanitize.Line(line+string(e.Rune()), 200)
	}
	return line
}

// first goes to the nearest match above, or otherwise below.
func (h *searchBar) first(d *app, v *reader) { h.look(d, v, true, true) }

// next goes to the next match, further up or further down.
func (h *searchBar) next(d *app, v *reader, back bool) { h.look(d, v, back, false) }

// look goes to the next match: at once if it is near, otherwise after a worker has searched the history.
// either allows a match in the other direction.
func (h *searchBar) look(d *app, v *reader, back, either bool) {
	if h.text == "" {
		d.flash("There is nothing to search for: /")
		return
	}
	v.Match(h.text)
	if v.MatchNext(back) {
		return
	}
	if v.src == nil { // the text is not a thread of the history
		if !either {
			d.flash(h.over(back))
		} else if !v.MatchNext(!back) {
			d.flash("There is no “" + h.text + "” here.")
		}
		return
	}
	from := h.at - 1
	if !back {
		from = h.at + 1
	} else if h.at < 0 {
		from = v.src.thread.Len() - 1
	}
	if h.cancel != nil {
		h.cancel()
	}
	h.number++
	number, needle, thread, store := h.number, h.text, v.src.thread, d.f.history
	ctx, cancel := context.WithCancel(d.f.ctx)
	h.cancel = cancel
	d.flash("Searching …")
	d.f.work(func(context.Context) {
		defer cancel()
		i, found := store.Find(ctx, thread, needle, from, back)
		d.f.post(func() {
			if number == h.number && !found && either && v.MatchNext(!back) {
				d.word = flash{}
				return
			}
			h.found(d, v, number, i, found, back)
		})
	})
}

// moved drops the current search: its result would be in another store.
func (h *searchBar) moved() {
	h.number++
	h.at = -1
}

// over returns the message that there are no further matches.
func (h *searchBar) over(back bool) string {
	return "No more of “" + h.text + "” " + map[bool]string{true: "above.", false: "below."}[back]
}

// found goes to the entry that a worker found.
func (h *searchBar) found(d *app, v *reader, number, i int, found, back bool) {
	if number != h.number {
		return
	}
	if !found && d.f.partial && back {
		d.flash("No “" + h.text + "” in what was read so far: the rest is still being read.")
		return
	}
	if !found {
		d.flash(h.over(back))
		return
	}
	d.word = flash{}
	h.at = i
	v.GoTo(i) // and to the match in it
	v.Mark(i)
}
