package tui

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/internal/testkit"
	"github.com/arbiter-cli/arbiter/supervisor"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/input"
)

// suggests makes an agent ask permission for something that rules would cover.
func (p *fakeRun) suggests(id, request, raw string, rules ...string) {
	p.t.Helper()
	p.do(input.PermissionAsked{
		Params: bridge.PermissionParams{AgentRef: p.agent(id).AgentRef, Request: request, Tool: "Bash",
			Input: json.RawMessage(raw), Subagent: "t2"},
		Behavior: "ask", By: "mode", Reason: "no rule allows it", Suggestions: rules,
	})
}

// permit returns the last answer, without the hash of its action.
func (s *scene) permit() contract.Permit {
	p, _ := s.host.present().took().(contract.Permit)
	testkit.Check(s.T, p.Request == "" || len(p.Action) == 64, "the answer names no action: %+v", p)
	p.Action = ""
	return p
}

// expectPermit fails unless that was the last answer.
func (s *scene) expectPermit(want contract.Permit) {
	s.T.Helper()
	testkit.Same(s.T, "answered", want, s.permit())
}

// expectTook fails unless that was the last command that the run took.
func (s *scene) expectTook(want contract.CommandBody) {
	s.T.Helper()
	testkit.Same(s.T, "the run took", want, s.host.present().took())
}

const goTest = `{"command":"go test ./header"}`

// TestPermissionIsWidened: to allow more than once the user must select the scope, and no single key does
// so.
func TestPermissionIsWidened(t *testing.T) {
	testkit.WithoutRace(t)
	for _, c := range []struct {
		keys []string
		want contract.Permit
	}{
		{[]string{"a", "1"}, contract.Permit{Request: "one", Behavior: "allow", Scope: "run"}},
		{[]string{"a", "2"},
			contract.Permit{Request: "one", Behavior: "allow", Scope: "run", Rule: "Bash(go test ./header)"}},
		{[]string{"w", "3"}, contract.Permit{Request: "one", Behavior: "allow", Scope: "always",
			Rule: "Bash(go test *)"}},
		{[]string{"w", "Enter"}, contract.Permit{Request: "one", Behavior: "allow", Scope: "always"}},
		{[]string{"w"}, contract.Permit{}},
		{[]string{"a", "Esc"}, contract.Permit{}},
		{[]string{"Shift+Tab", "Enter", "Tab", "Enter"},
			contract.Permit{Request: "one", Behavior: "allow", Scope: "always", Rule: "Bash(go test ./header)"}},
	} {
		weaving(t, 90, 30, func(s *scene) {
			s.does(func(p *fakeRun) { p.suggests("orch-1", "one", goTest, "Bash(go test ./header)", "Bash(go test *)") })
			s.Expect("Orchestrator I (developer), for a subagent of its own, wants to use Bash",
				"why    no rule allows it", "where  /home/weaver/loom")
			s.Advance(2 * time.Second)
			s.Press("Esc", "Alt+p")
			s.Press(c.keys...)
			s.expectPermit(c.want)
		})
	}
	// In a dialog that an event opened the first letters of a word give no lasting permission, whether or not there are
	// rules to choose from.
	for i, word := range []string{"what is that", "a loom is needed", "wait 1 2 3", "any form", "any form"} {
		weaving(t, 90, 30, func(s *scene) {
			var rules []string
			if i%2 == 0 {
				rules = []string{"Bash(go test *)"}
			}
			s.does(func(p *fakeRun) { p.suggests("orch-1", "one", goTest, rules...) })
			s.Advance(2 * time.Second)
			s.Type(word)
			s.ExpectNot("Permission request", "Always allow here")
			if got := s.permit(); got != (contract.Permit{}) || s.frontend.root.prompt.input.Text() != word {
				t.Errorf("%q: answered %+v, the input is %q", word, got, s.frontend.root.prompt.input.Text())
			}
		})
	}
}

// TestLongActionIsRead: an action that is not completely visible cannot be allowed for longer than once
// before it was read to its end.
func TestLongActionIsRead(t *testing.T) {
	raw, _ := json.Marshal(map[string]string{"command": strings.Repeat("echo one\n", 60) + "rm -rf hidden"})
	weaving(t, 80, 24, func(s *scene) {
		s.does(func(p *fakeRun) { p.suggests("orch-1", "one", string(raw)) })
		s.Advance(2 * time.Second)
		s.Expect("There is more of it", "more lines")
		s.ExpectNot("rm -rf hidden")
		s.Press("Alt+p", "a", "w")
		s.Expect("Permission request")
		s.expectPermit(contract.Permit{})
		s.Press("Space", "Space", "Space", "Space", "Space", "Space", "Space", "Space", "Space", "Space", "Space")
		s.Expect("rm -rf hidden")
		s.ExpectNot("There is more of it")
		s.Press("a", "1")
		s.expectPermit(contract.Permit{Request: "one", Behavior: "allow", Scope: "run"})
	})
}

