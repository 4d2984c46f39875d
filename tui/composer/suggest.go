package composer

import (
	"sort"
	"strings"
)

// suggest names the commands that a word may have been meant to be, the nearest
// first: those it begins, and those a slip or two away.
func suggest(word string) []string {
	word = strings.ToLower(word)
	if word == "" || len(word) > 20 || strings.ContainsAny(word, "/\\.:") {
		return nil
	}
	allowed := 1
	if len(word) > 3 {
		allowed = 2
	}
	type near struct {
		name string
		far  int
	}
	var list []near
	for _, s := range Commands {
		best := allowed + 1
		for _, name := range append([]string{s.Name}, s.Aliases...) {
			if strings.HasPrefix(name, word) {
				best = 0
			} else if len(word) > 1 {
				best = min(best, distance(word, name))
			}
		}
		if best <= allowed {
			list = append(list, near{"/" + s.Name, best})
		}
	}
	sort.SliceStable(list, func(i, j int) bool { return list[i].far < list[j].far })
	var names []string
	for _, n := range list[:min(len(list), 3)] {
		if n.far <= list[0].far {
			names = append(names, n.name)
		}
	}
	return names
}

// distance counts the slips between two words: a letter too many, one too few, a
// wrong one, two exchanged.
func distance(a, b string) int {
	before, row := make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	var last []int
	for i := 1; i <= len(a); i++ {
		last, before, row = before, row, make([]int, len(b)+1)
		row[0] = i
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			row[j] = min(before[j]+1, row[j-1]+1, before[j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], last[j-2]+1)
			}
		}
	}
	return row[len(b)]
}
