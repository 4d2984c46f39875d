package view

import (
	"fmt"
	"strings"

	"github.com/gdamore/tcell/v2"
	"github.com/rivo/tview"
	"github.com/rivo/uniseg"

	"github.com/arbiter-cli/arbiter/sanitize"
	"github.com/arbiter-cli/arbiter/tui/render"
)

// EditorItem is a row of a [Picker].
type EditorItem struct {
	Text  string // what is shown and compared
	Note  string // at the right, if there is room
	Role  render.Role
	Value any // for the owner
}

// Picker is a list from which to choose: documents, files, runs, agents. The list has the keyboard at
// first; a letter that is not one of its keys begins the filter, and so does a slash.
type Picker struct {
	*tview.Box

	OnChoose func(EditorItem)
	OnCancel func()
	// OnMove reports the row under the cursor; ok is false if there is none.
	OnMove func(item EditorItem, ok bool)

	look     *render.Look
	empty    string
	items    []EditorItem
	filter   string
	typing   bool
	eager    bool  // letters go to the filter from the beginning
	order    []int // indices of the matching rows, best first
	cursor   int   // into order
	top      int
	height   int // of the list when it was drawn last
	listY    int
	listRows int
}

// NewPicker is an empty list.
func NewPicker(look *render.Look) *Picker {
	return &Picker{Box: tview.NewBox(), look: look, height: 10}
}

// SetLook changes how it is drawn.
func (p *Picker) SetLook(look *render.Look) { p.look = look }

// SetEmpty sets the text that is shown if there is nothing to choose.
func (p *Picker) SetEmpty(text string) { p.empty = sanitize.Line(text, 200) }

// SetItems replaces the rows; the filter stays, and so does the cursor if its row still exists.
func (p *Picker) SetItems(items []EditorItem) {
	before, had := p.Current()
	p.items = make([]EditorItem, len(items))
	for i, one := range items {
		one.Text, one.Note = sanitize.Line(one.Text, rowRunes), sanitize.Line(one.Note, 200)
		p.items[i] = one
	}
	p.rank()
	if had {
		for i, k := range p.order {
			if p.items[k].Text == before.Text {
				p.cursor = i
				break
			}
		}
	}
	p.moved()
}

// SetFilter shows the rows that match.
func (p *Picker) SetFilter(filter string) {
	p.filter = sanitize.Line(filter, queryRunes)
	p.rank()
	p.moved()
}

// Filtering makes letters go to the filter from the beginning, and Esc leave the list at once.
func (p *Picker) Filtering() { p.typing, p.eager = true, true }

// Filter returns the filter; typing reports that letters go there.
func (p *Picker) Filter() (filter string, typing bool) { return p.filter, p.typing }

// Current returns the row under the cursor.
func (p *Picker) Current() (EditorItem, bool) {
	if p.cursor < len(p.order) {
		return p.items[p.order[p.cursor]], true
	}
	return EditorItem{}, false
}

// Len returns how many rows match, and how many there are.
func (p *Picker) Len() (matching, all int) { return len(p.order), len(p.items) }

func (p *Picker) rank() {
	p.order = rankEditor(p.filter, len(p.items), func(i int) string { return p.items[i].Text })
	p.cursor, p.top = 0, 0
}

func (p *Picker) moved() {
	if p.OnMove != nil {
		p.OnMove(p.Current())
	}
}

func (p *Picker) move(by int) bool {
	to := max(min(p.cursor+by, len(p.order)-1), 0)
	if to != p.cursor {
		p.cursor = to
		p.moved()
	}
	return true
}

// InputHandler gives keys to the list.
func (p *Picker) InputHandler() func(*tcell.EventKey, func(tview.Primitive)) {
	return p.WrapInputHandler(func(e *tcell.EventKey, _ func(tview.Primitive)) { p.Key(e) })
}

// PasteHandler puts what is pasted into the filter.
func (p *Picker) PasteHandler() func(string, func(tview.Primitive)) {
	return p.WrapPasteHandler(func(text string, _ func(tview.Primitive)) {
		line, _, _ := strings.Cut(strings.TrimSpace(sanitize.Text(text[:min(len(text), 4096)])), "\n")
		p.typing = true
		p.SetFilter(p.filter + line)
	})
}

// Key handles a key and reports whether it has a meaning here.
func (p *Picker) Key(e *tcell.EventKey) bool {
	key, mod := normal(e)
	page := max(p.height-1, 1)
	switch key {
	case tcell.KeyRune:
		if mod&^tcell.ModShift != 0 {
			return false
		}
		return p.letter(e.Rune())
	case tcell.KeyUp, tcell.KeyCtrlP, tcell.KeyBacktab:
		return p.move(-1)
	case tcell.KeyDown, tcell.KeyCtrlN, tcell.KeyTab, tcell.KeyCtrlJ:
		return p.move(1)
	case tcell.KeyPgUp, tcell.KeyCtrlB:
		return p.move(-page)
	case tcell.KeyPgDn, tcell.KeyCtrlF:
		return p.move(page)
	case tcell.KeyHome:
		return p.move(-len(p.order))
	case tcell.KeyEnd:
		return p.move(len(p.order))
	case tcell.KeyBackspace:
		if p.filter == "" {
			p.typing = p.eager
			return true
		}
		p.SetFilter(withoutLast(p.filter))
	case tcell.KeyCtrlU:
		p.SetFilter("")
	case tcell.KeyEnter:
		if item, ok := p.Current(); ok && p.OnChoose != nil {
			p.OnChoose(item)
		}
	case tcell.KeyEscape:
		if !p.eager && (p.typing || p.filter != "") {
			p.typing = false
			p.SetFilter("")
			break
		}
		if p.OnCancel != nil {
			p.OnCancel()
		}
	default:
		return false
	}
	return true
}

