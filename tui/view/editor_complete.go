package view

import (
	"cmp"
	"slices"
	"strings"
	"unicode"

	"github.com/rivo/uniseg"

	"github.com/arbiter-cli/arbiter/sanitize"
	"github.com/arbiter-cli/arbiter/supervisor/words"
	"github.com/arbiter-cli/arbiter/tui/render"
)

// EditorKind is what is being completed.
type EditorKind uint8

// The kinds. This package knows the names of commands; the Completer provides the others.
const (
	EditorNothing  EditorKind = iota
	EditorName                // of a slash command
	EditorArgument            // of one; Want says which
	EditorFile                // behind an @
)

// EditorContext describes what to complete.
type EditorContext struct {
	Generation uint64 // for SetCandidates
	Kind       EditorKind
	Command    string // with Argument
	Want       Want
	Prefix     string // the part that is written already
	from, to   int    // where, as bytes of the text
}

// Candidate is a completion.
type Candidate struct {
	Text string // all of it, without the slash or the @
	Note string // what it is
	Open bool   // more may follow directly: a directory
}

// candidates bounds what a popup holds.
const candidates = 1000

type popup struct {
	generation uint64 // of the current context
	ctx        EditorContext
	list       []Candidate
	selected   int
	moved      bool // the person moved the selection
}

func (c *Editor) context() EditorContext {
	raw, at := c.ed.text, c.ed.at
	if c.ed.anchor >= 0 || at < len(raw) && !unicode.IsSpace(rune(raw[at])) {
		return EditorContext{}
	}
	if ctx, ok := fileContext(raw[:at]); ok {
		return ctx
	}
	if !slash(raw) || c.Plain {
		return EditorContext{}
	}
	name := firstWord(raw[1:])
	if at <= 1+len(name) {
		return EditorContext{Kind: EditorName, Prefix: raw[1:at], from: 1, to: at}
	}
	s, ok := Lookup(name)
	if !ok || strings.Contains(raw[:at], chipOpen) {
		return EditorContext{}
	}
	rest := strings.TrimLeft(raw[1+len(name):at], " ")
	for i, param := range s.params {
		last := i == len(s.params)-1
		done, after := "", ""
		if rest != "" {
			done, after = take(param.want, rest, last)
		}
		if after != "" || done != "" && !last && strings.HasSuffix(rest, " ") {
			rest = after
			continue
		}
		if param.want == WantText || strings.Contains(rest, "\n") {
			return EditorContext{}
		}
		return EditorContext{Kind: EditorArgument, Command: s.Name, Want: param.want, Prefix: strings.TrimLeft(rest, `"'`),
			from: at - len(rest), to: at}
	}
	return EditorContext{}
}

// fileContext finds a path behind an @ at the beginning of a word: @path, or @"a path".
func fileContext(head string) (EditorContext, bool) {
	i := strings.LastIndexByte(head, '@')
	if i < 0 || i > 0 && !unicode.IsSpace(rune(head[i-1])) && !strings.ContainsRune("([{\"'", rune(head[i-1])) {
		return EditorContext{}, false
	}
	path := head[i+1:]
	if quoted := strings.HasPrefix(path, `"`); quoted {
		path = path[1:]
		if strings.ContainsAny(path, "\"\n") {
			return EditorContext{}, false
		}
	} else if strings.ContainsFunc(path, unicode.IsSpace) {
		return EditorContext{}, false
	}
	return EditorContext{Kind: EditorFile, Prefix: path, from: i + 1, to: len(head)}, !strings.Contains(path, chipOpen)
}

// complete looks for completions. It opens the popup if requested, and closes it if there are none.
func (c *Editor) complete(open bool) {
	if !open && !c.PopupOpen() {
		c.closePopup()
		return
	}
	ctx := c.context()
	if ctx.Kind == EditorNothing {
		c.closePopup()
		return
	}
	c.popup.generation++
	ctx.Generation = c.popup.generation
	c.popup = popup{generation: ctx.Generation, ctx: ctx}
	list, _ := ctx.Want.words()
	switch {
	case ctx.Kind == EditorName:
		list = names()
	case list == nil && c.Completer != nil:
		list = c.Completer(ctx)
	}
	c.SetCandidates(ctx.Generation, list)
}