// TestPermissionBySlash: slash commands give the same answers; a refusal that was begun in a dialog applies
// to its request, even if others wait. A list that is opened over a dialog gets the keys, and the dialog returns
// after it.
func TestPermissionBySlash(t *testing.T) {
	weaving(t, 90, 30, func(s *scene) {
		s.does(func(p *fakeRun) { p.suggests("orch-1", "one", goTest, "Bash(go test *)") })
		s.Advance(2 * time.Second)
		s.Expect("Permission request")
		s.Press("Ctrl+P")
		s.ExpectNot("Permission request")
		s.Press("y") // a letter of what is looked for, no answer
		s.Press("Esc")
		s.Expect("Permission request")
		s.expectPermit(contract.Permit{})
		s.Press("Esc")
		s.Type("/allow always Bash(go test *)\n")
		s.expectPermit(contract.Permit{Request: "one", Behavior: "allow", Scope: "always",
			Rule: "Bash(go test *)"})
		s.does(func(p *fakeRun) {
			p.suggests("orch-1", "two", `{"command":"make two"}`)
			p.suggests("orch-1", "three", `{"command":"make **/three"}`)
		})
		s.Advance(2 * time.Second)
		s.Press("Alt+p", "j")
		s.Expect("What waits for you", "▸ Orchestrator I asks permission  Bash: make **/three")
		s.Press("3")
		s.Type("use the loom\n")
		s.expectPermit(contract.Permit{Request: "three", Behavior: "deny", Message: "use the loom"})
		s.Press("Alt+p", "r")
		s.Type("not two")
		s.does(func(p *fakeRun) { p.do(input.PermissionWithdrawn{Request: "two"}) })
		s.waits("four")
		s.Press("Enter") // it is not meant for another one
		s.Expect("That request no longer waits.", "/deny not two")
		s.expectPermit(contract.Permit{Request: "three", Behavior: "deny", Message: "use the loom"})
		s.Press("Enter")
		s.expectPermit(contract.Permit{Request: "four", Behavior: "deny", Message: "not two"})
		s.waits("five")
		s.Press("Alt+p", "r", "Ctrl+U")
		s.Type("/allow\n") // another answer to the same one
		s.expectPermit(contract.Permit{Request: "five", Behavior: "allow", Scope: "once"})
	})
}

// TestQuestionOfAnMCPServer: it is answered with a text, or denied, also if others wait; nothing allows it, and no
// answer to all requests is one to it.
func TestQuestionOfAnMCPServer(t *testing.T) {
	weaving(t, 100, 30, func(s *scene) {
		asks := func(request string) {
			s.does(func(p *fakeRun) {
				p.do(input.PermissionAsked{Behavior: "ask", By: "mode", Reason: "no rule allows it",
					Params: bridge.PermissionParams{AgentRef: p.agent("orch-1").AgentRef, Request: request, Tool: "Elicitation",
						Input: json.RawMessage(`{"server":"maps","message":"Which region?","schema":{"type":"object",` +
							`"properties":{"region":{"type":"string"}}}}`)}})
			})
			s.Advance(2 * time.Second)
		}
		asks("one")
		s.Expect("Permission request", "Which region?", "y Answer   ▸n Deny")
		s.ExpectNot("Allow", "Always here", "say why")
		s.Press("y")
		s.Type("eu-west\n")
		s.expectPermit(contract.Permit{Request: "one", Behavior: "allow", Scope: "once", Message: "eu-west"})
		asks("two")
		s.Press("Esc")
		s.Type("/allow run aground\n") // no scope
		s.expectPermit(contract.Permit{Request: "two", Behavior: "allow", Scope: "once", Message: "run aground"})
		asks("three")
		s.waits("four", "five")
		s.Press("Alt+p")
		s.Expect("What waits for you · 1 of 3", "1 Answer   ▸2 Deny")
		s.Press("A")
		s.Expect("There is no other one of its kind.")
		s.Press("j")
		s.Expect("A: all 2 permission requests")
		s.Press("k", "1")
		s.Type("{\"region\":\"eu\"}\n")
		s.expectPermit(contract.Permit{Request: "three", Behavior: "allow", Scope: "once", Message: `{"region":"eu"}`})
	})
}

