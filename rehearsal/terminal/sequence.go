package terminal

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Kind is the kind of a sequence.
type Kind int

// The kinds.
const (
	Text    Kind = iota // printable characters
	Control             // one control character of ASCII
	Escape              // ESC and what selects a function
	CSI                 // a control sequence
	OSC                 // a command to the terminal's system: titles, clipboard
	String              // DCS, SOS, PM or APC
	Broken              // anything else: C1 characters, bad UTF-8, an incomplete sequence
)

// Sequence is one unit of a program's output.
type Sequence struct {
	Kind  Kind
	Bytes string
	// Name identifies it: the character of Control, the text after ESC of Escape, prefix, intermediates and
	// final of CSI ("?h", " q", "m"), the number of OSC.
	Name string
	Data string // the parameters of CSI, what follows the number of OSC
}

// Modes returns the numbers of a CSI that sets or resets modes.
func (s Sequence) Modes() []int {
	if s.Kind != CSI || s.Name != "?h" && s.Name != "?l" && s.Name != "h" && s.Name != "l" {
		return nil
	}
	var modes []int
	for p := range strings.SplitSeq(s.Data, ";") {
		n, err := strconv.Atoi(p)
		if err != nil {
			n = -1
		}
		modes = append(modes, n)
	}
	return modes
}

// Sequences splits a program's output. Concatenated again, they are the same bytes.
func Sequences(output []byte) []Sequence {
	var all []Sequence
	for rest := string(output); rest != ""; {
		s := firstSequence(rest)
		rest = rest[len(s.Bytes):]
		all = append(all, s)
	}
	return all
}

func firstSequence(in string) Sequence {
	switch c := in[0]; {
	case c == 0x1b:
		return escape(in)
	case c < ' ' || c == 0x7f:
		return Sequence{Kind: Control, Bytes: in[:1], Name: in[:1]}
	}
	n := 0
	for n < len(in) {
		r, size := utf8.DecodeRuneInString(in[n:])
		if r < ' ' || r == 0x7f {
			break
		}
		if r == utf8.RuneError && size == 1 || r >= 0x80 && r <= 0x9f {
			if n == 0 {
				return broken(in, size)
			}
			break
		}
		n += size
	}
	return Sequence{Kind: Text, Bytes: in[:n]}
}

func broken(in string, n int) Sequence {
	return Sequence{Kind: Broken, Bytes: in[:n]}
}

// span returns how many bytes of in, from at on, are between low and high.
func span(in string, at int, low, high byte) int {
	for at < len(in) && in[at] >= low && in[at] <= high {
		at++
	}
	return at
}

func escape(in string) Sequence {
	if len(in) == 1 {
		return broken(in, 1)
	}
	switch in[1] {
	case '[':
		return controlSequence(in)
	case ']', 'P', 'X', '^', '_':
		return stringSequence(in)
	}
	end := span(in, 1, ' ', '/')
	if end == len(in) || in[end] < '0' || in[end] > '~' {
		return broken(in, end)
	}
	return Sequence{Kind: Escape, Bytes: in[:end+1], Name: in[1 : end+1]}
}

func controlSequence(in string) Sequence {
	prefix := span(in, 2, '<', '?')
	params := span(in, prefix, '0', ';')
	inter := span(in, params, ' ', '/')
	if inter == len(in) || in[inter] < '@' || in[inter] > '~' {
		return broken(in, inter)
	}
	return Sequence{
		Kind: CSI, Bytes: in[:inter+1], Data: in[prefix:params],
		Name: in[2:prefix] + in[params:inter+1],
	}
}

// stringSequence reads a sequence that ends with BEL (OSC only) or ST, and that other control characters
// break: real terminals differ in how they handle them.
func stringSequence(in string) Sequence {
	end := 2
	for end < len(in) && in[end] >= ' ' && in[end] != 0x7f {
		end++
	}
	rest := in[end:]
	terminator := ""
	switch {
	case strings.HasPrefix(rest, "\x1b\\"):
		terminator = "\x1b\\"
	case strings.HasPrefix(rest, "\a") && in[1] == ']':
		terminator = "\a"
	default:
		return broken(in, end)
	}
	s := Sequence{Kind: String, Bytes: in[:end+len(terminator)], Name: in[1:2], Data: in[2:end]}
	if in[1] == ']' {
		s.Kind = OSC
		s.Name, s.Data, _ = strings.Cut(s.Data, ";")
	}
	return s
}

func (s Sequence) String() string {
	kind := [...]string{"text", "control", "escape", "CSI", "OSC", "string", "broken"}[s.Kind]
	return fmt.Sprintf("%s %.60q", kind, s.Bytes)
}

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
