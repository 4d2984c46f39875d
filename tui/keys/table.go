package keys

// Context is where a key is pressed. A key that its context does not know is looked
// up in Everywhere.
type Context string

// The Contexts.
const (
	Everywhere Context = "everywhere"
	Insert     Context = "writing"   // the input has the keyboard
	Normal     Context = "reading"   // the conversation has it
	Focus      Context = "one agent" // its stream
	Logbook    Context = "logbook"
	Plan       Context = "plan"
	Text       Context = "a text"
	Sessions   Context = "sessions"
	First      Context = "beginning" // there is nothing to drive
	Help       Context = "help"
	Ask        Context = "a question"
	Pick       Context = "a list"
)

// Contexts in the order of the help.
var Contexts = []Context{Everywhere, Insert, Normal, Focus, Logbook, Plan, Text, Sessions, First, Ask, Pick, Help}

// Action is what a key leads to.
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
	OpenFocus   Action = "focus"
	NextAgent   Action = "next agent"
	PrevAgent   Action = "previous agent"
	Back        Action = "back"
	Write       Action = "write"
	WriteSlash  Action = "write a command"
	Read        Action = "read"
	Editor      Action = "editor"
	Documents   Action = "documents"
	Allow       Action = "allow"
	AllowRun    Action = "allow for this run"
	AllowAlways Action = "always allow"
	Deny        Action = "deny"
	DenyWhy     Action = "deny with a reason"
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
	Select      Action = "select"
	Copy        Action = "copy"
	Search      Action = "search"
	SearchNext  Action = "next match"
	SearchPrev  Action = "previous match"
	Filter      Action = "filter"
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

