package tui

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/internal/testkit"
	"github.com/arbiter-cli/arbiter/supervisor"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/input"
)

// TestFromTheFirstWordToTheEnd: nothing begins before the user enters a task; messages reach the run; its
// end stays visible, and another message resumes the run.
func TestFromTheFirstWordToTheEnd(t *testing.T) {
	play(t, 100, 30, nil, func(s *scene) {
		s.Expect("T H E   A R B I T E R", "Speak, mortal.", "2.1.329")
		testkit.Need(t, len(s.host.begun) == 0, "something was begun before anybody spoke")
		s.Type("Weave\n")
		s.Expect("THE WEAVING", "Weave")
		s.Type("Mind the header\n")
		s.expectTook(contract.Say{Text: "Mind the header"})
		s.does(func(p *fakeRun) { p.endTurn("arbiter", decides("CONTINUE", "")) }) // it reads the message next
		s.does(func(p *fakeRun) { p.endTurn("arbiter", decides("COMPLETE", "It is done.", "summary", "All is woven.")) })
		s.Expect("It is done.", "All is woven.", "Speak again, or depart.")
		testkit.Need(t, !s.Ended(), "the screen went with the run")
		s.Type("And once more\n")
		want := []Begin{{Task: "Weave"}, {Task: "And once more", Resume: fakeRunID}}
		testkit.Same(t, "begun", want, s.host.begun)
		testkit.Same(t, "remembered", []string{"Weave", "Mind the header", "And once more"}, s.host.printed)
	})
}

