package manual

import (
	"slices"
	"strings"
)

// Nearest are the words that one was meant to be: those with the fewest slips of the
// pen, at most one for each three letters, or that it is the beginning of.
func Nearest(word string, known []string) []string {
	var list []string
	best := max(1, len(word)/3) + 1
	for _, k := range known {
		n := slips(word, k)
		if len(word) > 1 && strings.HasPrefix(k, word) {
			n = min(n, 1)
		}
		if n < best {
			best, list = n, nil
		}
		if n == best && n <= max(1, len(word)/3) {
			list = append(list, k)
		}
	}
	slices.Sort(list)
	return list
}

// slips counts letters that are missing, too many, wrong, or exchanged with the next.
func slips(a, b string) int {
	before, last := make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range last {
		last[j] = j
	}
	for i := 1; i <= len(a); i++ {
		row := make([]int, len(b)+1)
		row[0] = i
		for j := 1; j <= len(b); j++ {
			wrong := 1
			if a[i-1] == b[j-1] {
				wrong = 0
			}
			row[j] = min(last[j]+1, row[j-1]+1, last[j-1]+wrong)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
		}
		before, last = last, row
	}
	return last[len(b)]
}

// Meant asks whether a word was meant to be another; empty where none is near.
func Meant(word string, known []string) string {
	near := Nearest(word, known)
	if len(near) == 0 || len(near) > 3 {
		return ""
	}
	return "did you mean " + strings.Join(near, " or ") + "?"
}
