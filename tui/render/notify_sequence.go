package render

// This part of the package alerts a human who is not watching the screen: by the terminal's title, its bell,
// and the notifications that terminals support.
//
// All of it is pure: it returns texts and byte sequences that the owner of the terminal must write, and a
// [NotifyState] decides when one is due. The content of a sequence is sanitised here, even if it was sanitised
// before.

import (
	"encoding/base64"
	"strings"

	"github.com/arbiter-cli/arbiter/sanitize"
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
		s = passthrough(s)
	}
	return s
}

// field returns a text that cannot end its field.
func field(s string) string { return strings.ReplaceAll(s, ";", ",") }

func encoded(s string) string { return base64.StdEncoding.EncodeToString([]byte(s)) }

// passthrough wraps a sequence so that tmux passes it on (its allow-passthrough must be on; otherwise tmux
// drops the whole sequence).
func passthrough(s string) string {
	return esc + "Ptmux;" + strings.ReplaceAll(s, esc, esc+esc) + finish
}
