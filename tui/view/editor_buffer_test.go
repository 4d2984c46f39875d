package view

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/gdamore/tcell/v2"
	"github.com/rivo/tview"

	"github.com/arbiter-cli/arbiter/tui/render"
)

func TestEditingKeys(t *testing.T) {
	for _, c := range []struct {
		name, text string
		keys       []string
		want       string // with the cursor
	}{
		{"newlines", "ab", []string{"Ctrl+J", "Shift+Enter", "Alt+Enter"}, "ab\n\n\n|"},
		{"line ends", "one\ntwo", []string{"Ctrl+A", "Left", "Ctrl+A"}, "|one\ntwo"},
		{"line end", "one\ntwo", []string{"Up", "Ctrl+A", "Ctrl+E"}, "one|\ntwo"},
		{"home and end", "one two", []string{"Home", "Delete", "End", "Backspace"}, "ne tw|"},
		{"ends of all", "one\ntwo", []string{"Ctrl+Home", "Delete", "Ctrl+End", "Backspace"}, "ne\ntw|"},
		{"words", "the old one-two", []string{"Alt+B", "Alt+B", "Alt+F", "Alt+F"}, "the old one-two|"},
		{"word back", "the old one-two", []string{"Alt+B"}, "the old one-|two"},
		{"word left", "the old  ", []string{"Ctrl+Left"}, "the |old  "},
		{"cut a word", "the old one-two ", []string{"Ctrl+W"}, "the old |"},
		{"cut a letter-word", "the old one-two", []string{"Alt+Backspace"}, "the old one-|"},
		{"cut the next word", "the old", []string{"Home", "Alt+D"}, "| old"},
		{"cut to the beginning", "one\ntwo", []string{"Left", "Ctrl+U"}, "one\n|o"},
		{"cut the newline before", "one\ntwo", []string{"Home", "Ctrl+U"}, "one|two"},
		{"cut to the end", "one\ntwo", []string{"Ctrl+Home", "Right", "Ctrl+K"}, "o|\ntwo"},
		{"cut the newline", "one\ntwo", []string{"Ctrl+Home", "Right", "Ctrl+K", "Ctrl+K"}, "o|two"},
		{"put back what was cut", "one two", []string{"Ctrl+W", "Home", "Ctrl+Y"}, "two|one "},
		{"delete forward", "ab", []string{"Home", "Ctrl+D"}, "|b"},
		{"a selection is replaced", "abc", []string{"Shift+Left", "Shift+Left", "Ctrl+J"}, "a\n|"},
		{"a selection ends at its side", "abc", []string{"Shift+Left", "Shift+Left", "Left"}, "a|bc"},
		{"undo", "one two", []string{"Ctrl+W", "Ctrl+_"}, "one two|"},
		{"undo in words", "", []string{"Ctrl+_"}, "|"},
		{"redo", "one two", []string{"Ctrl+W", "Ctrl+_", "Alt+_"}, "one |"},
		{"clusters are one step", "e\u0301👨‍👩‍👧‍👦漢", []string{"Backspace", "Left", "Left"}, "|e\u0301👨‍👩‍👧‍👦"},
		{"flags", "🇩🇪🇫🇷", []string{"Left"}, "🇩🇪|🇫🇷"},
		{"up keeps its column", "long line\nab\nlong line", []string{"Up", "Up"}, "long line|\nab\nlong line"},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := newRig(t, 40, 5)
			r.write(c.text).press(c.keys...).cursor(c.want).draw()
		})
	}
}

func TestUndoGoesWordByWord(t *testing.T) {
	r := newRig(t, 40, 3)
	r.write("one two").press("Ctrl+_").text("one ").press("Ctrl+_").text("").press("Ctrl+_").text("")
	r.press("Alt+_", "Alt+_").text("one two")
	r.press("Ctrl+_").write("x").press("Alt+_").text("one x")
}

// A terminal sends a sequence rune by rune; it must arrive complete.
func TestTypedSequences(t *testing.T) {
	for _, s := range []string{"👨‍👩‍👧‍👦", "👍🏽", "❤️", "🏳️‍🌈", "e\u0301", "हिन्दी", "می\u200cخواهم", "🇩🇪", "한국어"} {
		r := newRig(t, 40, 3)
		r.write("a" + s + "b").text("a" + s + "b").draw()
	}
	r := newRig(t, 40, 3)
	r.write("e" + strings.Repeat("\u0301", 12) + "\u202e\u200b\u200dx")
	if got := r.c.Text(); strings.Count(got, "\u0301") > 4 || !strings.HasSuffix(got, "x") ||
		strings.ContainsAny(got, "\u202e\u200b\u200d") {
		t.Errorf("typed came out as %q", got)
	}
}

func TestKeysOfOthersAreLeft(t *testing.T) {
	r := newRig(t, 40, 3)
	for _, key := range []string{"Ctrl+C", "Ctrl+Z", "Ctrl+G", "Ctrl+L", "Ctrl+O", "Ctrl+Q", "Ctrl+V", "Ctrl+X", "Esc",
		"PgUp", "PgDn", "Enter", "Up", "Down"} {
		if r.press(key); !r.unconsumed {
			t.Errorf("%s was taken with nothing written", key)
		}
	}
	r.write("text")
	for _, key := range []string{"Ctrl+C", "Ctrl+Z", "Ctrl+G", "Ctrl+Q", "Ctrl+V", "Ctrl+X", "Esc"} {
		if r.press(key); !r.unconsumed {
			t.Errorf("%s was taken", key)
		}
	}
	r.text("text")
	if r.c.Key(tcell.NewEventKey(tcell.KeyRune, 's', tcell.ModAlt)) {
		t.Error("Alt+S was taken")
	}
}

