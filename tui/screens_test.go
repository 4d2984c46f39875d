package tui

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rivo/uniseg"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/internal/testkit"
	"github.com/arbiter-cli/arbiter/tui/keys"
	"github.com/arbiter-cli/arbiter/tui/render"
	"github.com/arbiter-cli/arbiter/tui/view"
)

// TestScreens checks every situation at every size: everything is drawn whole and in its place, the screen says what
// the user must know, at once or after scrolling, and each key that it names works there. The pictures of some
// situations are compared with golden files.
func TestScreens(t *testing.T) {
	testkit.WithoutRace(t)
	all := sizes[:3]
	if testkit.AtNight() { // what the others would show, the widths between are likely to show as well
		all = append(slices.Clone(sizes), [2]int{300, 90}, [2]int{160, 44})
	}
	for n, tt := range situations {
		for i, size := range all {
			if testkit.Race && i > 1 || i >= tt.golden && i > 1 && n%2 == 1 && !testkit.AtNight() {
				break // what a detector could find is the same at every size; the others show the smallest one
			}
			name := fmt.Sprintf("%s-%dx%d", tt.name, size[0], size[1])
			t.Run(name, func(t *testing.T) {
				play(t, size[0], size[1], tt.change, func(s *scene) {
					if tt.act != nil {
						tt.act(s)
						s.Settle()
					}
					if i < tt.golden {
						s.Golden(name)
					}
					s.expectClean(name)
					s.ExpectNot("[31m", "[2J", "]0;") // what the hostile texts are without their controls
					s.ExpectFramed()
					s.expectKeys()
					s.expectReadable()
					if size[0] >= 120 {
						s.Expect(tt.wide...)
					}
					s.expectReachable(tt.says...)
				})
			})
		}
		if testkit.Race {
			continue
		}
		t.Run(tt.name+"-plain", func(t *testing.T) {
			plain := func(o *Options, h *fakeHost) {
				if tt.change != nil {
					tt.change(o, h)
				}
				o.ASCII, o.Theme = true, "mono"
			}
			play(t, 80, 24, plain, func(s *scene) {
				if tt.act != nil {
					tt.act(s)
					s.Settle()
				}
				s.ExpectPlain(typedByHumans)
			})
		})
	}
}

// typedByHumans are the characters outside of ASCII that a user or an agent has written in the situations.
const typedByHumans = "織機に新しいヘッダーを教える世界🧵"

// keyNames matches names of keys on the screen that cannot be words.
var keyNames = regexp.MustCompile(
	`(?:(?:Ctrl|Alt|Shift)\+(?:[A-Za-z0-9\\]|Tab|Enter|Up|Down|Left|Right)|F[1-9]|Esc|PgDn|PgUp)\b`)

// expectKeys fails if the screen names a key that does nothing here, or if a page does not name its own.
func (s *scene) expectKeys() {
	s.T.Helper()
	d := s.frontend.root
	contexts := []keys.Context{d.context(), keys.Everywhere}
	pick, asking := d.picker.open(), d.dialogs.asking()
	switch {
	case pick:
		contexts = append(contexts, keys.Pick)
	case asking != nil:
		contexts = append(contexts, asking.context)
	}
	if d.screen().context() == keys.Help || s.Shows("A tour") {
		contexts = keys.Contexts // they teach the keys of all
	}
	for _, key := range keyNames.FindAllString(s.Text(), -1) {
		works := slices.ContainsFunc(contexts, func(c keys.Context) bool { _, ok := keys.Look(c, key); return ok })
		if _, agent := agentKey(keys.Normal, key); agent {
			continue
		}
		edits := func(b keys.Binding) bool { return slices.Contains(append(strings.Fields(b.Help), b.Keys...), key) }
		testkit.Check(s.T, works || slices.ContainsFunc(keys.Editing, edits),
			"it names %s, which does nothing in %q:\n%s", key, contexts, s.Text())
	}
	w, h := s.Screen.Size()
	if d.screen().writes() || d.writesStep() || h < footerHeight || w < 200 || pick || asking != nil {
		return
	}
	for _, hint := range keys.Footer(d.screen().context()) {
		name := hint.Keys
		if sign := arrows[name]; sign != "" {
			name = sign
		}
		s.Expect(name + " " + hint.Text)
	}
}

