package terminal

import (
	"fmt"
	"strings"
	"unicode"
)

// Press presses keys, by name: "a", "Enter", "Ctrl+C", "Alt+y", "Shift+Tab", "F1", "PgUp". They are sent
// like xterm does. A combination that only the extended protocol has ("Shift+Enter") is sent in that
// protocol if the program asked for it, and otherwise like the key alone, as xterm does.
func (t *Terminal) Press(names ...string) error {
	for _, name := range names {
		s := t.Screen()
		sent, err := encode(name, s.Modes[ModeCursorKeys], s.Keyboard > 0)
		if err != nil {
			return err
		}
		t.Send(sent)
	}
	return nil
}

// Type types a text. A newline is the key Enter.
func (t *Terminal) Type(text string) { t.Send(strings.ReplaceAll(text, "\n", "\r")) }

// Paste pastes a text, in brackets if the program asked for them.
func (t *Terminal) Paste(text string) {
	if t.Screen().Modes[ModeBracketedPaste] {
		text = "\x1b[200~" + text + "\x1b[201~"
	}
	t.Type(text)
}

// Send sends bytes unchanged, including those that no keyboard sends.
func (t *Terminal) Send(raw string) { t.send([]byte(raw)) }

// The bits of modifiers, as in xterm's sequences.
const (
	shift = 1 << iota
	alt
	ctrl
)

var charKeys = map[string]rune{
	"enter": '\r', "tab": '\t', "backspace": 0x7f, "esc": 0x1b, "escape": 0x1b, "space": ' ',
}

// seqKeys have CSI's final byte, or number and "~", of keys without a character.
var seqKeys = map[string]string{
	"up": "A", "down": "B", "right": "C", "left": "D", "end": "F", "home": "H",
	"f1": "P", "f2": "Q", "f3": "R", "f4": "S",
	"insert": "2~", "delete": "3~", "pgup": "5~", "pgdn": "6~",
	"f5": "15~", "f6": "17~", "f7": "18~", "f8": "19~", "f9": "20~", "f10": "21~", "f11": "23~", "f12": "24~",
}

// encode returns what xterm sends for a key. The part after the last + is the key, and may be a + itself.
func encode(name string, applicationKeys, extended bool) (string, error) {
	mod, rest := 0, name
	for {
		word, after, found := strings.Cut(rest, "+")
		bit := map[string]int{"shift": shift, "alt": alt, "ctrl": ctrl}[strings.ToLower(word)]
		if !found || bit == 0 {
			break
		}
		mod, rest = mod|bit, after
	}
	if runes := []rune(rest); len(runes) == 1 {
		return encodeChar(runes[0], mod, extended), nil
	}
	if char := charKeys[strings.ToLower(rest)]; char != 0 {
		return encodeChar(char, mod, extended), nil
	}
	seq := seqKeys[strings.ToLower(rest)]
	number, numbered := strings.CutSuffix(seq, "~")
	switch {
	case seq == "":
		return "", fmt.Errorf("%q is not a key", name)
	case mod != 0:
		if !numbered {
			number = "1"
		}
		return fmt.Sprintf("\x1b[%s;%d%c", number, 1+mod, seq[len(seq)-1]), nil
	case !numbered && (seq >= "P" || applicationKeys):
		return "\x1bO" + seq, nil
	}
	return "\x1b[" + seq, nil
}

func encodeChar(key rune, mod int, extended bool) string {
	char, legacy := key, true
	switch {
	case key == '\t' && mod == shift:
		return "\x1b[Z"
	case strings.ContainsRune("\r\t\x7f\x1b", key):
		legacy = mod&^alt == 0
	case mod&ctrl != 0:
		at := unicode.ToUpper(key) - '@'
		if key == ' ' {
			at = 0
		}
		control := at >= 0 && at < ' '
		if legacy = control && mod&shift == 0; control {
			char = at
		}
	case mod&shift != 0:
		char = []rune(strings.ToUpper(string(key)))[0]
	}
	switch {
	case !legacy && extended:
		return fmt.Sprintf("\x1b[%d;%du", key, 1+mod)
	case mod&alt != 0:
		return "\x1b" + string(char)
	}
	return string(char)
}
