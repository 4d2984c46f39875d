package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/subcommands"
	"github.com/arbiter-cli/arbiter/internal/testkit"
	"github.com/arbiter-cli/arbiter/rehearsal"
	"github.com/arbiter-cli/arbiter/supervisor"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
)

// overridden is a play in which the human decides: each Orchestrator behaves as its mode says, and the Arbiter
// asks what to do.
//
//   - a developer runs a command that does not end; on a retry, it is done
//   - a tester stops at a tool that fails, without a verdict; on a retry, it is done
//   - a reviewer stops at a command that timed out
//   - a planner is done at once; on a retry, it runs a command too
//
// The Arbiter takes a long time to evaluate a planner's work.
func overridden(work string) string {
	spun := on("kind: retry", done("It is spun."))
	return allowing([]string{"Bash(*)"},
		arbiter(nil, on("COMPLETE while", releases), on("Released: |it is enough|It is spun", complete("spun")),
			on("A plan is laid", with(asksHuman("And now?"), "delay", "600s")),
			on("another agent takes up", selects("tester", "Spin it otherwise.")),
			on(`kind: task.*\n(?P<mode>\w+)`, selects("{{.mode}}", "Spin it, {{.mode}}.")),
			on("told .* to try again|human summoned", patience), asksHuman("And now?")),
		orchestrator("tester", "Spin it otherwise|Spin it, tester", nil, spun,
			on("no wheel", says("There is no wheel.")), bash("echo no wheel; exit 3")),
		orchestrator("planner", "Spin it, planner", nil, on("kind: retry", bash(work)), done("A plan is laid.")),
		orchestrator("worker", "", nil, spun, on("timed out", says("The wheel turns no more.")), bash(work)))
}

const spinning = "exec sleep 1000"

// override starts the play; the task is for an agent of the mode, whose command is work.
func override(t *testing.T, p player, mode, work string, args ...string) *script {
	t.Helper()
	scenario := scenarioFile(t, overridden(work))
	return start(t, nil, append(append(p.args, "--json", "--scenario", scenario, "--task", mode), args...)...)
}

// answer is the answer to a command.
type answer struct {
	ok      bool
	message string
}

// command gives a command and waits for its answer.
func (s *script) command(b contract.CommandBody) (ok bool, message string) {
	s.t.Helper()
	one := s.together(b)[0]
	return one.ok, one.message
}

// together sends commands in one write, so that nothing happens between them, and waits for their answers.
func (s *script) together(bodies ...contract.CommandBody) []answer {
	s.t.Helper()
	s.mu.Lock()
	from := len(s.lines)
	s.mu.Unlock()
	var written []byte
	refs := make([]string, len(bodies))
	for i, b := range bodies {
		refs[i] = fmt.Sprintf("%T-%d-%d", b, from, i)
		line := testkit.Must(contract.MarshalCommand(contract.Command{Ref: refs[i], Body: b}))(s.t)
		written = append(append(written, bytes.TrimSpace(line)...), '\n')
	}
	testkit.Must(s.stdin.Write(written))(s.t)
	answers := make([]answer, len(bodies))
	for i, ref := range refs {
		s.after(0, "an answer to "+ref, func(l contract.Line) bool {
			switch b := l.Body.(type) {
			case contract.Accepted:
				answers[i] = answer{true, b.Message}
				return b.Ref == ref
			case contract.Rejected:
				answers[i] = answer{false, b.Message}
				return b.Ref == ref
			}
			return false
		})
	}
	return answers
}

// after waits for a line from number from on, and returns the number of the line after it. It fails at once
// when the output ends without such a line.
func (s *script) after(from int, what string, fits func(contract.Line) bool) int {
	s.t.Helper()
	deadline := time.After(waitTimeout)
	for over := false; ; {
		s.mu.Lock()
		from = min(from, len(s.lines))
		i := slices.IndexFunc(s.lines[from:], fits)
		s.mu.Unlock()
		switch {
		case i >= 0:
			return from + i + 1
		case over:
			s.t.Fatalf("arbiter ended without %s", what)
		}
		select {
		case <-s.change:
		case <-s.ended:
			over = true
		case <-deadline:
			s.t.Fatalf("no %s within %s", what, waitTimeout)
		}
	}
}

