package view

import (
	"fmt"
	"strings"
	"testing"
)

func TestHistory(t *testing.T) {
	r := newRig(t, 40, 5)
	r.c.Seed([]string{"one", "two\nlines", "two\nlines", "bad\x1b[31m"})
	r.write("draft").press("Up").text("bad").press("Up").text("two\nlines").cursor("two\nlines|")
	r.press("Up").cursor("two|\nlines").press("Up").text("one")
	if r.press("Up"); !r.unconsumed {
		t.Error("Up was taken where nothing is older")
	}
	r.write("!").press("Down").text("two\nlines").press("Up").text("two\nlines").press("Up").text("one!")
	r.press("Down", "Down", "Down").text("draft").press("Down").text("draft")
	r.press("Up", "Up", "Ctrl+A", "Up").press("Enter")
	if len(r.sent) != 1 {
		t.Fatalf("sent %q", r.sent)
	}
	r.text("").press("Up").text(r.sent[0]).press("Up", "Up").text("bad").press("Down", "Down").text("")
}

// The unsent text stays, including its pastes.
func TestHistoryKeepsThePaste(t *testing.T) {
	paste := strings.Repeat("line\n", 30)
	r := newRig(t, 60, 3)
	r.c.Seed([]string{"old"})
	r.write("see ")
	r.c.Paste(paste)
	r.press("Up").text("old").press("Down").text("see " + paste)
	r.press("Up", "Enter")
	if len(r.sent) != 1 || r.sent[0] != "old" {
		t.Errorf("sent %q", r.sent)
	}
	r.write("/steer x").press("Esc", "Enter").press("Up").text("/steer x")
	if r.c.PopupOpen() {
		t.Error("what is recalled opens no popup")
	}
	r.press("Up").text("old")
}

func TestHistoryIsBounded(t *testing.T) {
	var h editorHistory
	for i := range 3000 {
		h.add(fmt.Sprint("entry ", i))
	}
	if len(h.entries) != historyEntries || h.entries[historyEntries-1] != "entry 2999" {
		t.Errorf("%d entries", len(h.entries))
	}
	for range 20 {
		h.add(strings.Repeat("x", 1<<20) + fmt.Sprint(len(h.entries)))
	}
	if h.bytes > historyBytes || len(h.entries) == 0 {
		t.Errorf("%d bytes in %d entries", h.bytes, len(h.entries))
	}
	h.add("  \n")
	if h.entries[len(h.entries)-1] == "  \n" {
		t.Error("blanks are remembered")
	}
}

func TestRecall(t *testing.T) {
	r := newRig(t, 60, 3)
	r.c.Seed([]string{"write the parser", "run the tests"})
	var got []string
	r.c.OnRecall = func(texts []string) { got = texts }
	r.write("draft").press("Ctrl+R").text("draft")
	if strings.Join(got, "|") != "write the parser|run the tests" {
		t.Errorf("offered %q", got)
	}
}
