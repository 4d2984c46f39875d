package view

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/arbiter-cli/arbiter/supervisor/runconfig"
)

// EditorCommand is a valid slash command.
type EditorCommand struct {
	Name string   // "summon", also where "/mode" was written
	Args []string // the arguments, in the order of the help; a TEXT is the last of them
	Rest string   // everything behind the name
}

// Arg returns an argument, or "" if it was not given.
func (c EditorCommand) Arg(i int) string {
	if i < len(c.Args) {
		return c.Args[i]
	}
	return ""
}

// refused returns an error that says why a text that begins with a slash is not a command, and what to do
// about it. The text is neither executed nor sent.
func refused(hint, problem string, args ...any) error {
	return fmt.Errorf(problem+" – %s", append(args, hint)...)
}

const literally = `to send it as text, begin with "//"`

// slash reports whether a text is meant as a command: it begins with one slash. A text that begins with two
// is sent as text with one slash; see literal.
func slash(text string) bool {
	return strings.HasPrefix(text, "/") && !strings.HasPrefix(text, "//")
}

// literal returns the text to send if a text is not a command.
func literal(text string) string {
	if strings.HasPrefix(text, "//") {
		return text[1:]
	}
	return text
}

// ParseSlash reads a slash command.
func ParseSlash(text string) (EditorCommand, error) {
	if !slash(text) {
		return EditorCommand{}, refused("a command begins with one slash, such as /help", "this is not a command")
	}
	name := firstWord(text[1:])
	s, ok := Lookup(name)
	if !ok {
		return EditorCommand{}, unknown(name)
	}
	rest := strings.TrimSpace(text[1+len(name):])
	c := EditorCommand{Name: s.Name, Rest: rest}
	for i, p := range s.params {
		if rest == "" {
			if p.optional {
				break
			}
			return EditorCommand{}, missing(s, p, i)
		}
		if p.want == WantScope && looksLikeRule(rest) {
			c.Args = append(c.Args, "") // an omitted argument
			continue
		}
		var arg string
		arg, rest = take(p.want, rest, i == len(s.params)-1)
		if problem := p.check(arg); problem != "" {
			return EditorCommand{}, refused("write "+s.Usage(), "/%s: %s", s.Name, problem)
		}
		c.Args = append(c.Args, arg)
		if p.want == WantPlan && rest != "" {
			if c.Args[0] == "show" {
				break
			}
			c.Args = append(c.Args, rest)
			rest = ""
		}
	}
	if c.Name == "plan" && c.Arg(0) != "" && c.Arg(0) != "show" && c.Arg(1) == "" {
		return EditorCommand{}, unfinished(c.Arg(0))
	}
	if rest != "" {
		return EditorCommand{}, surplus(s, rest)
	}
	return c, nil
}

// take cuts off an argument. The last one is the whole rest, so that names and paths with spaces need no
// quotes.
func take(w Want, rest string, last bool) (arg, after string) {
	if w == WantText || w == WantRule {
		return rest, ""
	}
	if quote := rest[0]; quote == '"' || quote == '\'' {
		if end := strings.IndexByte(rest[1:], quote); end > 0 {
			return rest[1 : 1+end], strings.TrimSpace(rest[end+2:])
		}
	}
	if last && (w == WantAgent || w == WantPath || w == WantFile || w == WantMode || w == WantOption ||
		w == WantTheme) && !strings.Contains(rest, "\n") {
		return rest, ""
	}
	word := firstWord(rest)
	after = strings.TrimSpace(rest[len(word):])
	if w == WantAgent && strings.EqualFold(word, "orchestrator") && after != "" { // its number belongs to the name
		number := firstWord(after)
		word, after = word+" "+number, strings.TrimSpace(after[len(number):])
	}
	return word, after
}

// looksLikeRule distinguishes a permission rule from another word by the form of tool names.
func looksLikeRule(text string) bool {
	return text[0] >= 'A' && text[0] <= 'Z' || strings.HasPrefix(text, "mcp__")
}

// acceptRisk goes with allow-all.
const acceptRisk = "i-accept-the-risk"

// check returns what is wrong with an argument that must be one of a few words.
func (p param) check(arg string) string {
	switch p.want {
	case WantPlan:
		if n, err := strconv.Atoi(arg); arg != "show" && arg != "set" && arg != "add" && (err != nil || n < 1) {
			return fmt.Sprintf("%q is neither show, add or set nor the number of a step", shortEditor(arg))
		}
	case WantScope:
		if arg != "run" && arg != "always" {
			return fmt.Sprintf("%q is not known here, only run and always are", shortEditor(arg))
		}
	case WantLeave:
		if !slices.Contains(runconfig.Modes, runconfig.Mode(arg)) {
			return fmt.Sprintf("%q is not one of ask, rules, accept-edits, allow-all", shortEditor(arg))
		}
	case WantRisk:
		if arg != acceptRisk {
			return fmt.Sprintf("%q is not known here, only %s is", shortEditor(arg), acceptRisk)
		}
	}
	return ""
}

// unfinished returns the error for a change of the plan that does not say what to change.
func unfinished(verb string) error {
	switch verb {
	case "set":
		return refused("write them after it, one step per line (Ctrl+J)", "/plan set: the steps are missing")
	case "add":
		return refused("write what is to be done after it", "/plan add: the step is missing")
	}
	return refused("write /plan "+verb+" done, start, skip, fail, pending, up, down, delete, text … or mode …",
		"/plan %s: the change is missing", verb)
}

func unknown(name string) error {
	hint := literally + "; /help lists the commands"
	if near := suggest(name); len(near) > 0 {
		hint = "did you mean " + strings.Join(near, " or ") + "? Otherwise, " + literally
	}
	return refused(hint, "%q is not a command", shortEditor("/"+name))
}

func missing(s EditorSpec, p param, at int) error {
	behind := ""
	if at > 0 {
		behind = fmt.Sprintf(" behind %s", s.params[at-1].label)
	}
	return refused("write "+s.Usage(), "/%s: %s is missing%s", s.Name, p.label, behind)
}

func surplus(s EditorSpec, rest string) error {
	if len(s.params) == 0 {
		return refused("write "+s.Usage()+" alone; "+literally, "/%s takes no argument: leave out %q", s.Name,
			shortEditor(rest))
	}
	return refused("write "+s.Usage()+"; "+literally, "/%s: leave out %q", s.Name, shortEditor(rest))
}

// firstWord returns the text before the first space.
func firstWord(s string) string {
	if n := strings.IndexFunc(s, unicode.IsSpace); n >= 0 {
		return s[:n]
	}
	return s
}

// shortEditor returns the beginning of the first line, for an error message.
func shortEditor(s string) string {
	line, _, cut := strings.Cut(s, "\n")
	const most = 40
	if utf8.RuneCountInString(line) > most {
		line, cut = string([]rune(line)[:most]), true
	}
	if cut {
		line += "…"
	}
	return line
}
