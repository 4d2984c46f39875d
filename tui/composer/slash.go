package composer

import (
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Command is a slash command that was written as it should be.
type Command struct {
	Name string   // "summon", also where "/mode" was written
	Args []string // what was given, in the order of the help; a TEXT is the last of them
	Rest string   // all that stands behind the name
}

// Arg is an argument, or nothing if it was not given.
func (c Command) Arg(i int) string {
	if i < len(c.Args) {
		return c.Args[i]
	}
	return ""
}

// SlashError says why a text that begins with a slash is no command. The text is
// neither executed nor sent.
type SlashError struct {
	Word    string // the part of the text it is about
	Problem string
	Hint    string // what to do
}

func (e *SlashError) Error() string { return e.Problem + " – " + e.Hint }

const literally = `to send it as text, begin with "//"`

// Slash says whether a text asks for a command: it begins with one slash. One that
// begins with two is text with one slash; see [Literal].
func Slash(text string) bool {
	return strings.HasPrefix(text, "/") && !strings.HasPrefix(text, "//")
}

// Literal is the text to send where a text is no command.
func Literal(text string) string {
	if strings.HasPrefix(text, "//") {
		return text[1:]
	}
	return text
}

// ParseSlash reads a slash command. The error is a [*SlashError].
func ParseSlash(text string) (Command, error) {
	if !Slash(text) {
		return Command{}, &SlashError{Word: firstWord(text), Problem: "this is no command", Hint: "a command begins with one slash, such as /help"}
	}
	name := firstWord(text[1:])
	s, ok := Lookup(name)
	if !ok {
		return Command{}, unknown(name)
	}
	rest := strings.TrimSpace(text[1+len(name):])
	c := Command{Name: s.Name, Rest: rest}
	for i, p := range s.params {
		if rest == "" {
			if p.optional {
				break
			}
			return Command{}, missing(s, p, i)
		}
		var arg string
		arg, rest = take(p.want, rest, i == len(s.params)-1)
		if problem := p.check(arg); problem != "" {
			return Command{}, &SlashError{Word: arg, Problem: fmt.Sprintf("/%s: %s", s.Name, problem), Hint: "write " + s.Usage()}
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
		return Command{}, unfinished(c.Arg(0))
	}
	if rest != "" {
		return Command{}, surplus(s, rest)
	}
	return c, nil
}

// take cuts an argument off. The last one is all the rest, so that names and paths
// with spaces need no quotes.
func take(w Want, rest string, last bool) (arg, after string) {
	if w == WantText || w == WantRule {
		return rest, ""
	}
	if quote := rest[0]; quote == '"' || quote == '\'' {
		if end := strings.IndexByte(rest[1:], quote); end > 0 {
			return rest[1 : 1+end], strings.TrimSpace(rest[end+2:])
		}
	}
	if last && (w == WantAgent || w == WantPath || w == WantFile || w == WantMode || w == WantOption || w == WantTheme) && !strings.Contains(rest, "\n") {
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

// check is what is wrong with an argument that must be one of a few words.
func (p param) check(arg string) string {
	switch p.want {
	case WantPlan:
		if n, err := strconv.Atoi(arg); arg != "show" && arg != "set" && arg != "add" && (err != nil || n < 1) {
			return fmt.Sprintf("%q is none of show, add, set, nor the number of a step", short(arg))
		}
	case WantScope:
		if arg != "run" && arg != "always" {
			return fmt.Sprintf("%q is not known here, only run and always are", short(arg))
		}
	}
	return ""
}

// unfinished is a change of the plan that does not say what is to be changed.
func unfinished(verb string) error {
	e := &SlashError{Word: verb}
	switch verb {
	case "set":
		e.Problem, e.Hint = "/plan set: the steps are missing", "write them behind it, one step a line (Ctrl+J)"
	case "add":
		e.Problem, e.Hint = "/plan add: the step is missing", "write what is to be done behind it"
	default:
		e.Problem, e.Hint = fmt.Sprintf("/plan %s: the change is missing", verb), "write /plan "+verb+" done, start, skip, fail, pending, up, down, delete, text … or mode …"
	}
	return e
}

func unknown(name string) error {
	e := &SlashError{Word: "/" + name, Problem: fmt.Sprintf("%q is no command", short("/"+name))}
	if near := suggest(name); len(near) > 0 {
		e.Hint = "did you mean " + strings.Join(near, " or ") + "? Otherwise, " + literally
	} else {
		e.Hint = literally + "; /help lists the commands"
	}
	return e
}

func missing(s Spec, p param, at int) error {
	e := &SlashError{Word: "/" + s.Name, Problem: fmt.Sprintf("/%s: %s is missing", s.Name, p.want), Hint: "write " + s.Usage()}
	if at > 0 {
		e.Problem += fmt.Sprintf(" behind %s", s.params[at-1].want)
	}
	return e
}

func surplus(s Spec, rest string) error {
	e := &SlashError{Word: rest, Problem: fmt.Sprintf("/%s: %q is too much", s.Name, short(rest)), Hint: "write " + s.Usage() + "; " + literally}
	if len(s.params) == 0 {
		e.Problem = fmt.Sprintf("/%s takes nothing, but %q stands behind it", s.Name, short(rest))
		e.Hint = "write " + s.Usage() + " alone; " + literally
	}
	return e
}

// firstWord is what stands before the first space.
func firstWord(s string) string {
	if n := strings.IndexFunc(s, unicode.IsSpace); n >= 0 {
		return s[:n]
	}
	return s
}

// short is the beginning of the first line, to be shown in an error.
func short(s string) string {
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
