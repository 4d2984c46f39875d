package tui

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/gdamore/tcell/v2"

	"github.com/arbiter-cli/arbiter/sanitize"
	"github.com/arbiter-cli/arbiter/supervisor"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/words"
	"github.com/arbiter-cli/arbiter/tui/history"
	"github.com/arbiter-cli/arbiter/tui/keys"
	"github.com/arbiter-cli/arbiter/tui/render"
	"github.com/arbiter-cli/arbiter/tui/view"
)

// newHelpScreen returns the list of the keys of the screen on which it is opened, and of the commands.
func newHelpScreen(d *app) *listScreen {
	h := newListScreen(d, keys.Help, "HELP "+d.look.Glyphs.Separator+" "+string(d.context()),
		view.ListColumn{Head: "KEY", Most: 30}, view.ListColumn{Head: "WHAT IT DOES", Wide: true})
	h.Preview = func(row view.ListRow, width int) []render.Line {
		return append(render.WrapText(render.Key, row.Cells[0].Text(), width),
			render.WrapText(render.Base, row.Cells[1].Text(), width)...)
	}
	h.Below = 3
	h.Set(helpFor(d.context(), d.screen().writes()))
	return &h
}

// textScreen shows a text.
type textScreen struct {
	blockScreen
	title string
	text  func(*supervisor.State) string
	shown string // text
	stamp uint64 // of it
}

func newTextScreen(d *app, title string, text func(*supervisor.State) string) *textScreen {
	t := &textScreen{blockScreen: d.blocks(keys.Text), title: title, text: text}
	t.SetSource(t)
	t.Top()
	return t
}

func (t *textScreen) renew() {
	if text := t.text(t.d.session.state); text != t.shown {
		t.shown = text
		t.stamp++
	}
}

// Len, Stamp, Block and Tail implement view.BlockSource: one block.
func (t *textScreen) Len() int              { return 1 }
func (t *textScreen) Stamp(int) uint64      { return t.stamp }
func (t *textScreen) Tail(int) []view.Block { return nil }

func (t *textScreen) Block(_, width int, _ bool) view.Block {
	return view.Block{
		Gutter: render.Frame,
		Lines:  render.Markdown(sanitize.Text(t.shown), render.MarkdownOptions{Width: width, Look: t.d.look}),
	}
}

func (t *textScreen) draw(s tcell.Screen, x, y, w, h int) {
	c := render.On(s, x, y, w, h, t.d.look)
	c.Text(0, 0, t.title, render.Title)
	t.drawBlocks(s, c, 1)
}

// helpFor lists the keys that work in a context, in groups.
func helpFor(c keys.Context, writes bool) (rows []view.ListRow) {
	add := func(group, keys, text string) {
		rows = append(rows, view.ListRow{Key: fmt.Sprint(len(rows)), Group: group, Find: keys + " " + text,
			Cells: []render.Line{render.Of(render.Key, keys), render.Of(render.Base, text)}})
	}
	group := func(title string, lists ...[]keys.Binding) {
		for _, b := range slices.Concat(lists...) {
			add(title, strings.Join(b.Keys, "  "), b.Help)
		}
	}
	if c == keys.Insert {
		group("Here", keys.Editing, keys.Own(c))
	} else {
		group("Here", keys.Own(c))
	}
	group("To read", keys.Reading(c))
	group("Everywhere", keys.Always(c))
	if c == keys.Insert {
		group("When reading (Esc)", keys.Own(keys.Normal))
	} else if writes && c == keys.Normal {
		group("When writing (i)", keys.Editing, keys.Own(keys.Insert))
	}
	if writes {
		for _, s := range view.EditorCommands {
			add("Commands", s.Usage(), s.Help)
		}
	}
	return rows
}

