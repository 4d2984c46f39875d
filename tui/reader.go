package tui

import (
	"fmt"
	"time"

	"github.com/gdamore/tcell/v2"

	"github.com/arbiter-cli/arbiter/supervisor/contract"
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
	src.look, src.name, src.parent = func() *render.Look { return d.look }, d.session.name, d.f.subagents.Parent
	src.root, src.simulated = d.session.root, d.session.simulated
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
	src.look, src.name, src.parent, src.root = r.src.look, r.src.name, r.src.parent, r.src.root
	src.simulated = r.src.simulated
	r.src = src
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

func (b *blockScreen) context() keys.Context            { return b.keys }
func (b *blockScreen) writes() bool                     { return false }
func (b *blockScreen) mouse() mouseHandler              { return b.MouseHandler() }
func (b *blockScreen) renew()                           { b.SetLook(b.d.look) }
func (b *blockScreen) act(a keys.Action, _ string) bool { return b.d.scroll(b.reader, a) }

func (b *blockScreen) drawBlocks(s tcell.Screen, c render.Canvas, row int) {
	x, y := c.Origin()
	w, h := c.Size()
	if h-row > 3 {
		c.Rule(row, render.Frame)
		if note := b.below(); note != "" {
			c.Sub(0, row, w-2, 1).Right(0, render.Of(render.Dim, " "+note+" "))
		}
		row++
	}
	paint(b.ListView, s, x, y+row, w, max(h-row, 0))
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
		if result, ok := outcome[contract.ToolResult](e); ok {
			return result.Text
		}
	}
	text, _ := eventtext.Text(e, r.src.name)
	return text
}

// outcome returns the event that ended an entry, if it is of that kind.
func outcome[B contract.Body](e history.Entry) (B, bool) {
	var none B
	if e.Outcome == nil {
		return none, false
	}
	b, ok := e.Outcome.Body.(B)
	return b, ok
}

// now returns the time that the screen uses.
func now() time.Time { return time.Now() }

// scroll performs an action in a scrollable text.
func (d *app) scroll(v *reader, a keys.Action) bool {
	switch a {
	case keys.Up:
		v.line(-1)
	case keys.Down:
		v.line(1)
	case keys.HalfUp:
		v.HalfUp()
	case keys.HalfDown:
		v.HalfDown()
	case keys.PageUp:
		v.PageUp()
	case keys.PageDown:
		v.PageDown()
	case keys.Top:
		v.Top()
	case keys.Bottom:
		v.SelectClear()
		v.Bottom()
	case keys.NextBlock:
		v.NextBlock()
	case keys.PrevBlock:
		v.PrevBlock()
	case keys.Fold:
		if v.Marked() < 0 {
			v.PrevBlock()
		}
		v.Toggle()
	case keys.FoldAll:
		v.ToggleAll()
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
	case keys.SearchNext:
		d.search.next(d, v, false)
	case keys.SearchPrev:
		d.search.next(d, v, true)
	default:
		return false
	}
	return true
}

// line moves by a line: the selection's end while lines are being selected.
func (r *reader) line(by int) {
	switch {
	case r.Selecting():
		r.Extend(by)
	case by < 0:
		r.Up(1)
	default:
		r.Down(1)
	}
}

// below returns a note about hidden content at the end; empty if there is none.
func (r *reader) below() string {
	if r.src == nil {
		return "" // a text that is not a thread of the history, and is read from its beginning
	}
	separator := r.src.look().Glyphs.Separator
	switch n := r.Behind(); {
	case r.Following():
		return ""
	case n > 0:
		return fmt.Sprintf("%d new below %s G", n, separator)
	}
	return "more below " + separator + " G"
}

// source shows a thread of the history as blocks. It belongs to tview's loop.
type source struct {
	thread *history.Thread
	look   func() *render.Look
	name   func(id string) string
	parent func(subagent string) string
	root   func(agent string) string
	// simulated reports whether a rehearsal is shown.
	simulated func() bool
	render    func(history.Entry, view.EventOptions) view.EventView
	live      func() []history.Live             // what is arriving
	grows     map[string]*render.MarkdownStream // layout of the arriving text, by agent
}

// Len and Stamp implement view.BlockSource.
func (s *source) Len() int { return s.thread.Len() }

func (s *source) Stamp(i int) uint64 { return s.thread.Stamp(i) }

func (s *source) Block(i, width int, open bool) view.Block {
	e, ok := s.thread.Entry(i)
	if !ok {
		return view.Block{Lines: []render.Line{render.Of(render.Dim, "(this can no longer be read)")}}
	}
	o := s.options(width)
	o.Open = open
	return block(s.render(e, o), open)
}

func (s *source) Tail(width int) []view.Block {
	if s.live == nil {
		return nil
	}
	var list []view.Block
	arriving := s.live()
	for _, l := range arriving {
		if s.grows == nil {
			s.grows = map[string]*render.MarkdownStream{}
		}
		if s.grows[l.Agent] == nil {
			s.grows[l.Agent] = &render.MarkdownStream{}
		}
		o := s.options(width)
		o.Stream = s.grows[l.Agent]
		b := block(view.EventLive(l, o), true)
		b.Foldable, b.Key = false, liveKey(l.Agent, l.Began)
		list = append(list, b)
	}
	if len(arriving) == 0 {
		s.grows = nil
	}
	return list
}

func (s *source) options(width int) view.EventOptions {
	return view.EventOptions{Width: width, Look: s.look(), Now: time.Now(), Name: s.name, Time: true, Parent: s.parent,
		Root: s.root, Simulated: s.simulated()}
}

// block converts a card for the list view.
func block(c view.EventView, open bool) view.Block {
	return view.Block{
		Gutter: c.Gutter, Mark: c.Mark, Head: c.Head, Lines: c.Lines, Indent: c.Indent, Foldable: c.Foldable,
		Open: open,
	}
}

// liveKey identifies a text that is arriving, so that the view stays with it.
func liveKey(agent string, began time.Time) string { return agent + "/" + began.String() }