// letter handles a letter: it moves the cursor, or goes to the filter.
func (p *Picker) letter(r rune) bool {
	if !p.typing {
		switch r {
		case 'j':
			return p.move(1)
		case 'k':
			return p.move(-1)
		case 'g':
			return p.move(-len(p.order))
		case 'G':
			return p.move(len(p.order))
		case '/':
			p.typing = true
			return true
		}
	}
	if p.typing = true; sanitize.Line(p.filter+string(r), queryRunes) == p.filter+string(r) {
		p.SetFilter(p.filter + string(r))
	}
	return true
}

func withoutLast(s string) string {
	g, end := uniseg.NewGraphemes(s), 0
	for g.Next() {
		end, _ = g.Positions()
	}
	return s[:end]
}

// Draw draws the filter line and the rows around the cursor.
func (p *Picker) Draw(screen tcell.Screen) {
	x, y, w, h := p.GetRect()
	canvas := render.On(screen, x, y, w, h, p.look)
	if w, h = canvas.Size(); w == 0 || h == 0 {
		return
	}
	canvas.Clear(render.Base)
	head := 0
	if h > 1 || p.typing {
		p.drawFilter(canvas.Sub(0, 0, w, 1))
		head = 1
	}
	list := canvas.Sub(0, head, w, h-head)
	_, p.listY = list.Origin()
	if _, p.height = list.Size(); p.height == 0 {
		return
	}
	p.top = max(min(p.top, p.cursor, len(p.order)-p.height), 0)
	p.top = max(p.top, p.cursor-p.height+1)
	p.listRows = min(p.height, len(p.order)-p.top)
	if len(p.order) == 0 {
		text := p.empty
		if p.filter != "" {
			text = "nothing matches"
		}
		list.Text(1, 0, render.Shorten(text, w-1, p.look.Glyphs.Ellipsis), render.Dim)
	}
	for i := range p.listRows {
		p.drawItem(list.Sub(0, i, w, 1), p.items[p.order[p.top+i]], p.top+i == p.cursor)
	}
}

func (p *Picker) drawFilter(canvas render.Canvas) {
	w, _ := canvas.Size()
	count := fmt.Sprintf("%d of %d", len(p.order), len(p.items))
	if w > 30 {
		canvas.Right(0, render.Of(render.Dim, count))
		canvas = canvas.Sub(0, 0, w-len(count)-1, 1)
		w -= len(count) + 1
	}
	x := canvas.Text(0, 0, "/ ", render.Key)
	if p.filter == "" && !p.typing {
		canvas.Text(x, 0, render.Shorten("type to filter", w-x, p.look.Glyphs.Ellipsis), render.Placeholder)
		return
	}
	shown := p.filter
	for x+render.Width(shown)+1 > w && shown != "" { // the end of the filter must be visible
		_, shown, _, _ = uniseg.FirstGraphemeClusterInString(shown, -1)
	}
	x = canvas.Text(x, 0, shown, render.Input)
	if p.typing && p.HasFocus() {
		canvas.Cursor(min(x, w-1), 0)
	}
}

func (p *Picker) drawItem(canvas render.Canvas, item EditorItem, current bool) {
	w, _ := canvas.Size()
	if current {
		canvas.Text(0, 0, p.look.Glyphs.Prompt, render.Key)
	}
	body := canvas.Sub(min(2, w/4), 0, w, 1)
	space, _ := body.Size()
	text := render.Shorten(item.Text, space, p.look.Glyphs.Ellipsis)
	_, at, _ := match(p.filter, item.Text)
	end := body.Line(0, 0, marked(text, at, item.Role))
	if free := space - end - 2; item.Note != "" && free >= 6 {
		body.Right(0, render.Of(render.Dim, render.Shorten(item.Note, free, p.look.Glyphs.Ellipsis)))
	}
	if current {
		canvas.Restyle(0, 0, w, render.Selection)
	}
}

// MouseHandler chooses what is clicked; the wheel moves.
func (p *Picker) MouseHandler() func(tview.MouseAction, *tcell.EventMouse,
	func(tview.Primitive)) (bool, tview.Primitive) {
	return p.WrapMouseHandler(func(action tview.MouseAction, e *tcell.EventMouse,
		setFocus func(tview.Primitive)) (bool, tview.Primitive) {
		x, y := e.Position()
		if !p.InRect(x, y) {
			return false, nil
		}
		switch action {
		case tview.MouseLeftDown:
			setFocus(p)
			if row := y - p.listY; row >= 0 && row < p.listRows {
				p.move(p.top + row - p.cursor)
			}
		case tview.MouseLeftDoubleClick:
			if item, ok := p.Current(); ok && p.OnChoose != nil && y >= p.listY {
				p.OnChoose(item)
			}
		case tview.MouseScrollUp:
			p.move(-1)
		case tview.MouseScrollDown:
			p.move(1)
		default:
			return false, nil
		}
		return true, nil
	})
}
