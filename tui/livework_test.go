package tui

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/internal/testkit"
	"github.com/arbiter-cli/arbiter/supervisor"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/input"
	"github.com/arbiter-cli/arbiter/supervisor/runconfig"
)

// crowd brings a run to the point where one agent runs a command, one has three subagents, one waits for an
// overloaded API, and one for the human.
func (s *scene) crowd() {
	s.T.Helper()
	s.begins("Teach the loom the new header")
	s.does(func(p *fakeRun) {
		p.call("arbiter", "set_plan", `{"steps":[{"text":"Read the header","status":"done"},
			{"text":"Write the header","status":"active"},{"text":"Find its callers","status":"active"},
			{"text":"Prove it"}]}`)
		for _, brief := range []string{"Write the header.", "Find its callers.", "Review it.",
			"Remove the old build."} {
			p.call("arbiter", "spawn_orchestrator", fmt.Sprintf(`{"prompt":%q,"mode":"developer"}`, brief))
		}
		p.endTurn("arbiter", decides("CONTINUE", "The weaving begins."))
		for i := 1; i <= 4; i++ {
			p.full(fmt.Sprint("orch-", i), 20_000*i*i/2)
		}
		use := func(id, use, tool, raw string) {
			p.does(id, bridge.ToolUse{Tool: tool, ToolUse: use, Input: []byte(raw)})
		}
		p.does("orch-1", bridge.Assistant{Text: "The header has a **version** now; the parser reads it first."})
		use("orch-1", "e1", "Edit",
			`{"file_path":"/home/weaver/loom/header/header.go","old_string":"a","new_string":"a\nb\nc"}`)
		p.does("orch-1", bridge.ToolResult{ToolUse: "e1", Text: "The file has been updated."})
		use("orch-1", "b1", "Bash", `{"command":"go test ./...","description":"Run the tests"}`)
		for i, name := range []string{"parser", "writer", "tests"} {
			id := fmt.Sprint("s", i)
			use("orch-2", id, "Agent",
				`{"description":"Callers in the `+name+`","prompt":"Look.","subagent_type":"Explore"}`)
			p.does("orch-2", bridge.SubagentStart{Description: "Callers in the " + name, ToolUse: id, Type: "Explore"})
			p.does("orch-2", bridge.ToolUse{Tool: "Grep", ToolUse: "g" + id, Subagent: id,
				Input: []byte(`{"pattern":"ReadHeader"}`)})
			p.does("orch-2", bridge.SubagentProgress{Description: "Callers in the " + name, ToolUse: id,
				Tokens: 18_000 * (i + 1)})
		}
		use("orch-3", "b3", "Bash", `{"command":"go vet ./..."}`)
		p.does("orch-3", bridge.ToolResult{ToolUse: "b3", IsError: true,
			Text: "Exit code 1\nvet: header.go:3: unreachable"})
	})
	s.Advance(11 * time.Second)
	s.does(func(p *fakeRun) {
		p.does("orch-2", bridge.SubagentStop{Description: "Callers in the parser", ToolUse: "s0", Status: "completed",
			Tokens: 19_000})
		p.does("orch-3", bridge.Retry{Attempt: 2, DelayMS: 24_000, Status: 529, Reason: "overloaded"})
		p.asks("orch-4", "perm-1", "Bash", `{"command":"rm -rf build && mkdir build"}`)
	})
	s.Press("Esc") // Alt+p opens the dialog again
	s.Settle()
}

// TestAgentActivityIsShown: at every width the screen shows the running command and its time, the subagents, the
// wait for the API, and the wait for the human. The seconds are updated.
func TestAgentActivityIsShown(t *testing.T) {
	testkit.WithoutRace(t)
	few := [][2]int{{80, 24}, {120, 40}, {200, 50}}
	for _, size := range effort(few, few, append(few, [2]int{160, 45}, [2]int{300, 90})) {
		play(t, size[0], size[1], nil, func(s *scene) {
			s.crowd()
			s.Expect("Bash go test ./...", "11s", "API overloaded", "again in 0:24",
				"permission?", "rm -rf build", " ask")
			if size[0] >= tileWidth {
				s.Expect("3 subagents, 1 done")
			}
			if size[0] >= planWidth {
				s.Expect("Callers in the writer  Grep ReadHeader", "36k", "├", "└")
			} else {
				s.Expect("2 of 8 subagents: Callers in the writer")
				s.ExpectNot("├")
			}
			if size[0] >= tileWidth {
				s.Expect("Edit header/header.go", "+2", "vet: header.go:3: unreachable")
			} else {
				s.ExpectNot("unreachable")
			}
			s.Advance(5*time.Second + 900*time.Millisecond) // a frame is drawn each half second
			s.Expect("16s", "again in 0:19")
			s.does(func(p *fakeRun) {
				p.does("orch-1", bridge.ToolResult{ToolUse: "b1", Text: "ok  \tloom/header\t0.012s"})
				p.does("orch-3", bridge.Delta{Text: "Now it is through, and the words arrive."})
				p.full("orch-3", 30_000)
			})
			s.Expect("thinking", "the words arrive.")
			s.ExpectNot("API overloaded")
			s.Advance(3 * time.Minute)
			s.Expect("thinking, without a word")
		})
	}
}

