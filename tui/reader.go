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

func (b *blockScreen) context() keys.Context            { return b.keys }
func (b *blockScreen) writes() bool                     { return false }
func (b *blockScreen) mouse() mouseHandler              { return b.MouseHandler() }
func (b *blockScreen) renew()                           { b.Refresh() }
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
	text, _ := eventtext.Text(e, r.src.d.session.name)
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
	case keys.HalfUp:
		v.HalfUp()
	case keys.HalfDown:
		v.HalfDown()
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
	separator := r.src.d.look.Glyphs.Separator
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
	d      *app
	thread *history.Thread
	render func(history.Entry, view.EventOptions) view.Block
	live   func() []history.Live             // what is arriving
	grows  map[string]*render.MarkdownStream // layout of the arriving text, by agent
}

// Len, Stamp, Block and Tail implement view.BlockSource.
func (s *source) Len() int           { return s.thread.Len() }
func (s *source) Stamp(i int) uint64 { return s.thread.Stamp(i) }

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
	return view.EventOptions{Width: width, Look: s.d.look, Now: now(), Name: session.name, Time: true,
		Parent: s.d.f.subagents.Parent, Root: session.root,
		Simulated: session.state != nil && session.state.Options.Rehearsal}
}
