// Package keys is the table of all key bindings: key, context, action, and the text of the
// help. The app looks up actions here, the help screen prints the table, and docs/screen.md
// names the most used keys. No key is bound elsewhere, except those of the editor ([Editing]).
package keys

// Context is where a key is pressed. A key that its context does not have is looked up in Everywhere.
type Context string

// The contexts.
const (
	Everywhere Context = "everywhere"
	Insert     Context = "writing"   // the input has the keyboard
	Normal     Context = "reading"   // the conversation has it
	Focus      Context = "one agent" // its stream
	Logbook    Context = "logbook"
	Plan       Context = "plan"
	Text       Context = "a text"
	Sessions   Context = "sessions"
	Changes    Context = "changes"
	Timeline   Context = "timeline"
	Playback   Context = "playback" // the conversation of a run that is replayed
	Diff       Context = "a change"
	Settings   Context = "settings"
	Help       Context = "help"
	Ask        Context = "a question"
	Inbox      Context = "what waits"
	Shell      Context = "your command"
	Pick       Context = "a list"
)

// Contexts in the order of the help.
var Contexts = []Context{Everywhere, Insert, Normal, Focus, Logbook, Plan, Text, Sessions, Changes, Diff, Settings,
	Timeline, Playback, Ask, Inbox, Shell, Pick, Help}

// Action is what a key does.
type Action string

// The actions.
const (
	Leave       Action = "leave"
	Suspend     Action = "suspend"
	Redraw      Action = "redraw"
	OpenHelp    Action = "help"
	OpenLogbook Action = "logbook"
	OpenPlan    Action = "plan"
	OpenRuns    Action = "sessions"
	OpenChanges Action = "changes"
	OpenTimes   Action = "timeline"
	Fork        Action = "fork"
	OpenConfig  Action = "settings"
	ToDefault   Action = "default"
	SideBySide  Action = "side by side"
	OpenFile    Action = "open in the editor"
	RevertFile  Action = "revert the file"
	RevertHunk  Action = "revert the place"
	LandWork    Action = "land"
	OpenFocus   Action = "focus"
	OpenInbox   Action = "inbox"
	OpenPalette Action = "palette"
	Answer      Action = "answer"
	NextItem    Action = "next item"
	PrevItem    Action = "previous item"
	AnswerAll   Action = "answer all"
	FirstStep   Action = "first step"
	NextAgent   Action = "next agent"
	PrevAgent   Action = "previous agent"
	Back        Action = "back"
	Write       Action = "write"
	WriteSlash  Action = "write a command"
	Read        Action = "read"
	Editor      Action = "editor"
	Documents   Action = "documents"
	Judge       Action = "judge"
	Halt        Action = "halt"
	Attach      Action = "attach"
	Withdraw    Action = "withdraw"
	Stop        Action = "interrupt"
	PauseRun    Action = "pause"
	Kill        Action = "kill"
	Strength    Action = "strength"
	Up          Action = "up"
	Down        Action = "down"
	Detach      Action = "detach"
	HalfUp      Action = "half a page up"
	HalfDown    Action = "half a page down"
	PageUp      Action = "page up"
	PageDown    Action = "page down"
	Top         Action = "top"
	Bottom      Action = "bottom"
	NextBlock   Action = "next"
	PrevBlock   Action = "previous"
	Fold        Action = "fold"
	FoldAll     Action = "fold all"

	Hold        Action = "hold"
	Faster      Action = "faster"
	Slower      Action = "slower"
	JumpBack    Action = "jump back"
	JumpOn      Action = "jump on"
	PlayAnew    Action = "play anew"
	PlayOut     Action = "play to the end"
	TakeUp      Action = "take up"
	Report      Action = "report"
	Earlier     Action = "earlier"
	Later       Action = "later"
	MuchEarlier Action = "much earlier"
	MuchLater   Action = "much later"
	ZoomIn      Action = "zoom in"
	ZoomOut     Action = "zoom out"
	NextMoment  Action = "next moment"
	PrevMoment  Action = "previous moment"

	FoldSubagents Action = "fold subagents"
	CycleGrants   Action = "permission mode"

	Select      Action = "select"
	Copy        Action = "copy"
	Search      Action = "search"
	SearchNext  Action = "next match"
	SearchPrev  Action = "previous match"
	Filter      Action = "filter"
	Sort        Action = "sort"
	ReadOn      Action = "read on"
	Comment     Action = "comment"
	Raw         Action = "raw"
	Choose      Action = "choose"
	WayOut      Action = "way out"
	Modes       Action = "modes"
	Summon      Action = "summon"
	SkipStep    Action = "skip"
	Retry       Action = "retry"
	Reset       Action = "reset"
	CancelRun   Action = "cancel"
	StepAdd     Action = "add a step"
	StepText    Action = "change a step's text"
	StepMode    Action = "set a step's mode"
	StepUp      Action = "step up"
	StepDown    Action = "step down"
	StepDelete  Action = "delete a step"
	StepDone    Action = "step done"
	StepActive  Action = "step under way"
	StepPending Action = "step pending"
	StepFailed  Action = "step failed"
	StepSkipped Action = "step skipped"
	Save        Action = "save"
	NextChoice  Action = "next choice"
	PrevChoice  Action = "previous choice"
)

