package terminal

import (
	"fmt"
	"strconv"
	"strings"
)

// Press presses keys, by name: "a", "Enter", "Ctrl+C", "Alt+y", "Shift+Tab", "F1", "PgUp". They are sent
// like xterm does. A combination that only the extended protocol has ("Shift+Enter") is sent in that
// protocol if the program asked for it, and otherwise like the key alone, as xterm does.
func (t *Terminal) Press(names ...string) error {
	for _, name := range names {
		k, err := parseKey(name)
		if err != nil {
			return err
		}
		s := t.Screen()
		t.send([]byte(k.encode(s.Modes[ModeCursorKeys], s.Keyboard > 0)))
	}
	return nil
}

// Type types a text. A newline is the key Enter.
func (t *Terminal) Type(text string) {
	t.send([]byte(strings.ReplaceAll(text, "\n", "\r")))
}

// Paste pastes a text, in brackets if the program asked for them.
func (t *Terminal) Paste(text string) {
	text = strings.ReplaceAll(text, "\n", "\r")
	if t.Screen().Modes[ModeBracketedPaste] {
		text = "\x1b[200~" + text + "\x1b[201~"
	}
	t.send([]byte(text))
}

// Send sends bytes unchanged, including those that no keyboard sends.
func (t *Terminal) Send(raw string) { t.send([]byte(raw)) }

// Button is a button of a mouse.
type Button int

// Buttons, by xterm's numbers.
const (
	Left Button = iota
	Middle
	Right
	WheelUp   Button = 64
	WheelDown Button = 65
)

// Mouse presses or releases a button at a cell, counted from 0. It reports whether the program receives it:
// only if it asked for the mouse, in SGR format.
func (t *Terminal) Mouse(x, y int, b Button, down bool) bool {
	s := t.Screen()
	if !s.Mouse() || !s.Modes[ModeMouseSGR] {
		return false
	}
	final := 'M'
	if !down {
		final = 'm'
	}
	t.send(fmt.Appendf(nil, "\x1b[<%d;%d;%d%c", b, x+1, y+1, final))
	return true
}

// Click clicks a button at a cell. A turn of the wheel is a click without a release.
func (t *Terminal) Click(x, y int, b Button) bool {
	return t.Mouse(x, y, b, true) && (b >= WheelUp || t.Mouse(x, y, b, false))
}

// Focus reports to the program that its window has got or lost the focus, if it asked for that.
func (t *Terminal) Focus(got bool) {
	if t.Screen().Modes[ModeFocus] {
		t.send([]byte(map[bool]string{true: "\x1b[I", false: "\x1b[O"}[got]))
	}
}

// key is one press. Modifiers are xterm's bits.
type key struct {
	char rune   // of a key that has one, and of Enter, Tab, Backspace, Esc
	seq  string // CSI's final byte, or number and "~", of one that has none
	mod  int
}

const (
	shift = 1 << iota
	alt
	ctrl
)

var charKeys = map[string]rune{
	"enter": '\r', "tab": '\t', "backspace": 0x7f, "esc": 0x1b, "escape": 0x1b, "space": ' ',
}

var seqKeys = map[string]string{
	"up": "A", "down": "B", "right": "C", "left": "D", "end": "F", "home": "H",
	"f1": "P", "f2": "Q", "f3": "R", "f4": "S",
	"insert": "2~", "delete": "3~", "pgup": "5~", "pgdn": "6~",
	"f5": "15~", "f6": "17~", "f7": "18~", "f8": "19~", "f9": "20~", "f10": "21~", "f11": "23~", "f12": "24~",
}

// parseKey parses a name. The part after the last + is the key, and may be a + itself.
func parseKey(name string) (key, error) {
	var k key
	rest := name
	for {
		word, after, found := strings.Cut(rest, "+")
		bit := map[string]int{"shift": shift, "alt": alt, "ctrl": ctrl}[strings.ToLower(word)]
		if !found || bit == 0 {
			break
		}
		k.mod |= bit
		rest = after
	}
	if runes := []rune(rest); len(runes) == 1 {
		k.char = runes[0]
	} else if k.char = charKeys[strings.ToLower(rest)]; k.char == 0 {
		k.seq = seqKeys[strings.ToLower(rest)]
	}
	if k.char == 0 && k.seq == "" {
		return key{}, fmt.Errorf("%q is not a key", name)
	}
	return k, nil
}

// encode returns what xterm sends for the key.
func (k key) encode(applicationKeys, extended bool) string {
	if k.seq != "" {
		return k.encodeSeq(applicationKeys)
	}
	char, mod, legacy := k.char, k.mod, true
	switch {
	case char == '\t' && mod == shift:
		return "\x1b[Z"
	case strings.ContainsRune("\r\t\x7f\x1b", char):
		legacy = mod&^alt == 0
	case mod&ctrl != 0:
		code, ok := control(char)
		legacy = ok && mod&shift == 0
		if ok {
			char = code
		}
	case mod&shift != 0:
		char = []rune(strings.ToUpper(string(char)))[0]
	}
	if !legacy && extended {
		return "\x1b[" + strconv.Itoa(int(k.char)) + ";" + strconv.Itoa(1+mod) + "u"
	}
	if mod&alt != 0 {
		return "\x1b" + string(char)
	}
	return string(char)
}

// control returns the character of a key with Ctrl.
func control(char rune) (rune, bool) {
	switch {
	case char >= 'a' && char <= 'z':
		return char - 'a' + 1, true
	case char >= '@' && char <= '_':
		return char - '@', true
	case char == ' ':
		return 0, true
	}
	return 0, false
}

func (k key) encodeSeq(applicationKeys bool) string {
	if number, ok := strings.CutSuffix(k.seq, "~"); ok {
		if k.mod == 0 {
			return "\x1b[" + number + "~"
		}
		return "\x1b[" + number + ";" + strconv.Itoa(1+k.mod) + "~"
	}
	switch {
	case k.mod != 0:
		return "\x1b[1;" + strconv.Itoa(1+k.mod) + k.seq
	case k.seq >= "P" || applicationKeys:
		return "\x1bO" + k.seq
	}
	return "\x1b[" + k.seq
}
