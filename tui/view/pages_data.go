package view

import (
	"time"

	"github.com/arbiter-cli/arbiter/tui/render"
)

// PageStep is a step of the plan. Status is one of pending, active, done, failed, skipped.
type PageStep struct {
	Text, Status string
	Agent        string // name of the agent that does it
	Mode         string // the mode it is meant for
	Price        string // the forecast of an open step: "≈ $0.40, 6 min"; empty: none
	Touched      bool   // a person has changed it, and has not saved the change
}

// Tasks is a list that an agent keeps for itself.
type Tasks struct {
	Agent string      // name of the agent
	Tone  render.Role // of its name
	Items []PageStep  // pending, active or done
}

// PageAgent is one line of the roster.
type PageAgent struct {
	ID    string // determines the colour of the name
	Name  string // "Orchestrator II"
	Mode  string
	State string      // a word: "weaves", "waits", "is gone"
	Tone  render.Role // of State
	Busy  bool        // a turn runs: animated

	Known  bool // a reading of the context exists
	Tokens int
	Window int
	Pct    float64
	Level  string // "", "warn", "critical"
	Fuse   string // how much of its fuse is spent: "$0.41 of $0.50"; empty: it has none
	Hot    bool   // nearly all of it

	Doing string        // the current activity: a call, the end of what it writes, what it waits for
	Tail  bool          // the end of Doing matters
	Age   time.Duration // how long Doing has lasted, or otherwise State
	Bell  bool          // it waits for the human
	Past  bool          // handed off or ended

	Subagents []Subagent
	Open      bool // they are shown individually
}

// Subagent is one line below an agent's.
type Subagent struct {
	Name   string
	Doing  string // the current call
	Works  bool
	Failed bool
	Tokens int           // of its own context
	Pct    float64       // in percent of a window like its agent's
	Age    time.Duration // since it was started, or how long it took
}

// StatusData is the content of the status line.
type StatusData struct {
	Word    string      // the state of the program: "weaving"
	Tone    render.Role // of Word: Warn and Bad stand out
	Awaited string      // the awaited agent: "Orchestrator II"; empty: none
	Human   bool        // input of a human is awaited: shown before everything else
	Words   int         // how many inputs of the human are awaited
	Waiting time.Duration

	CostUSD float64
	// Simulated reports that a scripted model plays; costs are not real.
	Simulated bool
	Tokens    int
	Elapsed   time.Duration
	Restarts  int
	Mode      string // of the keyboard: "NORMAL"
	Grants    string // the permission mode: "ask"; empty: unknown, or shown as a warning
	Hint      string // "? help"
	Flash     string // a recent answer: it replaces the figures
	// FlashShort replaces Flash on a narrow line; empty: the flash is shortened.
	FlashShort string
	Fallback   string   // who decides in the Arbiter's place: "The rules decide"; empty: nobody
	Quota      string   // how much of the plan is used: "plan 81 %"; empty: not known
	Scarce     bool     // it is nearly used up
	Decider    string   // who decides if not the Arbiter: "hybrid"
	Warnings   []string // REHEARSAL, ALLOW ALL: never dropped
}

// PageFinding is one fact that a person should know before a run begins.
type PageFinding struct {
	Label, Text string
	Tone        render.Role
}

// HomeData is the content of the home screen.
type HomeData struct {
	Words    []string // what the oracle says: "Speak, mortal."
	Findings []PageFinding
	Threads  int    // runs that can be resumed
	Newest   string // the title of the last active one
	NewestAt time.Time
	Hint     string // how to resume them: "Ctrl+R"
	Now      time.Time
	Warnings []string // REHEARSAL, ALLOW ALL
}

// PageChoice is an answer to a dialog.
type PageChoice struct {
	Value        string // what is returned when it is chosen
	Key          rune   // hot key, ignoring case; 0: none
	Label        string
	Irreversible bool // it cannot be undone
	ReadToEnd    bool // accepted only after the end of the body was visible
}

// AskData is a dialog.
type AskData struct {
	Title string
	Tone  render.Role // of frame and title: Alert, Danger …; default: FrameFocus
	List  *AskList    // other items; nil: there are none
	Head  []render.Line
	// Body returns the lines for a width; it is called again for another width.
	Body    func(width int) []render.Line
	Choices []PageChoice
	Focus   int    // the current choice at first
	Note    string // below: the consequences, or how many more wait
	Unread  string // replaces Note until the end of the body was visible
}
