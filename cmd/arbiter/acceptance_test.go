package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/arbiter-cli/arbiter/internal/testkit"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/verdict"
)

// TestFullDialogue: task, question, answer on stdin, spawn, clarification, real
// tools, a blocking subagent, a queued report, the document, and the end.
func TestFullDialogue(t *testing.T) {
	eachPlayerLong(t, func(t *testing.T, p player) {
		s := p.plays(t, absolute(t, "testdata/scenarios/full-dialogue.yaml"), "Greet somebody")
		testkit.Same(t, "question", "What shall the greeting be?", await[contract.Question](s, "a question", nil).Text)
		s.send(contract.Say{Text: "greet with hail"})
		await[contract.Accepted](s, "accepted", nil)
		r := s.finish(contract.ExitComplete)
		testkit.Check(t, sums(r, "hello.txt says what it should.") && r.Rehearsal && r.Iterations == 1, "result %+v", r)
		work := collect[contract.Session](s)[0].CWD
		for _, f := range []string{"hello.txt", "seen.txt"} {
			testkit.Same(t, f, "hail\n", textOf(t, filepath.Join(work, f)))
		}
		s.order("session", "spawn", "message", "delivered", "question", "accepted", "tool_call", "spawn",
			"delivered", "tool_use", "subagent_start", "subagent_stop", "plan", "handoff", "decision", "result")
		s.sessionLine(1)
		for _, l := range s.lines {
			d, ok := l.Body.(contract.Done)
			testkit.Check(t, !ok || d.Reason == "complete", "%s ended: %s", l.ID, d.Reason)
		}
	})
}

// TestSmallJob plays the default scenario, with a hand-off to a successor.
func TestSmallJob(t *testing.T) {
	eachPlayer(t, func(t *testing.T, p player) {
		s := start(t, nil, append(p.args, "--json", "--no-input", "--task", "Anything at all")...)
		r := s.finish(contract.ExitComplete)
		testkit.Check(t, r.Iterations == 2, "result %+v", r)
		handoffs := collect[contract.Handoff](s)
		testkit.Check(t, len(handoffs) == 2 && handoffs[0].To == "orch-2" && handoffs[1].To == contract.Arbiter,
			"hand-offs %+v", handoffs)
		if d := collect[contract.Decision](s); slices.ContainsFunc(d,
			func(d contract.Decision) bool { return d.Source != "session" }) {
			t.Errorf("another decider decided: %+v", d)
		}
		s.sessionLine(2)
	})
}

// TestDemo plays what arbiter demo shows, without its pauses: two Orchestrators side by side, a question, a permission
// request, a claim that a check refutes, a successor that mends the fault, an Arbiter that is renewed, and a diff.
func TestDemo(t *testing.T) {
	eachPlayerLong(t, func(t *testing.T, p player) {
		s := p.plays(t, "demo", "Add a CSV export to invoice.sh, and prove it with tests", "--no-input")
		r := s.finish(contract.ExitComplete)
		s.order("spawn", "spawn", "spawn", "question", "permission", "spawn", "handoff", "handoff", "spawn", "result")
		testkit.Includes(t, "permissions", fmt.Sprintf("%+v", collect[contract.Permission](s)), "By:nobody")
		refuted := slices.ContainsFunc(collect[contract.Handoff](s), func(h contract.Handoff) bool {
			return h.From == "orch-1" && slices.Contains(h.Proofs, verdict.Refuted)
		})
		testkit.Check(t, refuted && r.Checks != nil && r.Checks.Failed == 0 && r.Checks.Passed >= 4,
			"refuted %v, checks %+v", refuted, r.Checks)
		story, _ := s.output(0, "logs", s.run())
		testkit.Includes(t, "the story does not tell", story, "  - refuted: Quotes in names are doubled\n",
			"The Arbiter hands off to its successor: ", "  - Edit: invoice.sh\n",
			"Orchestrator II changed test.sh (new) +11.\n", " changed invoice.sh ", "README.md +3", " simulated, ")
		// Agents share the directory. When it is looked at depends on the load; who changed what does not.
		authors := map[string][]string{"invoice.sh": {"orch-1", "orch-3"}, "test.sh": {"orch-2"}, "README.md": {"orch-3"}}
		s.mu.Lock()
		defer s.mu.Unlock()
		for _, l := range s.lines {
			c, _ := l.Body.(contract.Changes)
			for _, f := range c.Files {
				foreign := func(id string) bool { return !slices.Contains(authors[f.Path], id) }
				testkit.Check(t, !f.Unsure && !foreign(l.ID) && !slices.ContainsFunc(f.Agents, foreign),
					"a turn of %s changed %+v", l.ID, f)
			}
		}
		testkit.Check(t, r.Changes != nil && r.Changes.Files == 3 && r.Changes.Added == 22 && r.Changes.Deleted == 2,
			"changes %+v", r.Changes)
	})
}

