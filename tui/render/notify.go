package render

// This part of the package alerts a human who is not watching the screen: by the terminal's title, its bell,
// and the notifications that terminals support.
//
// All of it is pure: it returns texts and byte sequences that the owner of the terminal must write, and a
// [NotifyState] decides when one is due. The content of a sequence is sanitised here, even if it was sanitised
// before.

import (
	"cmp"
	"encoding/base64"
	"fmt"
	"slices"
	"strings"

	"github.com/arbiter-cli/arbiter/sanitize"
	"github.com/arbiter-cli/arbiter/tui/eventtext"
)

// NotifyProtocol is the notification protocol of a terminal.
type NotifyProtocol int

// The protocols. Only one is used: some terminals support more than one, and would show the notification
// twice.
const (
	NotifyNone   NotifyProtocol = iota
	NotifyOSC777                // urxvt, VTE, foot, Ghostty, WezTerm
	NotifyOSC99                 // kitty
	NotifyOSC9                  // iTerm2, and the terminals of Windows
)

const (
	bell   = "\a"
	esc    = "\x1b"
	finish = esc + `\`
)

// textMost is the maximum length of a notification's text, in characters.
const textMost = 200

// NotifyTerminal is what the environment says about the terminal.
type NotifyTerminal struct {
	Protocol NotifyProtocol
	Tmux     bool // sequences are wrapped to pass through it
}

// DetectProtocol reads the environment. An unknown terminal gets OSC 777: terminals that do not support it ignore
// it.
func DetectProtocol(getenv func(string) string) NotifyTerminal {
	term, program := getenv("TERM"), getenv("TERM_PROGRAM")
	t := NotifyTerminal{Protocol: NotifyOSC777, Tmux: getenv("TMUX") != ""}
	switch {
	case term == "" || term == "dumb" || term == "linux" || strings.HasPrefix(term, "vt"):
		t.Protocol = NotifyNone
	case !t.Tmux && (getenv("STY") != "" || strings.HasPrefix(term, "screen")):
		t.Protocol = NotifyNone // screen does not pass notifications on
	case getenv("KITTY_WINDOW_ID") != "" || term == "xterm-kitty":
		t.Protocol = NotifyOSC99
	case program == "iTerm.app" || getenv("WT_SESSION") != "" || getenv("ConEmuPID") != "" ||
		getenv("LC_TERMINAL") == "iTerm2":
		t.Protocol = NotifyOSC9
	}
	return t
}

// Sequence returns the bytes that make the terminal notify the human.
func (t NotifyTerminal) Sequence(title, body string) string {
	title, body = sanitize.Line(title, titleMost), sanitize.Line(body, textMost)
	var s string
	switch t.Protocol {
	case NotifyOSC777:
		s = esc + "]777;notify;" + field(title) + ";" + field(body) + finish
	case NotifyOSC99:
		// d=0: more follows. The payload is encoded, because its text may contain anything.
		s = esc + "]99;i=arbiter:d=0:e=1:p=title;" + encoded(title) + finish +
			esc + "]99;i=arbiter:d=1:e=1:p=body;" + encoded(body) + finish
	case NotifyOSC9:
		// Some terminals would take a number at the beginning for a command: so there is always a word
		// first.
		s = esc + "]9;arbiter: " + field(title) + " - " + field(body) + finish
	default:
		return ""
	}
	if t.Tmux {
		s = esc + "Ptmux;" + strings.ReplaceAll(s, esc, esc+esc) + finish
	}
	return s
}

// field returns a text that cannot end its field.
func field(s string) string { return strings.ReplaceAll(s, ";", ",") }

func encoded(s string) string { return base64.StdEncoding.EncodeToString([]byte(s)) }

// NotifyOptions set for what a person wants to be alerted, and how.
type NotifyOptions struct {
	Bell     bool // the terminal's bell
	Desktop  bool // a notification
	Finished bool // also when a run has ended, not only when input is needed
	Terminal NotifyTerminal
}

// NotifyCall is an alert that is due.
type NotifyCall struct{ Title, Body string }

// NotifyState records what was announced: each thing that begins to wait for a human is announced once, however
// long it lasts, and so is each end of a run. Things that begin at the same moment are one alert. The zero
// value has announced nothing.
type NotifyState struct {
	awaited map[string]bool // by Wait.Call
	ended   bool
}

// Ring records the current moment, and returns what to write to the terminal for it, usually nothing.
func (s *NotifyState) Ring(o NotifyOptions, m NotifyMoment) string {
	c, ok := s.Look(o, m)
	out := ""
	if ok && o.Desktop {
		out = o.Terminal.Sequence(c.Title, c.Body)
	}
	if ok && o.Bell {
		out += bell
	}
	return out
}

// Look records the current moment, and returns the alert that is due for it. What happens while alerts are
// off counts as seen.
func (s *NotifyState) Look(o NotifyOptions, m NotifyMoment) (NotifyCall, bool) {
	began, over := s.began(m.Awaited), m.Ended != "" && !s.ended
	s.ended = m.Ended != ""
	switch {
	case !o.Bell && !o.Desktop:
		return NotifyCall{}, false
	case len(began) > 0 && m.Ended == "", over && m.Ended == "needs_input":
		body := "The run waits for you."
		if i := slices.IndexFunc(began, func(w NotifyWait) bool { return w.For != "" }); i >= 0 {
			body = began[i].For
		}
		if more := len(began) - 1; more > 0 {
			body += fmt.Sprintf(" And %d more.", more)
		}
		return NotifyCall{"Something waits for you", body}, true
	case over && o.Finished:
		return NotifyCall{eventtext.Ending(m.Ended), "The run has ended: " + m.Ended + "."}, true
	}
	return NotifyCall{}, false
}

// began records what waits, and returns the new part.
func (s *NotifyState) began(list []NotifyWait) []NotifyWait {
	var fresh []NotifyWait
	now := make(map[string]bool, len(list))
	for _, w := range list {
		if !s.awaited[w.Call] && !now[w.Call] {
			fresh = append(fresh, w)
		}
		now[w.Call] = true
	}
	s.awaited = now
	return fresh
}

// NotifyMoment is the part of a state that the title shows and that can cause an alert. The zero value is a
// screen that waits for a first task.
type NotifyMoment struct {
	Awaited []NotifyWait // what a human is awaited for, oldest first
	Ended   string       // how the run ended: complete, failed, cancelled, …; empty: it has not
	Word    string       // the state of the program: "weaving"; empty: no run
	Threads int          // Orchestrators at work
	Where   string       // the workspace's name, to tell windows apart
	ASCII   bool         // the title must have only ASCII characters
}

// NotifyWait is one thing that waits for a human.
type NotifyWait struct {
	// Call is the name of the alert. Things with one name are announced once while any of them lasts: an
	// agent may ask for several permissions in a row.
	Call string
	For  string // in few words: "Orchestrator I asks to run a command"
}

// titleMost is the maximum length of a title, in characters.
const titleMost = 80

// TitleSequence returns the text of the terminal's title.
func TitleSequence(m NotifyMoment) string {
	mark, words := "", "speak"
	switch {
	case len(m.Awaited) > 1:
		mark, words = "? ", fmt.Sprintf("%d things wait for you", len(m.Awaited))
	case len(m.Awaited) == 1:
		mark, words = "? ", "something waits for you"
	case m.Ended != "":
		mark, words, _ = strings.Cut(cmp.Or(endTitles[m.Ended], "✗ it has failed"), " ")
		mark += " "
	case m.Word != "":
		mark, words = "◆ ", m.Word
		switch {
		case m.Threads == 1:
			words += " · 1 agent"
		case m.Threads > 1:
			words += fmt.Sprintf(" · %d agents", m.Threads)
		}
	}
	title := mark + "arbiter – " + words
	if m.Where != "" {
		title += " · " + sanitize.Line(m.Where, 32)
	}
	title = sanitize.Line(title, titleMost)
	if m.ASCII {
		title = strings.Map(func(r rune) rune {
			if r > '~' {
				return '?'
			}
			return r
		}, ascii.Replace(title))
	}
	return title
}

// endTitles are the titles for the ends of a run.
var endTitles = map[string]string{"complete": "✓ it is done", "incomplete": "✗ a check fails",
	"cancelled": "– it was ended", "interrupted": "– it was interrupted", "limit": "✗ a limit is reached",
	"needs_input": "? something waits for you"}

var ascii = strings.NewReplacer("✓", "+", "✗", "!", "◆", ">", "–", "-", "·", "-", "…", "~")
