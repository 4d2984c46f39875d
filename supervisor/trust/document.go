package trust

import (
	"strings"
)

// maxFront bounds the part of a document's head that is read, in bytes.
const maxFront = 64 << 10

// document lists a Markdown file with a head – an agent, a skill, a command – or another file in its directory.
// The whole file counts; of the head only the lines are read, so that nothing in it is expanded.
func (l *look) document(kind, path string, raw []byte) {
	text := string(raw)
	head := front(text)
	what := lines(raw)
	var parts []string
	for line := range strings.Lines(head) {
		line = strings.TrimRight(line, "\r\n")
		if line == "" || strings.ContainsAny(line[:1], " \t#-") {
			continue
		}
		key, value, ok := strings.Cut(line, ":")
		if !ok || key == "description" {
			continue
		}
		if value = oneLine(value, 60); value == "" {
			value = "…"
		}
		parts = append(parts, oneLine(key, 30)+": "+value)
	}
	if inline := shellParts(text); len(inline) > 0 {
		parts = append(parts, "runs "+oneLine(strings.Join(inline, "; "), 100))
		for _, c := range inline {
			l.named(path, c)
		}
	}
	if len(parts) > 0 {
		what = oneLine(strings.Join(parts, ", "), shown)
	}
	if head != "" {
		l.named(path, head)
	}
	l.add(kind, path, "", what, text)
}

// front is the head of a document, between two lines of dashes.
func front(text string) string {
	text = strings.TrimPrefix(text, "\ufeff")
	rest, ok := strings.CutPrefix(text, "---")
	if !ok {
		return ""
	}
	if len(rest) > maxFront {
		rest = rest[:maxFront]
	}
	head, _, _ := strings.Cut(rest, "\n---")
	return head
}

// shellParts are the commands that the CLI runs when it reads a document: !`…`.
func shellParts(text string) []string {
	var list []string
	for len(list) < 100 {
		_, rest, ok := strings.Cut(text, "!`")
		if !ok {
			break
		}
		command, after, ok := strings.Cut(rest, "`")
		if !ok {
			break
		}
		list, text = append(list, command), after
	}
	return list
}

// topKeys are the first words of the lines of a configuration file, as keys.
func topKeys(raw []byte) string {
	var keys []string
	for line := range strings.Lines(string(raw)) {
		key, _, ok := strings.Cut(line, ":")
		if ok && key != "" && !strings.ContainsAny(key[:1], " \t#-") {
			if keys = append(keys, oneLine(key, 30)); len(keys) == 8 {
				break
			}
		}
	}
	return oneLine(strings.Join(keys, ", "), shown)
}