func (s *script) accepts(b contract.CommandBody, words ...string) {
	s.t.Helper()
	ok, message := s.command(b)
	s.holds(fmt.Sprintf("%T %+v", b, b), message, words)
	if !ok {
		s.t.Fatalf("%T %+v is rejected: %s", b, b, message)
	}
}

func (s *script) rejects(b contract.CommandBody, words ...string) {
	s.t.Helper()
	ok, message := s.command(b)
	s.holds(fmt.Sprintf("%T %+v", b, b), message, words)
	if ok {
		s.t.Fatalf("%T %+v is accepted: %s", b, b, message)
	}
}

func (s *script) holds(what, text string, words []string) {
	s.t.Helper()
	testkit.Includes(s.t, what, text, words...)
}

// moves waits for a transition of the task's state.
func (s *script) moves(from, to, trigger string) {
	s.t.Helper()
	await(s, fmt.Sprintf("the state %s", to), func(_ string, b contract.State) bool {
		return b == contract.State{From: from, To: to, Trigger: trigger}
	})
}

// at waits until an Orchestrator calls its command.
func (s *script) at(id string) {
	s.t.Helper()
	await(s, id+" at its command", func(who string, b contract.ToolUse) bool { return who == id && b.Tool == "Bash" })
}

func steps(text ...string) contract.SetPlan {
	var p contract.SetPlan
	for _, s := range text {
		mode, what, ok := strings.Cut(s, ":")
		if !ok {
			mode, what = "", s
		}
		p.Steps = append(p.Steps, contract.Step{Text: what, Status: contract.StepPending, Mode: mode})
	}
	return p
}

// aPlan waits for a plan whose steps have these texts and statuses.
func (s *script) aPlan(want ...string) {
	s.t.Helper()
	await(s, fmt.Sprintf("the plan %v", want), func(_ string, p contract.Plan) bool {
		var got []string
		for _, step := range p.Steps {
			got = append(got, step.Text+" "+step.Status)
		}
		return slices.Equal(got, want)
	})
}

// whoWas finds the spawns of an agent.
func (s *script) whoWas(id string) contract.Spawn {
	s.t.Helper()
	return await(s, "the spawn of "+id, func(who string, _ contract.Spawn) bool { return who == id })
}

// TestOverridesWhileOneWorks: while an agent works, the plan is set, steps are skipped, others are spawned,
// and all is reset. A command that is not possible in a state is refused, with what would be possible.
func TestOverridesWhileOneWorks(t *testing.T) {
	t.Parallel()
	eachPlayerLong(t, func(t *testing.T, p player) {
		s := override(t, p, "developer", spinning)
		s.at("orch-1")
		s.moves("selecting", "executing", "AGENT_SELECTED")
		s.accepts(steps("card", "spin", "tester:try"))
		s.rejects(steps("wizard:conjure"), `no mode "wizard"`, "tester")
		s.accepts(contract.SkipStep{}, "step 1: card")
		s.aPlan("card skipped", "spin pending", "try pending")
		s.rejects(contract.RetryLast{}, "orch-1 is already at work")
		s.rejects(contract.Choose{Option: "retry"}, "there is nothing to choose now")
		s.rejects(contract.ForceAgent{Mode: "wizard"}, `no mode "wizard"`, "developer, planner, reviewer, tester")
		s.accepts(contract.ForceAgent{Mode: "reviewer"}, "orch-2 as reviewer")
		if w := s.whoWas("orch-2"); w.Mode != "reviewer" || !strings.Contains(w.Prompt, "developer") {
			t.Errorf("summoned: %+v", w)
		}
		await(s, "the decision", func(id string, d contract.Decision) bool {
			return id == contract.Human && d.Source == "human" && d.Mode == "reviewer" && d.To == "orch-2"
		})
		s.at("orch-2")
		s.accepts(contract.Reset{})
		s.moves("executing", "idle", "RESET")
		s.aPlan()
		for _, id := range []string{"orch-1", "orch-2"} {
			await(s, "the end of "+id, func(who string, d contract.Done) bool {
				return who == id && d.Reason == "reset by the human"
			})
		}
		s.rejects(contract.SkipStep{}, "no step", "set_plan")
		s.rejects(contract.RetryLast{}, "no living Orchestrator")
		s.rejects(contract.ForceAgent{Mode: "tester"}, "no task yet", "message")
		await[contract.Question](s, "what is wanted now", nil)
		s.accepts(contract.Say{Text: "tester"})
		s.moves("idle", "selecting", "START_TASK")
		s.accepts(contract.ForceAgent{Mode: "planner"}, "orch-")
		s.accepts(contract.Cancel{})
		s.moves("executing", "cancelled", "CANCEL")
		if r := s.finish(contract.ExitFailed); r.Status != contract.StatusCancelled ||
			!strings.Contains(r.Summary, "by the human") {
			t.Errorf("result %+v", r)
		}
	})
}

