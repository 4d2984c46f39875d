package manual

import (
	"slices"
	"strings"

	"github.com/arbiter-cli/arbiter/supervisor/words"
)

// nearest returns the known words that word may stand for: those with the fewest typing errors, at most one per
// three letters, and those that start with word.
func nearest(word string, known []string) []string {
	var list []string
	best := max(1, len(word)/3) + 1
	for _, k := range known {
		n := words.Slips(word, k)
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

// Meant returns a question with similar known words, or "" if none is similar.
func Meant(word string, known []string) string {
	near := nearest(word, known)
	if len(near) == 0 || len(near) > 3 {
		return ""
	}
	return "did you mean " + strings.Join(near, " or ") + "?"
}
