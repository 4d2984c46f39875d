package terminal

import (
	"fmt"
	"slices"
	"unicode/utf8"
)

// OutputRules describe what a program may send. Anything else came from a text that it shows.
type OutputRules struct {
	Controls string   // characters
	Escapes  []string // what may follow ESC
	CSI      []string // names: see [Sequence]
	Modes    []int    // private ones
	OSC      []string // numbers
	Strings  bool     // DCS and similar sequences
}

// FullScreen are the rules for a program that draws on the whole screen: colours, positions, the modes of
// such programs, a title, the clipboard, links and notices.
var FullScreen = OutputRules{
	Controls: "\r\n\b\a",
	Escapes:  []string{"(B", ")0", "=", ">", "7", "8", "M"},
	CSI: []string{
		"m", "H", "A", "B", "C", "D", "G", "d", "J", "K", "X", "P", "L", "M", "r", // draw
		" q",       // shape of the cursor
		"?h", "?l", // modes
		">m", ">u", "=u", "<u", // keyboard
		"t", ">t", // save and restore the title
	},
	Modes: []int{
		ModeCursorKeys, ModeWrap, 12, ModeCursor, ModeMouseClicks, ModeMouseDrags, ModeMouseMoves, ModeFocus,
		ModeMouseSGR, ModeAltScreen, ModeBracketedPaste, ModeSynchronised, 9001,
	},
	OSC: []string{"0", "2", "8", "11", "52", "99", "777"}, // 11: what is your background?
}

// Lines are the rules for a program that prints lines and leaves the terminal alone.
var Lines = OutputRules{Controls: "\r\n"}

// Check describes the violations in a program's output.
func (m OutputRules) Check(output []byte) []string {
	var faults []string
	at := 0
	for _, s := range Sequences(output) {
		if fault := m.check(s); fault != "" {
			faults = append(faults, fmt.Sprintf("%s: %v at byte %d", fault, s, at))
		}
		at += len(s.Bytes)
	}
	return faults
}

func (m OutputRules) check(s Sequence) string {
	bad := false
	switch s.Kind {
	case Text:
	case Control:
		bad = !slices.Contains([]byte(m.Controls), s.Bytes[0])
	case Escape:
		bad = !slices.Contains(m.Escapes, s.Name)
	case CSI:
		if bad = !slices.Contains(m.CSI, s.Name); bad {
			break
		}
		for _, mode := range s.Modes() {
			if !slices.Contains(m.Modes, mode) {
				return fmt.Sprintf("mode %d", mode)
			}
		}
	case OSC:
		if bad = !slices.Contains(m.OSC, s.Name); !bad && !utf8.ValidString(s.Data) {
			return "bad UTF-8"
		}
		for _, r := range s.Data {
			if r >= 0x80 && r <= 0x9f {
				return "a control character in a string"
			}
		}
	case String:
		bad = !m.Strings
	case Broken:
		return "broken"
	}
	if bad {
		return "not allowed"
	}
	return ""
}
