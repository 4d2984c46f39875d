package view

// This part of the package draws the screens around the conversation: the home screen, the first run, runs to
// resume, the plan, help, dialogs, and the strips of the run screen: the status line, the roster of agents,
// the plan in few rows.
//
// A page draws the data that it was given with Set, and has a little state of its own: the selection and
// the scroll position. It handles no keys, no commands and no run. The owner maps keys to methods, and acts
// on their results. Strings must be sanitised.
//
// Everything belongs to the goroutine that draws. Nothing here blocks or waits. Time is a parameter, except
// that drawing animations reads the clock.

import (
	"strings"
	"time"
	"unicode"

	"github.com/gdamore/tcell/v2"

	"github.com/arbiter-cli/arbiter/supervisor/words"
	"github.com/arbiter-cli/arbiter/tui/render"
)

// openDelay is how long a dialog that was opened by an event accepts no decision: keys pressed at that moment
// were meant for something else.
const openDelay = 700 * time.Millisecond

// Ask is a dialog. Its rectangle is the area it may use; the unused part stays visible, dimmed.
type Ask struct {
	page
	scroller
	data  AskData
	focus int
	armed time.Time

	body  []render.Line // laid out for the width
	read  bool          // the end was visible
	width int
	spots []pageSpot // places of the choices, as last drawn

	listWindow pageWindow // place of the list
	titleRows  int        // above it
}

// pageSpot is the place of a choice on the screen.
type pageSpot struct{ x, y, w int }

// NewAsk returns an empty dialog.
func NewAsk(look *render.Look) *Ask { return &Ask{page: newPage(look)} }

// Set replaces the question. It can be answered at once; see Arm.
func (a *Ask) Set(d AskData) {
	a.data, a.body, a.width, a.spots, a.armed, a.read = d, nil, -1, nil, time.Time{}, d.Body == nil
	a.focus = max(min(d.Focus, len(d.Choices)-1), 0)
	a.Top()
}

// Arm records that an event opened the dialog at a time: decisions are refused until the keyboard was quiet
// for a moment. A person in the middle of a word continues typing, so each refused key restarts the moment.
func (a *Ask) Arm(at time.Time) { a.armed = at.Add(openDelay) }

// ArmedIn returns how long decisions are still refused; 0: they are accepted.
func (a *Ask) ArmedIn(now time.Time) time.Duration { return max(a.armed.Sub(now), 0) }

// Armed reports whether decisions are accepted.
func (a *Ask) Armed(now time.Time) bool { return !now.Before(a.armed) }

// refuse reports whether a key comes too early.
func (a *Ask) refuse(now time.Time) bool {
	if a.Armed(now) {
		return false
	}
	a.armed = now.Add(openDelay)
	return true
}

// Next and Prev move among the choices.
func (a *Ask) Next() { a.step(1) }
func (a *Ask) Prev() { a.step(-1) }

func (a *Ask) step(by int) {
	if n := len(a.data.Choices); n > 0 {
		a.focus = (a.focus + by + n) % n
	}
}

// Choose returns the current choice, unless it is too early.
func (a *Ask) Choose(now time.Time) (value string, ok bool) {
	if len(a.data.Choices) == 0 || a.refuse(now) {
		return "", false
	}
	return a.value(a.focus)
}

// Press returns the choice of a hot key, unless it is too early. Every character that is typed while the
// dialog is open must be passed to it, so that it notices typing.
func (a *Ask) Press(r rune, now time.Time) (value string, ok bool) {
	if a.refuse(now) {
		return "", false
	}
	for i, c := range a.data.Choices {
		if c.Key != 0 && unicode.ToLower(c.Key) == unicode.ToLower(r) {
			a.focus = i
			return a.value(i)
		}
	}
	return "", false
}

// Click returns the choice drawn at a place of the screen, unless it is too early.
func (a *Ask) Click(x, y int, now time.Time) (value string, ok bool) {
	for i, s := range a.spots {
		if s.w > 0 && y == s.y && x >= s.x && x < s.x+s.w {
			if a.refuse(now) {
				return "", false
			}
			a.focus = i
			return a.value(i)
		}
	}
	return "", false
}

// value returns the value of a choice, unless more must be read before.
func (a *Ask) value(i int) (string, bool) {
	if a.needsReading(i) {
		return "", false
	}
	return a.data.Choices[i].Value, true
}

func (a *Ask) needsReading(i int) bool { return a.data.Choices[i].ReadToEnd && !a.read }

