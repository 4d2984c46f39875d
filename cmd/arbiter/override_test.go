package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/arbiter-cli/arbiter/internal/testkit"
	"github.com/arbiter-cli/arbiter/rehearsal"
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
	return p.plays(t, scenarioFile(t, overridden(work)), mode, args...)
}

// command gives a command and waits for its answer.
func (s *script) command(b contract.CommandBody) (ok bool, message string) {
	s.t.Helper()
	s.mu.Lock()
	ref := fmt.Sprintf("%T-%d", b, len(s.lines))
	s.mu.Unlock()
	s.sendAs(ref, b)
	s.see("an answer to "+ref, func(l contract.Line) bool {
		switch b := l.Body.(type) {
		case contract.Accepted:
			ok, message = true, b.Message
			return b.Ref == ref
		case contract.Rejected:
			ok, message = false, b.Message
			return b.Ref == ref
		}
		return false
	})
	return ok, message
}

func (s *script) accepts(b contract.CommandBody, words ...string) {
	s.t.Helper()
	ok, message := s.command(b)
	testkit.Includes(s.t, fmt.Sprintf("%T %+v", b, b), message, words...)
	testkit.Need(s.t, ok, "%T %+v is rejected: %s", b, b, message)
}

func (s *script) rejects(b contract.CommandBody, words ...string) {
	s.t.Helper()
	ok, message := s.command(b)
	testkit.Includes(s.t, fmt.Sprintf("%T %+v", b, b), message, words...)
	testkit.Need(s.t, !ok, "%T %+v is accepted: %s", b, b, message)
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
	return start(t, append(asksOf(model), p.env...), append([]string{"--json", "--claude", p.program(t), "--cwd", work},
		args...)...), model
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
		got := testkit.Each(collect[contract.Permission](s),
			func(b contract.Permission) string { return fmt.Sprintf("%s %s by %s", b.Tool, b.Behavior, b.By) })
		want := []string{"Bash deny by agent", "Bash deny by agent", "Bash deny by agent"}
		testkit.Same(t, "permissions", want, got)
		cwd := collect[contract.Session](s)[0].CWD
		left, _ := filepath.Glob(filepath.Join(cwd, "*"))
		// The second file is .claude.
		kept, err := os.ReadFile(filepath.Join(cwd, "kept"))
		testkit.Check(t, err == nil && string(kept) == "x\n" && len(left) == 2, "kept: %q, %v; files %v", kept, err,
			left)
		asked := map[string]string{}
		for _, r := range model.Requests() {
			var body struct {
				Output struct{ Effort string } `json:"output_config"`
			}
			testkit.OK(t, json.Unmarshal(r.Body, &body))
			asked[r.Actor] = r.Model
			testkit.Check(t, r.Actor != "clerk" || !p.real || body.Output.Effort == "low",
				"the effort of the clerk is %q", body.Output.Effort)
			if offered := r.Tools; slices.Contains(offered, "Write") || slices.Contains(offered, "Edit") {
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
			s, _ := hired(t, standInPlayer, talk, map[string]string{
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