// TestNarrowScreenFolds: on a narrow screen the plan becomes one bar, and finished agents become a number.
func TestNarrowScreenFolds(t *testing.T) {
	weaving(t, 80, 24, func(s *scene) {
		s.Expect("Plan ", "1/4", "Write the header")
		s.ExpectNot("Prove it with fresh eyes")
		s.does(func(p *fakeRun) {
			p.call("arbiter", "release_orchestrator", `{"id":"orch-2","reason":"no longer needed"}`)
		})
		s.Expect("1 agent finished")
		s.ExpectNot("○ Orchestrator II", "– Orchestrator II")
		s.Resize(120, 40)
		s.Expect("– Orchestrator II", "Prove it with fresh eyes")
		s.ExpectNot("1 agent finished")
		s.Resize(80, 24)
		s.does(func(p *fakeRun) {
			for _, id := range []string{"orch-3", "orch-4"} { // three have ended: a wide screen lists the last two
				p.call("arbiter", "spawn_orchestrator", `{"prompt":"Look at it."}`)
				p.call("arbiter", "release_orchestrator", `{"id":"`+id+`","reason":"no longer needed"}`)
			}
		})
		s.Expect("3 agents finished")
	})
}

// TestSubagentsFold by a key and by the mouse, for one agent and for all.
func TestSubagentsFold(t *testing.T) {
	testkit.WithoutRace(t)
	for _, size := range [][2]int{{120, 40}, {200, 50}, {80, 24}} {
		play(t, size[0], size[1], nil, func(s *scene) {
			s.crowd()
			see := func(open bool) {
				t.Helper()
				got := strings.Contains(s.Text(), "└ ◆ Callers in the tests")
				testkit.Check(t, got == open, "%v: unfolded %v, want %v:\n%s", size, got, open, s.Text())
			}
			open := size[0] >= planWidth
			see(open)
			s.Press("Esc", "e")
			see(!open)
			s.Press("Tab", "Tab", "e") // another agent's
			s.Settle()
			see(!open)
			s.Press("]", "e")
			see(open)
			s.Press("[", "[", "[", "e")
			if size[0] >= tileWidth {
				s.ClickOn("3 subagents")
				see(false)
			}
		})
	}
}

// TestTileOpensItsAgent by a click.
func TestTileOpensItsAgent(t *testing.T) {
	testkit.WithoutRace(t)
	play(t, 200, 50, nil, func(s *scene) {
		s.crowd()
		s.ClickOn("vet: header.go:3")
		s.Expect("generation 1", "Orchestrator III")
		s.ExpectNot("THE WEAVING")
	})
}

// TestPermissionModeCycles with Shift+Tab and by a click, never to allow-all, and is visible at every width. The
// status line does not show a mode that the run refuses.
func TestPermissionModeCycles(t *testing.T) {
	testkit.WithoutRace(t)
	for _, size := range [][2]int{{40, 12}, {80, 24}, {200, 50}} {
		play(t, size[0], size[1], nil, func(s *scene) {
			s.Press("Shift+Tab")
			s.Expect("There is no run")
			s.startWork()
			mode := func() string { return s.host.present().Snapshot().Options.Permissions }
			last := func() string {
				rows := strings.Split(strings.TrimRight(s.Text(), "\n"), "\n")
				return rows[len(rows)-1]
			}
			s.Type("a word ")
			for _, want := range []string{"accept-edits", "rules", "ask", "accept-edits"} {
				s.Press("Shift+Tab")
				s.Advance(flashFor + time.Second)
				if shown := strings.TrimPrefix(want, "accept-"); mode() != want || !strings.Contains(last(), shown) {
					t.Errorf("%v: the mode is %s, want %s: %q", size, mode(), want, last())
				}
			}
			s.Press("Shift+Tab", "Shift+Tab") // faster than the run answers
			s.Settle()
			testkit.Same(t, "twice at once", "ask", mode())
			s.Advance(flashFor + time.Second)
			if size[0] >= 200 {
				s.ClickOn("ask Shift+Tab")
				testkit.Same(t, "by a click", "accept-edits", mode())
			}
		})
	}
	play(t, 80, 24, allowsAll("allow-all", "off"), func(s *scene) {
		s.startWork()
		s.Press("Shift+Tab")
		s.ExpectNot("ALLOW ALL")
		testkit.Same(t, "from allow-all to", "ask", s.host.present().Snapshot().Options.Permissions)
	})
	weaving(t, 100, 30, func(s *scene) {
		s.frontend.root.permissions.sent = "rules"
		for i, client := range []string{"another", s.frontend.root.session.client} {
			s.does(func(p *fakeRun) {
				p.sink(time.Now(), contract.Event{ID: contract.Supervisor,
					Body: contract.Rejected{Ref: "configure-" + client, Message: "not now"}})
			})
			testkit.Same(t, "it shows", []runconfig.Mode{"rules", "ask"}[i], s.frontend.root.permissions.mode())
		}
	})
}

