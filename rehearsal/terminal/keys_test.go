package terminal

import (
	"strings"
	"testing"
)

func TestKeys(t *testing.T) {
	for name, want := range map[string]string{
		"a": "a", "A": "A", "Shift+a": "A", "+": "+", "世": "世", "Space": " ",
		"Enter": "\r", "Tab": "\t", "Shift+Tab": "\x1b[Z", "Esc": "\x1b", "Backspace": "\x7f",
		"Ctrl+C": "\x03", "ctrl+c": "\x03", "Ctrl+Z": "\x1a", "Ctrl+]": "\x1d", "Ctrl+_": "\x1f", "Ctrl+Space": "\x00",
		`Ctrl+\`: "\x1c", "Alt+y": "\x1by", "Alt+Enter": "\x1b\r", "Alt+Backspace": "\x1b\x7f", "Alt++": "\x1b+",
		"Up": "\x1b[A", "Home": "\x1b[H", "PgUp": "\x1b[5~", "Delete": "\x1b[3~", "F1": "\x1bOP", "F5": "\x1b[15~",
		"F12": "\x1b[24~", "Shift+Up": "\x1b[1;2A", "Ctrl+Right": "\x1b[1;5C", "Alt+PgDn": "\x1b[6;3~",
		"Shift+F1": "\x1b[1;2P", "Shift+Enter": "\r", "Ctrl+Enter": "\r",
	} {
		if k, err := parseKey(name); err != nil || k.encode(false, false) != want {
			t.Errorf("%s is sent as %q (%v), want %q", name, k.encode(false, false), err, want)
		}
	}
	for name, want := range map[string]string{
		"Shift+Enter": "\x1b[13;2u", "Ctrl+Enter": "\x1b[13;5u", "Ctrl+Shift+a": "\x1b[97;6u", "Alt+Enter": "\x1b\r",
		"Ctrl+C": "\x03", "Ctrl+Backspace": "\x1b[127;5u",
	} {
		if k, err := parseKey(name); err != nil || k.encode(false, true) != want {
			t.Errorf("%s is sent as %q (%v) by the extended protocol, want %q", name, k.encode(false, true), err, want)
		}
	}
	for name, want := range map[string]string{"Up": "\x1bOA", "Home": "\x1bOH", "Ctrl+Up": "\x1b[1;5A",
		"PgUp": "\x1b[5~"} {
		if k, _ := parseKey(name); k.encode(true, false) != want {
			t.Errorf("%s is sent as %q in application mode, want %q", name, k.encode(true, false), want)
		}
	}
}

// TestInputDependsOnModes: a paste has brackets and the mouse is reported only if the program requested it.
func TestInputDependsOnModes(t *testing.T) {
	term, ctx := start(t, Size{Columns: 60, Rows: 10}, "show")
	if _, err := term.Wait(ctx, Shows("ready")); err != nil {
		t.Fatal(err)
	}
	if term.Click(1, 1, Left) {
		t.Error("a click is reported that the program did not ask for")
	}
	term.Focus(true)
	show(t, ctx, term, "\x1b[?1002;1006;1004;2004h")
	if !term.Click(1, 2, Left) || !term.Click(5, 5, WheelUp) {
		t.Error("a click is not reported")
	}
	term.Focus(false)
	term.Paste("two\nlines")
	// The line discipline echoes ESC as ^[.
	s, err := term.Wait(ctx, Shows("^[[201~"))
	if err != nil {
		t.Fatal(err)
	}
	text := strings.ReplaceAll(s.Text(), "\n", "")
	for _, want := range []string{"^[[<0;2;3M^[[<0;2;3m", "^[[<64;6;6M", "^[[O", "^[[200~two"} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, s.Text())
		}
	}
	if strings.Contains(text, "^[[I") {
		t.Error("the focus is reported before the program asked for it")
	}
}