// expectReadable fails if prose is too wide to read, or a file of the workspace is named by its absolute path.
func (s *scene) expectReadable() {
	s.T.Helper()
	testkit.Check(s.T, !strings.Contains(s.Text(), "/home/weaver/loom/"), "a path is absolute:\n%s", s.Text())
	if !s.frontend.root.screen().writes() {
		return // lists and tables use the whole width
	}
	for _, row := range s.Rows() {
		for part := range strings.SplitSeq(row, "  ") {
			n := uniseg.StringWidth(part)
			testkit.Check(s.T, n <= render.Prose+10 || strings.Count(part, " ") <= 8 || strings.ContainsAny(part, "·─"),
				"prose of %d columns: %q", n, part)
		}
	}
}

// expectReachable fails unless each text is visible, or becomes so when the user scrolls to the end or the top.
func (s *scene) expectReachable(texts ...string) {
	s.T.Helper()
	unbroken := func() string { // the rows, and what is between borders in them
		var all, framed []string
		for _, row := range s.Rows() {
			all = append(all, strings.Fields(strings.Trim(row, "▌│ "))...)
			if from, to := strings.Index(row, "│"), strings.LastIndex(row, "│"); to > from {
				framed = append(framed, strings.Fields(strings.TrimRight(row[from+len("│"):to], " ↑↓"))...)
			}
		}
		return strings.Join(append(all, framed...), " ")
	}
	seen := unbroken()
	for _, key := range []string{"PgDn", "PgUp"} {
		for range 30 {
			if !slices.ContainsFunc(texts, func(text string) bool { return !strings.Contains(seen, text) }) {
				return
			}
			s.Press(key)
			s.expectClean(key)
			seen += "\n" + unbroken()
		}
	}
	for _, text := range texts {
		testkit.Check(s.T, strings.Contains(seen, text), "%q is out of reach:\n%s", text, s.Text())
	}
}

// timed opens the timeline of a run in which an agent waited.
func timed(s *scene) {
	s.startWork()
	s.Advance(20 * time.Second)
	s.does(func(p *fakeRun) { p.suggests("orch-1", "perm-1", goTest) })
	s.Advance(10 * time.Second)
	s.Press("y")
	s.does(func(p *fakeRun) {
		p.does("orch-1", bridge.ToolResult{ToolUse: "t2", Text: "three callers"})
		p.endTurn("orch-1", reports("done", "The header is written.", true))
	})
	s.Advance(30 * time.Second)
	s.Press("F6")
}

// TestTimeline: Enter goes from a lane to what was reported at that time, a to the agent, and the mouse
// does the same.
func TestTimeline(t *testing.T) {
	testkit.WithoutRace(t)
	play(t, 120, 40, nil, func(s *scene) {
		timed(s)
		s.Press("Down", "[", "[")
		s.Expect("waits for you")
		s.Press("Enter")
		s.Expect("THE WEAVING")
		if got := s.frontend.root.runScreen.talk; got.Marked() < 0 || got.Following() && got.Behind() > 0 {
			t.Errorf("nothing is marked")
		} else if e, _ := got.src.thread.Entry(got.Marked()); e.Event.Body.EventName() != "permission_request" {
			t.Errorf("Enter leads to %q", e.Event.Body.EventName())
		}
		s.Press("l")
		s.Expect("TIMELINE")
		s.Press("Down", "Home", "a")
		f, ok := s.frontend.root.screen().(*focus)
		testkit.Check(t, ok && f.id == "orch-1", "a leads to %T", s.frontend.root.screen())
		s.Press("Esc", "F6", "Home", "[")
		s.Expect("There is no notable event there.")
		s.Press("Esc")
		s.Press(":")
		s.Type("timeline\n")
		s.Expect("TIMELINE")
		y := slices.IndexFunc(s.Rows(), func(row string) bool { return strings.Contains(row, "Orchestrator I ") })
		s.Click(60, y)
		s.Click(60, y)
		s.Expect("THE WEAVING")
	})
}

// TestForkOnTheTimeline: f asks, and forks the run before the decision at the cursor, or the next one.
func TestForkOnTheTimeline(t *testing.T) {
	play(t, 120, 40, nil, func(s *scene) {
		timed(s)
		s.Press("Home", "f")
		s.Expect("Fork before decision 1?", "The thread continues")
		s.Press("n", "f", "y")
		s.Expect("Forked", "is forked before decision 1")
	})
}

