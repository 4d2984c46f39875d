package view

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/gdamore/tcell/v2"
	"github.com/rivo/tview"

	"github.com/arbiter-cli/arbiter/sanitize"
)

// material is what is typed and pasted: every kind of width, order and hostile input.
var material = []string{
	"a", "b ", "word", "\n", "\t", "  ", "-", "/", "/kill ", "@", "@src/ma", "//", "/etc/hosts", "\"",
	"漢字", "한국어", "ｆｕｌｌ", "é", "e\u0301\u0302\u0303\u0304\u0305", "\u0301", "שלום", "مرحبا", "हिन्दी", "🇩🇪", "🇩", "👍🏽",
	"👨‍👩‍👧‍👦", strings.Repeat("👩‍", 30) + "👩", "\u0600", "\u200d", "\u200b", "\ufdd0", "\ufdd01\ufdd1", "\ufe0f",
	"[red]text[-]", `["r"]x[""]`, "[:::https://x.test]y[:::-]", "\x1b[31mred", "\x1b]52;c;aGk=\a", "\x9b2J",
	"\x07\x08\x7f\x00", "a\r\nb\rc", "\u2028", "\u202eevil", "\xff\xfe", strings.Repeat("x", 1200),
	strings.Repeat("line\n", 12), strings.Repeat("漢", 1001), strings.Repeat("w ", 300),
}

// FuzzComposer: whatever is pressed, pasted and resized, nothing panics, nothing is drawn outside, the
// cursor is inside, and the state is consistent.
func FuzzComposer(f *testing.F) {
	f.Add([]byte("hello"))
	f.Add([]byte{0, 1, 2, 3, 200, 201, 202, 3, 3, 3, 17, 90, 91, 92, 93, 94})
	f.Fuzz(runProgram)
}

// TestRandomPrograms does a little of the same in every test run.
func TestRandomPrograms(t *testing.T) {
	for seed := range uint64(60) {
		d := rand.New(rand.NewPCG(seed, 7))
		program := make([]byte, 120)
		for i := range program {
			program[i] = byte(d.Uint32())
		}
		runProgram(t, program)
	}
}

func runProgram(t *testing.T, program []byte) {
	var names []string
	for n := range keyNames {
		names = append(names, n)
	}
	slices.Sort(names)
	program = program[:min(len(program), 300)]
	r := newRig(t, 20, 3)
	r.c.MaxBytes = 16 << 10 // each check lays out the whole text again
	r.c.SetPlaceholder("Speak, mortal.")
	r.c.Seed([]string{"first", "second\nof two lines", "/pause", "漢字 👨‍👩‍👧‍👦"})
	r.c.Completer = func(c EditorContext) []Candidate {
		return []Candidate{{Text: "orch-1", Note: "Orchestrator I"}, {Text: "src/main.go"},
			{Text: "a dir/", Open: true}, {Text: "bad\x1b"}}
	}
	for i := 0; i+1 < len(program); i += 2 {
		act, arg := program[i], program[i+1]
		some := material[int(arg)%len(material)]
		switch act % 8 {
		case 0, 1, 2:
			r.c.Key(keyNames[names[int(arg)%len(names)]])
		case 3:
			for _, c := range some[:min(len(some), 200)] {
				r.c.Key(tcell.NewEventKey(tcell.KeyRune, c, tcell.ModNone))
			}
		case 4:
			r.c.Paste(some)
		case 5:
			r.resize(1+int(arg)%60, 1+int(arg/60)%10)
		case 6:
			r.c.SetTo([]string{"", "to Orchestrator II", "漢字漢字漢字"}[arg%3], []string{"", "steer"}[arg/3%2], 0)
		case 7:
			r.mouse(int(arg))
		}
		r.check()
	}
}

func (r *rig) mouse(arg int) {
	action := []tview.MouseAction{tview.MouseLeftDown, tview.MouseLeftUp, tview.MouseMove,
		tview.MouseLeftDoubleClick}[arg%4]
	e := tcell.NewEventMouse(arg%r.screenW, arg/3%r.screenH, tcell.Button1, 0)
	r.c.MouseHandler()(action, e, func(tview.Primitive) {})
}

// check checks the invariants.
func (r *rig) check() {
	r.t.Helper()
	ed := &r.c.ed
	if clean := sanitize.Text(strings.NewReplacer(chipOpen, "", chipClose,
		"").Replace(ed.text)); strings.ContainsFunc(clean,
		func(c rune) bool { return c < ' ' && c != '\n' && c != '\t' }) {
		r.t.Fatalf("a control character in %q", ed.text)
	}
	if strings.Contains(r.c.Text(), chipOpen) {
		r.t.Fatalf("a chip's mark in the text %q", r.c.Text())
	}
	if n := r.c.chips.expandedSize(ed.text); n != len(r.c.Text()) {
		r.t.Fatalf("the text has %d bytes, reckoned were %d", len(r.c.Text()), n)
	}
	r.draw()
	if want := ed.breaks([]int{0}, 0, ed.text); !slices.Equal(want, ed.starts) {
		r.t.Fatalf("rows of %q are %v, laid out anew %v", ed.text, ed.starts, want)
	}
	if ed.edge(ed.at) != ed.at {
		r.t.Fatalf("the cursor is within a cluster: %d of %q", ed.at, ed.text)
	}
	for row := range ed.starts {
		from, to, _ := ed.bounds(row)
		w, x := ed.walk(ed.text[from:to]), 0
		for w.rest != "" {
			p := w.next()
			if x += min(p.columns(x), ed.columns); x > ed.columns && !p.blank() && p.width > 0 {
				r.t.Fatalf("row %d of %q is wider than %d", row, ed.text, ed.columns)
			}
		}
	}
	r.c.Popup(r.width, 8)
	total := 0
	for _, chip := range r.c.chips.byID {
		total += len(chip.text)
	}
	if total != r.c.chips.bytes {
		r.t.Fatalf("pastes hold %d bytes, reckoned were %d", total, r.c.chips.bytes)
	}
}
