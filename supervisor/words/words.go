// Package words formats numbers for people and texts for a shell, and guesses misspelt words. The supervisor, the
// frontends and the commands share it, so that all use the same wording.
package words

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode"
)

// Number formats a number with commas between its thousands.
func Number[T int | int64](n T) string {
	s := strconv.FormatInt(int64(n), 10)
	for i := len(s) - 3; i > 0 && s[i-1] != '-'; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

// Count is a number of things: "1 step", "1,234 steps".
func Count(n int, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	if strings.HasSuffix(thing, "s") || strings.HasSuffix(thing, "sh") {
		thing += "e"
	}
	return Number(n) + " " + thing + "s"
}

// CountOf is a number of things of all that there may be: "3 of 8 subagents". Without a limit it is the number.
func CountOf(n, most int, thing string) string {
	if most <= 0 {
		return Count(n, thing)
	}
	return Number(n) + " of " + Count(most, thing)
}

// Tokens is a number of tokens in few characters: "912", "8.4k", "84k", "1.2M".
func Tokens(n int) string {
	switch {
	case n < 1000:
		return strconv.Itoa(max(n, 0))
	case n < 9950:
		return tenths(float64(n)/1e3) + "k"
	case n < 999_500:
		return strconv.Itoa((n+500)/1000) + "k"
	}
	return tenths(float64(n)/1e6) + "M"
}

func tenths(f float64) string { return strings.TrimSuffix(strconv.FormatFloat(f, 'f', 1, 64), ".0") }

// Bytes is the size of a text in few characters: "912 B", "84 kB", "1.2 MB".
func Bytes[T int | int64](n T) string {
	switch {
	case n < 1000:
		return fmt.Sprintf("%d B", max(n, 0))
	case n < 999_500:
		return fmt.Sprintf("%d kB", (n+500)/1000)
	case n < 1_000_000_000:
		return fmt.Sprintf("%.1f MB", float64(n)/1e6)
	}
	return fmt.Sprintf("%.1f GB", float64(n)/1e9)
}

// Size is a size of memory or disk in the units of limits: "912 B", "1.5 KiB".
func Size(n int64) string {
	f, unit := float64(n), ""
	for _, next := range []string{"KiB", "MiB", "GiB", "TiB"} {
		if f < 1<<10 {
			break
		}
		f, unit = f/(1<<10), next
	}
	if unit == "" {
		return fmt.Sprintf("%d B", n)
	}
	return fmt.Sprintf("%.1f %s", f, unit)
}

// Slips counts the differences between two words: letters that are missing, added, wrong, or exchanged with the
// next.
func Slips(a, b string) int {
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

// Requirements is a task, or a part of one, that was read from a file.
func Requirements(file, text string) string {
	return fmt.Sprintf("Requirements (%s):\n\n%s", file, text)
}

// headingWithin is how many lines of a file are searched for its heading.
const headingWithin = 200

// Title returns a one-line name of a task: its first line or, if it begins with a requirements file, the first
// heading of that file, or if it has none, the file's first line. A task without any text has no title.
func Title(task string) string {
	first, fromFile, fence, n := "", false, "", 0
	for line := range strings.Lines(task) {
		line = strings.TrimSpace(line)
		if !fromFile && first == "" && strings.HasPrefix(line, "Requirements (") && strings.HasSuffix(line, "):") {
			fromFile = true
			continue
		}
		text := strings.TrimLeft(line, "#")
		heading := text != line && strings.HasPrefix(text, " ") && fence == ""
		if !heading {
			text = line // such as #42
		}
		if named := strings.ContainsFunc(text,
			func(r rune) bool { return unicode.IsLetter(r) || unicode.IsNumber(r) }); named {
			if heading && fromFile {
				return strings.TrimSpace(text)
			}
			if first == "" {
				first = strings.TrimSpace(text)
			}
		}
		if n++; first != "" && (!fromFile || n >= headingWithin) {
			break
		}
		switch {
		case fence != "" && strings.HasPrefix(line, fence):
			fence = ""
		case fence == "" && (strings.HasPrefix(line, "```") || strings.HasPrefix(line, "~~~")):
			fence = line[:3]
		}
	}
	return first
}

// Head returns the beginning of a text: at most n bytes, without a partial character. If more followed, a last
// line says so.
func Head(s string, n int) string {
	if len(s) <= n {
		return s
	}
	return strings.ToValidUTF8(s[:n], "") + "\n(cut)"
}

// Tail returns the end of a text: at most n bytes, without a partial character.
func Tail(s string, n int) string {
	if len(s) <= n {
		return s
	}
	return strings.ToValidUTF8(s[len(s)-n:], "")
}

// Few returns the first entries of a list, and a last one that says how many more there are.
func Few(list []string, most int) []string {
	if len(list) <= most {
		return list
	}
	return append(slices.Clip(list[:most]), fmt.Sprintf("and %d more", len(list)-most))
}

// Fenced puts a text into a block of code, in which Markdown changes nothing.
func Fenced(s string) string {
	fence := "```"
	for strings.Contains(s, fence) {
		fence += "`"
	}
	return fence + "\n" + s + "\n" + fence
}

// FirstLine returns the first line of a text that contains more than white space.
func FirstLine(s string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(s), "\n")
	return line
}

// Sentence adds a full stop to a sentence, if it has no final mark.
func Sentence(text string) string {
	if text == "" || strings.ContainsAny(text[len(text)-1:], ".!?:") {
		return text
	}
	return text + "."
}

// Quote turns any texts into words for a shell, one each.
func Quote(texts ...string) string {
	quoted := make([]string, len(texts))
	for i, text := range texts {
		quoted[i] = quote(text)
	}
	return strings.Join(quoted, " ")
}

func quote(text string) string {
	plain := text != "" && !strings.ContainsFunc(text, func(r rune) bool {
		return !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' ||
			strings.ContainsRune("/._-+:@%,=", r))
	})
	if plain {
		return text
	}
	return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'"
}

// QuoteLines marks each line of a quoted text, so that none of them looks like the supervisor's own text.
func QuoteLines(text string) string {
	return "| " + strings.ReplaceAll(lineEnds.Replace(text), "\n", "\n| ")
}

// lineEnds are the characters that a reader may take for the end of a line.
var lineEnds = strings.NewReplacer(
	"\r\n", "\n", "\r", "\n", "\v", "\n", "\f", "\n", "\u0085", "\n", "\u2028", "\n", "\u2029", "\n",
)

// citedChars bounds how much a sentence cites.
const citedChars = 1000

// Cite shortens a text for a sentence that cites it: one line, of a bounded length.
func Cite(text string) string {
	return Head(strings.Join(strings.Fields(lineEnds.Replace(text)), " "), citedChars)
}