// TestAnswersOfAnOpenedDialog: every answer in it has its own letter.
func TestAnswersOfAnOpenedDialog(t *testing.T) {
	testkit.WithoutRace(t)
	for _, c := range []struct {
		keys string
		want contract.Permit
	}{
		{"w3", contract.Permit{Request: "one", Behavior: "allow", Scope: "always", Rule: "Bash(go test *)"}},
		{"a2", contract.Permit{Request: "one", Behavior: "allow", Scope: "run", Rule: "Bash(go test ./header)"}},
		{"ruse the loom\n", contract.Permit{Request: "one", Behavior: "deny", Message: "use the loom"}},
		{"rBash is not for you\n", contract.Permit{Request: "one", Behavior: "deny", Message: "Bash is not for you"}},
	} {
		weaving(t, 90, 30, func(s *scene) {
			s.does(func(p *fakeRun) { p.suggests("orch-1", "one", goTest, "Bash(go test ./header)", "Bash(go test *)") })
			s.Advance(2 * time.Second)
			s.Expect("w Always here", "r Deny, and say why")
			s.Type(c.keys)
			s.expectPermit(c.want)
		})
	}
}

// waits makes Orchestrators ask for permission, each for its own command.
func (s *scene) waits(requests ...string) {
	for _, id := range requests {
		s.does(func(p *fakeRun) { p.suggests("orch-1", id, `{"command":"make `+id+`"}`) })
	}
}

// TestStepBackFromDialogs: Esc puts all waiting requests aside, until another one arrives; then the panel
// shows it among them. The number of waiting requests is always visible.
func TestStepBackFromDialogs(t *testing.T) {
	weaving(t, 90, 30, func(s *scene) {
		s.waits("one", "two", "three", "four")
		s.Expect("Permission request", "make one", "4 requests wait")
		s.Press("Esc")
		s.ExpectNot("Permission request", "NORMAL")
		s.Expect("Alt+p: 4 permission requests wait")
		s.does(func(p *fakeRun) { p.do(input.PermissionWithdrawn{Request: "one"}) })
		s.ExpectNot("Permission request")
		s.Press("Esc")
		s.Expect("NORMAL")
		s.waits("five")
		s.Expect("What waits for you · 4 of 4", "▸ Orchestrator I asks permission  Bash: make five")
		s.waits("six")
		s.Expect("What waits for you · 4 of 5", "▸ Orchestrator I asks permission  Bash: make five")
		s.does(func(p *fakeRun) { p.do(input.PermissionWithdrawn{Request: "two"}) })
		s.Expect("What waits for you · 3 of 4", "▸ Orchestrator I asks permission  Bash: make five")
		s.Press("Esc")
		s.ExpectNot("What waits for you")
		s.Press("Alt+p")
		s.Expect("What waits for you · 1 of 4", "▸ Orchestrator I asks permission  Bash: make three")
		s.Press("2")
		got := s.permit()
		testkit.Check(t, got.Request == "three" && got.Behavior == "deny", "answered %+v", got)
		s.Expect("What waits for you · 1 of 3", "make four") // the next item follows
	})
}

// TestDialogOverAResume: a request that waited when the last process ended is shown at once, and its agent
// asks again. A dialog about it stays open in between, and one that was put aside does not come back.
func TestDialogOverAResume(t *testing.T) {
	for _, aside := range []bool{false, true} {
		weaving(t, 90, 30, func(s *scene) {
			s.waits("one")
			s.Expect("Permission request", "make one")
			shown := s.Expect
			if aside {
				s.Press("Esc")
				shown = s.ExpectNot
			}
			s.Settle()
			shown("Permission request")
			s.does(func(p *fakeRun) {
				p.do(input.Resumed{Options: p.Snapshot().Options, Claude: p.Snapshot().Lifecycle.Claude()})
			})
			shown("Permission request")
			orch := s.host.present().agent("orch-1")
			s.does(func(p *fakeRun) { p.do(input.Timer{Key: fmt.Sprintf("restart/%s/%d", orch.ID, orch.Generation)}) })
			s.does(func(p *fakeRun) { p.suggests("orch-1", "one-again", `{"command":"make one"}`) })
			open := s.host.present().Snapshot().Permission.Open
			testkit.Need(t, len(open) == 1 && open[0].ID == "one", "open requests: %+v", open)
			s.Settle()
			shown("Permission request")
		})
	}
}

