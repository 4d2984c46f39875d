package policy

import (
	"slices"
	"strings"
)

// wildcard matches text against a pattern in which * is any text. " *" at the end also matches nothing, as in
// Claude Code: "ls *" also matches "ls".
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

// mightWild reports whether any filling of the text's holes matches the pattern.
func mightWild(pattern, text string) bool {
	if strings.IndexByte(text, hole) < 0 {
		return wildcard(pattern, text)
	}
	for i := 0; i < len(pattern) && i < len(text) && pattern[i] != '*' && text[i] != hole && text[i] != gone; i++ {
		if pattern[i] != text[i] {
			return false // this decides most rules
		}
	}
	for i, j := len(pattern)-1, len(text)-1; i >= 0 && j > 2 && pattern[i] != '*' && text[j] != hole; i, j = i-1, j-1 {
		if pattern[i] != text[j] {
			return false
		}
	}
	return meet(pattern, text) || strings.HasSuffix(pattern, " *") && meet(strings.TrimSuffix(pattern, " *"), text)
}

// meet reports whether some text matches both patterns, one with * and one with holes. reach[j] reports whether
// the pattern so far can match text[:j].
func meet(pattern, text string) bool {
	var room [2][256]bool
	reach, next := room[0][:], room[1][:]
	if n := len(text) + 1; n <= len(reach) {
		reach, next = reach[:n], next[:n]
	} else {
		reach, next = make([]bool, n), make([]bool, n)
	}
	fill := func(row []bool) {
		for j := range len(text) {
			switch {
			case !row[j]:
			case text[j] == hole: // the hole may be empty
				row[j+1] = true
			case text[j] == gone: // so may be the two characters after it
				row[j+1] = true
				row[min(j+3, len(text))] = true
			}
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
				next[j+1] = reach[j+1] // the hole matches this character and continues
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
