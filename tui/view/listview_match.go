package view

import (
	"unicode"

	"github.com/arbiter-cli/arbiter/tui/render"
)

// listSearch is the highlighted text.
type listSearch struct {
	needle []rune   // folded
	at     listSpot // the current match
}

// none3 is not a match.
var none3 = listSpot{pos: pos{block: -1}}

// span is some columns of a row.
type span struct{ from, to int }

// Match highlights a text, ignoring case; an empty text removes the highlight.
func (v *ListView) Match(needle string) {
	v.search = listSearch{at: none3}
	for _, r := range needle {
		v.search.needle = append(v.search.needle, unicode.ToLower(r))
	}
}

// MatchNext goes to the next match in the current block, or to the previous one. It returns false if there
// is no further one.
func (v *ListView) MatchNext(back bool) bool {
	v.update()
	at := v.search.at
	if at.block < 0 || at.block >= v.total() {
		return false
	}
	b := v.block(at.block)
	step := 1
	if back {
		step = -1
	}
	for row := at.row; row >= 0 && row < b.rows(); row += step {
		found := v.search.matches(v.text(pos{at.block, row}))
		for k := range found {
			if back {
				k = len(found) - 1 - k
			}
			s := listSpot{pos{at.block, row}, found[k].from}
			if !back && at.before(s) || back && s.before(at) {
				v.search.at = s
				v.show(s.pos)
				return true
			}
		}
	}
	return false
}

// findIn makes the first match of a block the current one.
func (v *ListView) findIn(i int) {
	if len(v.search.needle) == 0 {
		return
	}
	if v.firstIn(i) || i >= v.n {
		return
	}
	if b := v.block(i); b.Foldable && !b.Open {
		if v.toggle(i); !v.firstIn(i) {
			v.toggle(i)
			v.leave(v.fit(pos{i, 0}))
		}
	}
}

func (v *ListView) firstIn(i int) bool {
	for row := range v.rows(i) {
		if found := v.search.matches(v.text(pos{i, row})); len(found) > 0 {
			v.search.at = listSpot{pos{i, row}, found[0].from}
			p, _ := v.up(pos{i, row}, v.high/3)
			v.leave(p)
			return true
		}
	}
	return false
}

// show brings a row into the window if it is not there.
func (w *listWindow) show(p pos) {
	q, _ := w.down(w.top, w.high-1)
	if p.before(w.top) || q.before(p) {
		p, _ = w.up(p, w.high/3)
		w.leave(p)
	}
}

// matches returns the places of the needle in a row.
func (s listSearch) matches(l render.Line) []span {
	needle := s.needle
	if len(needle) == 0 || len(l) == 0 {
		return nil
	}
	var runes []rune
	var cols []span // columns of each rune's cluster
	clusters(l, func(cluster string, col, width int) bool {
		for _, r := range cluster {
			runes = append(runes, unicode.ToLower(r))
			cols = append(cols, span{col, col + width})
		}
		return col < maxMatched
	})
	var found []span
	for i := 0; i+len(needle) <= len(runes); i++ {
		if !begins(runes[i:], needle) {
			continue
		}
		last := i + len(needle) - 1
		found = append(found, span{cols[i].from, cols[last].to})
		i = last
	}
	return found
}

func begins(text, with []rune) bool {
	for i, r := range with {
		if text[i] != r {
			return false
		}
	}
	return true
}
