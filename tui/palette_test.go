package tui

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/arbiter-cli/arbiter/internal/testkit"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/input"
	"github.com/arbiter-cli/arbiter/tui/keys"
	"github.com/arbiter-cli/arbiter/tui/view"
)

// TestPalette: a few letters and Enter execute the entry that they match; an entry that needs an argument,
// or acts at once on waiting items, is inserted into the input.
func TestPalette(t *testing.T) {
	testkit.WithoutRace(t)
	weaving(t, 100, 30, func(s *scene) {
		s.Type("half a word")
		s.Press("Ctrl+P")
		s.Expect("What shall be done?", "Orchestrator I  orch-1", "/kill  end an agent")
		s.Press("Esc")
		s.ExpectNot("What shall be done?")
		s.Expect("half a word")
		s.Press("Ctrl+C")
		for letters, shown := range map[string]string{"timel": "waits for the API", "logb": "all events",
			"permiss": "WHAT IS ALLOWED",
			"orch-2":  "Review what the other one wrote."} {
			s.Press("Ctrl+P")
			s.Type(letters + "\n")
			s.Expect(shown)
			s.Press("Esc")
			s.Press("i")
			s.Press("Ctrl+U")
		}
		for letters, written := range map[string]string{"/kill": "/kill ", "/deny": "/deny ",
			"/interr": "/interrupt "} {
			s.Press("F2", "Ctrl+P")
			s.Type(letters + "\n")
			d := s.frontend.root
			got := d.prompt.input.Text()
			testkit.Check(t, got == written && d.screen() == screen(d.runScreen), "%s: the input is %q", letters, got)
			s.Press("Ctrl+U")
		}
		s.Press("Ctrl+P")
		s.Type("/pause\n")
		s.expectTook(contract.Pause{})
	})
}

// TestMention: after an @ agents are listed as well as files, found by letters; a message that begins with
// an agent is sent to it.
func TestMention(t *testing.T) {
	weaving(t, 100, 30, func(s *scene) {
		s.Stage.Type("@") // the list is read when Tab is pressed
		s.Press("Tab")
		s.Expect("@orch-1", "Orchestrator I", "@README.md")
		s.Type("o2")
		s.ExpectNot("@README.md")
		s.Press("Tab")
		s.Type("read @hd first\n")
		want := contract.CommandBody(contract.Say{To: "orch-2", Text: "read @hd first"})
		s.expectTook(want)
		s.Type("@orch-7 is nobody\n")
		s.expectTook(contract.Say{Text: "@orch-7 is nobody"})
	})
}

// TestSearchAsInVi: n goes down to the next match, and N up to the previous one. Text that is not in the history is
// searched as well.
func TestSearchAsInVi(t *testing.T) {
	weaving(t, 80, 24, func(s *scene) {
		s.Type("/cost\n")
		s.Press("/")
		s.Type("no such word\n")
		s.Expect("There is no “no such word” here.")
		for key, where := range map[string]string{"N": "above", "n": "below"} {
			s.Press(key)
			s.Expect("No more of “no such word” " + where + ".")
		}
		s.Press("/")
		s.Type("cache\n")
		s.ExpectNot("There is no")
		s.Press("n")
		s.ExpectNot("No more")
		s.Press("n")
		s.Expect("No more of “cache” below.")
		s.Press("Esc", "Ctrl+U")
		s.does(func(p *fakeRun) {
			for _, text := range []string{"the first needle", "hay", "the second needle", "hay", "the third needle"} {
				p.endTurn("orch-1", reports("progress", text+strings.Repeat("\n\nhay", 12), false))
			}
		})
		s.Press("Esc", "/")
		s.Type("nee")
		s.waits("one") // no dialog takes the rest of the word
		s.Type("dle")
		s.does(func(p *fakeRun) { p.do(input.PermissionWithdrawn{Request: "one"}) })
		s.Press("Enter")
		for _, step := range []struct{ key, shown string }{{"", "third"}, {"N", "second"}, {"N", "first"}, {"n",
			"second"},
			{"n", "third"}} {
			if step.key != "" {
				s.Press(step.key)
			}
			s.Expect("the " + step.shown + " needle")
		}
		s.Press("n")
		s.Expect("No more of “needle” below.")
		s.Press("g", "/")
		s.Type("first needle\n")
		s.Expect("the first needle")
		s.Press("1", "i")
		s.Type("/search go test\n") // in what is visible
		s.Expect("go test ./header")
		s.ExpectNot("No more of")
	})
}