// TestScene: the agents stand as figures below the tiles, or beside the conversation, and only where there is room.
func TestScene(t *testing.T) {
	testkit.WithoutRace(t)
	on := func(o *Options, _ *fakeHost) { o.Ritual, o.Still = Ritual{Scene: true, Human: view.RitualSmith}, true }
	for _, size := range [][2]int{{200, 50}, {150, 44}} {
		play(t, size[0], size[1], on, func(s *scene) { s.crowd(); s.Expect("⡶⢶⢶") })
	}
	for _, size := range [][2]int{{200, 30}, {120, 40}, {40, 12}} {
		play(t, size[0], size[1], on, func(s *scene) {
			s.crowd()
			s.ExpectNot("⡶⢶⢶")
		})
	}
}

// titled runs a frontend with a title, and records which figure is remembered.
func titled(t *testing.T, still bool, act func(s *scene, remembered *[]view.RitualKind)) {
	t.Helper()
	var remembered []view.RitualKind
	play(t, 100, 30, func(o *Options, _ *fakeHost) {
		o.Still = still
		remember := func(k view.RitualKind) { remembered = append(remembered, k) }
		o.Ritual = Ritual{Title: true, Human: view.RitualScribe, Remember: remember}
	}, func(s *scene) {
		s.Expect("T H E   A R B I T E R", "Who comes?", "2 the scribe")
		act(s, &remembered)
	})
}

// TestTitle: a key that chooses sends the figure to the Arbiter; every other key works as without a title.
func TestTitle(t *testing.T) {
	titled(t, false, func(s *scene, remembered *[]view.RitualKind) {
		s.Press("3")
		s.Expect("The smith comes before the loom.")
		s.Advance(view.RitualWalk + time.Second)
		s.Expect("Speak, mortal.")
		testkit.Same(t, "remembered", "[scribe smith]", fmt.Sprint(*remembered))
	})
	for name, press := range map[string]func(s *scene){
		"a letter": func(s *scene) { s.Type("w") }, "a paste": func(s *scene) { s.Paste("w") },
		"Enter, then a letter": func(s *scene) { s.Press("Enter"); s.Type("w") },
		"a walk cut short":     func(s *scene) { s.Press("1"); s.Type("w") },
	} {
		t.Run(name, func(t *testing.T) {
			titled(t, false, func(s *scene, _ *[]view.RitualKind) {
				press(s)
				s.Type("eave")
				s.Expect("Speak, mortal.", "weave")
			})
		})
	}
	titled(t, true, func(s *scene, _ *[]view.RitualKind) {
		s.Press("1")
		s.Expect("Speak, mortal.")
	})
	titled(t, false, func(s *scene, _ *[]view.RitualKind) {
		s.Press("F1")
		s.ExpectNot("Who comes?")
		s.Press("Esc")
		s.Expect("Speak, mortal.")
	})
}

// TestNoTitle: there is no title for a user who starts with a task, or opens a run.
func TestNoTitle(t *testing.T) {
	play(t, 100, 30, func(o *Options, _ *fakeHost) {
		o.Ritual, o.Begin = Ritual{Title: true}, &Begin{Task: "Weave"}
	}, func(s *scene) { s.ExpectNot("Who comes?") })
}

// TestSounds: one when the user is needed, and one at the end; bells are used if sounds cannot be played.
func TestSounds(t *testing.T) {
	for bells := range 2 {
		var played []Sound
		play(t, 100, 30, func(o *Options, _ *fakeHost) {
			o.Notify.Bell = false
			o.Ritual.Sound = func(s Sound) int { played = append(played, s); return bells }
		}, func(s *scene) {
			s.startWork()
			rung := 0
			s.frontend.screen.OnSend = func(sequence string) { rung += strings.Count(sequence, "\a") }
			s.does(func(p *fakeRun) { p.endTurn("arbiter", decides("ADDRESS_HUMAN", "Which header?")) })
			s.Advance(time.Minute)
			s.Type("The new one\n")
			s.does(func(p *fakeRun) {
				p.endTurn("orch-1", reports("done", "The header is written.", true))
				p.endTurn("arbiter", decides("COMPLETE", "It is done.", "summary", "The loom knows the new header."))
			})
			s.Advance(time.Minute)
			testkit.Same(t, "played", fmt.Sprint([]Sound{SoundAsked, SoundDone}), fmt.Sprint(played))
			testkit.Same(t, "bells", 2*bells, rung)
		})
	}
}