// Binding is one row of the table.
type Binding struct {
	Context Context
	Keys    []string
	Action  Action
	Help    string
}

// table lists all keys except those for the text being written.
var table = []Binding{
	{Everywhere, []string{"Ctrl+C"}, Leave, "clear the input; with nothing in it: ask whether to leave"},
	{Everywhere, []string{"Ctrl+Z"}, Suspend, "suspend; fg resumes"},
	{Everywhere, []string{"Ctrl+L"}, Redraw, "redraw the screen"},
	{Everywhere, []string{"F1"}, OpenHelp, "help for this screen"},
	{Everywhere, []string{"Ctrl+P"}, OpenPalette, "all commands and agents: type a few letters of one"},
	{Everywhere, []string{"F2"}, OpenLogbook, "the logbook"},
	{Everywhere, []string{"F3"}, OpenPlan, "the plan in full"},
	{Everywhere, []string{"F4"}, OpenRuns, "all runs: live, resumable and finished"},
	{Everywhere, []string{"F5"}, OpenChanges, "what the run has changed"},
	{Everywhere, []string{"F6"}, OpenTimes, "when the agents did what"},
	{Everywhere, []string{"Alt+0"}, OpenFocus, "look at the Arbiter; Alt+1 … Alt+9: at an Orchestrator"},
	{Everywhere, []string{"F7"}, OpenInbox, "what waits for you: questions, permission requests, choices"},
	{Everywhere, []string{"F8"}, OpenConfig, "the settings, and your configuration file"},
	{Everywhere, []string{"Alt+p"}, Judge, "open the permission request that waits, or the list of several"},
	{Everywhere, []string{"Alt+c"}, WayOut, "choose how to continue after a failure"},
	{Everywhere, []string{"Shift+Tab"}, CycleGrants, "the next permission mode: ask, accept-edits, rules"},
	{Everywhere, []string{"Alt+s"}, Strength, "how strong the next message is: note, steer, stop"},
	{Everywhere, []string{"Alt+i"}, Stop, "interrupt the running turns"},
	{Everywhere, []string{`Ctrl+\`}, Halt,
		"halt: stop every agent at once, whatever is open here; /continue starts them again"},

	{Insert, []string{"Ctrl+D"}, Detach, "with nothing written: leave the run running"},
	{Insert, []string{"Esc"}, Read, "read: the keys of the conversation"},
	{Insert, []string{"Ctrl+G"}, Editor, "write in your own editor"},
	{Insert, []string{"Ctrl+O"}, Documents, "choose a file of requirements"},
	{Insert, []string{"Ctrl+X"}, Withdraw,
		"withdraw the message that is being changed; Esc leaves it as it was"},
	{Insert, []string{"PgUp"}, PageUp, "scroll the conversation back"},
	{Insert, []string{"PgDn"}, PageDown, "scroll it forward"},
	{Insert, []string{"Alt+Up"}, Up, "scroll up by a line"},
	{Insert, []string{"Alt+Down"}, Down, "scroll down by a line"},

	{Normal, []string{"i", "Enter", "Esc"}, Write, "write"},
	{Normal, []string{":"}, WriteSlash, "write a command"},
	{Normal, []string{"j", "Down"}, Down, "down"},
	{Normal, []string{"k", "Up"}, Up, "up"},
	{Normal, []string{"Ctrl+D"}, HalfDown, "half a page down"},
	{Normal, []string{"Ctrl+U"}, HalfUp, "half a page up"},
	{Normal, []string{"PgDn", "Ctrl+F"}, PageDown, "a page down"},
	{Normal, []string{"PgUp", "Ctrl+B"}, PageUp, "a page up"},
	{Normal, []string{"g", "Home"}, Top, "the beginning"},
	{Normal, []string{"G", "End"}, Bottom, "the end, and follow it"},
	{Normal, []string{"J", "}"}, NextBlock, "the next message"},
	{Normal, []string{"K", "{"}, PrevBlock, "the previous message"},
	{Normal, []string{"Space"}, Fold, "fold or unfold it"},
	{Normal, []string{"z"}, FoldAll, "fold or unfold all"},
	{Normal, []string{"v"}, Select, "select lines"},
	{Normal, []string{"y"}, Copy, "copy what is selected, or the message"},
	{Normal, []string{"/"}, Search, "search: Enter goes to the nearest match above, or below"},
	{Normal, []string{"n"}, SearchNext, "the next match, further down"},
	{Normal, []string{"N"}, SearchPrev, "the previous match, further up"},
	{Normal, []string{"Tab", "]"}, NextAgent, "the next agent"},
	{Normal, []string{"["}, PrevAgent, "the previous agent"},
	{Normal, []string{"e"}, FoldSubagents, "fold or unfold the subagents of that agent, or of all"},
	{Normal, []string{"f", "Right"}, OpenFocus, "look at that agent; 1 … 9: at an Orchestrator, 0: at the Arbiter"},
	{Normal, []string{"x"}, Kill, "end that Orchestrator (asks)"},
	{Normal, []string{"o"}, OpenLogbook, "the logbook"},
	{Normal, []string{"t"}, OpenPlan, "the plan in full"},
	{Normal, []string{"r"}, OpenRuns, "all runs: live, resumable and finished"},
	{Normal, []string{"d"}, OpenChanges, "what the run has changed"},
	{Normal, []string{"l"}, OpenTimes, "when the agents did what"},
	{Normal, []string{"w"}, OpenInbox, "what waits for you"},
	{Normal, []string{"p"}, PauseRun, "pause the run, or continue it"},
	{Normal, []string{"a"}, Modes, "the modes of this run, and how they did"},
	{Normal, []string{"m"}, Summon, "summon an Orchestrator under a mode"},
	{Normal, []string{"S"}, SkipStep, "skip the plan's current step"},
	{Normal, []string{"T"}, Retry, "have the last agent try again"},
	{Normal, []string{"c"}, WayOut, "choose how to continue after a failure"},
	{Normal, []string{"R"}, Reset, "reset: release the Orchestrators, empty the plan (asks)"},
	{Normal, []string{"Q"}, CancelRun, "cancel: end the run (asks)"},
	{Normal, []string{"?"}, OpenHelp, "help for this screen"},
	{Normal, []string{"q"}, Leave, "leave (asks while agents work)"},

	{Focus, []string{"q", "Esc", "Left"}, Back, "back to the weaving"},
	{Focus, []string{"Tab", "]"}, NextAgent, "the next agent"},
	{Focus, []string{"["}, PrevAgent, "the previous agent"},
	{Focus, []string{"i"}, Write, "write to this agent"},
	{Focus, []string{"s"}, Stop, "interrupt its turn"},
	{Focus, []string{"x"}, Kill, "end it (asks)"},
	{Focus, []string{"A"}, Attach, "take its session into this terminal; Ctrl+] gives it back"},

	{Logbook, []string{"q", "Esc", "Left"}, Back, "back to the weaving"},
	{Logbook, []string{"f"}, Filter, "filter: an agent, a kind, or words"},
	{Logbook, []string{"d"}, Raw, "events as JSON, or their summary"},

	{Plan, []string{"q", "Esc", "Left"}, Back, "back; asks if something was changed and not saved"},
	{Plan, []string{"a"}, StepAdd, "add a step below the current one"},
	{Plan, []string{"e", "Enter"}, StepText, "change its text"},
	{Plan, []string{"m"}, StepMode, "the mode it is meant for"},
	{Plan, []string{"K", "Alt+Up"}, StepUp, "move it up"},
	{Plan, []string{"J", "Alt+Down"}, StepDown, "move it down"},
	{Plan, []string{"x", "Delete"}, StepDelete, "delete it"},
	{Plan, []string{"d"}, StepDone, "mark it done"},
	{Plan, []string{"n"}, StepActive, "mark it under way"},
	{Plan, []string{"u"}, StepPending, "mark it pending again"},
	{Plan, []string{"f"}, StepFailed, "mark it failed"},
	{Plan, []string{"s"}, StepSkipped, "mark it skipped"},
	{Plan, []string{"w", "Ctrl+S"}, Save, "save: all changes at once"},

	{Text, []string{"q", "Esc", "Left"}, Back, "back"},

	{Sessions, []string{"q", "Esc", "Left"}, Back, "back"},
	{Sessions, []string{"Enter"}, Choose, "show a live run; resume one that has stopped; report on one that has ended"},
	{Sessions, []string{"c"}, TakeUp, "resume it, though it has ended"},
	{Sessions, []string{"r"}, Report, "its report"},
	{Sessions, []string{"/"}, Filter, "search: words of the task, the directory, the id or the status"},
	{Sessions, []string{"s"}, Sort, "sort by the next column"},
	{Sessions, []string{"Space"}, ReadOn, "read on in its last words"},

	{Changes, []string{"q", "Esc", "Left"}, Back, "back"},
	{Changes, []string{"Enter"}, Choose, "what has changed in this file"},
	{Changes, []string{"e"}, OpenFile, "open it in your editor"},
	{Changes, []string{"x"}, RevertFile, "revert it: all that the run changed in it (asks)"},
	{Changes, []string{"/"}, Filter, "search: words of the path, the agents or the kind of change"},
	{Changes, []string{"s"}, Sort, "sort by the next column"},
	{Changes, []string{"Space"}, ReadOn, "read on in the difference"},
	{Changes, []string{"M"}, LandWork, "land: commit the work of the run on your branch (asks)"},

	{Settings, []string{"q", "Esc", "Left"}, Back, "back"},
	{Settings, []string{"Enter"}, Choose, "change it in your configuration file"},
	{Settings, []string{"x", "Delete"}, ToDefault, "remove it from your configuration file"},
	{Settings, []string{"/"}, Filter, "search: words of the name, the value, the source or the meaning"},
	{Settings, []string{"s"}, Sort, "sort by the next column"},
	{Settings, []string{"e"}, OpenFile, "open your configuration file in your editor"},

	{Diff, []string{"q", "Esc", "Left"}, Back, "back to the files"},
	{Diff, []string{"Tab", "]"}, NextChoice, "the next file"},
	{Diff, []string{"Shift+Tab", "["}, PrevChoice, "the previous file"},
	{Diff, []string{"s"}, SideBySide, "both versions beside each other, or one below the other"},
	{Diff, []string{"n", "J", "}"}, NextBlock, "the next place that differs"},
	{Diff, []string{"N", "K", "{"}, PrevBlock, "the previous place"},
	{Diff, []string{"c"}, Comment, "write about this place, or the selected lines, to the agent that changed it"},
	{Diff, []string{"e"}, OpenFile, "open the file in your editor, at this place"},
	{Diff, []string{"x"}, RevertHunk, "revert this place (asks)"},
	{Diff, []string{"X"}, RevertFile, "revert the whole file (asks)"},

	{Timeline, []string{"q", "Esc"}, Back, "back"},
	{Timeline, []string{"Left", "h"}, Earlier, "earlier"},
	{Timeline, []string{"Right", "l"}, Later, "later"},
	{Timeline, []string{"Shift+Left", "H", "PgUp"}, MuchEarlier, "earlier by a large step"},
	{Timeline, []string{"Shift+Right", "L", "PgDn"}, MuchLater, "later by a large step"},
	{Timeline, []string{"Home", "g"}, Top, "the beginning of the run"},
	{Timeline, []string{"End", "G"}, Bottom, "the end, and follow it"},
	{Timeline, []string{"["}, PrevMoment, "the previous notable event: a hand-off, a wait, an error"},
	{Timeline, []string{"]"}, NextMoment, "the next notable event"},
	{Timeline, []string{"Up", "k"}, PrevChoice, "the agent above"},
	{Timeline, []string{"Down", "j"}, NextChoice, "the agent below"},
	{Timeline, []string{"+", "="}, ZoomIn, "zoom in: half the time"},
	{Timeline, []string{"-", "_"}, ZoomOut, "zoom out: twice the time"},
	{Timeline, []string{"Enter"}, Choose, "read the conversation at that time"},
	{Timeline, []string{"a"}, OpenFocus, "look at that agent at that time"},
	{Timeline, []string{"f"}, Fork, "begin a new run that continues this one from before the decision at that time"},

	{Playback, []string{"Space"}, Hold, "pause, or continue"},
	{Playback, []string{"+", "=", "]"}, Faster, "faster: 1, 2, 8, 64 times"},
	{Playback, []string{"-", "_", "["}, Slower, "slower"},
	{Playback, []string{"Left"}, JumpBack, "back by 10 seconds, more at a higher speed"},
	{Playback, []string{"Right"}, JumpOn, "forward by as much"},
	{Playback, []string{"0"}, PlayAnew, "from the beginning"},
	{Playback, []string{"$"}, PlayOut, "all of it at once"},
	{Playback, []string{"q"}, Leave, "leave"},
	{Playback, []string{"Tab"}, NextAgent, "the next agent"},
	{Playback, []string{"f"}, OpenFocus, "look at that agent"},
	{Playback, []string{"e"}, FoldSubagents, "fold or unfold the subagents of that agent, or of all"},
	{Playback, []string{"o"}, OpenLogbook, "the logbook"},

	{Ask, []string{"Tab", "Right", "l"}, NextChoice, "the next answer"},
	{Ask, []string{"Shift+Tab", "Left", "h"}, PrevChoice, "the previous answer"},
	{Ask, []string{"Enter"}, Choose, "give the answer that is marked"},
	{Ask, []string{"y"}, Answer, "yes: allow it this once, leave, end it"},
	{Ask, []string{"a"}, Answer, "allow it for the whole run: asks what exactly"},
	{Ask, []string{"w"}, Answer, "always allow it here: asks what exactly"},
	{Ask, []string{"n"}, Answer, "no: deny it, stay"},
	{Ask, []string{"r"}, Answer, "deny it, and say why"},
	{Ask, []string{"1"}, Answer, "the answer behind this digit; every letter or digit before an answer gives it"},
	{Ask, []string{"j", "Down"}, Down, "down"},
	{Ask, []string{"k", "Up"}, Up, "up"},
	{Ask, []string{"PgDn", "Space"}, PageDown, "a page down"},
	{Ask, []string{"PgUp"}, PageUp, "a page up"},
	{Ask, []string{"Ctrl+D"}, Detach, "leave, and leave the run running"},
	{Ask, []string{"Esc"}, Back, "not now: the request stays open"},

	{Inbox, []string{"1"}, Answer, "give the first answer; 2 … 9: another one"},
	{Inbox, []string{"Tab", "Right", "l"}, NextChoice, "the next answer"},
	{Inbox, []string{"Shift+Tab", "Left", "h"}, PrevChoice, "the previous answer"},
	{Inbox, []string{"Enter"}, Choose, "give the answer that is marked"},
	{Inbox, []string{"j", "Down"}, NextItem, "the next item"},
	{Inbox, []string{"k", "Up"}, PrevItem, "the previous item"},
	{Inbox, []string{"A"}, AnswerAll, "answer all of its kind at once (asks)"},
	{Inbox, []string{"PgDn", "Space"}, PageDown, "a page down"},
	{Inbox, []string{"PgUp"}, PageUp, "a page up"},
	{Inbox, []string{"Backspace"}, FirstStep, "back to the first choice of answers"},
	{Inbox, []string{"Esc"}, Back, "close this; all items stay open"},

	{Shell, []string{"Enter", "Tab"}, Choose, "add command and output to the input, for an agent"},
	{Shell, []string{"j", "Down"}, Down, "down"},
	{Shell, []string{"k", "Up"}, Up, "up"},
	{Shell, []string{"PgDn", "Space"}, PageDown, "a page down"},
	{Shell, []string{"PgUp"}, PageUp, "a page up"},
	{Shell, []string{"g", "Home"}, Top, "the beginning"},
	{Shell, []string{"G", "End"}, Bottom, "the end, and follow it"},
	{Shell, []string{"y"}, Copy, "copy it"},
	{Shell, []string{"Esc", "Ctrl+C"}, Back, "stop it; once it has ended: close this"},

	{Pick, []string{"Esc", "Ctrl+C"}, Back, "close this"},

	{Help, []string{"j", "Down"}, Down, "down"},
	{Help, []string{"k", "Up"}, Up, "up"},
	{Help, []string{"PgDn", "Space", "Ctrl+D"}, PageDown, "a page down"},
	{Help, []string{"PgUp", "Ctrl+U"}, PageUp, "a page up"},
	{Help, []string{"g", "Home"}, Top, "the beginning"},
	{Help, []string{"G", "End"}, Bottom, "the end"},
	{Help, []string{"/"}, Filter, "search: letters of a key or a command, or words of what it does"},
	{Help, []string{"q", "Esc", "?", "F1"}, Back, "back"},
}

// Editing lists the keys of the text being written; the editor implements them itself.
var Editing = []Binding{
	{Insert, []string{"Enter"}, "", "send"},
	{Insert, []string{"!"}, "", "before a line: run it in your shell, and see its output; ! alone: the last output"},
	{Insert, []string{"Shift+Enter", "Alt+Enter", "Ctrl+J"}, "", "a new line"},
	{Insert, []string{"Up", "Down"}, "",
		"in an empty input: change your last message that waits; at the first and last row: what was written before"},
	{Insert, []string{"Ctrl+R"}, "", "search what was written before"},
	{Insert, []string{"Tab"}, "", "complete: /commands, their arguments, @files"},
	{Insert, []string{"Ctrl+A", "Ctrl+E"}, "", "beginning and end of the line"},
	{Insert, []string{"Alt+B", "Alt+F"}, "", "a word back, a word forward"},
	{Insert, []string{"Ctrl+W", "Ctrl+U", "Ctrl+K"}, "", "delete a word, to the beginning, to the end"},
	{Insert, []string{"Alt+D", "Alt+Backspace"}, "", "delete the next word, the last one"},
	{Insert, []string{"Ctrl+Y"}, "", "put back what was deleted"},
	{Insert, []string{"Shift+Left", "Shift+Right"}, "", "select; Alt+W copies, Alt+X cuts"},
	{Insert, []string{"Ctrl+_", "Alt+_"}, "", "undo, redo"},
}