func TestCopyAndCut(t *testing.T) {
	r := newRig(t, 40, 3)
	r.write("abc").press("Alt+W")
	if len(r.copied) > 0 {
		t.Errorf("copied %q with nothing marked", r.copied)
	}
	r.press("Shift+Left", "Shift+Left", "Alt+W").text("abc").press("Alt+X").text("a").press("Ctrl+Y").text("abc")
	if fmt.Sprint(r.copied) != "[bc bc]" {
		t.Errorf("copied %q", r.copied)
	}
	r.press("Shift+Left").text("abc")
	if !r.c.Escape() || r.c.Selection() != "" || r.c.Escape() {
		t.Error("Esc ends the selection, once")
	}
}

// TestTagsAreText: the widget library's markup is drawn as it is.
func TestTagsAreText(t *testing.T) {
	r := newRig(t, 60, 2)
	const s = `[red]x[-] ["r"]y[""] [:::https://a.test]z[:::-] [[ ]`
	r.write(s).draw()
	if got := rows(r.screen, r.x, r.y, r.width, 1); !strings.Contains(got, s) {
		t.Errorf("drawn as %s", got)
	}
}

// TestSizes: at every width and height, with texts of every script, the cursor is inside and nothing is
// drawn outside.
func TestSizes(t *testing.T) {
	texts := []string{
		"", "x", "a longer line of plain words that wraps at most widths\nand another one\n\n",
		strings.Repeat("漢字かな", 60), strings.Repeat("👨‍👩‍👧‍👦 ", 20),
		"שלום עולם مرحبا بالعالم " + strings.Repeat("e\u0301", 50), strings.Repeat("x", 500), strings.Repeat(" ", 90),
		"\t\ttabs\tand\ttabs", "\u0301",
	}
	r := newRig(t, 20, 3)
	for i, text := range texts {
		r.c.SetText(text)
		if i%2 == 1 {
			r.c.Paste(strings.Repeat("line\n", 40))
			r.c.SetTo("to Orchestrator II", "steer", render.SpeakerOrch2)
		} else {
			r.c.SetTo("", "", render.SpeakerHuman)
		}
		for width := 1; width <= 400; width += 1 + width/6 {
			for height := 1; height <= 10; height += 1 + height/2 {
				r.resize(width, height)
				for _, key := range []string{"Ctrl+End", "Up", "Ctrl+Home"} {
					r.press(key).draw()
				}
			}
			if rows := r.c.Rows(width, 10); rows < 1 || rows > 10 {
				t.Fatalf("%d rows at width %d", rows, width)
			}
		}
	}
}

// TestRoundTrip: text that is inserted in pieces, at any positions, comes out unchanged.
func TestRoundTrip(t *testing.T) {
	for seed := range uint64(200) {
		d := rand.New(rand.NewPCG(seed, 1))
		r := newRig(t, 1+d.IntN(60), 1+d.IntN(6))
		r.draw()
		var want string
		for range 30 {
			s := []string{"word ", "漢字", "\n", "x", "\ttab", "שלום", "👨‍👩‍👧‍👦", strings.Repeat("long line\n", 20),
				"[red]"}[d.IntN(9)]
			r.c.Paste(s)
			want += s
			if d.IntN(4) == 0 { // moving the cursor changes nothing
				r.press([]string{"Up", "Left", "Alt+B", "Ctrl+A", "Ctrl+Home"}[d.IntN(5)])
				r.draw()
				r.press("Ctrl+End")
			}
		}
		r.text(want)
		for range 40 {
			r.press("Ctrl+_")
		}
		r.text("")
		for range 40 {
			r.press("Alt+_")
		}
		r.text(want)
	}
}

func TestMouse(t *testing.T) {
	r := newRig(t, 30, 4)
	r.c.SetTo("to Orchestrator I", "", render.SpeakerOrch1)
	r.write("the 漢字 words\nbelow").draw()
	focused := 0
	at := func(action tview.MouseAction, x, y int) (bool, tview.Primitive) {
		return r.c.MouseHandler()(action, tcell.NewEventMouse(r.x+x, r.y+y, tcell.Button1, 0), func(tview.Primitive) {
			focused++
		})
	}
	at(tview.MouseLeftDown, 2+5, 1) // on the left half of the second wide one is its beginning
	r.cursor("the |漢字 words\nbelow")
	if taken, capture := at(tview.MouseMove, 2+12, 1); !taken || capture != tview.Primitive(r.c) {
		t.Error("dragging is not held")
	}
	if got := r.c.Selection(); got != "漢字 wor" {
		t.Errorf("marked %q", got)
	}
	at(tview.MouseMove, 200, 200) // outside: the end
	at(tview.MouseLeftUp, 200, 200)
	r.cursor("the 漢字 words\nbelow|")
	if taken, _ := at(tview.MouseMove, 3, 1); taken {
		t.Error("moving without a button is taken")
	}
	if focused != 1 {
		t.Errorf("focused %d times", focused)
	}
	if taken, _ := at(tview.MouseScrollUp, 3, 1); taken {
		t.Error("the wheel is the owner's")
	}
}

// Labels that the owner sets are sanitised too.
func TestLabelsAreSanitised(t *testing.T) {
	r := newRig(t, 60, 3)
	r.c.SetTo("to \x1b[2Jevil\n\u202e", "st\x07op", render.SpeakerOrch1)
	r.c.SetPlaceholder("a\x1b]0;b\ac")
	r.draw()
	if got := rows(r.screen, r.x, r.y, r.width, 2); !strings.Contains(got, "to evil  · stop") ||
		!strings.Contains(got, "⟦a⟧c ") {
		t.Errorf("drawn as\n%s", got)
	}
}
