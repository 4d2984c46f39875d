package view

import (
	"sort"
	"strings"

	"github.com/arbiter-cli/arbiter/supervisor/words"
)

// suggest returns the commands that a misspelled word may mean, the nearest first: those that begin with
// it, and those with one or two different letters.
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
	for _, s := range EditorCommands {
		best := allowed + 1
		for _, name := range append([]string{s.Name}, s.Aliases...) {
			if strings.HasPrefix(name, word) {
				best = 0
			} else if len(word) > 1 {
				best = min(best, words.Slips(word, name))
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