// troubled waits for an error of an Orchestrator that offers these ways out, from a line on. It returns the
// number of the next line.
func (s *script) troubled(from int, id string, ways ...string) int {
	s.t.Helper()
	return s.after(from, "trouble of "+id, func(l contract.Line) bool {
		e, ok := l.Body.(contract.Error)
		return ok && l.ID == id && slices.Equal(e.RecoveryOptions, ways)
	})
}

// clerk is a mode of a workspace that has, besides Read, one tool, and that only for some uses.
const clerk = "---\nname: clerk\ndescription: to keep the books\ntools: Read, Bash(git *)\nmodel: " +
	"claude-opus-5-5\neffort: low\n---\nKeep the books.\n"

// bounded is the play of a clerk and a reviewer who try calls that their modes forbid, themselves and by a
// subagent.
var bounded = playOf(
	arbiter(nil, on("COMPLETE while", releases), on("Released: |It is read", complete("kept")),
		on("The books are kept", selects("reviewer", "Read them.")),
		on("kind: task", selects("clerk", "Keep the books.")), patience),
	orchestrator("clerk", "Keep the books", []object{bash("git --version"), on("git version", bash("ls")),
		on("for no more than Bash", bash("rm kept")), on("for no more than Bash", writes("written", "x")),
		on(noSuchTool, hires("Try for the clerk")), done("The books are kept.")}),
	orchestrator("reviewer", "", []object{writes("written", "x"), on(noSuchTool, edits("kept", "x", "y")),
		on(noSuchTool, hires("Try for the reviewer")), done("It is read.")}),
	actor("clerks", object{"role": "subagent", "contains": "for the clerk"},
		[]object{bash("ls -a"), on("for no more than Bash", says("I may not."))}),
	subagent(writes("written", "x"), on(noSuchTool, says("I may not."))))

// hired starts arbiter in a workspace with these files, keyed by their paths, against a scripted model that
// records its requests.
func hired(t *testing.T, p player, play string, files map[string]string, args ...string) (*script, *rehearsal.Server) {
	t.Helper()
	work := t.TempDir()
	for path, text := range files {
		write(t, text, filepath.Join(work, filepath.Dir(path)), filepath.Base(path))
	}
	return hiredIn(t, p, play, work, args...)
}

// hiredIn is hired in an existing workspace.
func hiredIn(t *testing.T, p player, play, work string, args ...string) (*script, *rehearsal.Server) {
	t.Helper()
	model := serve(t, play)
	claude := p.program(t)
	return start(t, append([]string{
		"ANTHROPIC_BASE_URL=" + model.URL(), "ANTHROPIC_API_KEY=" + model.Key(),
		"CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1",
	}, p.env...), append([]string{"--json", "--claude", claude, "--cwd", work}, args...)...), model
}

