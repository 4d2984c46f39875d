package main

import (
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/arbiter-cli/arbiter/internal/testkit"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/subcommands"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
)

// TestSilentAgent: an agent that gives no sign of life is flagged, and the Arbiter decides; an agent that is
// silent but answers a ping is left alone.
func TestSilentAgent(t *testing.T) {
	testkit.Long(t)
	t.Parallel()
	t.Run("hangs", func(t *testing.T) {
		onlyLinux(t)
		t.Parallel()
		s := perform(t, spin("echo spun"), sick{"orch-1.1": "hang"}, "--watch-every", "500ms")
		s.awaitNotice("gives no sign of life")
		await[contract.Message](s, "word to the Arbiter", func(_ string, b contract.Message) bool {
			return b.To == contract.Arbiter && b.From == contract.Supervisor && strings.Contains(b.Text, "RETRY")
		})
		if list := s.reasons(); len(list) != 0 {
			t.Errorf("restarted before anybody said so: %q", list)
		}
		if r := s.finish(contract.ExitComplete); !sums(r, "spun") || r.Crashes != 0 {
			t.Errorf("result %+v", r)
		}
		if sp := s.spawns("orch-1"); len(sp) != 2 || !sp[1].Resumed {
			t.Errorf("spawned %+v", sp)
		}
	})
	t.Run("is quiet", func(t *testing.T) {
		onlyLinux(t)
		t.Parallel()
		s := perform(t, spin("echo spun"), sick{"orch-1.1": "quiet"}, "--watch-every", "500ms", "--debug",
			"--quiet-after", "1s")
		await[contract.ToolResult](s, "the last word before the silence", func(id string, _ contract.ToolResult) bool {
			return id == "orch-1"
		})
		await[contract.Quiet](s, "word of its silence", func(id string, b contract.Quiet) bool {
			return id == "orch-1" && b.Seconds >= 1 && b.Doing != ""
		})
		s.awaitLooks(20) // of both agents: many more than it takes to flag a silent one
		for _, n := range collect[contract.Notice](s) {
			t.Errorf("notice %q", n.Text)
		}
		s.send(contract.Interrupt{ID: "orch-1"})
		await[contract.Turn](s, "the end of the turn", func(id string, b contract.Turn) bool {
			return id == "orch-1" && b.Outcome == bridge.TurnInterrupted
		})
		if r := s.finish(contract.ExitComplete); !sums(r, "spun") || len(s.spawns("orch-1")) != 1 {
			t.Errorf("result %+v", r)
		}
	})
}

// awaitLooks waits until the log shows that the watchdog has looked more times from now on.
func (s *script) awaitLooks(more int) {
	s.t.Helper()
	looks := func() int {
		text, _ := os.ReadFile(collect[contract.Session](s)[0].Log)
		return strings.Count(string(text), `"type":"probed"`)
	}
	first := looks()
	until(s.t, fmt.Sprintf("%d looks", more), func() bool { return looks() >= first+more })
}

// TestOtherSessionIsNotRouted: a process that reports another session's id is ended, and arbiter
// routes none of its output.
func TestOtherSessionIsNotRouted(t *testing.T) {
	t.Parallel()
	s := perform(t, spin("echo spun"), sick{"orch-1.1": "other-session"})
	if r := s.finish(contract.ExitComplete); !sums(r, "spun") {
		t.Errorf("result %+v", r)
	}
	// If it was ended before its session had a history, the session is not found, and a new one is begun.
	sp := s.spawns("orch-1")
	if len(sp) < 2 || len(sp) > 3 || len(s.reasons()) != len(sp)-1 || len(sp) == 3 && sp[2].Resumed {
		t.Errorf("spawned %+v, restarts %q", sp, s.reasons())
	}
	s.oneError(bridge.CatProtocol)
	s.mu.Lock()
	defer s.mu.Unlock()
	first := true // incarnation
	for _, l := range s.lines {
		switch l.Body.(type) {
		case contract.Done:
			first = first && l.ID != "orch-1"
		case contract.ToolUse, contract.Assistant, contract.Handoff:
			if l.ID == "orch-1" && first {
				t.Errorf("routed: %+v", l.Body)
			}
		}
	}
}

// TestSwallowed: arbiter sends a message again, once, if no process confirms it. If there is still no
// confirmation, another process gets it. The events report each step.
func TestSwallowed(t *testing.T) {
	testkit.Long(t)
	t.Parallel()
	for _, c := range []struct {
		name, ill         string
		resent, swallowed int
		spawns            int
	}{
		{"once", "swallow", 1, 0, 1},
		// Everything but user messages passes, so that the process looks healthy.
		{"twice", `sh:grep --line-buffered -v '"type":"user"' | $standin "$@"; exit`, 1, 1, 2},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := perform(t, spin("echo spun"), sick{"orch-1.1": c.ill}, "--watch-every", "1s")
			if r := s.finish(contract.ExitComplete); !sums(r, "spun") || r.Crashes != 0 {
				t.Errorf("result %+v", r)
			}
			if sp := s.spawns("orch-1"); len(sp) != c.spawns {
				t.Errorf("spawned %+v", sp)
			}
			out, _ := s.output(0, "sessions", "show", "--json", s.run())
			var shown subcommands.SessionReport
			testkit.OK(t, json.Unmarshal([]byte(out), &shown))
			if l := shown.Ledger; l.Resent != c.resent || l.Swallowed != c.swallowed || l.Posted != l.Seen+l.Returned {
				t.Errorf("ledger %+v", l)
			}
			for _, m := range shown.Messages {
				if m.Kind == "brief" && (m.Status != "delivered" || m.Sent != 2+c.swallowed) {
					t.Errorf("brief %+v", m)
				}
			}
		})
	}
}

