package view

import (
	"strings"
	"testing"
)

func TestPasteShort(t *testing.T) {
	r := newRig(t, 40, 3)
	r.write("run ")
	r.c.Paste("\x1b[31mmake\x1b[0m\r\ntest\x07\x1b]52;c;aGk=\a\u202e\n")
	r.text("run make\ntest\n")
	if len(r.sent)+len(r.commands) > 0 {
		t.Errorf("a paste was executed: %q %v", r.sent, r.commands)
	}
	r.c.Clear()
	r.c.Paste("/quit\n")
	if r.c.PopupOpen() || len(r.commands) > 0 {
		t.Error("a pasted command was executed, or opened the popup")
	}
}

func TestPasteLong(t *testing.T) {
	for _, c := range []struct{ name, text, label string }{
		{"eight lines", strings.Repeat("x\n", 8), ""},
		{"nine lines", strings.Repeat("x\n", 9), "[paste 1: 9 lines, 18 B]"},
		{"a thousand letters", strings.Repeat("漢", 1000), ""},
		{"one more", strings.Repeat("x", 1001), "[paste 1: 1 line, 1 kB]"},
		{"a million bytes", strings.Repeat("12345678\n", 111111), "[paste 1: 111,111 lines, 1.0 MB]"},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := newRig(t, 60, 3)
			r.write("see ")
			r.c.Paste(c.text)
			r.write(" this").text("see " + c.text + " this").draw()
			shown := rows(r.screen, r.x, r.y, r.width, r.height)
			if c.label == "" {
				if strings.Contains(shown, "[paste") {
					t.Errorf("a chip for a short paste:\n%s", shown)
				}
				return
			}
			if !strings.Contains(shown, "see "+c.label+" this") {
				t.Errorf("no chip %s:\n%s", c.label, shown)
			}
			r.press("Alt+B", "Left", "Backspace").text("see  this").press("Ctrl+_").text("see " + c.text + " this")
			r.press("Ctrl+End", "Alt+B", "Alt+B").write("|").text("see |" + c.text + " this")
			r.press("Delete").text("see | this")
		})
	}
}

// TestPasteHuge: ten megabytes with control bytes are accepted quickly, kept completely, and refused when
// sent, without any loss.
func TestPasteHuge(t *testing.T) {
	r := newRig(t, 80, 3)
	text := strings.Repeat("a line of a log with \x1b[32mcolour\x1b[0m and \x00 control \u009b2J bytes\n", 160_000)
	r.c.Paste(text)
	r.draw()
	want := strings.Repeat("a line of a log with colour and  control  bytes\n", 160_000)
	if r.c.Text() != want {
		t.Error("the paste is not what was pasted")
	}
	r.press("Enter")
	if len(r.sent) > 0 || len(r.notices) != 1 || !strings.Contains(r.notices[0], "name it with @") {
		t.Errorf("sent %d, said %q", len(r.sent), r.notices)
	}
	if r.c.Text() != want {
		t.Error("the refusal lost text")
	}
	for range 20 { // memory is bounded
		r.c.Paste(text)
	}
	if r.c.chips.bytes > pasteBytes || !strings.Contains(r.notices[len(r.notices)-1], "too large") {
		t.Errorf("%d bytes are held; said %q", r.c.chips.bytes, r.notices)
	}
	r.press("Backspace")
	r.c.Paste(text) // deleted pastes free their memory
	r.c.Clear()
	r.write("x").press("Enter")
	if r.c.chips.bytes != 0 || len(r.sent) != 1 {
		t.Errorf("%d bytes are held after sending", r.c.chips.bytes)
	}
}
