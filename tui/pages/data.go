package pages

import (
	"time"

	"github.com/arbiter-cli/arbiter/tui/render"
)

// Step is a step of the plan. Status is one of pending, active, done, failed, skipped.
type Step struct {
	Text, Status string
	Agent        string // who does it, as it is called
	Mode         string // the mode it is meant for
	Touched      bool   // a person has changed it, and not saved that
}

// Tasks is a list that an agent keeps for itself.
type Tasks struct {
	Agent string      // as it is called
	Tone  render.Role // of its name
	Items []Step      // pending, active or done
}

// Agent is one line of the roster.
type Agent struct {
	ID    string // rules the colour of the name
	Name  string // "Orchestrator II"
	Mode  string
	State string      // a word: "weaves", "waits", "is gone"
	Tone  render.Role // of State
	Busy  bool        // a turn runs: moves

	Known  bool // there is a reading of the context
	Tokens int
	Window int
	Pct    float64
	Level  string // "", "warn", "critical"

	Doing string        // what it does at this moment: a call, the end of what it writes, what it waits for
	Tail  bool          // of Doing the end matters
	Age   time.Duration // how long Doing has held, or else State
	Bell  bool          // it waits for the human
	Past  bool          // handed off or ended

	Subagents []Subagent
	Open      bool // they are shown one by one
}

// Subagent is one line below an agent's.
type Subagent struct {
	Name   string
	Doing  string // the current call
	Works  bool
	Failed bool
	Tokens int           // of its own context
	Pct    float64       // the same of a window like its agent's
	Age    time.Duration // since it was started, or how long it took
}

// StatusData is what the status line tells.
type StatusData struct {
	Word    string      // the state of the machine: "weaving"
	Tone    render.Role // of Word: Warn and Bad stand out
	Awaited string      // who is awaited: "Orchestrator II"; empty: nobody
	Human   bool        // a human is awaited: shown before all else
	Words   int         // how many words of the human's are awaited
	Waiting time.Duration

	CostUSD float64
	// Simulated: a scripted model plays, costs are not real.
	Simulated bool
	Tokens    int
	Elapsed   time.Duration
	Restarts  int
	Mode      string // of the keyboard: "NORMAL"
	Grants    string // the permission mode: "ask"; empty: none is known, or it is a warning
	Hint      string // "? help"
	Flash     string // what was just answered: takes the place of the figures
	// FlashShort is said in its place on a narrow line; empty: the flash is shortened.
	FlashShort string
	Fallback   string   // who decides in the Arbiter's place: "The rules decide"; empty: nobody
	Quota      string   // how much of the plan is used: "plan 81 %"; empty: not known
	Scarce     bool     // it is nearly used up
	Decider    string   // who decides where it is not the Arbiter: "hybrid"
	Warnings   []string // REHEARSAL, ALLOW ALL: never dropped
}

// Finding is one thing a person should know before anything is begun.
type Finding struct {
	Label, Text string
	Tone        render.Role
}

// Run is a run that can be taken up again.
type Run struct {
	ID, Title, Status string
	Tone              render.Role // of Status
	LastActive        time.Time
	Bytes             int64
	Rehearsal         bool
	CWD, Cost         string // empty: not known
	Live              bool
}

// HomeData is what the idle oracle shows.
type HomeData struct {
	Words    []string // what the oracle says: "Speak, mortal."
	Findings []Finding
	Threads  int // runs that can be taken up again
	Newest   Run
	Hint     string // how to take them up: "Ctrl+R"
	Now      time.Time
	Warnings []string // REHEARSAL, ALLOW ALL
}

// HelpGroup is a titled table of keys or commands.
type HelpGroup struct {
	Title string
	Rows  []HelpRow
}

// HelpRow says what keys do.
type HelpRow struct{ Keys, Text string }

// Choice is an answer to a dialog.
type Choice struct {
	Value string // what is returned when it is chosen
	Key   rune   // hot key, without regard to case; 0: none
	Label string
	Grave bool // it cannot be taken back
	Whole bool // taken only once the body was in sight to its end
}

// AskData is a dialog.
type AskData struct {
	Title string
	Tone  render.Role // of frame and title: Alert, Danger …; FrameFocus if it is not given
	List  *AskList    // what else it could be about; nil: nothing
	Head  []render.Line
	// Body are the lines for a width; it is asked again when the width is another one.
	Body    func(width int) []render.Line
	Choices []Choice
	Focus   int    // the current choice at first
	Note    string // below: what is at stake, or how many more wait
	Unread  string // in its place while the body was not in sight to its end
}
