package view

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/gdamore/tcell/v2"
	"github.com/rivo/tview"

	"github.com/arbiter-cli/arbiter/internal/testkit"
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
	got := r.c.Text()
	testkit.Check(t, strings.Count(got, "\u0301") <= 4 && strings.HasSuffix(got, "x") &&
		!strings.ContainsAny(got, "\u202e\u200b\u200d"), "typed came out as %q", got)
}

func TestKeysOfOthersAreLeft(t *testing.T) {
	r := newRig(t, 40, 3)
	for _, key := range []string{"Ctrl+C", "Ctrl+Z", "Ctrl+G", "Ctrl+L", "Ctrl+O", "Ctrl+Q", "Ctrl+V", "Ctrl+X", "Esc",
		"PgUp", "PgDn", "Enter", "Up", "Down"} {
		r.press(key)
		testkit.Check(t, r.unconsumed, "%s was taken with nothing written", key)
	}
	r.write("text")
	for _, key := range []string{"Ctrl+C", "Ctrl+Z", "Ctrl+G", "Ctrl+Q", "Ctrl+V", "Ctrl+X", "Esc"} {
		r.press(key)
		testkit.Check(t, r.unconsumed, "%s was taken", key)
	}
	r.text("text")
	testkit.Same(t, "Alt+S was taken", false, r.c.Key(tcell.NewEventKey(tcell.KeyRune, 's', tcell.ModAlt)))
}

func TestCopyAndCut(t *testing.T) {
	r := newRig(t, 40, 3)
	r.write("abc").press("Alt+W")
	testkit.Check(t, len(r.copied) == 0, "copied %q with nothing marked", r.copied)
	r.press("Shift+Left", "Shift+Left", "Alt+W").text("abc").press("Alt+X").text("a").press("Ctrl+Y").text("abc")
	testkit.Check(t, fmt.Sprint(r.copied) == "[bc bc]", "copied %q", r.copied)
	r.press("Shift+Left").text("abc")
	testkit.Same(t, "Esc ends the selection, once", false, !r.c.Escape() || r.c.Copy() != "" || r.c.Escape())
}

// TestTagsAreText: the widget library's markup is drawn as it is.
func TestTagsAreText(t *testing.T) {
	r := newRig(t, 60, 2)
	const s = `[red]x[-] ["r"]y[""] [:::https://a.test]z[:::-] [[ ]`
	r.write(s).draw()
	testkit.Includes(t, "drawn as", rows(r.screen, r.x, r.y, r.width, 1), s)
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
			rows := r.c.Rows(width, 10)
			testkit.Need(t, rows >= 1 && rows <= 10, "%d rows at width %d", rows, width)
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
	taken, capture := at(tview.MouseMove, 2+12, 1)
	testkit.Check(t, taken && capture == tview.Primitive(r.c), "dragging is not held")
	testkit.Same(t, "marked", "漢字 wor", r.c.Copy())
	at(tview.MouseMove, 200, 200) // outside: the end
	at(tview.MouseLeftUp, 200, 200)
	r.cursor("the 漢字 words\nbelow|")
	taken, _ = at(tview.MouseMove, 3, 1)
	testkit.Check(t, !taken, "moving without a button is taken")
	testkit.Same(t, "how often it got the focus", 1, focused)
	taken, _ = at(tview.MouseScrollUp, 3, 1)
	testkit.Check(t, !taken, "the wheel is the owner's")
}

// Labels that the owner sets are sanitised too.
func TestLabelsAreSanitised(t *testing.T) {
	r := newRig(t, 60, 3)
	r.c.SetTo("to \x1b[2Jevil\n\u202e", "st\x07op", render.SpeakerOrch1)
	r.c.SetPlaceholder("a\x1b]0;b\ac")
	r.draw()
	testkit.Includes(t, "drawn as", rows(r.screen, r.x, r.y, r.width, 2), "to evil  · stop", "⟦a⟧c ")
}

