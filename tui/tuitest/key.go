package tuitest

import (
	"fmt"
	"strings"

	"github.com/gdamore/tcell/v2"
)

var named = map[string]tcell.Key{
	"enter": tcell.KeyEnter, "tab": tcell.KeyTab, "esc": tcell.KeyEsc, "escape": tcell.KeyEsc,
	"backspace": tcell.KeyBackspace, "delete": tcell.KeyDelete, "insert": tcell.KeyInsert,
	"up": tcell.KeyUp, "down": tcell.KeyDown, "left": tcell.KeyLeft, "right": tcell.KeyRight,
	"home": tcell.KeyHome, "end": tcell.KeyEnd, "pgup": tcell.KeyPgUp, "pgdn": tcell.KeyPgDn,
}

// Names are the keys that [Key] accepts by name, without those of one character.
var Names = []string{
	"Enter", "Tab", "Esc", "Backspace", "Delete", "Insert", "Up", "Down", "Left", "Right", "Home", "End", "PgUp",
	"PgDn", "Space", "F1", "F2", "F3", "F4", "F5", "F6", "F7", "F8", "F9", "F10", "F11", "F12",
}

// Key returns the event of a key: "a", "Enter", "Ctrl+A", "Alt+Enter", "Shift+Tab", "F1", "PgUp", "Space".
// Letters are case-sensitive, except with Ctrl.
func Key(name string) (*tcell.EventKey, error) {
	mod, base := modifiers(name)
	runes := []rune(base)
	if strings.EqualFold(base, "space") {
		runes = []rune{' '}
	}
	if len(runes) == 1 {
		return charKey(runes[0], mod), nil
	}
	key, ok := named[strings.ToLower(base)]
	if !ok {
		var n int
		if _, err := fmt.Sscanf(strings.ToUpper(base), "F%d", &n); err != nil || n < 1 || n > 63 ||
			fmt.Sprint("F", n) != strings.ToUpper(base) {
			return nil, fmt.Errorf("%q is not a key", name)
		}
		key = tcell.KeyF1 + tcell.Key(n-1)
	}
	return tcell.NewEventKey(key, 0, mod), nil
}

// modifiers returns the modifiers of a key; the key after the last + may be a + itself.
func modifiers(name string) (mod tcell.ModMask, base string) {
	for base = name; ; {
		word, rest, found := strings.Cut(base, "+")
		bit := map[string]tcell.ModMask{"ctrl": tcell.ModCtrl, "alt": tcell.ModAlt,
			"shift": tcell.ModShift}[strings.ToLower(word)]
		if !found || bit == 0 || rest == "" {
			return mod, base
		}
		mod |= bit
		base = rest
	}
}

// charKey returns the event of a character, as tcell makes it from a terminal's input.
func charKey(r rune, mod tcell.ModMask) *tcell.EventKey {
	if mod&tcell.ModCtrl == 0 {
		if mod&tcell.ModShift != 0 && r != ' ' {
			r, mod = []rune(strings.ToUpper(string(r)))[0], mod&^tcell.ModShift
		}
		return tcell.NewEventKey(tcell.KeyRune, r, mod)
	}
	if mod&(tcell.ModAlt|tcell.ModShift) != 0 {
		return tcell.NewEventKey(tcell.KeyRune, []rune(strings.ToLower(string(r)))[0], mod)
	}
	switch upper := []rune(strings.ToUpper(string(r)))[0]; {
	case upper == 'H' || upper == 'I' || upper == 'M': // the same bytes as Backspace, Tab and Enter
		key := map[rune]tcell.Key{'H': tcell.KeyBackspace, 'I': tcell.KeyTab, 'M': tcell.KeyEnter}[upper]
		return tcell.NewEventKey(key, 0, tcell.ModNone)
	case upper >= '@' && upper <= '_':
		return tcell.NewEventKey(tcell.KeyCtrlSpace+tcell.Key(upper-'@'), 0, tcell.ModCtrl)
	case upper == ' ':
		return tcell.NewEventKey(tcell.KeyCtrlSpace, 0, tcell.ModCtrl)
	}
	return tcell.NewEventKey(tcell.KeyRune, r, mod)
}
