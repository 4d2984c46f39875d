package manual

import (
	"slices"
	"strings"

	"github.com/arbiter-cli/arbiter/supervisor/words"
)

// Meant returns a question with the known words that word may stand for, or "" if there are none, or too many. They
// are those with the fewest typing errors, at most one per three letters, and those that start with word. (The
// library's suggestions name a word however far it is.)
func Meant(word string, known []string) string {
	var near []string
	best := max(1, len(word)/3)
	for _, k := range known {
		n := words.Slips(word, k)
		if len(word) > 1 && strings.HasPrefix(k, word) {
			n = min(n, 1)
		}
		if n < best {
			best, near = n, nil
		}
		if n == best {
			near = append(near, k)
		}
	}
	if len(near) == 0 || len(near) > 3 {
		return ""
	}
	slices.Sort(near)
	return "did you mean " + strings.Join(near, " or ") + "?"
}
