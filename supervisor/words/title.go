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
