package view

import (
	"slices"
	"unicode"
)

// Bounds of a comparison: the rest of a query or of a row is ignored.
const (
	queryRunes = 64
	rowRunes   = 512
)

// The score of a letter of the query where it is found.
const (
	worthLetter   = 1
	worthRun      = 10 // right behind the one before
	worthWord     = 7  // at the beginning of a word
	worthPath     = 9  // behind a slash
	worthBegin    = 12 // at the very beginning
	worthSameCase = 1
	costGap       = 3 // not directly behind the one before
	unmatched     = -1 << 30
)

// match reports whether the letters of the query occur in text in this order, with which score, and where
// the best places are, as indices of runes. Case matters only between equal scores.
func match(query, text string) (score int, at []int, ok bool) {
	m := newMatcher(query)
	if score, ok = m.match(text); !ok || len(m.query) == 0 {
		return 0, nil, ok
	}
	for i, j := len(m.query)-1, m.last; i >= 0; i-- {
		at = append(at, j)
		j = m.from[i*len(m.text)+j]
	}
	slices.Reverse(at)
	return score, at, true
}

// matcher compares one query with many texts.
type matcher struct {
	query, text []rune
	first       []int // the first place that each letter can have
	// end[i][j] is the best score with query[i] at text[j], and from[i][j] the place of query[i-1] then.
	end, from []int
	last      int // where the last letter stands
}

func newMatcher(query string) *matcher {
	q := []rune(query)
	return &matcher{query: q[:min(len(q), queryRunes)]}
}

// match compares a text, in time proportional to its length and the query's.
func (m *matcher) match(text string) (score int, ok bool) {
	m.text = m.text[:0]
	for _, r := range text {
		if len(m.text) == rowRunes {
			break
		}
		m.text = append(m.text, r)
	}
	if len(m.query) == 0 || !m.within() {
		return 0, len(m.query) == 0
	}
	width := len(m.text)
	if n := len(m.query) * width; cap(m.end) < n {
		m.end, m.from = make([]int, n), make([]int, n)
	}
	m.end, m.from = m.end[:len(m.query)*width], m.from[:len(m.query)*width]
	for i := range m.query {
		m.letter(i, width)
	}
	row := m.end[(len(m.query)-1)*width:]
	m.last = 0
	for j, n := range row {
		if n > row[m.last] {
			m.last = j
		}
	}
	return row[m.last], true
}

// letter finds the best for query[i] at every place.
func (m *matcher) letter(i, width int) {
	end, from := m.end[i*width:(i+1)*width], m.from[i*width:(i+1)*width]
	var before []int
	if i > 0 {
		before = m.end[(i-1)*width : i*width]
	}
	best, bestAt := unmatched, -1 // of those before that are not next to it
	letter := foldEditor(m.query[i])
	for j, r := range m.text {
		end[j] = unmatched
		if before != nil && j > 1 && before[j-2] > best {
			best, bestAt = before[j-2], j-2
		}
		if j < m.first[i] || foldEditor(r) != letter {
			continue
		}
		here := worth(m.query[i], m.text, j)
		if before == nil {
			end[j], from[j] = here, -1
			continue
		}
		if best > unmatched {
			end[j], from[j] = best+here-costGap, bestAt
		}
		if j > 0 && before[j-1] > unmatched && before[j-1]+here+worthRun > end[j] {
			end[j], from[j] = before[j-1]+here+worthRun, j-1
		}
	}
}

// within finds the first place that each letter of the query can have.
func (m *matcher) within() bool {
	m.first = m.first[:0]
	for j := 0; j < len(m.text) && len(m.first) < len(m.query); j++ {
		if foldEditor(m.query[len(m.first)]) == foldEditor(m.text[j]) {
			m.first = append(m.first, j)
		}
	}
	return len(m.first) == len(m.query)
}

func worth(q rune, t []rune, j int) int {
	n := worthLetter
	switch {
	case j == 0:
		n += worthBegin
	case t[j-1] == '/':
		n += worthPath
	case !unicode.IsLetter(t[j-1]) && !unicode.IsDigit(t[j-1]), unicode.IsUpper(t[j]) && unicode.IsLower(t[j-1]):
		n += worthWord
	}
	if q == t[j] {
		n += worthSameCase
	}
	return n
}

func foldEditor(r rune) rune {
	if r < 0x80 {
		if r >= 'A' && r <= 'Z' {
			return r + 'a' - 'A'
		}
		return r
	}
	return unicode.ToLower(r)
}

// rankEditor returns the indices of the texts that match a query, the best first. Equal ones keep their order;
// with a query, shorter ones come before longer ones.
func rankEditor(query string, n int, text func(int) string) []int {
	type hit struct{ index, score, length int }
	hits := make([]hit, 0, n)
	m := newMatcher(query)
	for i := range n {
		t := text(i)
		if score, ok := m.match(t); ok {
			hits = append(hits, hit{i, score, len(t)})
		}
	}
	if query != "" {
		slices.SortStableFunc(hits, func(a, b hit) int {
			if a.score != b.score {
				return b.score - a.score
			}
			return a.length - b.length
		})
	}
	order := make([]int, len(hits))
	for i, h := range hits {
		order[i] = h.index
	}
	return order
}