// TestDemoOfTheInstalled: the program alone plays the demo, in an empty directory with an empty home, from a system
// without Go, npm and Claude Code. scripts/release-dry-run does it with every package.
func TestDemoOfTheInstalled(t *testing.T) {
	t.Parallel()
	s := start(t, []string{"PATH=/usr/bin:/bin"}, "demo")
	r := s.finish(contract.ExitComplete)
	testkit.Check(t, r.Rehearsal && r.Iterations == 3 && r.Checks != nil && r.Checks.Failed == 0, "result %+v", r)
	if text := s.stderr.String(); !strings.HasPrefix(text, "REHEARSAL: a scripted model plays \"demo\"; nothing is real") {
		t.Errorf("stderr says %q", text)
	}
	list, err := os.ReadDir(s.cmd.Dir)
	for _, e := range list {
		testkit.Check(t, strings.HasPrefix(e.Name(), "."), "it left %s in its directory", e.Name())
	}
	testkit.OK(t, err)
}

// TestAnotherTask: a built-in scenario that was played and gets a second task says that its script has one
// task. It does not spawn Orchestrators without end.
func TestAnotherTask(t *testing.T) {
	testkit.Long(t)
	for _, p := range players(t) {
		for _, scenario := range []string{"small-job", "dialogue", "parallel", "generations", "demo"} {
			t.Run(p.name+"/"+scenario, func(t *testing.T) {
				p.long(t) // TestSmallJob and others play them with the real CLI
				t.Parallel()
				s := p.plays(t, scenario, "One", "--no-input")
				s.finish(contract.ExitComplete)
				n := s.again("--json", "--no-input", "--resume", "--task", "Another")
				r := n.finish(contract.ExitNeedsInput)
				testkit.Check(t, strings.Contains(r.Summary, "one task in its script") && r.Session == s.run(),
					"result %+v", r)
				if slices.ContainsFunc(collect[contract.Spawn](n), func(b contract.Spawn) bool { return !b.Resumed }) {
					t.Error("an Orchestrator was spawned for it")
				}
			})
		}
	}
}

// order checks that the named events come in this order (others may be between).
func (s *script) order(names ...string) {
	s.t.Helper()
	at := 0
	for _, l := range s.lines {
		if at < len(names) && l.Body.EventName() == names[at] {
			at++
		}
	}
	testkit.Empty(s.t, fmt.Sprintf("not there after %v", names[:at]), names[at:])
}

// sessionLine checks the line on stderr that says how to find the sessions again.
func (s *script) sessionLine(orchestrators int) {
	s.t.Helper()
	for line := range strings.Lines(s.stderr.String()) {
		var got struct {
			Arbiter string `json:"arbiter"`
			Last    string `json:"lastOrchestrator"`
			Number  int    `json:"orchestratorNumber"`
		}
		if json.Unmarshal([]byte(line), &got) != nil {
			continue
		}
		testkit.Check(s.t, got.Arbiter != "" && got.Last != "" && got.Number == orchestrators, "session line %s", line)
		return
	}
	s.t.Errorf("no session line on stderr:\n%s", s.stderr.String())
}

func absolute(t *testing.T, path string) string {
	t.Helper()
	return testkit.Must(filepath.Abs(path))(t)
}