// TestAModeIsHeldToItsTools: the CLI and arbiter's permission rules restrict an agent and its subagents to the
// tools of its mode. Requests to the model have the mode's model and effort.
func TestAModeIsHeldToItsTools(t *testing.T) {
	t.Parallel()
	eachPlayerLong(t, func(t *testing.T, p player) {
		// the driver's TestLiveDeniedTools and TestLiveAskTools cover the real CLI
		s, model := hired(t, p, bounded, map[string]string{".claude/agents/clerk.md": clerk, "kept": "x\n"},
			"--trust", "--model", "claude-sonnet-4-5", "--allow", "Bash(git *)", "--allow", "Write", "--allow",
			"Edit", "--task", "Keep the books")
		s.completes()
		onScript(t, model)
		var got []string
		for _, b := range collect[contract.Permission](s) {
			got = append(got, fmt.Sprintf("%s %s by %s", b.Tool, b.Behavior, b.By))
		}
		want := []string{"Bash deny by agent", "Bash deny by agent", "Bash deny by agent"}
		testkit.Same(t, "permissions", want, got)
		cwd := collect[contract.Session](s)[0].CWD
		left, _ := filepath.Glob(filepath.Join(cwd, "*"))
		// The second file is .claude.
		if kept, err := os.ReadFile(filepath.Join(cwd, "kept")); err != nil || string(kept) != "x\n" ||
			len(left) != 2 {
			t.Errorf("kept: %q, %v; files %v", kept, err, left)
		}
		asked := map[string]string{}
		for _, r := range model.Requests() {
			var body struct {
				Output struct{ Effort string } `json:"output_config"`
			}
			testkit.OK(t, json.Unmarshal(r.Body, &body))
			asked[r.Actor] = r.Model
			if r.Actor == "clerk" && p.real && body.Output.Effort != "low" {
				t.Errorf("the effort of the clerk is %q", body.Output.Effort)
			}
			if offered := r.ToolNames(); slices.Contains(offered, "Write") || slices.Contains(offered, "Edit") {
				t.Errorf("%s is offered %v", r.Actor, offered)
			}
		}
		for actor, want := range map[string]string{"clerk": "opus-5-5", "reviewer": "sonnet-4-5",
			"arbiter": "sonnet-4-5"} {
			testkit.Includes(t, fmt.Sprintf("the model of %s", actor), asked[actor], want)
		}
	})
}

// TestModesOfAWorkspace: a workspace's modes are used only if it is trusted; a broken file is reported and left
// out.
func TestModesOfAWorkspace(t *testing.T) {
	t.Parallel()
	for _, trust := range []bool{false, true} {
		t.Run(fmt.Sprintf("trust %v", trust), func(t *testing.T) {
			t.Parallel()
			args := []string{"--task", "Keep the books"}
			if trust {
				args = append(args, "--trust")
			}
			s, _ := hired(t, player{args: []string{"--stand-in"}}, talk, map[string]string{
				".claude/agents/clerk.md": clerk, ".claude/agents/seer.md": "---\nname: seer\n---\nSee.\n",
			}, args...)
			await[contract.Question](s, "a question", nil)
			s.rejects(contract.ForceAgent{Mode: "seer"}, `no mode "seer"`)
			if trust {
				s.accepts(contract.ForceAgent{Mode: "clerk"}, "as clerk")
				s.awaitNotice("seer.md")
			} else {
				s.rejects(contract.ForceAgent{Mode: "clerk"},
					`no mode "clerk"; modes: developer, planner, reviewer, tester`)
			}
			s.accepts(contract.Cancel{})
			s.finish(contract.ExitFailed)
		})
	}
}