// TestPagesAndDialogs: no dialog opens over a page by itself, and a page that is opened over a dialog hides
// it until the page is left.
func TestPagesAndDialogs(t *testing.T) {
	weaving(t, 90, 30, func(s *scene) {
		for _, page := range []struct{ key, shown string }{{"F1", "HELP"}, {"F2", "THE LOGBOOK"}, {"F3", "THE PLAN"}} {
			s.Press(page.key)
			s.Expect(page.shown)
			s.waits("one")
			s.ExpectNot("Permission request")
			s.Expect(page.shown, "Alt+p: a permission request waits")
			s.Press("Esc")
			s.Expect("Permission request", "make one")
			s.Press("y")
			s.expectPermit(contract.Permit{})
			s.Press("Ctrl+C")
			s.Press(page.key)
			s.does(func(p *fakeRun) { p.do(input.PermissionWithdrawn{Request: "one"}) })
			s.Press("Esc")
			s.ExpectNot("Permission request")
		}
		s.waits("two")
		s.Advance(2 * time.Second)
		s.Expect("Permission request")
		s.Press("F1")
		s.ExpectNot("Permission request")
		s.Expect("HELP", "Alt+p: a permission request waits")
		s.Press("Down", "Esc")
		s.Expect("Permission request")
		s.Advance(2 * time.Second)
		s.Press("y")
		s.expectPermit(contract.Permit{Request: "two", Behavior: "allow"})
	})
}

// TestPermissionsAreChanged: slash commands change mode and rules; allow-all needs the user to accept the
// risk first.
func TestPermissionsAreChanged(t *testing.T) {
	testkit.WithoutRace(t)
	weaving(t, 100, 30, func(s *scene) {
		for typed, want := range map[string]contract.CommandBody{
			"/permissions accept-edits":                contract.Configure{Permissions: "accept-edits"},
			"/permissions allow-all i-accept-the-risk": contract.Configure{Permissions: "allow-all", AcceptRisk: true},
			"/allow Bash(go test *)":                   contract.Configure{Allow: "Bash(go test *)"},
			"/ask Edit(go.mod)":                        contract.Configure{Ask: "Edit(go.mod)"},
			"/deny Read(~/.ssh/**)":                    contract.Configure{Deny: "Read(~/.ssh/**)"},
		} {
			s.Type(typed + "\n")
			s.expectTook(want)
		}
		for typed, shown := range map[string]string{
			"/allow Bahs": "No tool has the name", "/allow everything": "No tool has the name",
			"/ask Bash(":     "parenthesis is missing",
			"/deny not that": "No permission request is open", "/allow": "No permission request is open",
		} {
			s.Type(typed + "\n")
			s.Expect(shown)
			s.Press("Ctrl+C")
		}
		before := s.host.present().took()
		s.Type("/permissions allow-all\n")
		s.Expect("Allow everything?", "without asking", "confines them")
		s.Press("Enter")
		s.expectTook(before)
		s.Type("/permissions allow-all\n")
		s.Press("y")
		s.expectTook(contract.Configure{Permissions: "allow-all", AcceptRisk: true})
		s.Expect("ALLOW ALL")
	})
}

// trip makes an agent fail with ways out.
func (s *scene) trip(options ...string) {
	s.T.Helper()
	s.present(func(st *supervisor.State) {
		st.Question.Recovery = supervisor.QuestionRecovery{Options: options, Agent: "orch-1",
			Text: "The thread of orch-1 snapped"}
	})
	s.does(func(p *fakeRun) {
		p.sink(time.Now(),
			contract.Event{ID: "orch-1",
				Body: contract.Error{Category: "crash", Message: "The thread of orch-1 snapped",
					RecoveryOptions: options}})
	})
}

