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
// is sent as text with one slash.
func slash(text string) bool {
	return strings.HasPrefix(text, "/") && !strings.HasPrefix(text, "//")
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
		if p.want == WantScope && p.check(firstWord(rest)) != "" { // omitted: a rule, or the answer to an MCP server
			c.Args = append(c.Args, "")
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

// acceptRisk goes with allow-all.
const acceptRisk = "i-accept-the-risk"

// words returns the words of which an argument must be one, and what is wrong with others; none: it may be anything.
func (w Want) words() (list []Candidate, wrong string) {
	switch w {
	case WantPlan: // or the number of a step
		return []Candidate{{Text: "show", Note: "the plan in full"}, {Text: "add", Note: "one more step"},
			{Text: "set", Note: "replace it, one step a line"}}, "is neither show, add or set nor the number of a step"
	case WantScope:
		return []Candidate{{Text: "run", Note: "for the whole run"}, {Text: "always", Note: "in this workspace, in later " +
			"runs too"}}, "is not known here, only run and always are"
	case WantLeave:
		for _, m := range runconfig.Modes {
			list = append(list, Candidate{Text: string(m), Note: m.Means()})
		}
		return list, "is not one of ask, rules, accept-edits, allow-all"
	case WantRisk:
		return []Candidate{{Text: acceptRisk, Note: "with allow-all"}}, "is not known here, only " + acceptRisk + " is"
	}
	return nil, ""
}

// check returns what is wrong with an argument that must be one of a few words.
func (p param) check(arg string) string {
	list, wrong := p.want.words()
	n, err := strconv.Atoi(arg)
	if list == nil || p.want == WantPlan && err == nil && n > 0 ||
		slices.ContainsFunc(list, func(c Candidate) bool { return c.Text == arg }) {
		return ""
	}
	return fmt.Sprintf("%q %s", shortEditor(arg), wrong)
}

// unfinished returns the error for a change of the plan that does not say what to change.
func unfinished(verb string) error {
	switch verb {
	case "set":
		return refused("write them after it, one step per line (Ctrl+J)", "/plan set: the steps are missing")
	case "add":
		return refused("write what is to be done after it", "/plan add: the step is missing")
	}
	return refused("write /plan "+verb+" "+planWords, "/plan %s: the change is missing", verb)
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

// Want is a kind of argument of a slash command: it determines what is offered for it, and where it ends.
// The help shows its kind, or its label if it has one.
type Want string

// The kinds of arguments.
const (
	WantAgent  Want = "AGENT"
	WantMode   Want = "MODE"
	WantText   Want = "TEXT" // all the rest, over several lines
	WantOption Want = "OPTION"
	WantModel  Want = "MODEL"
	WantTheme  Want = "THEME"
	WantRun    Want = "RUN"
	WantPath   Want = "PATH"
	WantFile   Want = "FILE"   // it need not exist
	WantPlan   Want = "CHANGE" // of the plan
	WantScope  Want = "SCOPE"  // run or always
	WantRule   Want = "RULE"   // of permissions: all the rest
	WantLeave  Want = "LEAVE"  // a mode of permissions
	WantRisk   Want = "RISK"   // i-accept-the-risk
)

// EditorSpec is one slash command.
type EditorSpec struct {
	Name    string // without the slash
	Args    string // as the help shows them
	Help    string
	Aliases []string
	Screen  bool // it needs a screen: plain lines omit it, or do it in another way
	params  []param
}

type param struct {
	want     Want
	label    string // as the help shows it
	optional bool
}

// EditorCommands are all the slash commands, in the order of the help.
var EditorCommands = []EditorSpec{
	spec("task", "", "the task in full"),
	spec("note", "TEXT",
		"send TEXT to the Arbiter with its next turn; after an agent's id, as in /note orch-1 TEXT, to that agent"),
	spec("steer", "TEXT", "send TEXT to the Arbiter now, into its running turn, or to the agent whose id comes first"),
	spec("stop", "[TEXT]", "interrupt the running turn, then send TEXT; to the agent whose id comes first"),
	spec("reword", "TEXT", "change your last message that waits"),
	spec("withdraw", "", "withdraw your last message that waits"),
	spec("to", "AGENT TEXT", "send TEXT to one agent"),
	spec("summon", "MODE", "summon an Orchestrator under a mode", "mode"),
	spec("interrupt", "[AGENT]", "stop the running turn of one agent, or of all"),
	spec("kill", "AGENT", "end an agent"),
	onScreen("attach", "AGENT", "take an agent's session into this terminal"),
	spec("halt", "", "stop every agent at once"),
	spec("pause", "", "hold all messages back"),
	spec("continue", "", "send them again"),
	spec("plan", "[CHANGE]",
		"the plan in full; CHANGE: add TEXT, set and a step a line, or a step's number and done, start, skip, fail, "+
			"pending, up, down, delete, text … or mode …"),
	spec("accept", "[TEXT]",
		"the acceptance criteria; TEXT: a command that must pass before the task is complete, or drop and a "+
			"criterion's number"),
	spec("agents", "", "the modes of this run: when to use them, tools, how they did"),
	spec("skip", "", "skip the current step"),
	spec("retry", "", "ask the last agent to try again"),
	spec("reset", "", "release the Orchestrators and return to idle"),
	spec("now", "", "what each agent does, for how long, its context and cost"),
	spec("inbox", "", "what waits for you, since when, and how it is answered"),
	spec("answer", "[TEXT]",
		"answer what waits: on the screen in its panel, in lines with its number and the answer, or all y, or all n"),
	spec("choose", "OPTION", "choose one of the options that were offered"),
	onScreen("explain", "[NUMBER]", "how a decision was made: what was read for it, and the answer; without NUMBER: the "+
		"last one"),
	onScreen("allow", "[run|always=SCOPE] [RULE]",
		"allow what is asked for: once, for the whole run, or always here; RULE: all that it covers, also where "+
			"nothing is asked for"),
	onScreen("deny", "[TEXT|RULE=TEXT]",
		"deny what is asked for, and say why; or from now on all that RULE may be about"),
	spec("ask", "RULE", "from now on, have what RULE may be about asked for"),
	spec("context", "[AGENT]", "how full the contexts are"),
	spec("cost", "", "what it has cost"),
	spec("hosts", "", "the hosts of this run, their agents, and how to retry one that is parked"),
	spec("model", "[NAME=MODEL] [AGENT]", "the models with price and window, to choose one; NAME: change to it"),
	spec("permissions", "[MODE=LEAVE] [i-accept-the-risk=RISK]", "what is allowed, asked and denied; MODE: change it"),
	spec("focus", "AGENT", "show one agent: its brief, and what it said and did last"),
	spec("changes", "[PATH]", "the files that the run has changed, and their authors; PATH: what has changed in it"),
	spec("settings", "[TEXT]",
		"the settings; TEXT: the name of one and its new value, or default, for your configuration file"),
	spec("revert", "PATH [HUNK=TEXT]",
		"revert what the run has changed in a file; HUNK: only there, with the numbers of /changes PATH"),
	spec("land", "", "commit the work of the run on the branch that is checked out"),
	spec("timeline", "", "when each agent did what"),
	spec("logbook", "", "every event"),
	spec("image", "PATH", "send an image file with your next message"),
	spec("runs", "", "all runs: live, resumable and finished", "sessions"),
	onScreen("resume", "[RUN]", "resume the latest run, or that one"),
	onScreen("file", "[PATH]", "give a file of requirements; without PATH: choose one"),
	onScreen("save", "[FILE]", "save the conversation"),
	onScreen("theme", "THEME", "change the colours"),
	onScreen("trust", "", "what this workspace brings along, and whether agents load it"),
	onScreen("mouse", "", "the mouse on or off; off, the terminal itself selects text, as most do with Shift held"),
	onScreen("search", "TEXT", "search the conversation"),
	onScreen("copy", "", "copy what is selected, or the last answer"),
	onScreen("edit", "", "write in the external editor"),
	spec("cancel", "", "end the run"),
	onScreen("tour", "", "how to work with the screen, in a minute"),
	spec("help", "", "help for this screen"),
	spec("quit", "", "leave"),
}

// spec derives the arguments from their text in the help, so that the two agree: a kind, or a label=KIND,
// in brackets if it is optional.
func spec(name, args, help string, aliases ...string) EditorSpec {
	s := EditorSpec{Name: name, Help: help, Aliases: aliases}
	for word := range strings.FieldsSeq(args) {
		label, want, labelled := strings.Cut(strings.Trim(word, "[]"), "=")
		if !labelled {
			want = label
		}
		s.params = append(s.params, param{Want(want), label, word[0] == '['})
		s.Args = strings.TrimLeft(s.Args+" "+strings.Replace(word, "="+want, "", 1), " ")
	}
	return s
}

func onScreen(name, args, help string) EditorSpec {
	s := spec(name, args, help)
	s.Screen = true
	return s
}

// Lookup finds a command by its name or an alias, ignoring case.
func Lookup(name string) (EditorSpec, bool) {
	name = strings.ToLower(name)
	for _, s := range EditorCommands {
		if s.Name == name || slices.Contains(s.Aliases, name) {
			return s, true
		}
	}
	return EditorSpec{}, false
}

// Usage returns the command as it is written: "/to AGENT TEXT".
func (s EditorSpec) Usage() string { return strings.TrimRight("/"+s.Name+" "+s.Args, " ") }