// pondering is a play in which the answer of the named state takes ten minutes.
func pondering(state string) string {
	slow := func(name string, step object) object {
		if name == state {
			step = with(step, "delay", "600s")
		}
		return step
	}
	spin := selects("developer", "Spin it.")
	return playOf(
		arbiter(nil, on("COMPLETE while", releases), on("Released: ", complete("spun")),
			on("It is spun", slow("evaluating", complete("spun"))), on("kind: task|nothing is under way", spin), patience),
		actor("judge", object{"role": "main", "contains": "# What is to be judged"},
			[]object{with(complete("spun"), "repeat", "forever")}),
		actor("chooser", object{"role": "main"}, []object{with(slow("selecting", spin), "repeat", "forever")}),
		orchestrator("worker", "", nil, done("It is spun.")))
}

// TestKilledInADecision kills arbiter while the Arbiter, or another model, decides. The run resumes in that state of
// the task, the numbers of decisions continue, and the work is completed.
func TestKilledInADecision(t *testing.T) {
	t.Parallel()
	onlyLinux(t)
	for state, by := range map[string]string{"evaluating": "session", "selecting": "stateless"} {
		t.Run(state, func(t *testing.T) {
			t.Parallel()
			eachPlayerLong(t, func(t *testing.T, p player) { // TestCutAndTakenUp kills with the real CLI
				scenario := scenarioFile(t, pondering(state))
				s := start(t, nil, append(p.args, "--json", "--debug", "--scenario", scenario, "--task", "Spin", "--decider",
					by)...)
				await(s, "the state "+state, func(_ string, b contract.State) bool { return b.To == state })
				if by == "session" {
					s.reads()
				} else {
					testkit.Await(t, "a model that is asked", s.asksAside)
				}
				s.killed()
				testkit.OK(t, os.WriteFile(scenario, []byte(pondering("nobody")), 0o600))
				n := s.again("--json", "--resume")
				n.completes()
				n.continuesFrom(state)
			})
		})
	}
}

// reads waits until the last message to the Arbiter was sent to it: the scenarios hold back the model's answer.
func (s *script) reads() {
	s.t.Helper()
	testkit.Await(s.t, "message that is sent to the Arbiter", func() bool {
		out, _ := s.output(0, "sessions", "show", "--json", s.run())
		var shown subcommands.SessionReport
		testkit.OK(s.t, json.Unmarshal([]byte(out), &shown))
		last := supervisor.MessageRecord{}
		for _, m := range shown.Messages {
			if m.To == contract.Arbiter {
				last = m
			}
		}
		return last.Status == supervisor.MessageSent
	})
}

// asksAside reports whether a one-shot process asks a model.
func (s *script) asksAside() bool {
	for _, cmd := range survivors(s.run()) {
		if strings.Contains(cmd, "--no-session-persistence") {
			return true
		}
	}
	return false
}

// continuesFrom reads the recorded events of all processes of a run: the task's state continues from where it was,
// and decisions are numbered consecutively.
func (s *script) continuesFrom(state string) {
	s.t.Helper()
	out, _ := s.output(0, "replay", s.run())
	lines := testkit.Must(contractLinesOf(out))(s.t)
	var states []string
	at, processRuns, resumedIn, number := "idle", 0, "", 0
	for _, l := range lines {
		switch b := l.Body.(type) {
		case contract.Session:
			if processRuns++; processRuns == 2 {
				resumedIn = at
			}
		case contract.State:
			testkit.Same(s.t, "the state that a transition begins in", at, b.From)
			at = b.To
			states = append(states, b.To)
		case contract.Decision:
			if b.Point == "talk" && b.Decision == "SELECT_MODE" {
				s.t.Errorf("what the task machine asked is recorded as talk: %+v", b)
			}
			if number++; b.Number != number {
				s.t.Errorf("decision %d is number %d: %+v", number, b.Number, b)
			}
		}
	}
	if processRuns != 2 || resumedIn != state || at != "complete" {
		s.t.Errorf("%d lives, taken up in %q, want %q: %s", processRuns, resumedIn, state, fmt.Sprint(states))
	}
}