// TestTour: it goes from card to card and back, and ends where it began. It is offered to a user who has no
// earlier input here.
func TestTour(t *testing.T) {
	play(t, 80, 24, nil, func(s *scene) {
		s.ExpectNot("/tour") // an earlier input exists
		s.Type("/tour\n")
		for range len(view.TourSteps()) - 1 {
			s.Press("Enter")
		}
		s.Expect("6 of 6: Leave", "▸e End")
		s.Press("b")
		s.Expect("5 of 6: Read", "Ctrl+P")
		s.Press("n", "Enter")
		s.ExpectNot("A tour")
		s.Type("/tour\n")
		s.Press("Esc")
		s.ExpectNot("A tour")
	})
	play(t, 80, 24, func(_ *Options, h *fakeHost) { h.newcomer = true }, func(s *scene) {
		s.Expect("new here?", "/tour shows the screen in a minute")
	})
}

// TestExplain shows the text that was read for a decision verbatim, and not as Markdown.
func TestExplain(t *testing.T) {
	play(t, 120, 40, inGit, func(s *scene) {
		authored(s)
		s.Press("Esc")
		for typed, want := range map[string][]string{
			"/explain 3\n": {"THE DECISION", "prompt of decision 3, as it was read:", "# What you decide"},
			"/explain\n":   {"THE DECISION", "prompt of decision 0, as it was read:", "# What you decide"},
		} {
			s.Type(typed)
			s.Expect(want...)
			s.Press("Esc")
		}
		for typed, want := range map[string]string{"/explain 10\n": "has no decision 10", "/explain x\n": "the number of"} {
			s.Press("Ctrl+U")
			s.Type(typed)
			s.Expect(want)
		}
	})
}

func TestImagePath(t *testing.T) {
	for text, want := range map[string]string{
		"/tmp/a.png":                "/tmp/a.png",
		" /tmp/a.JPG \n":            "/tmp/a.JPG",
		`/tmp/my\ shot\ \(1\).webp`: "/tmp/my shot (1).webp",
		"'/tmp/my shot.gif'":        "/tmp/my shot.gif",
		"file:///tmp/my%20shot.png": "/tmp/my shot.png",
		"~/shot.jpeg":               "~/shot.jpeg",
		"shot.png":                  "",
		"/tmp/a.txt":                "",
		"/tmp/a.png\n/tmp/b.png":    "",
		"":                          "",
	} {
		testkit.Same(t, fmt.Sprintf("imagePath(%q)", text), want, imagePath(text))
	}
}

// TestImagesAreAttached: a pasted path of an image becomes a mark, which is deleted as a whole, and the
// message carries the images whose marks it contains. The path of any other file stays text.
func TestImagesAreAttached(t *testing.T) {
	weaving(t, 100, 30, func(s *scene) {
		s.Type("like ")
		s.Paste("/tmp/a.png")
		s.Expect("like [image 1: 640×480 png]")
		s.Paste("/tmp/b.png")
		s.Expect("[image 2: 640×480 png]")
		s.Press("Backspace", "Backspace") // the space, then the mark
		s.ExpectNot("[image 2")
		s.Type("and not ")
		s.Paste("/tmp/torn.png")
		s.Type("\n")
		want := contract.CommandBody(contract.Say{Text: "like [image 1: 640×480 png] and not /tmp/torn.png",
			Images: []string{"/tmp/a.png"}})
		s.expectTook(want)
		s.Type("/image /tmp/c.png\n")
		s.Expect("[image 3: 640×480 png]")
		s.Type("is it\n")
		want = contract.Say{Text: "[image 3: 640×480 png] is it", Images: []string{"/tmp/c.png"}}
		s.expectTook(want)
		s.Type("/image torn\n")
		s.Expect("it is not an image that can be sent")
	})
}