// explainCommand shows how a decision was made: that with the given number, or the last one.
func (d *app) explainCommand(c view.EditorCommand) bool {
	state, number := d.session.state, 0
	if arg := c.Arg(0); arg != "" {
		n, err := strconv.Atoi(arg)
		if err != nil || n < 1 {
			d.flash("/explain takes the number of a decision, as its line in the conversation has it.")
			return false
		}
		number = n
	}
	if state == nil {
		d.flash("No run is shown, so there is no decision to explain.")
		return false
	}
	run := state.Options.Run
	d.readText("THE DECISION", func(ctx context.Context) (string, error) {
		text, err := d.f.options.Host.Explain(ctx, run, number)
		return words.Fenced(text), err
	})
	return true
}

// readText shows a text when a worker has read it, unless the person has gone on.
func (d *app) readText(title string, read func(context.Context) (string, error)) {
	shown := d.screen()
	d.flash("Reading …")
	ask(d.f, read, func(text string, err error) {
		if d.screen() != shown {
			return
		}
		d.word = flash{}
		if err != nil {
			d.flash(err.Error())
			return
		}
		d.open(newTextScreen(d, title, func(*supervisor.State) string { return text }))
	})
}

// logbook shows every event, as one line or as its JSON.
type logbook struct {
	blockScreen
	raw    bool
	filter history.Filter
	typed  string // the filter as it was written
	typing bool   // it is being written
	text   string
	seen   uint64 // version of the history when the filter last went through it
	busy   bool   // the filter is going through it
}

func newLogbook(d *app) *logbook {
	l := &logbook{blockScreen: blockScreen{d: d, keys: keys.Logbook}}
	l.reader = d.reader(l.source())
	return l
}

func (l *logbook) source() *source {
	log := func(e history.Entry, o view.EventOptions) view.Block { return view.EventLog(e, o, l.raw) }
	return &source{thread: l.d.f.history.Filter(l.filter), render: log}
}

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

func (l *logbook) renew() {
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

func (l *logbook) act(a keys.Action) bool {
	switch a {
	case keys.Back:
		switch {
		case l.Selecting():
			l.SelectClear()
		case l.describe() != "":
			l.typed = ""
			l.pick(history.Filter{})
		default:
			l.d.back()
		}
	case keys.Raw:
		l.raw = !l.raw
		l.pick(l.filter)
	case keys.Filter:
		l.typing, l.text = true, l.typed
	default:
		return l.blockScreen.act(a)
	}
	return true
}

func (l *logbook) key(e *tcell.EventKey, key string) bool {
	if !l.typing {
		return false
	}
	switch {
	case key == "Esc" || key == "Ctrl+C":
		l.typing = false
	case key == "Enter":
		l.typing, l.typed = false, l.text
		l.pick(l.parse(l.text))
	default:
		l.text = view.LineAfter(l.text, e)
	}
	return true
}

func (l *logbook) paste(text string) {
	if l.typing {
		l.text = sanitize.Line(l.text+text, 200)
	}
}

// parse reads a filter: the id or the name of an agent, kinds of events, and words that must be contained.
func (l *logbook) parse(text string) history.Filter {
	var f history.Filter
	var words []string
	for rest := strings.Fields(text); len(rest) > 0; {
		word, party, n := strings.ToLower(rest[0]), "", 1
		if word == contract.Arbiter || word == contract.Human || word == contract.Supervisor ||
			strings.HasPrefix(word, "orch-") {
			party = word
		}
		for more := range min(len(rest), 3) { // words of a name
			if id := view.AgentNamed(l.d.session.state, strings.Join(rest[:more+1], " ")); id != "" {
				party, n = id, more+1
			}
		}
		switch {
		case f.Agent == "" && party != "":
			f.Agent = party
		case n == 1 && slices.Contains(contract.EventNames(), word):
			f.Kinds = append(f.Kinds, word)
		default:
			words = append(words, rest[:n]...)
		}
		rest = rest[n:]
	}
	f.Text = strings.Join(words, " ")
	return f
}