// TestRecoveryOptions: the screen shows ways out above the input, and a key takes one. Their dialog does not open
// while the user types, and closes when the problem ends.
func TestRecoveryOptions(t *testing.T) {
	testkit.WithoutRace(t)
	for _, size := range [][2]int{{100, 30}, {40, 12}} {
		weaving(t, size[0], size[1], func(s *scene) {
			s.Type("I write ")
			s.trip("retry", "skip", "cancel")
			s.ExpectNot("Try again")
			s.Expect("Alt+c: retry", "I write")
			s.Type("on")
			s.Expect("I write on")
			s.Press("Alt+c")
			s.Expect("Try again")
			s.Press("Esc")
			s.ExpectNot("Try again", "Alt+c: retry") // put aside
			s.Press("Alt+c", "1")
			s.expectTook(contract.Choose{Option: "retry"})
		})
	}
	weaving(t, 100, 30, func(s *scene) {
		s.trip("retry", "cancel")
		s.Expect("Alt+c: retry · cancel")
		s.Press("Alt+c")
		s.does(func(p *fakeRun) { p.endTurn("orch-1", reports("question", "Shall I?", true)) }) // it works again
		s.ExpectNot("Try again", "Alt+c")
		s.Press("Alt+c")
		s.Expect("No way out is offered")

		s.trip("retry", "cancel")
		s.Press("Alt+c", "Right", "Enter")
		s.Expect("End the run?") // no serious action without a question
		s.Press("Enter")
		got, ok := s.host.present().took().(contract.Choose)
		testkit.Check(t, !ok, "the run was ended by Enter alone: %+v", got)
		s.Type("/choose cancel\n")
		s.Expect("End the run?")
		s.Press("y")
		s.expectTook(contract.Choose{Option: "cancel"})
	})
}

// TestRecoveryOutsideTheRun: actions that are only possible outside of the run are reported, not offered.
func TestRecoveryOutsideTheRun(t *testing.T) {
	weaving(t, 100, 30, func(s *scene) {
		s.trip("retry", "name another with --claude PATH")
		s.Type("/choose ")
		lines, _ := s.frontend.root.prompt.input.Popup(80, 9)
		testkit.Check(t, len(lines) == 1 && strings.HasPrefix(lines[0].Text(), "retry"), "/choose is completed to %v", lines)
		s.Press("Esc", "Ctrl+C")
		s.trip("log in again: `claude auth login`")
		s.Expect("Something is for you to do: Alt+c")
		s.Press("Alt+c")
		s.Expect("What waits for you", "What can be done: log in again")
		s.Press("Enter", "Esc")
		s.ExpectNot("Alt+c", "What waits for you")
		s.present(func(st *supervisor.State) { st.Question.Recovery.Agent = "arbiter" }) // no choice waits
		s.Press("Alt+c")
		s.Expect("The thread of orch-1 snapped", "log in again", "So be it")
		s.Press("Enter")
		_, ok := s.host.present().took().(contract.Choose)
		testkit.Check(t, !ok, "something was chosen")
	})
}

// TestIrreversibleControls: every control has a key, and irreversible ones ask first.
func TestIrreversibleControls(t *testing.T) {
	last := func(s *scene) contract.CommandBody { s.Settle(); return s.host.present().took() }
	weaving(t, 100, 30, func(s *scene) {
		s.Press("Esc", "S")
		s.expectTook(contract.SkipStep{})
		s.Press("T")
		s.expectTook(contract.RetryLast{})
		s.Press("m")
		s.Expect("Summon", "reviewer")
		s.Type("review")
		s.Press("Enter")
		s.expectTook(contract.ForceAgent{Mode: "reviewer"})
		for _, way := range []func(){func() { s.Press("Esc", "R") }, func() { s.Type("/reset\n") }} {
			s.Press("Esc", "i", "Ctrl+U")
			way()
			s.Settle()
			s.Expect("Reset?")
			s.Press("Enter") // "no" is marked
			got := last(s)
			testkit.Check(t, got != (contract.Reset{}), "it was reset unasked")
		}
		for _, way := range []func(){func() { s.Press("Esc", "Q") }, func() { s.Type("/cancel\n") }} {
			s.Press("Esc", "i", "Ctrl+U")
			way()
			s.Settle()
			s.Expect("End the run?")
			s.Press("Ctrl+C") // not an answer: it asks for something else
			s.Settle()
			s.Expect("Leave?")
			s.Press("n")
			got := last(s)
			testkit.Check(t, got != (contract.Cancel{}), "it was cancelled unasked")
		}
		s.Press("Esc", "R", "y")
		s.expectTook(contract.Reset{})
		s.Press("i", "Ctrl+U")
		s.Type("/summon wizard\n")
		s.Expect(`There is no mode "wizard"`, "/summon wizard")
		s.Press("Ctrl+C", "Esc", "Q", "y")
		s.expectTook(contract.Cancel{})
	})
}
