package view

import (
	"slices"
	"unicode"
)

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

// worth is the value of a letter of the query at a place.
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
