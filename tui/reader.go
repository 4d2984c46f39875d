package tui

import (
	"context"
	"fmt"
	"math"
	"slices"
	"sync"

	"github.com/gdamore/tcell/v2"

	"github.com/arbiter-cli/arbiter/supervisor"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/words"
	"github.com/arbiter-cli/arbiter/tui/eventtext"
	"github.com/arbiter-cli/arbiter/tui/history"
	"github.com/arbiter-cli/arbiter/tui/keys"
	"github.com/arbiter-cli/arbiter/tui/render"
	"github.com/arbiter-cli/arbiter/tui/view"
)

// reader is a window on a thread of the history.
type reader struct {
	*view.ListView
	src *source
}

func (d *app) reader(src *source) *reader {
	src.d = d
	r := &reader{ListView: view.NewListView(d.look), src: src}
	r.OnCopy(d.copy)
	r.SetSource(src)
	return r
}

// blocks returns the common part of a screen whose blocks are not a thread of the history.
func (d *app) blocks(c keys.Context) blockScreen {
	b := blockScreen{&reader{ListView: view.NewListView(d.look)}, d, c}
	b.OnCopy(d.copy)
	return b
}

func (r *reader) show(src *source) {
	src.d, r.src = r.src.d, src
	r.SetSource(src)
}

// move shows the thread of another store, in which events have larger numbers.
func (r *reader) move(to *history.Thread, by int) {
	from := r.src.thread
	r.src.thread = to
	r.Replace(r.src, func(block int) int {
		n, _ := from.Number(block)
		return min(to.Place(n+by), to.Len()-1)
	})
}

// blockScreen is the common part of the screens of blocks that are read: a head of one or two rows, a rule, and the
// blocks.
type blockScreen struct {
	*reader
	d    *app
	keys keys.Context
}

func (b *blockScreen) context() keys.Context  { return b.keys }
func (b *blockScreen) writes() bool           { return false }
func (b *blockScreen) mouse() mouseHandler    { return b.MouseHandler() }
func (b *blockScreen) act(a keys.Action) bool { return b.d.scroll(b.reader, a) }

func (b *blockScreen) drawBlocks(s tcell.Screen, c render.Canvas, row int) {
	x, y := c.Origin()
	w, h := c.Size()
	row = b.rule(c, row, "")
	paint(b.ListView, s, x, y+row, w, max(h-row, 0))
}

// rule draws a rule above the blocks if there is room, with a text and what is hidden below, and returns the next row.
func (r *reader) rule(c render.Canvas, row int, text string) int {
	w, h := c.Size()
	if h-row <= 3 {
		return row
	}
	c.Rule(row, render.Frame)
	c.Text(2, row, text, render.Dim)
	if note := r.below(); note != "" {
		c.Sub(0, row, w-2, 1).Right(0, render.Of(render.Dim, " "+note+" "))
	}
	return row + 1
}

// words returns the selected text, otherwise the text at the cursor, or the last one: as it was written,
// not as it is laid out.
func (r *reader) words() string {
	if r.Selecting() {
		return r.Copy()
	}
	if r.src == nil {
		return ""
	}
	i := r.Marked()
	if i < 0 {
		i = r.src.thread.Len() - 1
	}
	e, ok := r.src.thread.Entry(i)
	if !ok {
		return ""
	}
	switch b := e.Event.Body.(type) {
	case contract.Message:
		return b.Text
	case contract.Assistant:
		return b.Text
	case contract.Question:
		return b.Text
	case contract.ToolUse:
		if result, ok := e.Outcome.(contract.ToolResult); ok {
			return result.Text
		}
	}
	text, _ := eventtext.Text(e, r.src.d.session.name)
	return text
}

// readerMoves are the actions in a text that concern nothing else.
var readerMoves = sync.OnceValue(func() map[keys.Action]func(*reader) {
	return map[keys.Action]func(*reader){
		keys.HalfUp:    func(r *reader) { r.HalfUp() },
		keys.HalfDown:  func(r *reader) { r.HalfDown() },
		keys.NextBlock: func(r *reader) { r.NextBlock() },
		keys.PrevBlock: func(r *reader) { r.PrevBlock() },
		keys.FoldAll:   func(r *reader) { r.ToggleAll() },
		keys.Bottom:    func(r *reader) { r.SelectClear(); r.Bottom() },
	}
})

func (d *app) scroll(v *reader, a keys.Action) bool {
	if move := readerMoves()[a]; move != nil {
		move(v)
		return true
	}
	switch a {
	case keys.Fold:
		if v.Marked() < 0 {
			v.PrevBlock()
		}
		v.Toggle()
	case keys.Select:
		if v.Selecting() {
			v.SelectClear()
		} else {
			v.SelectStart()
		}
	case keys.Copy:
		d.copy(v.words())
		v.SelectClear()
	case keys.Search:
		d.search.begin(v)
	case keys.SearchNext, keys.SearchPrev:
		d.search.look(d, v, a == keys.SearchPrev, false)
	default:
		return leaf(v, a)
	}
	return true
}

