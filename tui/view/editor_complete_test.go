package view

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// answers is a completer that records the questions.
type answers struct {
	asked []EditorContext
	list  []Candidate
}

func (a *answers) complete(c EditorContext) []Candidate {
	a.asked = append(a.asked, c)
	return a.list
}

func (a *answers) last() EditorContext { return a.asked[len(a.asked)-1] }

func popupText(r *rig, width, height int) []string {
	lines, selected := r.c.Popup(width, height)
	var list []string
	for i, l := range lines {
		mark := " "
		if i == selected {
			mark = ">"
		}
		list = append(list, mark+strings.TrimRight(l.Text(), " "))
	}
	return list
}

func TestCompleteCommand(t *testing.T) {
	r := newRig(t, 60, 3)
	r.write("/su")
	if diff := cmp.Diff(">/summon  MODE  summon an Orchestrator under a mode", popupText(r, 60, 5)[0]); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	r.press("Enter").cursor("/summon |") // an incomplete name is completed, not sent
	if len(r.sent)+len(r.commands)+len(r.notices) > 0 {
		t.Errorf("sent %q, executed %v, said %q", r.sent, r.commands, r.notices)
	}
	r.c.Clear()
	r.write("/p").press("Down", "Tab").text("/pause ")
	r.press("Ctrl+U").write("/pause").press("Enter") // complete: it is executed
	if len(r.commands) != 1 {
		t.Errorf("executed %v", r.commands)
	}
	r.write("/pa")
	if !r.c.Escape() || r.c.PopupOpen() {
		t.Error("Esc closes the popup")
	}
	r.text("/pa").press("Tab")
	if !r.c.PopupOpen() { // pause, plan by subsequence and others
		t.Error("Tab opens it again")
	}
	r.press("Left")
	if r.c.PopupOpen() {
		t.Error("the popup stays away from the end of the word")
	}
	r.c.SetText("//p")
	r.press("Tab")
	if r.c.PopupOpen() {
		t.Error("text with two slashes is not a command")
	}
}

func TestCompleteArgument(t *testing.T) {
	for _, c := range []struct {
		text    string
		command string
		want    Want
		prefix  string
	}{
		{"/kill ", "kill", WantAgent, ""},
		{"/kill Orch", "kill", WantAgent, "Orch"},
		{"/kill Orchestrator I", "kill", WantAgent, "Orchestrator I"},
		{"/to or", "to", WantAgent, "or"},
		{"/mode arch", "summon", WantMode, "arch"},
		{"/model opus ", "model", WantAgent, ""},
		{"/model op", "model", WantModel, "op"},
		{"/file docs/my f", "file", WantPath, "docs/my f"},
		{"/resume r-1", "resume", WantRun, "r-1"},
		{"/theme d", "theme", WantTheme, "d"},
	} {
		a := &answers{list: []Candidate{{Text: "zzz"}}}
		r := newRig(t, 60, 3)
		r.c.Completer = a.complete
		r.write(c.text)
		got := a.last()
		if got.Kind != EditorArgument || got.Command != c.command || got.Want != c.want || got.Prefix != c.prefix {
			t.Errorf("%q asks for %+v", c.text, got)
		}
	}
	for _, text := range []string{"/note ", "/note x", "/to orch-1 x", "/pause ", "/frobnicate x", "plain", "mail@host",
		"/kill a\n"} {
		a := &answers{}
		r := newRig(t, 60, 3)
		r.c.Completer = a.complete
		r.c.SetText(text)
		r.press("Tab")
		if len(a.asked) > 0 {
			t.Errorf("%q asks for %+v", text, a.last())
		}
	}
	r := newRig(t, 60, 3)
	r.write("/allow ").press("Tab").text("/allow run ")
	r.c.Clear()
	r.c.Completer = (&answers{list: []Candidate{{Text: "Orchestrator I"}, {Text: "Orchestrator II"}}}).complete
	r.write("/to ").press("Down", "Tab").text(`/to "Orchestrator II" `).write("go").press("Enter")
	if len(r.commands) != 1 || r.commands[0].Arg(0) != "Orchestrator II" || r.commands[0].Arg(1) != "go" {
		t.Errorf("executed %v", r.commands)
	}
}

func TestCompleteFile(t *testing.T) {
	a := &answers{list: []Candidate{{Text: "src/", Open: true}, {Text: "src/my file.go"}, {Text: "README.md"},
		{Text: "evil\x1b[2J.md"}, {Text: "two\nlines"}}}
	r := newRig(t, 60, 3)
	r.c.Completer = a.complete
	r.write("look at @s")
	if got := a.last(); got.Kind != EditorFile || got.Prefix != "s" {
		t.Errorf("asks for %+v", got)
	}
	if diff := cmp.Diff([]string{">@src/", " @src/my file.go"}, popupText(r, 30, 5)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	r.press("Tab").text("look at @src/")
	if !r.c.PopupOpen() || a.last().Prefix != "src/" {
		t.Error("a directory goes on")
	}
	r.write("m").press("Tab").text(`look at @"src/my file.go" `)
	r.write("and (@REA").press("Tab").text(`look at @"src/my file.go" and (@README.md `)
	r.press("Ctrl+U").write("to @src and more").press("Enter") // typed text is sent as it is
	r.write("see @rea").press("Enter")
	if diff := cmp.Diff([]string{"to @src and more", "see @rea"}, r.sent); diff != "" {
		t.Errorf("sent (-want +got):\n%s", diff)
	}
	r.write("see @rea").press("Down", "Enter").text("see @README.md ") // but not if a candidate was chosen
}

// Late answers are dropped; timely ones are shown, and the selection stays where it was.
func TestCandidatesComeLater(t *testing.T) {
	a := &answers{}
	r := newRig(t, 60, 3)
	r.c.Completer = a.complete
	r.write("@m")
	old := a.last().Generation
	r.write("a")
	r.c.SetCandidates(old, []Candidate{{Text: "mine"}})
	if r.c.PopupOpen() {
		t.Error("a late answer was taken")
	}
	now := a.last().Generation
	r.c.SetCandidates(now, []Candidate{{Text: "main.go"}, {Text: "make"}})
	r.press("Down")
	r.c.SetCandidates(now, []Candidate{{Text: "manual"}, {Text: "main.go"}, {Text: "make"}})
	r.press("Tab").text("@main.go ")
	r.c.SetCandidates(now, []Candidate{{Text: "main.go"}})
	if r.c.PopupOpen() {
		t.Error("an answer was taken after all was over")
	}
	r.c.Clear()
	r.write("@x")
	gen := a.last().Generation
	r.c.Escape()
	r.press("Ctrl+A")
	r.c.SetCandidates(gen, []Candidate{{Text: "xylophone"}})
	if r.c.PopupOpen() {
		t.Error("an answer was taken though the cursor went away")
	}
}

func TestPopupFits(t *testing.T) {
	r := newRig(t, 60, 3)
	r.write("/")
	for width := 1; width < 130; width++ {
		for height := range 12 {
			lines, selected := r.c.Popup(width, height)
			if len(lines) > height || selected >= max(len(lines), 1) {
				t.Fatalf("%d lines, the %dth selected, in %dx%d", len(lines), selected, width, height)
			}
			for _, l := range lines {
				if l.Width() > width {
					t.Fatalf("%q in %d columns", l.Text(), width)
				}
			}
		}
		r.press("Down")
	}
}
