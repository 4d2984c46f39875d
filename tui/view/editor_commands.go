package view

import "strings"

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
		if s.Name == name {
			return s, true
		}
		for _, a := range s.Aliases {
			if a == name {
				return s, true
			}
		}
	}
	return EditorSpec{}, false
}

// Usage returns the command as it is written: "/to AGENT TEXT".
func (s EditorSpec) Usage() string { return strings.TrimRight("/"+s.Name+" "+s.Args, " ") }