// table is all that the keyboard does outside of the text being written.
var table = []Binding{
	{Everywhere, []string{"Ctrl+C"}, Leave, "clear the input; with nothing in it: ask whether to leave"},
	{Everywhere, []string{"Ctrl+Z"}, Suspend, "suspend; fg comes back"},
	{Everywhere, []string{"Ctrl+L"}, Redraw, "draw the screen anew"},
	{Everywhere, []string{"F1"}, OpenHelp, "help for this screen"},
	{Everywhere, []string{"F2"}, OpenLogbook, "the logbook"},
	{Everywhere, []string{"F3"}, OpenPlan, "the plan in full"},
	{Everywhere, []string{"F4"}, OpenRuns, "runs to take up again"},
	{Everywhere, []string{"Alt+0"}, OpenFocus, "look at the Arbiter; Alt+1 … Alt+9: at an Orchestrator"},
	{Everywhere, []string{"Alt+p"}, Judge, "open the permission request that waits"},
	{Everywhere, []string{"Alt+c"}, WayOut, "choose one of the ways out of the trouble at hand"},
	{Everywhere, []string{"Alt+s"}, Strength, "how strong the next word is: note, steer, stop"},
	{Everywhere, []string{"Alt+i"}, Stop, "interrupt the running turns"},
	{Everywhere, []string{`Ctrl+\`}, Halt,
		"halt: stop every agent at once, whatever is open here; /continue wakes them"},

	{Insert, []string{"Ctrl+D"}, Detach, "with nothing written: leave the run running"},
	{Insert, []string{"Esc"}, Read, "read: the keys of the conversation"},
	{Insert, []string{"Ctrl+G"}, Editor, "write in your own editor"},
	{Insert, []string{"Ctrl+O"}, Documents, "choose a file of requirements"},
	{Insert, []string{"Ctrl+X"}, Withdraw,
		"take the word that is being changed back for good; Esc leaves it as it was"},
	{Insert, []string{"PgUp"}, PageUp, "scroll the conversation"},
	{Insert, []string{"PgDn"}, PageDown, "and back"},
	{Insert, []string{"Alt+Up"}, Up, "scroll up by a line"},
	{Insert, []string{"Alt+Down"}, Down, "and down"},

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
	{Normal, []string{"K", "{"}, PrevBlock, "the message before"},
	{Normal, []string{"Space"}, Fold, "fold or unfold it"},
	{Normal, []string{"z"}, FoldAll, "fold or unfold all"},
	{Normal, []string{"v"}, Select, "select lines"},
	{Normal, []string{"y"}, Copy, "copy what is selected, or the message"},
	{Normal, []string{"/"}, Search, "search"},
	{Normal, []string{"n"}, SearchPrev, "the match before"},
	{Normal, []string{"N"}, SearchNext, "the next match"},
	{Normal, []string{"Tab"}, NextAgent, "the next agent"},
	{Normal, []string{"Shift+Tab"}, PrevAgent, "the agent before"},
	{Normal, []string{"f", "Right"}, OpenFocus, "look at that agent; 1 … 9: at an Orchestrator, 0: at the Arbiter"},
	{Normal, []string{"x"}, Kill, "end that Orchestrator (asks)"},
	{Normal, []string{"o"}, OpenLogbook, "the logbook"},
	{Normal, []string{"t"}, OpenPlan, "the plan in full"},
	{Normal, []string{"r"}, OpenRuns, "runs to take up again"},
	{Normal, []string{"p"}, PauseRun, "pause the run, or let it go on"},
	{Normal, []string{"a"}, Modes, "the modes of this run, and how they have done"},
	{Normal, []string{"m"}, Summon, "summon an Orchestrator under a mode"},
	{Normal, []string{"S"}, SkipStep, "skip the plan's step at hand"},
	{Normal, []string{"T"}, Retry, "have the last agent try again"},
	{Normal, []string{"c"}, WayOut, "choose one of the ways out of the trouble at hand"},
	{Normal, []string{"R"}, Reset, "reset: release the Orchestrators, empty the plan (asks)"},
	{Normal, []string{"Q"}, CancelRun, "cancel: end the run (asks)"},
	{Normal, []string{"?"}, OpenHelp, "help for this screen"},
	{Normal, []string{"q"}, Leave, "leave (asks while work goes on)"},

	{Focus, []string{"q", "Esc", "Left"}, Back, "back to the weaving"},
	{Focus, []string{"Tab", "]"}, NextAgent, "the next agent"},
	{Focus, []string{"Shift+Tab", "["}, PrevAgent, "the agent before"},
	{Focus, []string{"i"}, Write, "write to this agent"},
	{Focus, []string{"s"}, Stop, "interrupt its turn"},
	{Focus, []string{"x"}, Kill, "end it (asks)"},
	{Focus, []string{"A"}, Attach, "take its session into this terminal; Ctrl+] gives it back"},

	{Logbook, []string{"q", "Esc", "Left"}, Back, "back to the weaving"},
	{Logbook, []string{"f"}, Filter, "filter: an agent, a kind, or words"},
	{Logbook, []string{"d"}, Raw, "events as they were told, or their summary"},

	{Plan, []string{"q", "Esc", "Left"}, Back, "back; asks if something was changed and not saved"},
	{Plan, []string{"a"}, StepAdd, "add a step below the one at hand"},
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
	{Sessions, []string{"j", "Down"}, NextChoice, "down"},
	{Sessions, []string{"k", "Up"}, PrevChoice, "up"},
	{Sessions, []string{"Enter"}, Choose, "take this run up again"},

	{First, []string{"j", "Down", "Tab"}, NextChoice, "down"},
	{First, []string{"k", "Up", "Shift+Tab"}, PrevChoice, "up"},
	{First, []string{"Enter"}, Choose, "do it"},
	{First, []string{"q", "Esc"}, Leave, "leave"},

	{Ask, []string{"Tab", "Right", "l"}, NextChoice, "the next answer"},
	{Ask, []string{"Shift+Tab", "Left", "h"}, PrevChoice, "the answer before"},
	{Ask, []string{"Enter"}, Choose, "give the answer that is marked"},
	{Ask, []string{"y"}, Allow, "yes: allow it this once, leave, end it"},
	{Ask, []string{"a"}, AllowRun, "allow it for the whole run, as a rule where one covers it"},
	{Ask, []string{"w"}, AllowAlways, "always allow it here: asks what exactly (after Alt+p; else Tab leads there)"},
	{Ask, []string{"n"}, Deny, "no: deny it, stay"},
	{Ask, []string{"r"}, DenyWhy, "deny it, and say why (likewise)"},
	{Ask, []string{"j", "Down"}, Down, "read on"},
	{Ask, []string{"k", "Up"}, Up, "and back"},
	{Ask, []string{"PgDn", "Space"}, PageDown, "a page on"},
	{Ask, []string{"PgUp"}, PageUp, "and back"},
	{Ask, []string{"Ctrl+D"}, Detach, "leave, and leave the run running"},
	{Ask, []string{"Esc"}, Back, "not now: the request stays and waits"},

	{Pick, []string{"Esc", "Ctrl+C"}, Back, "not now"},

	{Help, []string{"j", "Down"}, Down, "down"},
	{Help, []string{"k", "Up"}, Up, "up"},
	{Help, []string{"PgDn", "Space", "Ctrl+D"}, PageDown, "a page down"},
	{Help, []string{"PgUp", "Ctrl+U"}, PageUp, "a page up"},
	{Help, []string{"q", "Esc", "?", "F1"}, Back, "back"},
}

// reads are the Contexts that are read like the conversation, and what of its keys
// they take over.
var reads = map[Context]map[Action]bool{Focus: readable, Logbook: readable, Text: readable, Plan: scrollable}

// scrollable are the actions that make sense on a page.
var scrollable = map[Action]bool{
	Up: true, Down: true, HalfUp: true, HalfDown: true, PageUp: true, PageDown: true, Top: true, Bottom: true,
	OpenHelp: true, OpenLogbook: true, OpenRuns: true, PauseRun: true, WriteSlash: true,
}

// readable are the actions that make sense wherever there is something to scroll.
var readable = map[Action]bool{
	Up: true, Down: true, HalfUp: true, HalfDown: true, PageUp: true, PageDown: true, Top: true, Bottom: true,
	NextBlock: true, PrevBlock: true, Fold: true, FoldAll: true, Select: true, Copy: true, Search: true,
	SearchNext: true, SearchPrev: true, OpenHelp: true, OpenLogbook: true, OpenPlan: true, OpenRuns: true,
	PauseRun: true, WriteSlash: true,
}

// Look finds what a key leads to.
func Look(c Context, key string) (Action, bool) {
	for _, b := range For(c) {
		for _, k := range b.Keys {
			if k == key {
				return b.Action, true
			}
		}
	}
	return "", false
}

// Own lists what works in a context and is not known elsewhere.
func Own(c Context) []Binding { return rows(c, nil) }

// Reading lists what a context takes over from the conversation, to scroll and search.
func Reading(c Context) []Binding {
	if reads[c] == nil {
		return nil
	}
	return rows(Normal, reads[c])
}

// For lists what works in a context, its own rows first.
func For(c Context) []Binding {
	list := append(Own(c), Reading(c)...)
	if c != Everywhere {
		list = append(list, rows(Everywhere, nil)...)
	}
	return list
}

func rows(c Context, only map[Action]bool) []Binding {
	var list []Binding
	for _, b := range table {
		if b.Context == c && (only == nil || only[b.Action]) {
			list = append(list, b)
		}
	}
	return list
}

// Editing lists the keys of the text being written; the editor knows them itself.
var Editing = []Binding{
	{Insert, []string{"Enter"}, "", "send"},
	{Insert, []string{"Shift+Enter", "Alt+Enter", "Ctrl+J"}, "", "a new line"},
	{Insert, []string{"Up", "Down"}, "",
		"in an empty input: change your last word that waits; at the first and last row: what was written before"},
	{Insert, []string{"Ctrl+R"}, "", "search what was written before"},
	{Insert, []string{"Tab"}, "", "complete: /commands, their arguments, @files"},
	{Insert, []string{"Ctrl+A", "Ctrl+E"}, "", "beginning and end of the line"},
	{Insert, []string{"Alt+B", "Alt+F"}, "", "a word back and on"},
	{Insert, []string{"Ctrl+W", "Ctrl+U", "Ctrl+K"}, "", "delete a word, to the beginning, to the end"},
	{Insert, []string{"Alt+D", "Alt+Backspace"}, "", "delete the next word, the last one"},
	{Insert, []string{"Ctrl+Y"}, "", "put back what was deleted"},
	{Insert, []string{"Shift+Left", "Shift+Right"}, "", "select; Alt+W copies, Alt+X cuts"},
	{Insert, []string{"Ctrl+_", "Alt+_"}, "", "undo, redo"},
}
