package words

import (
	"fmt"
	"strings"
	"unicode"
)

// Requirements is a task, or a part of one, that was read from a file.
func Requirements(file, text string) string {
	return fmt.Sprintf("Requirements (%s):\n\n%s", file, text)
}

// Title returns what a task is called where there is room for one line: its first line, or
// the first heading of the requirements file that it begins with. A task without any text
// has none.
func Title(task string) string {
	fromFile := false
	for line := range strings.Lines(task) {
		line = strings.TrimSpace(line)
		if !fromFile && strings.HasPrefix(line, "Requirements (") && strings.HasSuffix(line, "):") {
			fromFile = true
			continue
		}
		text := strings.TrimLeft(line, "#")
		if line != text && !strings.HasPrefix(text, " ") {
			text = line // no heading, but a word such as #42
		}
		if strings.ContainsFunc(text, func(r rune) bool { return unicode.IsLetter(r) || unicode.IsNumber(r) }) {
			return strings.TrimSpace(text)
		}
	}
	return ""
}
