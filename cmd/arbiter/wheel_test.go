package main

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/internal/testkit"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
)

// TestPermissionsAreAskedAndAnswered: a request is an event on stdout, its answer a command on stdin. A
// question that an agent asks with the CLI's own tool, past the hierarchy, is refused at once.
func TestPermissionsAreAskedAndAnswered(t *testing.T) {
	eachPlayer(t, func(t *testing.T, p player) {
		s := start(t, nil, append(p.args, "--json", "--scenario", absolute(t, "testdata/scenarios/asks.yaml"),
			"--task", "Two files")...)
		bash := await[contract.PermissionRequest](s, "a request for Bash",
			func(id string, r contract.PermissionRequest) bool {
				return id == "orch-1" && r.Tool == "Bash"
			})
		s.send(contract.Permit{Request: bash.Request, Behavior: bridge.Allow})
		write := await[contract.PermissionRequest](s, "a request for Write",
			func(_ string, r contract.PermissionRequest) bool { return r.Tool == "Write" })
		s.send(contract.Permit{Request: write.Request, Behavior: bridge.Deny, Message: "not that one"})
		s.completes()
		s.files(map[string]bool{"one.txt": true, "two.txt": false})
	})
}

// TestNoHumanIsADeny: without a human, each request is denied.
func TestNoHumanIsADeny(t *testing.T) {
	eachPlayerLong(t, func(t *testing.T, p player) {
		s := start(t, nil,
			append(p.args, "--json", "--no-input", "--scenario", absolute(t, "testdata/scenarios/asks.yaml"),
				"--task", "Two files")...)
		s.finish(contract.ExitComplete)
		s.files(map[string]bool{"one.txt": false, "two.txt": false})
		if n := len(collect[contract.PermissionRequest](s)); n != 0 {
			t.Errorf("%d requests although there is no human", n)
		}
	})
}

// TestRules: --allow lets a tool run without a request, and --deny overrides it.
func TestRules(t *testing.T) {
	eachPlayerLong(t, func(t *testing.T, p player) {
		s := start(t, nil, append(p.args, "--json", "--no-input", "--permissions", "rules", "--allow",
			"Bash(touch *)", "--allow", "Write", "--deny", "Write(**/two.txt)", "--scenario",
			absolute(t, "testdata/scenarios/asks.yaml"), "--task", "Two files")...)
		s.finish(contract.ExitComplete)
		s.files(map[string]bool{"one.txt": true, "two.txt": false})
	})
}

// files checks which files exist in the workspace.
func (s *script) files(want map[string]bool) {
	s.t.Helper()
	work := collect[contract.Session](s)[0].CWD
	for name, there := range want {
		_, err := os.Stat(filepath.Join(work, name))
		if got := !errors.Is(err, fs.ErrNotExist); got != there {
			s.t.Errorf("%s is there: %v, want %v", name, got, there)
		}
	}
}

// TestSteering: a note waits for the next turn, a steer is added to the running turn, and a stop interrupts it.
// A text that looks like a slash command is sent as text.
func TestSteering(t *testing.T) {
	eachPlayerLong(t, func(t *testing.T, p player) {
		s := start(t, nil, append(p.args, "--json", "--scenario", absolute(t, "testdata/scenarios/steering.yaml"),
			"--task", "/clear @/etc/hostname")...)
		bash := func(n int) func(string, contract.ToolUse) bool {
			return func(id string, u contract.ToolUse) bool {
				if id == "orch-1" && u.Tool == "Bash" {
					n--
				}
				return n < 0
			}
		}
		await(s, "the first tool", bash(0))
		s.send(contract.Say{Text: "how goes it?"})
		await(s, "a report, not a question", func(_ string, m contract.Message) bool {
			return m.To == contract.Human && m.Kind == "report"
		})
		s.send(contract.Say{Text: "turn left", To: "orch-1", Strength: contract.Steer})
		await[contract.Accepted](s, "accepted", nil)
		work := collect[contract.Session](s)[0].CWD
		await(s, "the steered word's delivery or its tool", func(id string, m contract.Message) bool {
			return m.To == "orch-1" && m.Text == "turn left"
		})
		testkit.OK(t, os.WriteFile(filepath.Join(work, "gate.txt"), nil, 0o600))
		await(s, "the second tool", bash(1))
		s.send(contract.Say{Text: "stop here", To: "orch-1", Strength: contract.Stop})
		s.completes()
		turns := collect[contract.Turn](s)
		steered := slices.ContainsFunc(turns, func(turn contract.Turn) bool {
			return turn.Outcome == bridge.TurnInterrupted && len(turn.MessageIDs) == 2
		})
		if !steered {
			t.Errorf("no interrupted turn names both the brief and the steered word: %+v", turns)
		}
		if slices.ContainsFunc(collect[contract.Question](s), func(contract.Question) bool { return true }) {
			t.Error("a question while an Orchestrator works")
		}
	})
}