func names() []Candidate {
	list := make([]Candidate, len(EditorCommands))
	for i, s := range EditorCommands {
		list[i] = Candidate{Text: s.Name, Note: strings.TrimSpace(s.Args + "  " + s.Help)}
	}
	return list
}

// SetCandidates answers a Context. An answer that comes too late is dropped. Candidates that cannot be
// written, such as names with control characters, are omitted.
func (c *Editor) SetCandidates(generation uint64, list []Candidate) {
	p := &c.popup
	if generation != p.generation || p.ctx.Kind == EditorNothing {
		return
	}
	var chosen string
	if p.moved && p.selected < len(p.list) {
		chosen = p.list[p.selected].Text
	}
	var clean []Candidate
	for _, one := range list {
		if one.Text == "" || sanitize.Line(one.Text, 0) != one.Text || len(clean) == candidates {
			continue
		}
		one.Note = sanitize.Line(one.Note, 200)
		clean = append(clean, one)
	}
	p.list, p.selected = nil, 0
	for i, k := range rankEditor(p.ctx.Prefix, len(clean), func(i int) string { return clean[i].Text }) {
		p.list = append(p.list, clean[k])
		if p.moved && clean[k].Text == chosen {
			p.selected = i
		}
	}
}

// PopupOpen reports whether there are candidates to be shown.
func (c *Editor) PopupOpen() bool { return len(c.popup.list) > 0 }

func (c *Editor) closePopup() { c.popup = popup{generation: c.popup.generation + 1} }

func (c *Editor) choose(by int) {
	p := &c.popup
	p.moved = true
	p.selected = (p.selected + by + len(p.list)) % len(p.list)
}

func (c *Editor) accept() {
	p := c.popup
	one := p.list[p.selected]
	text := one.Text
	if p.ctx.Kind == EditorFile && strings.ContainsFunc(text, unicode.IsSpace) {
		text = `"` + text
		if !one.Open {
			text += `"`
		}
	}
	if p.ctx.Kind == EditorArgument && p.ctx.Want == WantAgent && p.ctx.Command == "to" && strings.Contains(text, " ") {
		text = `"` + text + `"`
	}
	follow := c.ed.text[p.ctx.to:]
	if !one.Open && follow == "" {
		text += " "
	}
	c.ed.replace(p.ctx.from, p.ctx.to, text, false)
	if !one.Open && follow != "" && follow[0] == ' ' {
		c.ed.at = c.ed.right(c.ed.at)
	}
	c.closePopup()
	c.complete(one.Open || p.ctx.Kind == EditorName)
}

func (p *popup) exact() bool {
	if p.ctx.Kind == EditorName {
		_, ok := Lookup(p.ctx.Prefix)
		return ok
	}
	return slices.ContainsFunc(p.list, func(one Candidate) bool { return one.Text == p.ctx.Prefix })
}

// Popup returns the list of candidates, as many as fit, and the index of the selected one. No lines: there
// is nothing to complete.
func (c *Editor) Popup(width, rows int) (lines []render.Line, selected int) {
	if !c.PopupOpen() || rows <= 0 || width <= 0 {
		return nil, 0
	}
	p := &c.popup
	first := max(0, min(p.selected-rows/2, len(p.list)-rows))
	end := min(first+rows, len(p.list))
	wide := 0
	for _, one := range p.list[first:end] {
		wide = max(wide, render.Width(one.Text)+1)
	}
	wide = max(min(wide, max(width*2/3, width-30)), 1)
	sign := map[EditorKind]string{EditorName: "/", EditorFile: "@"}[p.ctx.Kind]
	for _, one := range p.list[first:end] {
		lines = append(lines, c.popupLine(one, sign, wide, width))
	}
	return lines, p.selected - first
}