// TestUsageLimit: a limit with a reset time is waited for once and is not a crash. If no wait is allowed, the
// run ends, says so, and can be resumed later.
func TestUsageLimit(t *testing.T) {
	t.Parallel()
	t.Run("waited for", func(t *testing.T) {
		t.Parallel()
		s := perform(t, spin("echo spun"), sick{"arbiter.1": "limit:2"}, "--max-wait", "4s")
		if r := s.finish(contract.ExitComplete); r.Crashes != 0 || !sums(r, "spun") {
			t.Errorf("result %+v", r)
		}
		list := collect[contract.Retry](s)
		if len(list) != 1 || !strings.Contains(list[0].Reason, "resets at") || list[0].DelayMS > 4000 {
			t.Errorf("retries %+v", list)
		}
		if e := collect[contract.Error](s); len(e) != 0 || len(s.spawns(contract.Arbiter)) != 1 {
			t.Errorf("errors %+v, spawned %+v", e, s.spawns(contract.Arbiter))
		}
	})
	t.Run("not waited for", func(t *testing.T) {
		t.Parallel()
		s := perform(t, spin("echo spun"), sick{"arbiter.1": "limit:777600"}, "--max-wait", "0s")
		if r := s.finish(contract.ExitLimit); r.Status != contract.StatusLimit || r.Crashes != 0 {
			t.Errorf("result %+v", r)
		}
		s.oneError(bridge.CatUsageLimit)
		n := s.again("--json", "--resume")
		if r := n.finish(contract.ExitComplete); !sums(r, "spun") {
			t.Errorf("result %+v", r)
		}
	})
	t.Run("cancelled", func(t *testing.T) {
		t.Parallel()
		s := perform(t, spin("echo spun"), sick{"arbiter.1": "limit:3600"}, "--max-wait", "2h")
		await[contract.Retry](s, "the wait", nil)
		s.send(contract.Cancel{})
		s.finish(contract.ExitFailed)
	})
}

// TestKeyRefusedInParallel: the API refuses the key of several agents at once. Arbiter reports it once and
// starts no other process.
func TestKeyRefusedInParallel(t *testing.T) {
	t.Parallel()
	s := start(t, nil, "--rehearse", "--claude", sickClaude(t, sick{"orch-*": "auth"}), "--json", "--scenario",
		"parallel", "--task", "Two threads")
	s.offScript = true
	s.finish(contract.ExitEnvironment)
	s.oneError(bridge.CatAuth)
	if list := s.reasons(); len(list) != 0 {
		t.Errorf("restarts %q", list)
	}
}

// TestCutStream: an answer that breaks off in mid-stream looks like a finished turn (observed with CLI 2.1.329:
// its result says success). Arbiter asks again for the missing verdict, and does not treat the turn as the end
// of the work: the rules continue the task up to its limit.
func TestCutStream(t *testing.T) {
	t.Parallel()
	eachPlayerLong(t, func(t *testing.T, p player) {
		s := start(t, []string{"CLAUDE_CODE_MAX_RETRIES=0"},
			append(p.args, "--json", "--no-input", "--max-iterations", "1",
				"--scenario", faultScenario(t, "{cut_after: 4, repeat: forever}"), "--task", "Speak")...)
		if r := s.finish(contract.ExitLimit); r.Status != contract.StatusLimit {
			t.Errorf("result %+v", r)
		}
		for _, e := range collect[contract.Error](s) {
			if e.Category != bridge.CatVerdict {
				t.Errorf("error %+v", e)
			}
		}
		if d := collect[contract.Decision](s); len(d) == 0 ||
			slices.ContainsFunc(d, func(d contract.Decision) bool { return d.Source != "fallback" }) {
			t.Errorf("decisions %+v", d)
		}
	})
}

// TestMoneyIsSpentOnce: a run that ended at its cost limit ends at once when it is resumed and no human
// can raise the limit. It starts no agent. A higher limit lets it continue.
func TestMoneyIsSpentOnce(t *testing.T) {
	testkit.Long(t)
	t.Parallel()
	text := strings.Replace(talk, "    otherwise:", "    steps:\n      - {verdict: {decision: ADDRESS_HUMAN, message: "+
		"And then?, reason: r}, usage: {input: 240000, output: 10000}}\n    otherwise:", 1)
	s := perform(t, text, nil, "--max-cost", "1")
	s.finishesAtLimit()
	r := s.finish(contract.ExitLimit)
	if r.Status != contract.StatusLimit || r.CostUSD < 1 {
		t.Errorf("result %+v", r)
	}
	n := s.again("--json", "--resume", "--no-input")
	if r := n.finish(contract.ExitLimit); !strings.Contains(r.Summary, "--max-cost") ||
		len(n.spawns(contract.Arbiter)) != 0 {
		t.Errorf("result %+v, spawned %+v", r, n.spawns(contract.Arbiter))
	}
	m := s.again("--json", "--resume", "--max-cost", "100")
	m.send(contract.Say{Text: "it is enough"})
	m.finish(contract.ExitComplete)
}
