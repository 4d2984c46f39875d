package tui

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/gdamore/tcell/v2"

	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/tui/history"
	"github.com/arbiter-cli/arbiter/tui/keys"
	"github.com/arbiter-cli/arbiter/tui/render"
	"github.com/arbiter-cli/arbiter/tui/view"
)

// logbook shows every event, as one line or as its JSON.
type logbook struct {
	blockScreen
	raw    bool
	filter history.Filter
	typing bool // the filter is being written
	text   string
	seen   uint64 // version of the history when the filter last went through it
	busy   bool   // the filter is going through it
}

func newLogbook(d *app) *logbook {
	l := &logbook{blockScreen: blockScreen{d: d, keys: keys.Logbook}}
	l.reader = d.reader(l.source())
	return l
}

// source returns the entries that the filter selects.
func (l *logbook) source() *source {
	thread := l.d.f.history.All()
	if l.filter.Agent != "" || len(l.filter.Kinds) > 0 || l.filter.Text != "" {
		thread = l.d.f.history.Filter(l.filter)
	}
	return &source{thread: thread, render: func(e history.Entry, o view.EventOptions) view.Block {
		return view.EventLog(e, o, l.raw)
	}}
}

// pick applies another filter.
func (l *logbook) pick(f history.Filter) {
	l.filter, l.seen = f, 0
	l.show(l.source())
	l.renew()
}

// move switches to the current store, and applies the filter again.
func (l *logbook) move(by int) {
	if l.describe() != "" {
		l.pick(l.filter)
		return
	}
	l.reader.move(l.d.f.history.All(), by)
}

// renew makes a worker continue applying the filter.
func (l *logbook) renew() {
	l.blockScreen.renew()
	version, thread := l.d.f.history.Version(), l.src.thread
	if l.describe() == "" || l.busy || version == l.seen {
		return
	}
	l.busy = true
	l.d.f.work(func(ctx context.Context) {
		thread.Follow(ctx)
		l.d.f.post(func() { l.busy, l.seen = false, version })
	})
}

func (l *logbook) draw(s tcell.Screen, x, y, w, h int) {
	c := render.On(s, x, y, w, h, l.d.look)
	at := c.Text(0, 0, "THE LOGBOOK", render.Title)
	l.drawFilter(c, at+2)
	l.drawBlocks(s, c, 1)
}

// drawFilter draws the active filter, or the one being written.
func (l *logbook) drawFilter(c render.Canvas, x int) {
	if l.typing {
		x = c.Text(x, 0, "filter: ", render.Dim)
		x = c.Text(x, 0, l.text, render.Input)
		c.Cursor(x, 0)
		return
	}
	text := "all events"
	if f := l.describe(); f != "" {
		text = "only " + f
	}
	if l.raw {
		text += ", as they were reported"
	}
	n, err := l.d.f.history.Lost()
	if n > 0 || err != nil {
		text += fmt.Sprintf("; %d of the oldest are gone", n)
	}
	if err != nil {
		text += ": " + err.Error()
	}
	c.Text(x, 0, text, render.Dim)
}

func (l *logbook) describe() string {
	var parts []string
	if l.filter.Agent != "" {
		parts = append(parts, l.d.session.name(l.filter.Agent))
	}
	if len(l.filter.Kinds) > 0 {
		parts = append(parts, strings.Join(l.filter.Kinds, ", "))
	}
	if l.filter.Text != "" {
		parts = append(parts, "“"+l.filter.Text+"”")
	}
	return strings.Join(parts, " · ")
}

func (l *logbook) act(a keys.Action, key string) bool {
	switch a {
	case keys.Back:
		switch {
		case l.Selecting():
			l.SelectClear()
		case l.describe() != "":
			l.pick(history.Filter{})
		default:
			l.d.back()
		}
	case keys.Raw:
		l.raw = !l.raw
		l.pick(l.filter)
	case keys.Filter:
		l.typing, l.text = true, l.describeTyped()
	default:
		return l.blockScreen.act(a, key)
	}
	return true
}

func (l *logbook) describeTyped() string {
	parts := append([]string{}, l.filter.Kinds...)
	if l.filter.Agent != "" {
		parts = append([]string{l.filter.Agent}, parts...)
	}
	if l.filter.Text != "" {
		parts = append(parts, l.filter.Text)
	}
	return strings.Join(parts, " ")
}

// key handles the keys of a filter that is being written.
func (l *logbook) key(e *tcell.EventKey, key string) bool {
	if !l.typing {
		return false
	}
	switch {
	case key == "Esc" || key == "Ctrl+C":
		l.typing = false
	case key == "Enter":
		l.typing = false
		l.pick(parseFilter(l.text))
	default:
		l.text = lineAfter(l.text, e, key)
	}
	return true
}

// parseFilter reads words: an agent, kinds of events, and text that must be contained.
func parseFilter(text string) history.Filter {
	var f history.Filter
	var words []string
	for _, w := range strings.Fields(text) {
		switch {
		case f.Agent == "" && (w == contract.Arbiter || w == contract.Human || w == contract.Supervisor ||
			strings.HasPrefix(w, "orch-")):
			f.Agent = w
		case slices.Contains(contract.EventNames(), w):
			f.Kinds = append(f.Kinds, w)
		default:
			words = append(words, w)
		}
	}
	f.Text = strings.Join(words, " ")
	return f
}
