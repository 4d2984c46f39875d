package agents

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/arbiter-cli/arbiter/internal/yamldoc"
)

// Bounds of a file. Real ones have a few kilobytes; the YAML reader's time grows faster than its input.
const (
	MaxFile  = 64 << 10
	maxFront = 16 << 10
	maxDepth = 32 // of collections in the front matter
)

// reader reads one file and collects its problems.
type reader struct {
	agent    Agent
	file     string
	problems []Problem
}

// read reads one agent file, and returns all its problems at once. The agent can be used only if none of them
// is more than a warning ([Broken]); its name is set if it could be read at all. Source is the file.
func read(file string, src []byte) (Agent, []Problem) {
	r := &reader{agent: Agent{Source: file}, file: file}
	if len(src) > MaxFile {
		r.problem(0, "", "the file has more than %d KiB, the limit of an agent file", MaxFile>>10)
		return r.agent, r.problems
	}
	src = bytes.TrimPrefix(src, []byte("\xef\xbb\xbf"))
	text := strings.ReplaceAll(string(src), "\r\n", "\n")
	if !r.readable(text) {
		return r.agent, r.problems
	}
	front, body, at, ok := r.split(text)
	if !ok {
		return r.agent, r.problems
	}
	r.agent.Prompt = strings.TrimSpace(body)
	if r.agent.Prompt == "" {
		r.warn(0, "", "nothing follows the front matter: the agent has no instructions")
	}
	r.hidden(body, at, "")
	if list, ok := r.front(front); ok {
		r.fields(list)
	}
	return r.agent, r.problems
}

func (r *reader) problem(line int, field, format string, args ...any) {
	r.problems = append(r.problems, Problem{File: r.file, Line: line, Field: field, Text: fmt.Sprintf(format, args...)})
}

func (r *reader) warn(line int, field, format string, args ...any) {
	r.problems = append(r.problems, Problem{File: r.file, Line: line, Field: field, Text: fmt.Sprintf(format, args...),
		Warning: true})
}

// readable refuses a file that is not text.
func (r *reader) readable(text string) bool {
	line := 1
	for i, c := range text {
		switch {
		case c == utf8.RuneError && !strings.HasPrefix(text[i:], "\ufffd"):
			r.problem(line, "", "byte %#x is not UTF-8 text", text[i])
			return false
		case c == '\n':
			line++
		case c != '\t' && isControl(c):
			r.problem(line, "", "the control character %U stands in the file", c)
			return false
		}
	}
	return true
}

// split separates the front matter and the body; at is the body's first line. A fence may be followed by
// spaces, and the second one by the end of the file, as in CLI 2.1.329.
func (r *reader) split(text string) (front, body string, at int, ok bool) {
	lines := strings.SplitAfter(text, "\n")
	if !isFence(lines[0]) {
		r.problem(1, "", "no front matter: the first line must be ---")
		return "", "", 0, false
	}
	size := 0
	for i, line := range lines[1:] {
		if isFence(line) {
			return strings.Join(lines[1:i+1], ""), strings.Join(lines[i+2:], ""), i + 3, true
		}
		if size += len(line); size > maxFront {
			r.problem(1, "", "the front matter has more than %d KiB, or is not closed by a line ---", maxFront>>10)
			return "", "", 0, false
		}
	}
	r.problem(1, "", "the front matter is not closed: a line --- must follow it")
	return "", "", 0, false
}

func isFence(line string) bool { return strings.TrimRight(line, " \t\n") == "---" }

// front reads the front matter as `field: value` lines.
func (r *reader) front(front string) ([]yamldoc.Field, bool) {
	if depth(front) > maxDepth {
		r.problem(1, "", "the front matter nests deeper than %d", maxDepth)
		return nil, false
	}
	const fence = "\n" // the front matter begins on the second line of the file
	doc, err := yamldoc.Parse(r.file, []byte(fence+front))
	if err != nil {
		var again error
		if doc, again = yamldoc.Parse(r.file, []byte(fence+quoted(front))); again != nil {
			var at *yamldoc.Error
			if errors.As(err, &at) {
				r.problem(at.Line, "", "the front matter is not YAML: %s", clip(at.Text))
			}
			return nil, false
		}
	}
	values := doc.Values()
	if len(values) == 0 {
		return nil, true
	}
	if values[0].Kind() != yamldoc.Mapping {
		r.problem(2, "", "the front matter must be `field: value` lines")
		return nil, false
	}
	list := values[0].Fields("fields")
	for _, p := range doc.Problems() {
		r.problem(p.Line, p.Path, "%s", p.Text)
	}
	return list, true
}

// depth is the maximal nesting of collections, except those that indentation limits. Quotes and comments count,
// too, because nothing has been parsed yet.
func depth(src string) int {
	most, open, run := 0, 0, 0
	for _, c := range src {
		switch c {
		case '[', '{':
			open++
		case ']', '}':
			open--
		case '-', '?': // - - - is a list in a list in a list
			run++
		case ' ':
		default:
			run = 0
		}
		most = max(most, open, run)
	}
	return most
}

// quoted puts the values of `field: value` lines into quotes, except those that are not plain text.
// Descriptions often contain a ": " that YAML does not allow there, and the CLI accepts them (observed with CLI
// 2.1.329).
func quoted(front string) string {
	lines := strings.Split(front, "\n")
	for i, line := range lines {
		field, value, ok := strings.Cut(line, ": ")
		value = strings.TrimSpace(value)
		if !ok || field == "" || strings.ContainsAny(field, " \t\"'#-[]{}") || value == "" ||
			strings.ContainsRune("\"'[{|>&*!#%@`", rune(value[0])) {
			continue
		}
		lines[i] = field + ": '" + strings.ReplaceAll(value, "'", "''") + "'"
	}
	return strings.Join(lines, "\n")
}

// Problem is a problem of a file, or a remark about it. A file with a problem that is not a warning is not
// used.
type Problem struct {
	File    string `json:"file"`
	Line    int    `json:"line,omitempty"`  // counted from 1; 0: the file as a whole
	Field   string `json:"field,omitempty"` // of the front matter
	Text    string `json:"text"`            // what is wrong, and what is expected
	Warning bool   `json:"warning,omitempty"`
}

// Error is the problem as file:line: field: text.
func (p Problem) Error() string {
	where := p.File
	if p.Line > 0 {
		where = fmt.Sprintf("%s:%d", p.File, p.Line)
	}
	if p.Field != "" {
		where += ": " + p.Field
	}
	return where + ": " + p.Text
}

// Broken reports whether any of the problems prevents its file from being used.
func Broken(list []Problem) bool {
	return slices.ContainsFunc(list, func(p Problem) bool { return !p.Warning })
}