// Draw implements tview.Primitive.
func (a *Ask) Draw(screen tcell.Screen) {
	c := a.over(screen)
	w, h := c.Size()
	a.spots = make([]pageSpot, len(a.data.Choices))
	if w == 0 || h == 0 {
		return
	}
	for y := range h {
		c.Restyle(0, y, w, render.Dim)
	}
	framed, inner, frame := w >= 24 && h >= 7, w, 0
	switch {
	case framed && w >= 72:
		inner, frame = min(w-10, 96), 2
	case framed:
		inner, frame = min(w-4, 96), 2
	}
	head, body, note, choices := a.parts(inner, h, framed)
	if !a.read && a.below() == 0 {
		a.read = true
		head, body, note, choices = a.parts(inner, h, framed)
	}
	rows, outer := len(head)+len(body)+len(note)+len(choices)+frame, inner+2*frame
	box := c.Sub((w-outer)/2, max((h-rows)/2, 0), outer, min(rows, h))
	box.Clear(render.Base)
	outside := box
	if framed {
		tone, title := a.data.Tone, render.Title
		if tone == render.Danger {
			tone, title = render.Bad, render.Danger
		}
		box = box.Frame(render.Of(title, a.data.Title), tone)
		bw, bh := box.Size()
		box = box.Sub(1, 0, bw-2, bh)
	}
	a.paint(box, head, body, note, choices)
	if n := a.below(); framed && n > 0 {
		more := render.Of(render.Key, " "+words.Count(n, "more line")+" "+a.look.Glyphs.More+" ")
		ow, oh := outside.Size()
		outside.Line(max(ow-2-more.Width(), 1), oh-1, more)
	}
}

// parts returns the lines of the dialog, cut to the height: the choices are kept first, then at least some
// rows of the body, then the head, then the note.
func (a *Ask) parts(inner, h int, framed bool) (head, body, note []render.Line, choices [][]int) {
	var above []render.Line
	for _, l := range a.data.Head {
		above = append(above, render.Wrap(l, inner)...)
	}
	if a.data.Body == nil { // so that it can be scrolled
		a.body, above = above, nil
	} else if a.width != inner {
		a.body = a.data.Body(inner)
	}
	a.width = inner
	if framed {
		h -= 2
	} else {
		head = render.Wrap(render.Of(render.Title, a.data.Title), inner)
	}
	a.titleRows = len(head)
	head = append(append(head, a.listed(inner, h)...), above...)
	switch {
	case a.data.Unread != "" && !a.read:
		note = render.WrapText(render.Warn, a.data.Unread, inner)
	case a.data.Note != "":
		note = render.WrapText(render.Dim, a.data.Note, inner)
	}
	choices = a.rows(inner, h)
	space := max(h-len(choices), 0)
	few := min(len(a.body), 3)
	// Blank lines between the parts, if there is room for them.
	airy := len(head)+len(note)+few+4 <= space
	if airy {
		if len(head) > 0 && len(a.body) > 0 {
			head = append(head, nil)
		}
		if len(note) > 0 {
			note = append([]render.Line{nil}, note...)
		}
		note = append(note, nil)
	}
	if len(head)+len(note)+few > space {
		note = nil
	}
	head = head[:min(len(head), max(space-few, 0))]
	a.fit(len(a.body), min(len(a.body), max(space-len(head)-len(note), 0)))
	return head, a.body[a.top : a.top+a.view], note, choices
}

// rows distributes the choices: on one row, or on a row each if there is height, or on as few rows as
// possible.
func (a *Ask) rows(inner, h int) (rows [][]int) {
	total, n := -2, len(a.data.Choices)
	for i := range a.data.Choices {
		total += 2 + a.label(i).Width()
	}
	if total > inner && h >= n+10 {
		for i := range n {
			rows = append(rows, []int{i})
		}
		return rows
	}
	used := 0
	for i := range a.data.Choices {
		w := a.label(i).Width()
		if len(rows) == 0 || used+2+w > inner {
			rows, used = append(rows, nil), -2
		}
		rows[len(rows)-1] = append(rows[len(rows)-1], i)
		used += 2 + w
	}
	return rows
}

