package policy

import (
	"slices"
	"strings"
)

// hole stands in a command's text for what the shell would put there: the value of
// a variable, the output of a command, the files a pattern matches. It may be any
// text. No command contains it otherwise: exec takes no NUL.
const hole = '\x00'

// wildcard matches text against a pattern in which * is any text. " *" at the end
// also matches nothing, as in Claude Code: "ls *" is about "ls" too.
func wildcard(pattern, text string) bool {
	i, j, star, mark := 0, 0, -1, 0
	for j < len(text) {
		switch {
		case i < len(pattern) && pattern[i] == '*':
			star, mark = i, j
			i++
		case i < len(pattern) && pattern[i] == text[j]:
			i++
			j++
		case star >= 0:
			mark++
			i, j = star+1, mark
		default:
			return false
		}
	}
	for i < len(pattern) && pattern[i] == '*' {
		i++
	}
	return i == len(pattern) || pattern[i:] == " *"
}

// mightWild says whether any filling of the text's holes matches the pattern.
func mightWild(pattern, text string) bool {
	if strings.IndexByte(text, hole) < 0 {
		return wildcard(pattern, text)
	}
	return meet(pattern, text) || strings.HasSuffix(pattern, " *") && meet(strings.TrimSuffix(pattern, " *"), text)
}

// meet says whether two patterns, one with * and one with holes, have a text in
// common. reach[j] tells whether the pattern so far can stand for text[:j].
func meet(pattern, text string) bool {
	reach := make([]bool, len(text)+1)
	next := make([]bool, len(text)+1)
	fill := func(row []bool) { // a hole may be empty
		for j := range len(text) {
			row[j+1] = row[j+1] || row[j] && text[j] == hole
		}
	}
	reach[0] = true
	fill(reach)
	for i := range len(pattern) {
		any := pattern[i] == '*'
		next[0] = any && reach[0]
		for j := range len(text) {
			switch {
			case any:
				next[j+1] = reach[j+1] || next[j]
			case text[j] == hole:
				next[j+1] = reach[j+1] // the hole takes this character and stays
			default:
				next[j+1] = reach[j] && pattern[i] == text[j]
			}
		}
		fill(next)
		reach, next = next, reach
		if !slices.Contains(reach, true) {
			return false
		}
	}
	return reach[len(text)]
}