func (c *Editor) popupLine(one Candidate, sign string, wide, width int) render.Line {
	_, at, _ := match(c.popup.ctx.Prefix, one.Text)
	if wide <= len(sign) {
		sign = ""
	}
	name := render.Shorten(one.Text, wide-len(sign), c.look.Glyphs.Ellipsis)
	line := append(render.Of(render.Dim, sign), marked(name, at, render.Base)...)
	if one.Note == "" || width-wide < 6 {
		return line
	}
	pad := strings.Repeat(" ", max(wide-line.Width(), 0)+2)
	note := render.Shorten(one.Note, width-wide-2, c.look.Glyphs.Ellipsis)
	return append(line, render.Span{Text: pad + note, Role: render.Dim})
}

// marked returns a text in which the letters at some places are shown as found.
func marked(text string, at []int, role render.Role) render.Line {
	var line render.Line
	i := 0
	for text != "" {
		cluster, rest, _, _ := uniseg.FirstGraphemeClusterInString(text, -1)
		mark := role
		for range cluster {
			if len(at) > 0 && at[0] == i {
				mark, at = render.Match, at[1:]
			}
			i++
		}
		line = line.Append(mark, cluster)
		text = rest
	}
	return line
}

// match reports whether the letters of the query occur in text in this order, how well, and where, as indices of
// runes: at the beginning of the text or of a word, and one behind the other if possible. Case matters only between
// places that are equally good.
func match(query, text string) (score int, at []int, ok bool) {
	q, t := []rune(query), []rune(text)
	q, t = q[:min(len(q), queryRunes)], t[:min(len(t), rowRunes)]
	for from := range t {
		if len(q) == 0 || unicode.ToLower(t[from]) != unicode.ToLower(q[0]) {
			continue
		}
		n, places := 0, []int(nil)
		for j := from; j < len(t) && len(places) < len(q); j++ {
			if r := q[len(places)]; unicode.ToLower(t[j]) == unicode.ToLower(r) {
				n += worth(r, t, j)
				if k := len(places); k > 0 && places[k-1] == j-1 {
					n += 10
				} else if k > 0 {
					n -= 3
				}
				places = append(places, j)
			}
		}
		if len(places) < len(q) {
			break
		}
		if !ok || n > score {
			score, at, ok = n, places, true
		}
	}
	return score, at, ok || len(q) == 0
}

func worth(q rune, t []rune, j int) int {
	n := 1
	switch {
	case j == 0:
		n += 12
	case t[j-1] == '/':
		n += 9
	case !unicode.IsLetter(t[j-1]) && !unicode.IsDigit(t[j-1]), unicode.IsUpper(t[j]) && unicode.IsLower(t[j-1]):
		n += 7
	}
	if q == t[j] {
		n++
	}
	return n
}

// rankEditor returns the indices of the texts that match a query, the best first. Equal ones keep their order;
// with a query, shorter ones come before longer ones.
func rankEditor(query string, n int, text func(int) string) []int {
	type hit struct{ index, score, length int }
	var hits []hit
	for i := range n {
		t := text(i)
		if score, _, ok := match(query, t); ok {
			hits = append(hits, hit{i, score, len(t)})
		}
	}
	if query != "" {
		slices.SortStableFunc(hits, func(a, b hit) int { return cmp.Or(b.score-a.score, a.length-b.length) })
	}
	order := make([]int, len(hits))
	for i, h := range hits {
		order[i] = h.index
	}
	return order
}

// suggest returns the commands that a misspelled word may mean, the nearest first: those that begin with
// it, and those with one or two different letters.
func suggest(word string) []string {
	word = strings.ToLower(word)
	if word == "" || len(word) > 20 || strings.ContainsAny(word, "/\\.:") {
		return nil
	}
	least := 1 // different letters
	if len(word) > 3 {
		least = 2
	}
	var list []string
	for _, s := range EditorCommands {
		far := least + 1
		for _, name := range append([]string{s.Name}, s.Aliases...) {
			if strings.HasPrefix(name, word) {
				far = 0
			} else if len(word) > 1 {
				far = min(far, words.Slips(word, name))
			}
		}
		if far < least {
			least, list = far, nil
		}
		if far == least && len(list) < 3 {
			list = append(list, "/"+s.Name)
		}
	}
	return list
}
