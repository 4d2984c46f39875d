package terminal

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/charmbracelet/x/ansi"
)

// Kind is the kind of a sequence.
type Kind string

// The kinds, which are the names of the alternatives of unit.
const (
	Text    Kind = "text"    // printable characters
	Control Kind = "control" // one control character of ASCII
	CSI     Kind = "CSI"     // a control sequence
	OSC     Kind = "OSC"     // a command to the terminal's system: titles, clipboard
	String  Kind = "string"  // DCS, SOS, PM or APC
	Escape  Kind = "escape"  // ESC and what selects a function
	Broken  Kind = "broken"  // anything else: C1 characters, bad UTF-8, an incomplete sequence
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

// unit matches one unit. A string ends with BEL (OSC only) or ST, and other control characters break it: real
// terminals differ in how they handle them.
var unit = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?s)^(?:(?P<text>[^\x00-\x1f\x7f-\x{9f}]+)` +
		`|(?P<control>[\x00-\x1a\x1c-\x1f\x7f])` +
		`|(?P<CSI>\x1b\[(?P<prefix>[<-?]*)(?P<params>[0-;]*)(?P<final>[ -/]*[@-~]))` +
		`|(?P<OSC>\x1b\](?P<number>[^;\x00-\x1f\x7f]*);?(?P<command>[^\x00-\x1f\x7f]*)(?:\x07|\x1b\\))` +
		`|(?P<string>\x1b[PX^_][^\x00-\x1f\x7f]*\x1b\\)` +
		`|(?P<escape>\x1b(?P<function>[ -/]+[0-~]|[0-OQ-WYZ\\\x60a-~]))` +
		`|(?P<broken>\x1b(?:\[[<-?]*[0-;]*[ -/]*|[\]PX^_][^\x00-\x1f\x7f]*|[ -/]*)|.))`)
})

// Sequences splits a program's output. Concatenated again, they are the same bytes.
func Sequences(output []byte) (all []Sequence) {
	for rest := string(output); rest != ""; rest = rest[len(all[len(all)-1].Bytes):] {
		m := unit().FindStringSubmatch(rest)
		part := func(name string) string { return m[unit().SubexpIndex(name)] }
		s := Sequence{Bytes: m[0]}
		for _, kind := range []Kind{Text, Control, CSI, OSC, String, Escape, Broken} {
			if part(string(kind)) != "" {
				s.Kind = kind
			}
		}
		switch s.Kind {
		case Text:
			valid, _, _ := strings.Cut(strings.ToValidUTF8(s.Bytes, "\x00"), "\x00") // no text has one
			if s.Bytes = s.Bytes[:max(len(valid), 1)]; valid == "" {
				s.Kind = Broken
			}
		case Control:
			s.Name = s.Bytes
		case CSI:
			s.Name, s.Data = part("prefix")+part("final"), part("params")
		case OSC:
			s.Name, s.Data = part("number"), part("command")
		case Escape:
			s.Name = part("function")
		}
		all = append(all, s)
	}
	return all
}

func (s Sequence) String() string { return fmt.Sprintf("%s %.60q", s.Kind, s.Bytes) }

// OutputRules describe what a program may send. Anything else came from a text that it shows.
type OutputRules struct {
	Controls string         // characters
	Escapes  []string       // what may follow ESC
	CSI      []string       // names: see [Sequence]
	Modes    []ansi.DECMode // private ones
	OSC      []string       // numbers
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
	Modes: []ansi.DECMode{1, 7, 12, 25, 1000, 1002, 1003, 1004, 1006, 1049, 2004, 2026, 9001},
	OSC:   []string{"0", "2", "8", "11", "52", "99", "777"}, // 11: what is your background?
}

// Lines are the rules for a program that prints lines and leaves the terminal alone.
var Lines = OutputRules{Controls: "\r\n"}

// Check describes the violations in a program's output.
func (m OutputRules) Check(output []byte) (faults []string) {
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
	allowed := map[Kind]bool{
		Text: true, Control: strings.Contains(m.Controls, s.Name), Escape: slices.Contains(m.Escapes, s.Name),
		CSI: slices.Contains(m.CSI, s.Name), OSC: slices.Contains(m.OSC, s.Name),
	}[s.Kind]
	switch {
	case s.Kind == Broken:
		return "broken"
	case !allowed:
		return "not allowed"
	case s.Kind == CSI && (s.Name == "?h" || s.Name == "?l"):
		for mode := range strings.SplitSeq(s.Data, ";") {
			if !slices.ContainsFunc(m.Modes, func(n ansi.DECMode) bool { return fmt.Sprint(int(n)) == mode }) {
				return "mode " + mode
			}
		}
	case !utf8.ValidString(s.Data):
		return "bad UTF-8"
	case strings.ContainsFunc(s.Data, func(r rune) bool { return r >= 0x80 && r <= 0x9f }):
		return "a control character in a string"
	}
	return ""
}
