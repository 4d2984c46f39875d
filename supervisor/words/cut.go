package words

import "strings"

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
