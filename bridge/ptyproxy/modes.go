package ptyproxy

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// modes tracks what a program switches in the terminal, so that the modes that it left on can be switched
// off: a killed program does not clean up.
type modes struct {
	state byte // of the parser: 0 text, otherwise the kind of sequence
	csi   []byte
	on    []int // private modes that are on and are off by default, in order
	off   []int // the other way round

	keyboard  int  // levels of the extended keyboard that were pushed
	flags     bool // set without a push
	otherKeys bool
	keypad    bool
	shape     bool // of the cursor
	used      bool // there was any output
}

const (
	inText   = 0
	inEscape = 'e'
	inCSI    = '['
	inString = 's'
	inEnd    = '\\' // ESC in a string
	maxCSI   = 128
)

// look parses output.
func (m *modes) look(p []byte) {
	m.used = m.used || len(p) > 0
	for _, c := range p {
		switch {
		case c == 0x18 || c == 0x1a:
			m.state = inText
		case m.state == inString || m.state == inEnd:
			switch {
			case c == 0x07, m.state == inEnd && c == '\\':
				m.state = inText
			case c == 0x1b:
				m.state = inEnd
			default:
				m.state = inString
			}
		case c == 0x1b:
			m.state = inEscape
		case m.state == inEscape:
			m.escape(c)
		case m.state == inCSI:
			m.csi = append(m.csi, c)
			if c >= 0x40 && c <= 0x7e {
				m.state = inText
				m.control(string(m.csi[:len(m.csi)-1]), c)
			} else if len(m.csi) > maxCSI {
				m.state = inText
			}
		}
	}
}

func (m *modes) escape(c byte) {
	m.state = inText
	switch {
	case c == '[':
		m.state, m.csi = inCSI, m.csi[:0]
	case strings.IndexByte("]PX^_", c) >= 0:
		m.state = inString
	case c == '=' || c == '>':
		m.keypad = c == '='
	case c == 'c': // full reset
		*m = modes{used: true}
	case c < 0x30: // with an intermediate byte, such as ESC ( B
		m.state = inEscape
	}
}

// control interprets one control sequence.
func (m *modes) control(params string, final byte) {
	switch {
	case (final == 'h' || final == 'l') && strings.HasPrefix(params, "?"):
		for p := range strings.SplitSeq(params[1:], ";") {
			if n, err := strconv.Atoi(p); err == nil {
				m.set(n, final == 'h')
			}
		}
	case final == 'u' && strings.HasPrefix(params, ">"):
		m.keyboard++
	case final == 'u' && strings.HasPrefix(params, "<"):
		n, _ := strconv.Atoi(params[1:])
		m.keyboard = max(m.keyboard-max(n, 1), 0)
	case final == 'u' && strings.HasPrefix(params, "="):
		m.flags = !strings.HasPrefix(params, "=0")
	case final == 'm' && strings.HasPrefix(params, ">4"):
		m.otherKeys = params != ">4" && params != ">4;0"
	case final == 'q' && strings.HasSuffix(params, " "):
		m.shape = params != " " && params != "0 "
	}
}

// set tracks a private mode. Two are on by default: line wrapping and the visible cursor.
func (m *modes) set(mode int, on bool) {
	list := &m.on
	if mode == 7 || mode == 25 {
		list, on = &m.off, !on
	}
	*list = slices.DeleteFunc(*list, func(n int) bool { return n == mode })
	if on {
		*list = append(*list, mode)
	}
}

// undo returns the sequences that restore the terminal.
func (m *modes) undo() string {
	if !m.used {
		return ""
	}
	var b strings.Builder
	if m.state != inText {
		b.WriteString("\x18\x1b\\") // ends a sequence that was cut off
	}
	if m.keyboard > 0 {
		fmt.Fprintf(&b, "\x1b[<%du", m.keyboard)
	}
	if m.flags {
		b.WriteString("\x1b[=0u")
	}
	if m.otherKeys {
		b.WriteString("\x1b[>4;0m")
	}
	if m.keypad {
		b.WriteString("\x1b>")
	}
	if m.shape {
		b.WriteString("\x1b[0 q")
	}
	b.WriteString("\x1b[m")
	for _, mode := range slices.Backward(m.on) {
		fmt.Fprintf(&b, "\x1b[?%dl", mode)
	}
	for _, mode := range m.off {
		fmt.Fprintf(&b, "\x1b[?%dh", mode)
	}
	return b.String()
}