func TestHistory(t *testing.T) {
	r := newRig(t, 40, 5)
	r.c.Seed([]string{"one", "two\nlines", "two\nlines", "bad\x1b[31m"})
	r.write("draft").press("Up").text("bad").press("Up").text("two\nlines").cursor("two\nlines|")
	r.press("Up").cursor("two|\nlines").press("Up").text("one")
	r.press("Up")
	testkit.Check(t, r.unconsumed, "Up was taken where nothing is older")
	r.write("!").press("Down").text("two\nlines").press("Up").text("two\nlines").press("Up").text("one!")
	r.press("Down", "Down", "Down").text("draft").press("Down").text("draft")
	r.press("Up", "Up", "Ctrl+A", "Up").press("Enter")
	testkit.Need(t, len(r.sent) == 1, "sent %q", r.sent)
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
	testkit.Check(t, len(r.sent) == 1 && r.sent[0] == "old", "sent %q", r.sent)
	r.write("/steer x").press("Esc", "Enter").press("Up").text("/steer x")
	testkit.Same(t, "what is recalled opens no popup", false, r.c.PopupOpen())
	r.press("Up").text("old")
}

func TestHistoryIsBounded(t *testing.T) {
	var h editorHistory
	for i := range 3000 {
		h.add(fmt.Sprint("entry ", i))
	}
	testkit.Check(t, len(h.entries) == historyEntries && h.entries[historyEntries-1] == "entry 2999", "%d entries",
		len(h.entries))
	for range 20 {
		h.add(strings.Repeat("x", 1<<20) + fmt.Sprint(len(h.entries)))
	}
	testkit.Check(t, h.bytes <= historyBytes && len(h.entries) != 0, "%d bytes in %d entries", h.bytes, len(h.entries))
	h.add("  \n")
	testkit.Same(t, "blanks are remembered", false, h.entries[len(h.entries)-1] == "  \n")
}

func TestRecall(t *testing.T) {
	r := newRig(t, 60, 3)
	r.c.Seed([]string{"write the parser", "run the tests"})
	var got []string
	r.c.OnRecall = func(texts []string) { got = texts }
	r.write("draft").press("Ctrl+R").text("draft")
	testkit.Check(t, strings.Join(got, "|") == "write the parser|run the tests", "offered %q", got)
}

func TestPasteShort(t *testing.T) {
	r := newRig(t, 40, 3)
	r.write("run ")
	r.c.Paste("\x1b[31mmake\x1b[0m\r\ntest\x07\x1b]52;c;aGk=\a\u202e\n")
	r.text("run make\ntest\n")
	testkit.Check(t, len(r.sent)+len(r.commands) == 0, "a paste was executed: %q %v", r.sent, r.commands)
	r.c.Clear()
	r.c.Paste("/quit\n")
	testkit.Same(t, "a pasted command was executed, or opened the popup", false, r.c.PopupOpen() || len(r.commands) > 0)
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
				testkit.Excludes(t, "a chip for a short paste", shown, "[paste")
				return
			}
			testkit.Includes(t, fmt.Sprintf("the chip %s", c.label), shown, "see "+c.label+" this")
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
	testkit.Same(t, "the paste is not what was pasted", false, r.c.Text() != want)
	r.press("Enter")
	testkit.Check(t, len(r.sent) == 0 && len(r.notices) == 1 && strings.Contains(r.notices[0], "name it with @"),
		"sent %d, said %q", len(r.sent), r.notices)
	testkit.Same(t, "the refusal lost text", false, r.c.Text() != want)
	for range 20 { // memory is bounded
		r.c.Paste(text)
	}
	testkit.Check(t, r.c.chips.bytes() <= pasteBytes && strings.Contains(r.notices[len(r.notices)-1], "too large"),
		"%d bytes are held; said %q", r.c.chips.bytes(), r.notices)
	r.press("Backspace")
	r.c.Paste(text) // deleted pastes free their memory
	r.c.Clear()
	r.write("x").press("Enter")
	testkit.Check(t, r.c.chips.bytes() == 0 && len(r.sent) == 1, "%d bytes are held after sending", r.c.chips.bytes())
}