func (a *Ask) label(i int) render.Line {
	ch := a.data.Choices[i]
	role, keyRole, mark := render.Choice, render.ChoiceKey, " "
	switch {
	case i == a.focus && ch.Irreversible:
		role, keyRole, mark = render.Danger, render.Danger, a.look.Glyphs.Chosen
	case i == a.focus:
		role, keyRole, mark = render.ChoiceFocus, render.ChoiceFocus, a.look.Glyphs.Chosen
	}
	l := render.Of(role, mark)
	if ch.Key != 0 {
		l = append(l, render.Span{Text: string(unicode.ToLower(ch.Key)), Role: keyRole},
			render.Span{Text: " ", Role: role})
	}
	return append(l, render.Span{Text: ch.Label + " ", Role: role})
}

func (a *Ask) paint(box render.Canvas, head, body, note []render.Line, choices [][]int) {
	w, h := box.Size()
	left, top := box.Origin()
	y := box.Lines(0, head)
	a.listWindow.x, a.listWindow.y, a.listWindow.w = left, top+a.titleRows, w
	a.listWindow.rows = max(min(a.listWindow.rows, len(head)-a.titleRows), 0)
	part := box.Sub(0, y, w, len(body))
	part.Lines(0, body)
	a.marks(part)
	box.Lines(y+len(body), note)
	early := !a.Armed(time.Now())
	// If there is not enough room for all rows of choices, the current one is shown.
	first := h - len(choices)
	for i, row := range choices {
		for _, n := range row {
			if n == a.focus && first+i < 0 {
				first = -i
			}
		}
	}
	for i, row := range choices {
		y, x := first+i, 0
		if y < 0 || y >= h {
			continue
		}
		for _, n := range row {
			at := x
			x = box.Line(x, y, a.label(n))
			if early || a.needsReading(n) {
				box.Restyle(at, y, x-at, render.Dim)
			}
			a.spots[n] = pageSpot{left + at, top + y, max(min(x, w)-at, 0)}
			x += 2
		}
	}
}

// AskList is the list of items that a dialog can be about. It is at the top of the dialog.
type AskList struct {
	Rows []AskRow
	At   int // the current item
}

// AskRow is a row of it. The right part is kept, and the left part is shortened.
type AskRow struct {
	Left  render.Line
	Right string
}

// pageWindow is the visible part of a list.
type pageWindow struct{ x, y, w, first, rows int }

// listed lays out the list for a height: few rows, so that most of the height is left to the question, and
// a rule below if there is room.
func (a *Ask) listed(inner, h int) []render.Line {
	l := a.data.List
	a.listWindow = pageWindow{}
	if l == nil || len(l.Rows) == 0 {
		return nil
	}
	rows := min(len(l.Rows), max(h/5, 1))
	first := max(min(l.At-rows/2, len(l.Rows)-rows), 0)
	a.listWindow = pageWindow{first: first, rows: rows}
	var lines []render.Line
	for i, r := range l.Rows[first : first+rows] {
		lines = append(lines, a.listRow(r, first+i == l.At, inner))
	}
	if h >= 14 {
		lines = append(lines, render.Of(render.Frame, strings.Repeat(a.look.Glyphs.Horizontal, inner)))
	}
	return lines
}

func (a *Ask) listRow(r AskRow, at bool, inner int) render.Line {
	mark := render.Span{Text: "  ", Role: render.Base}
	if at {
		mark = render.Span{Text: a.look.Glyphs.Chosen + " ", Role: render.Key}
	}
	right := render.Width(r.Right)
	if right > inner/3 {
		right = -1 // otherwise no room would be left
	}
	l := append(render.Line{mark}, r.Left.Shorten(max(inner-right-3, 0), a.look.Glyphs.Ellipsis)...)
	if right < 0 {
		return l
	}
	return append(l, render.Span{Text: strings.Repeat(" ", max(inner-l.Width()-right, 1)) + r.Right, Role: render.Dim})
}

// Row returns the row of the list that is drawn at a place of the screen.
func (a *Ask) Row(x, y int) (int, bool) {
	w := a.listWindow
	if x < w.x || x >= w.x+w.w || y < w.y || y >= w.y+w.rows {
		return 0, false
	}
	return w.first + y - w.y, true
}

// Renew replaces the description of the same question: the current answer and the reading state stay.
func (a *Ask) Renew(d AskData) {
	a.data, a.width = d, -1
	a.focus = max(min(a.focus, len(d.Choices)-1), 0)
}

// Follow scrolls the body to its end when it is drawn, if its end was visible.
func (a *Ask) Follow() {
	if a.below() == 0 {
		a.top = 1 << 30
	}
}