// TestOwnDirectoryIsTheRoot: paths of an agent with its own directory are relative to it.
func TestOwnDirectoryIsTheRoot(t *testing.T) {
	weaving(t, 120, 40, func(s *scene) {
		s.present(func(st *supervisor.State) {
			st.Options.Workspace = runconfig.Workspace{Own: "/own", Isolation: runconfig.IsolationWorktree}
			for i, a := range st.Agents {
				if a.ID == "orch-1" {
					b := *a
					b.Isolation = runconfig.IsolationWorktree
					st.Agents[i] = &b
				}
			}
		})
		testkit.Same(t, "orch-1 works in", "/own/orch-1", s.frontend.root.session.root("orch-1"))
		testkit.Same(t, "the Arbiter works in", "/home/weaver/loom", s.frontend.root.session.root("arbiter"))
	})
}

// TestOverloadIsNotShownAsIdle: an agent that waits for an overloaded API is shown as waiting, with the reason
// and the remaining time, whether the CLI retries or the supervisor; and no longer after a successful
// retry.
func TestOverloadIsNotShownAsIdle(t *testing.T) {
	play(t, 100, 30, nil, func(s *scene) {
		s.Type("Weave\n")
		s.does(func(p *fakeRun) {
			p.does("arbiter", bridge.Retry{Attempt: 3, DelayMS: 36_000, Status: 529, Reason: "overloaded"})
		})
		s.Expect("API overloaded", "again in 0:36, attempt 3", "API overloaded, again in 0:36")
		s.ExpectNot("  works", "Evaluating", "Idle", "Choosing")
		s.Advance(10 * time.Second)
		s.Expect("again in 0:27, attempt 3", "API overloaded, again in 0:27")
		s.Advance(time.Minute)
		s.Expect("API overloaded, trying again")
		s.does(func(p *fakeRun) { p.full("arbiter", 31_000) })
		s.Expect("  works")
		s.ExpectNot("API overloaded")
		s.does(func(p *fakeRun) {
			p.does("arbiter", bridge.Turn{MessageIDs: p.agent("arbiter").Turn, Outcome: bridge.TurnFailed,
				Category: bridge.CatOverloaded, Error: "API Error: 529"})
		})
		s.Expect("API overloaded", "API overloaded, again in 0:")
		s.ExpectNot("waits", "Evaluating", "Idle", "Choosing")
		s.Type("Go on\n") // sent at once
		s.Settle()
		s.Expect("  works")
		s.ExpectNot("API overloaded, again")
	})
	weaving(t, 100, 30, func(s *scene) { // working agents are not hidden behind one that waits
		s.does(func(p *fakeRun) {
			p.endTurn("orch-2", reports("status", "I read on.", false))
			p.does("orch-1", bridge.Retry{Attempt: 1, DelayMS: 5_000, Status: 429, Reason: "rate_limit"})
		})
		s.Expect("rate limited", "again in 0:05")
		s.ExpectNot("rate limited, again in")
	})
}

// TestTrustCheckIsNotShownAsBusy: a run that waits for the human to check the workspace is shown as such.
func TestTrustCheckIsNotShownAsBusy(t *testing.T) {
	testkit.WithoutRace(t)
	trusted := func(_ *Options, h *fakeHost) {
		h.options = func(o *runconfig.Options) { o.Trusted, o.TrustHash = true, "h1" }
	}
	play(t, 100, 30, trusted, func(s *scene) {
		s.startWork()
		s.does(func(p *fakeRun) {
			p.does("orch-1", bridge.Done{})
			s.Advance(time.Minute)
			p.do(input.Timer{Key: "restart/orch-1/1"})
			p.do(input.NotSpawned{Agent: p.agent("orch-1").AgentRef, Category: bridge.CatTrust,
				Message: "the workspace has changed since it was trusted: changed: hook", Trust: "h2"})
		})
		s.Expect("needs your trust", "Blocked: the workspace has changed", "Waits for you")
		s.ExpectNot("starts again", "Working")
		m := s.frontend.root.moment()
		testkit.Check(t, len(m.Awaited) != 0, "the user is not notified: %+v", m)
		s.does(func(p *fakeRun) {
			p.do(input.Command{Command: contract.Command{Ref: "r", Body: contract.Choose{Option: "without"}},
				Channel: input.ChannelScreen})
		})
		s.ExpectNot("needs your trust", "Blocked")
	})
}