// TestLeaving: Ctrl+C clears the input, then asks; the run is stopped in order, and the screen stays until
// it has ended. Keys with another meaning never leave.
func TestLeaving(t *testing.T) {
	weaving(t, 80, 24, func(s *scene) {
		s.Type("half a thought")
		s.Press("Ctrl+C")
		s.ExpectNot("half a thought", "Leave?")
		s.Press("Ctrl+C")
		s.Expect("Leave?")
		s.Press("n")
		s.ExpectNot("Leave?")
		s.Press("Esc", "q")
		s.Expect("Leave?")
		s.Press("Esc")
		s.ExpectNot("Leave?")
		s.Press("Esc", "Esc", "F2", "q", "F3", "q", `Ctrl+\`)
		testkit.Need(t, !s.Ended(), "it was left by accident")
		s.Press("Ctrl+C", "y")
		err := s.ExpectEnd()
		testkit.Check(t, err == nil, "%v", err)
		testkit.Same(t, "the run was not stopped", false, !s.host.present().over)
	})
}

// TestPermission: a request opens its dialog if the user is not typing, cannot be answered by a key that
// was meant for something else, and is answered exactly.
func TestPermission(t *testing.T) {
	ask := func(s *scene, id string) {
		s.does(func(p *fakeRun) { p.asks("orch-1", id, "Bash", `{"command":"make `+id+`"}`) })
	}
	last := func(s *scene) contract.Permit {
		p, _ := s.host.present().took().(contract.Permit)
		shown := input.PermissionRequest{Params: bridge.PermissionParams{Tool: "Bash", Input: []byte(`{"command":"make ` + p.Request + `"}`)}}
		testkit.Check(t, p.Request == "" || p.Action == shown.Key(), "the answer to %s is not for what was shown: %q",
			p.Request, p.Action)
		p.Action = ""
		return p
	}
	weaving(t, 90, 30, func(s *scene) {
		ask(s, "one")
		s.Expect("Permission request", "make one")
		s.Press("y") // in the same moment: it was meant for the input
		s.Settle()
		testkit.Need(t, last(s).Request == "", "a key that came with the dialog answered it")
		s.Press("Backspace")
		s.Advance(2 * time.Second)
		s.Press("y")
		testkit.Same(t, "answered", (contract.Permit{Request: "one", Behavior: "allow"}), last(s))
		s.Type("I am writing")
		ask(s, "two")
		s.ExpectNot("Permission request")
		s.Expect("Alt+p")
		s.Press("Alt+p", "Ctrl+C") // only closes it
		s.Expect("› I am writing")
		s.Press("Alt+p", "a", "1")
		testkit.Same(t, "answered", (contract.Permit{Request: "two", Behavior: "allow", Scope: "run"}), last(s))
		s.Press("Ctrl+C")
		ask(s, "three")
		s.Advance(time.Second)
		s.Press("Enter") // "no" is marked
		s.Settle()
		testkit.Same(t, "answered", (contract.Permit{Request: "three", Behavior: "deny"}), last(s))
		ask(s, "word")
		s.Advance(time.Second)
		s.Type("make haste, any way") // contains a, n and y
		s.ExpectNot("Permission request")
		got := last(s)
		testkit.Check(t, got.Request != "word", "a text answered %+v", got)
		s.Press("Ctrl+C", "Alt+p", "n")
		ask(s, "four")
		s.Advance(time.Second)
		s.Press("Esc")
		s.ExpectNot("Permission request")
		s.Type("/deny it is late\n")
		testkit.Same(t, "answered", (contract.Permit{Request: "four", Behavior: "deny", Message: "it is late"}),
			last(s))
	})
}

// TestWordsAsTheyArrive: the text of a verdict is shown while its JSON still arrives, and only once when it
// is complete.
func TestWordsAsTheyArrive(t *testing.T) {
	play(t, 80, 24, nil, func(s *scene) {
		s.Type("Weave\n")
		for _, piece := range []string{`{"decision":"ADDRESS_HUMAN","mess`, `age":"Shall it be **re`, `d** or bl`} {
			s.does(func(p *fakeRun) { p.does("arbiter", bridge.Delta{Text: piece, Verdict: true}) })
		}
		s.Expect("Shall it be", "or bl")
		s.ExpectNot("decision")
		s.does(func(p *fakeRun) { p.endTurn("arbiter", decides("ADDRESS_HUMAN", "Shall it be **red** or blue?")) })
		s.Expect("Shall it be red or blue?", "The Arbiter awaits your answer.", "Waits for you")
		s.Expect("asks you: Shall it be red or blue?")
		testkit.Same(t, "how often the question stands there", 2, strings.Count(s.Text(), "Shall it be red"))
		testkit.Same(t, "title", "? arbiter – something waits for you · loom", s.Screen.GetTitle())
	})
}

// TestControls: every control has a slash command that reaches the run.
func TestControls(t *testing.T) {
	testkit.WithoutRace(t)
	weaving(t, 100, 30, func(s *scene) {
		for typed, want := range map[string]contract.CommandBody{
			"/steer Use one pass":   contract.Say{Text: "Use one pass", Strength: "steer"},
			"/note Later":           contract.Say{Text: "Later", Strength: "note"},
			"/stop Enough":          contract.Say{Text: "Enough", Strength: "stop"},
			"/stop":                 contract.Interrupt{},
			"/to orch-1 Look again": contract.Say{Text: "Look again", To: "orch-1"},
			"/interrupt orch-1":     contract.Interrupt{ID: "orch-1"},
			"/summon tester":        contract.ForceAgent{Mode: "tester"},
			"/mode tester":          contract.ForceAgent{Mode: "tester"},
			"/skip":                 contract.SkipStep{},
			"/retry":                contract.RetryLast{},
			"/pause":                contract.Pause{},
			"/continue":             contract.Continue{},
			"/choose retry":         contract.Choose{Option: "retry"},
			"/model haiku":          contract.Configure{Model: "haiku"},
			"/model haiku orch-1":   contract.Configure{Model: "haiku", ID: "orch-1"},
			"//etc/hosts is wrong":  contract.Say{Text: "/etc/hosts is wrong"},
		} {
			s.Press("Ctrl+C")
			if s.Shows("Leave?") {
				s.Press("n")
			}
			s.Type(typed + "\n")
			s.expectTook(want)
		}
		s.Type("/sumon tester\n")
		s.Expect("/summon", "/sumon tester") // it suggests the right command, and the text stays
		s.Press("Ctrl+C")
		for typed, shown := range map[string]string{
			"/context": "Orchestrator I", "/cost": "in all", "/permissions": "Denied by rules", "/task": "Teach the loom",
			"/logbook": "THE LOGBOOK", "/plan": "Prove it with fresh eyes", "/help": "HELP", "/focus orch-2": "generation 1",
		} {
			s.Type(typed + "\n")
			s.Expect(shown)
			s.Press("Esc")
			if typed == "/help" {
				continue
			}
			s.Expect("THE WEAVING") // the user can continue typing
		}
		s.Type("/kill orch-2\n")
		s.expectTook(contract.Kill{ID: "orch-2"})
	})
}

// TestMissingRequirementsAreShown: the screen shows what is missing, and a way out of each situation.
func TestMissingRequirementsAreShown(t *testing.T) {
	play(t, 90, 30, func(_ *Options, h *fakeHost) {
		h.found.Login = LoginNo
		h.login = func() error { h.mu.Lock(); defer h.mu.Unlock(); h.found.Login = LoginYes; return nil }
	}, func(s *scene) {
		s.Expect("not logged in", "Log in", "Rehearse")
		s.Advance(time.Second)
		s.Press("l")
		s.Expect("Speak, mortal.", "weaver@loom.example")
	})
	play(t, 90, 30, func(_ *Options, h *fakeHost) { h.found = Findings{Missing: true, Problem: "no claude on PATH"} },
		func(s *scene) {
			s.Expect("npm install -g @anthropic-ai/claude-code")
			s.Advance(time.Second)
			s.Press("r")
			s.Expect("REHEARSAL")
			s.Type("Weave\n")
			testkit.Same(t, "begun", []Begin{{Task: "Weave", Rehearse: true}}, s.host.begun)
		})
	play(t, 90, 30, nil, func(s *scene) { // a letter that is typed when it opens is no answer
		s.Type("Make it ")
		s.host.mu.Lock()
		s.host.found.Login = LoginNo
		s.host.mu.Unlock()
		s.do(func() { s.frontend.work(s.frontend.root.session.inspect) })
		s.Expect("not logged in")
		s.Type("quiet")
		s.Expect("not logged in")
		s.Advance(time.Second)
		s.Press("q")
		testkit.OK(t, s.ExpectEnd())
	})
	refused := func(_ *Options, h *fakeHost) { h.refuse = errors.New("another run works in /home/weaver/loom already") }
	play(t, 90, 30, refused, func(s *scene) {
		s.Type("Weave\n")
		s.Expect("It cannot begin", "another run works in")
		s.Press("Enter") // of another one
		s.Expect("It cannot begin")
		s.Advance(time.Second)
		s.Press("Enter")
		s.ExpectNot("It cannot begin")
		s.Expect("› Weave") // the text is not lost
	})
}

// TestResume: earlier messages are shown again, with the run.
func TestResume(t *testing.T) {
	past := func(o *Options, h *fakeHost) {
		h.past = []queuedEvent{
			{at: time.Date(1999, 12, 31, 12, 0, 0, 0, time.UTC),
				e: contract.Event{ID: "human", Body: contract.Message{MessageID: "m1", From: "human", To: "arbiter", Kind: "task",
					Text: "What was asked long ago"}}},
		}
		o.Begin = &Begin{Resume: fakeRunID}
	}
	play(t, 90, 30, past, func(s *scene) {
		s.Settle()
		s.Expect("What was asked long ago", "THE WEAVING")
	})
	// Also events that a crash kept out of the log, which are written when the log is opened.
	play(t, 90, 30, func(o *Options, h *fakeHost) {
		past(o, h)
		h.missed = []queuedEvent{{at: h.past[0].at, e: contract.Event{ID: "arbiter", Body: contract.Message{
			MessageID: "m2", From: "arbiter", To: "human", Kind: "progress", Text: "The last word before the crash",
		}}}}
	}, func(s *scene) {
		s.Settle()
		_, below, _ := strings.Cut(s.Text(), "What was asked long ago")
		testkit.Check(t, strings.Contains(below, "The last word before the crash"), "the order is another:\n%s",
			s.Text())
		testkit.Same(t, "how often it is reported", 1, strings.Count(s.Text(), "The last word"))
	})
	// Also without a login: the messages can be read, and the run reports what it lacks.
	play(t, 90, 30, func(o *Options, h *fakeHost) { past(o, h); h.found.Login = LoginNo }, func(s *scene) {
		s.Settle()
		s.Expect("What was asked long ago", "THE WEAVING")
		s.ExpectNot("not logged in")
	})
}

// TestTerminalOfAnotherProgram: the editor's text and the screen come back.
func TestTerminalOfAnotherProgram(t *testing.T) {
	play(t, 80, 24, func(_ *Options, h *fakeHost) {
		h.edit = func(text string) (string, error) { return text + " and more", nil }
	}, func(s *scene) {
		s.Type("A word")
		s.Press("Ctrl+G")
		s.Expect("› A word and more")
		s.Press("Ctrl+Z")
		testkit.Same(t, "suspended", 1, s.host.paused)
		s.Expect("› A word and more")
	})
}

// TestSearchAndCopy: text is found far above, and copied as it was written; a search finds text that was
// never drawn.
func TestSearchAndCopy(t *testing.T) {
	play(t, 80, 24, nil, func(s *scene) {
		s.Type("Weave\n")
		s.does(func(p *fakeRun) {
			for i := range 300 {
				text := fmt.Sprintf("Thread number %d", i)
				if i == 17 {
					text = "The hidden needle"
				}
				p.sink(time.Now(), contract.Event{ID: "arbiter",
					Body: contract.Message{MessageID: fmt.Sprint(i), From: "arbiter", To: "human", Kind: "report", Text: text}})
			}
		})
		s.Expect("Thread number 299")
		s.Press("Esc", "/")
		s.Type("HIDDEN needle\n")
		s.Expect("The hidden needle")
		s.ExpectNot("Thread number 299")
		s.Press("y")
		testkit.Same(t, "clipboard", "The hidden needle", string(s.Screen.GetClipboardData()))
		s.Expect("Sent 17 characters to the terminal's clipboard.") // whether it took them, it does not say
		s.ExpectNot("Copied")
		s.Press("G")
		s.Expect("Thread number 299")
		s.Press("/")
		s.Type("nowhere to be found\n")
		s.Expect("No more of")
	})
}

// TestScrollPositionIsKept: a user who reads further up stays there when entries arrive below.
func TestScrollPositionIsKept(t *testing.T) {
	report := func(p *fakeRun, i int) {
		p.sink(time.Now(), contract.Event{ID: "arbiter",
			Body: contract.Message{MessageID: fmt.Sprint(i), From: "arbiter", To: "human", Kind: "report",
				Text: fmt.Sprintf("Thread number %d", i)}})
	}
	play(t, 80, 24, nil, func(s *scene) {
		s.Type("Weave\n")
		s.does(func(p *fakeRun) {
			for i := range 50 {
				report(p, i)
			}
		})
		s.Press("PgUp", "PgUp")
		read := func() []string {
			rows := s.Rows()[6:20]
			for i, row := range rows { // the scrollbar moves
				rows[i] = strings.TrimRight(row, "│ ")
			}
			return rows
		}
		before := read()
		s.does(func(p *fakeRun) {
			for i := range 50 {
				report(p, 50+i)
			}
		})
		testkit.Same(t, "the reader was moved", before, read())
		s.Expect("50 new below · PgDn")
		s.Press("Esc")
		s.Expect("50 new below · G")
		s.Resize(60, 20)
		s.Resize(80, 24)
		testkit.Same(t, "resizing moved the reader", before, read())
	})
}

// TestLogbook: every event is there, as a line or as it was reported; a filter keeps matching events,
// including later ones.
func TestLogbook(t *testing.T) {
	weaving(t, 110, 30, func(s *scene) {
		s.Press("F2")
		s.Expect("THE LOGBOOK", "all events")
		s.Press("f")
		s.Type("orch-1 tool_use ")
		s.Paste("grep")
		s.Press("Enter")
		s.Expect("only Orchestrator I · tool_use · “grep”", "ReadHeader")
		s.ExpectNot("go test ./header")
		s.does(func(p *fakeRun) {
			p.does("orch-1", bridge.ToolUse{Tool: "Grep", ToolUse: "t9", Input: []byte(`{"pattern":"Later"}`)})
		})
		s.Expect("Later")
		s.Press("d")
		s.Expect(`"event":"tool_use"`)
		s.Press("Esc")
		s.Expect("all events")
		for typed, want := range map[string]string{
			"grep orchestrator i Tool_Use": "only Orchestrator I · tool_use · “grep”",
			"Orchestrator II tool_use":     "only Orchestrator II · tool_use",
			"the orchestrator":             "only “the orchestrator”",
			"orch-2 of Orchestrator I":     "only Orchestrator II · “of Orchestrator I”",
		} {
			s.Press("f")
			s.Type(typed + "\n")
			s.Expect(want)
			s.Press("Esc")
		}
	})
}

// TestBellRingsOnce: the bell rings once each time the user is needed.
func TestBellRingsOnce(t *testing.T) {
	var f *Frontend
	play(t, 80, 24, nil, func(s *scene) {
		f = s.frontend
		s.startWork()
		rung := 0
		f.screen.OnSend = func(sequence string) {
			if strings.Contains(sequence, "\a") {
				rung++
			}
		}
		for i := range 3 {
			s.does(func(p *fakeRun) {
				p.asks("orch-1", fmt.Sprint("p", i), "Bash", fmt.Sprintf(`{"command":"make %d"}`, i))
			})
		}
		testkit.Same(t, "how often the bell rang", 1, rung)
		for _, key := range []string{"y", "1", "1"} { // the others wait in the panel
			s.Advance(time.Second)
			s.Press(key)
		}
		s.does(func(p *fakeRun) { p.asks("orch-1", "again", "Bash", `{"command":"make again"}`) })
		testkit.Same(t, "how often the bell rang", 2, rung)
	})
}

// TestDragBeyondTheConversation: text is also copied if the button is released above the conversation, on the agents.
func TestDragBeyondTheConversation(t *testing.T) {
	weaving(t, 100, 30, func(s *scene) {
		y := slices.IndexFunc(s.Rows(), func(row string) bool { return strings.Contains(row, "May I change") })
		s.Button(20, y, true)
		s.Move(20, y-1)
		s.Move(20, 2)
		s.Button(20, 2, false)
		s.Settle()
		got := string(s.Screen.GetClipboardData())
		testkit.Includes(t, "copied", got, "May I change")
	})
}

// TestNameIsShownAnew: if an agent gets another name, what was laid out with the old one shows the new one.
func TestNameIsShownAnew(t *testing.T) {
	weaving(t, 100, 30, func(s *scene) {
		s.Expect("Orchestrator II → The Arbiter")
		s.present(func(st *supervisor.State) {
			for i, a := range st.Agents {
				if a.ID == "orch-2" {
					renamed := *a
					renamed.Name, st.Agents[i] = "The reader", &renamed
				}
			}
		})
		s.Expect("The reader → The Arbiter")
	})
}