// Up and Down move by lines: the selection's end while lines are being selected.
func (r *reader) Up(n int) { r.Down(-n) }
func (r *reader) Down(n int) {
	switch {
	case r.Selecting():
		r.Extend(n)
	case n < 0:
		r.ListView.Up(-n)
	default:
		r.ListView.Down(n)
	}
}

// below returns a note about hidden content at the end; empty if there is none.
func (r *reader) below() string {
	if r.src == nil {
		return "" // a text that is not a thread of the history, and is read from its beginning
	}
	key := "G"
	if r.src.d.context() == keys.Insert { // which writes a G
		key = "PgDn"
	}
	note := "more below"
	switch n := r.Behind(); {
	case r.Following():
		return ""
	case n > 0:
		note = fmt.Sprintf("%d new below", n)
	}
	return note + " " + r.src.d.look.Glyphs.Separator + " " + key
}

// source shows a thread of the history as blocks. It belongs to tview's loop.
type source struct {
	d      *app
	thread *history.Thread
	render func(history.Entry, view.EventOptions) view.Block
	live   func() []history.Live             // what is arriving
	grows  map[string]*render.MarkdownStream // layout of the arriving text, by agent
}

// Len, Stamp, Block and Tail implement view.BlockSource.
func (s *source) Len() int           { return s.thread.Len() }
func (s *source) Stamp(i int) uint64 { return s.thread.Stamp(i) ^ s.d.session.layouts<<56 }

func (s *source) Block(i, width int, open bool) view.Block {
	e, ok := s.thread.Entry(i)
	if !ok {
		return view.Block{Lines: []render.Line{render.Of(render.Dim, "(this can no longer be read)")}}
	}
	o := s.options(width)
	o.Open = open
	return s.render(e, o)
}

func (s *source) Tail(width int) (list []view.Block) {
	if s.live == nil {
		return nil
	}
	arriving := s.live()
	if len(arriving) == 0 || s.grows == nil {
		s.grows = map[string]*render.MarkdownStream{}
	}
	for _, l := range arriving {
		if s.grows[l.Agent] == nil {
			s.grows[l.Agent] = &render.MarkdownStream{}
		}
		o := s.options(width)
		o.Open, o.Stream = true, s.grows[l.Agent]
		b := view.EventLive(l, o)
		b.Key = l.Agent + "/" + l.Began.String()
		list = append(list, b)
	}
	return list
}

func (s *source) options(width int) view.EventOptions {
	session := &s.d.session
	return view.EventOptions{Width: width, Look: s.d.look, Now: now(), Name: session.name,
		Parent: s.d.f.history.Parent, Root: session.root,
		Simulated: session.state != nil && session.state.Options.Rehearsal}
}

// focus shows one agent: all that it says and does, its subagents as a tree.
type focus struct {
	blockScreen
	id   string
	line *view.PageRoster
	was  bool // the screen had the keyboard, before
}

func (d *app) focusOn(id string) {
	if view.AgentOf(d.session.state, id) == nil {
		d.flash("There is no " + d.session.name(id) + " here.")
		return
	}
	f := &focus{blockScreen: blockScreen{d: d, keys: keys.Focus}, id: id, line: view.NewRoster(d.look)}
	f.reader = d.reader(&source{thread: d.f.history.Agent(id), render: view.EventStream, live: func() []history.Live {
		if l, ok := d.f.history.Live(id, math.MaxInt); ok {
			return []history.Live{l}
		}
		return nil
	}})
	if f.was = d.prompt.reading; d.screen().context() == keys.Focus {
		f.was = d.screen().(*focus).was
	}
	d.open(f)
	d.prompt.to = ""
	d.prompt.read()
}

// visible returns the text above the input: the conversation, or that of an agent.
func (d *app) visible() *reader {
	if f, ok := d.screen().(*focus); ok {
		return f.reader
	}
	return d.runScreen.talk
}

func (f *focus) writes() bool { return f.d.playback() == nil }

func (f *focus) agent() *supervisor.Agent { return view.AgentOf(f.d.session.state, f.id) }

func (f *focus) renew() {
	if a, s := f.agent(), &f.d.session; a != nil {
		f.line.Set([]view.PageAgent{view.AgentRow(s.state, a, s.waits, s.work(a.ID), f.d.now())})
	}
}

