package terminal

import (
	"strings"
	"testing"
)

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