func (h *fakeHost) Image(path string) (absolute, size string, err error) {
	if strings.Contains(path, "torn") {
		return "", "", errors.New("image " + path + ": it is not an image that can be sent")
	}
	return path, "640×480 png", nil
}

// TestEveryKeyMeansSomething: each key does on its screen what the table of keys says, and the help of that
// screen lists it.
func TestEveryKeyMeansSomething(t *testing.T) {
	testkit.WithoutRace(t)
	ways := map[keys.Context]string{
		keys.Insert: "", keys.Normal: "Esc", keys.Focus: "Alt+1", keys.Logbook: "F2", keys.Plan: "F3",
		keys.Sessions: "F4", keys.Changes: "F5", keys.Settings: "F8", keys.Timeline: "F6", keys.Help: "F1",
	}
	weaving(t, 100, 30, func(s *scene) {
		d := s.frontend.root
		for c, way := range ways {
			for _, b := range keys.For(c) {
				if b.Action == keys.Detach {
					continue // it ends the program
				}
				s.do(func() {
					d.dialogs.open, d.picker, d.search = nil, picker{}, searchBar{}
					d.base(d.runScreen)
					d.prompt.write()
				})
				if way != "" {
					s.Press(way)
				}
				s.do(func() {
					testkit.Same(t, fmt.Sprintf("%s leads to", way), c, d.context())
					testkit.Check(t, d.screen().act(b.Action) || d.act(b.Action), "%s: %s (%s) means nothing", c, b.Keys,
						b.Action)
				})
			}
		}
	})
}

// do runs something on tview's loop.
func (s *scene) do(something func()) {
	s.frontend.post(something)
	s.Settle()
}

func TestHelpListsEveryKey(t *testing.T) {
	for _, c := range keys.Contexts {
		listed := testkit.Each(helpFor(c, c == keys.Insert || c == keys.Normal || c == keys.Focus),
			func(row view.ListRow) string { return row.Find })
		for _, b := range slices.Concat(keys.For(c), map[bool][]keys.Binding{true: keys.Editing}[c == keys.Insert]) {
			testkit.Check(t, slices.Contains(listed, strings.Join(b.Keys, "  ")+" "+b.Help),
				"the help of %q lacks %v: %s", c, b.Keys, b.Help)
		}
		if c == keys.Insert || c == keys.Normal {
			for _, s := range view.EditorCommands {
				testkit.Check(t, slices.Contains(listed, s.Usage()+" "+s.Help), "the help of %q lacks %s", c, s.Usage())
			}
		}
	}
}

// TestEverySlashCommandIsDone: every command that the editor accepts has a handler.
func TestEverySlashCommandIsDone(t *testing.T) {
	for _, s := range view.EditorCommands {
		_, order, _ := view.CommandsFor(nil, view.EditorCommand{Name: s.Name, Rest: "set x"})
		_, here := slashHere[s.Name]
		_, answers := view.SlashAnswers[s.Name]
		testkit.Check(t, order || here || answers, "no handler for /%s", s.Name)
		testkit.Check(t, (!order || !here) && (!here || !answers) && (!answers || !order) || s.Name == "plan",
			"/%s is done twice", s.Name)
	}
	for name := range view.SlashAnswers {
		_, ok := view.Lookup(name)
		testkit.Check(t, ok, "/%s cannot be written", name)
	}
	for name := range slashHere {
		_, ok := view.Lookup(name)
		testkit.Check(t, ok, "/%s cannot be written", name)
	}
}

// TestLinesScrollWhileWriting: Alt with an arrow scrolls the conversation, and leaves what is written, and what was
// written before, alone.
func TestLinesScrollWhileWriting(t *testing.T) {
	weaving(t, 60, 12, func(s *scene) {
		s.Type("half a word")
		s.Press("Alt+Up")
		s.Expect("half a word", "more below")
		s.Press("Alt+Down")
		s.Expect("half a word")
		s.ExpectNot("more below")
	})
}
