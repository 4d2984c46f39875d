package decider

import (
	"cmp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Bounds of texts in an input, in runes, including the mark for omitted text. SPEC-0006 says 500 in a type and
// 300 in its rules and algorithms; here its rules apply.
const (
	SummaryRunes = 300  // of an output in a selection or a history
	FullRunes    = 2000 // of the output that is judged, and of the last error's message

	agentRunes = 600 // of the description when to use an agent
	stepRunes  = 300 // of a step of the plan
	lineRunes  = 120 // of a line that is kept beyond the cut
	searched   = 1 << 16
)

// mark stands for omitted text.
const mark = "…"

// Cut shortens a text to at most so many runes: its beginning, to the end of a word, a mark, and below it the
// lines that report errors, files and steps, as far as they fit into two fifths of the whole. Of the errors the
// last ones count most, and all lines keep their order. Invalid UTF-8 is replaced. A text that is short enough
// is returned unchanged, without surrounding space.
func Cut(s string, most int) string {
	s = strings.TrimSpace(strings.ToValidUTF8(s, "\uFFFD"))
	if len(s) <= most || utf8.RuneCountInString(s) <= most {
		return s
	}
	if most < 2 {
		return strings.Repeat(mark, max(most, 0))
	}
	significant := significantLines(beyond(s, most*3/5), most*2/5)
	first := head(s, most-2-utf8.RuneCountInString(strings.Join(significant, "\n")))
	significant = slices.DeleteFunc(significant, func(l string) bool { return strings.Contains(first, l) })
	if len(significant) == 0 {
		return head(s, most-1) + mark
	}
	return first + mark + "\n" + strings.Join(significant, "\n")
}

// head returns the first runes of a longer text: at most most, to the end of a word if one ends in the last
// quarter, otherwise to a border that does not separate marks, joiners or selectors from their character.
func head(s string, most int) string {
	end, word, border, n := 0, -1, 0, 0
	var last rune
	for i, r := range s {
		if n > 0 && unicode.IsSpace(r) && !unicode.IsSpace(last) && n >= most*3/4 {
			word = i
		}
		if !extends(r) && last != joiner {
			border = i
		}
		end = i
		if n == most {
			break
		}
		last = r
		n++
	}
	switch {
	case word > 0:
		end = word
	case border > 0:
		end = border
	}
	return strings.TrimSpace(s[:end])
}

// joiner joins two characters into one.
const joiner = '\u200d'

// extends reports whether a rune belongs to the character before it.
func extends(r rune) bool {
	return r == joiner || r >= 0x1f3fb && r <= 0x1f3ff || r >= 0x1f1e6 && r <= 0x1f1ff || unicode.Is(unicode.M, r)
}

// beyond returns what follows the first runes of a text; if that is very long, only its end.
func beyond(s string, runes int) string {
	for i := range s {
		if runes == 0 {
			s = s[i:]
			break
		}
		runes--
	}
	if len(s) > searched {
		s = strings.ToValidUTF8(s[len(s)-searched:], "")
	}
	return s
}

// line is a line with information, and how important it is.
type line struct {
	at, worth int
	text      string
}

// significantLines picks lines, or sentences of long lines, within so many runes, line ends included. The first
// line may be the rest of a line; it counts like any other.
func significantLines(s string, room int) []string {
	longest := min(lineRunes, room-1)
	if longest < 2 {
		return nil
	}
	var found []line
	for text := range strings.Lines(s) {
		parts := []string{text}
		if len(text) > longest {
			parts = strings.SplitAfter(text, ". ")
		}
		for _, part := range parts {
			part = strings.TrimSpace(part)
			if w, at := worth(part); w > 0 {
				found = append(found, line{len(found), w, around(part, at, longest)})
			}
		}
	}
	slices.SortFunc(found, func(a, b line) int {
		return cmp.Or(cmp.Compare(b.worth, a.worth), cmp.Compare(b.at, a.at))
	})
	kept := found[:0]
	seen := map[string]bool{}
	for _, l := range found {
		n := utf8.RuneCountInString(l.text) + 1
		if seen[l.text] || n > room {
			continue
		}
		seen[l.text] = true
		room -= n
		kept = append(kept, l)
	}
	slices.SortFunc(kept, func(a, b line) int { return cmp.Compare(a.at, b.at) })
	texts := make([]string, len(kept))
	for i, l := range kept {
		texts[i] = l.text
	}
	return texts
}

// around shortens a line to so many runes so that the word at a position is kept.
func around(s string, at, most int) string {
	if from := at - most/3; from > most/3 && utf8.RuneCountInString(s) > most {
		for !utf8.RuneStart(s[from]) {
			from--
		}
		s = mark + s[from:]
	}
	if utf8.RuneCountInString(s) > most {
		s = head(s, most-1) + mark
	}
	return s
}

// Words that show what a line reports: errors before files before steps.
var (
	errorWords = []string{"error", "fail", "panic", "fatal", "exception", "denied", "not found", "cannot ", "timed out",
		"refused"}
	fileWords = []string{"created ", "modified ", "wrote ", "edited ", "changed ", "deleted ", "renamed ", "added ",
		"updated "}
	stepWords = []string{"step ", "[x]", "✓", "✔", "completed", "passed", "remaining", "todo"}
)

// worth says how important a line is, and where the word is that shows it.
func worth(line string) (worth, at int) {
	low := strings.ToLower(line)
	for _, of := range []struct {
		worth int
		words []string
	}{{3, errorWords}, {2, fileWords}, {1, stepWords}} {
		if of.worth == 2 && !strings.ContainsAny(low, "./") {
			continue // it names no file
		}
		for _, w := range of.words {
			if at := strings.Index(low, w); at >= 0 {
				return of.worth, min(at, len(line)-1) // lower case may be longer
			}
		}
	}
	return 0, 0
}