func (f *focus) draw(s tcell.Screen, x, y, w, h int) {
	c := render.On(s, x, y, w, h, f.d.look)
	row := f.line.Rows(h)
	paint(f.line, s, x, y, w, row)
	if details := f.details(); details != "" && h-row > 6 {
		c.Text(0, row, render.Shorten(details, w, f.d.look.Glyphs.Ellipsis), render.Dim)
		row++
	}
	f.drawBlocks(s, c, row)
}

func (f *focus) details() string {
	a := f.agent()
	if a == nil {
		return ""
	}
	g := f.d.look.Glyphs
	text := fmt.Sprintf("session %s %s generation %d %s ", view.SlashWord(a.SessionID), g.Separator, a.Generation,
		g.Separator)
	text += eventtext.Costs(fmt.Sprintf("$%.4f", a.Spent()), f.d.session.state.Options.Rehearsal, a.CostUnknown)
	if a.Context.TurnsLeft > 0 {
		text += fmt.Sprintf(" %s about %s before it must hand off", g.Separator,
			words.Count(a.Context.TurnsLeft, "turn"))
	}
	if a.Predecessor != "" {
		text += " " + g.Separator + " successor of " + f.d.session.name(a.Predecessor)
	}
	if a.Compactions > 0 {
		text += fmt.Sprintf(" %s compacted %s", g.Separator, words.Count(a.Compactions, "time"))
	}
	return text
}

func (f *focus) act(a keys.Action) bool {
	switch a {
	case keys.Back:
		if f.Selecting() {
			f.SelectClear()
			return true
		}
		f.d.prompt.reading, f.d.prompt.to = f.was, ""
		f.d.back()
	case keys.NextAgent, keys.PrevAgent:
		f.turn(a == keys.NextAgent)
	case keys.Write:
		f.d.prompt.to = f.id
		f.d.prompt.write()
	case keys.Read:
		f.d.prompt.read()
	case keys.Stop:
		f.d.session.interrupt(f.id)
	case keys.Kill:
		f.d.dialogs.askKill(f.id)
	case keys.Attach:
		f.d.session.attach(f.id)
	default:
		return f.blockScreen.act(a)
	}
	return true
}

// turn shows the next agent, or the previous one.
func (f *focus) turn(next bool) {
	list := f.d.session.agents()
	i := slices.IndexFunc(list, func(a *supervisor.Agent) bool { return a.ID == f.id })
	by := 1
	if !next {
		by = len(list) - 1
	}
	if len(list) > 0 {
		f.d.focusOn(list[(i+by)%len(list)].ID)
	}
}

// searchBar is a search in a text.
type searchBar struct {
	typing bool
	text   string
	view   *reader
	at     int                // the last entry found, -1: none
	cancel context.CancelFunc // drops the current search; nil: there was none
}

func (h *searchBar) begin(v *reader) {
	h.typing, h.text, h.view, h.at = true, "", v, -1
	v.Match("")
}

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
		h.look(d, h.view, true, true)
	default:
		h.text = view.LineAfter(h.text, e)
	}
	return true
}

// look goes to the next match: at once if it is near, otherwise after a worker has searched the history.
// either allows a match in the other direction.
func (h *searchBar) look(d *app, v *reader, back, either bool) {
	if h.text == "" {
		d.flash("There is nothing to search for: /")
		return
	}
	if h.view != v {
		h.view, h.at = v, -1
	}
	v.Match(h.text)
	d.word = flash{} // of an earlier search
	switch {
	case v.src == nil: // the text is not a thread of the history
		switch {
		case v.MatchNext(back, true):
		case !either:
			d.flash(h.over(back))
		case !v.MatchNext(!back, true):
			d.flash("There is no “" + h.text + "” here.")
		}
		return
	case v.MatchNext(back, false):
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
	needle, thread, store := h.text, v.src.thread, d.f.history
	ctx, cancel := context.WithCancel(d.f.ctx)
	h.cancel = cancel
	d.flash("Searching …")
	d.f.work(func(context.Context) {
		i, found := store.Find(ctx, thread, needle, from, back)
		d.f.post(func() {
			switch {
			case ctx.Err() != nil: // a late answer
			case !found && either && v.MatchNext(!back, false):
				d.word = flash{}
			default:
				h.found(d, v, i, found, back)
			}
			cancel()
		})
	})
}

// moved drops the current search: its result would be in another store.
func (h *searchBar) moved() {
	if h.at = -1; h.cancel != nil {
		h.cancel()
	}
}

func (h *searchBar) over(back bool) string {
	return "No more of “" + h.text + "” " + map[bool]string{true: "above.", false: "below."}[back]
}

func (h *searchBar) found(d *app, v *reader, i int, found, back bool) {
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
	for back && v.MatchNext(false, false) {
	}
	v.Mark(i)
}
