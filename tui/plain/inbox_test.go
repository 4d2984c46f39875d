package plain

import (
	"encoding/json"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/arbiter-cli/arbiter/supervisor"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
)

// TestInbox: the number of waiting items is reported after they have waited for a minute, again when it
// changes, and every ten minutes; /inbox lists them, with the numbers for answers.
func TestInbox(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		var list []supervisor.InboxItem
		waits := func(items ...supervisor.InboxItem) { mu.Lock(); list = items; mu.Unlock() }
		s := play(
			t,
			&Frontend{Begin: true, Inbox: func() []supervisor.InboxItem { mu.Lock(); defer mu.Unlock(); return list }},
			newFake(),
		)
		passes := func(d time.Duration) { time.Sleep(d); synctest.Wait() }
		s.typeLines("/inbox")
		s.expect("Nothing waits for you.\n")
		leave := supervisor.InboxItem{
			ID:    "r-9",
			Kind:  supervisor.InboxPermission,
			Agent: "orch-1",
			Text:  "Bash: make",
			Since: time.Now(),
		}
		s.emit("orch-1", contract.PermissionRequest{Request: "r-9", Tool: "Bash",
			Input: json.RawMessage(`{"command":"make"}`)})
		s.output()
		waits(leave)
		passes(progressPause)
		s.expect("A word of yours is awaited, the first for 1 min: /inbox lists what for.\n")
		question := supervisor.InboxItem{
			ID:    "question-1",
			Kind:  supervisor.InboxQuestion,
			Agent: "arbiter",
			Text:  "This\nor that?",
			Since: time.Now(),
		}
		waits(
			leave,
			question,
			supervisor.InboxItem{ID: "recovery-orch-2", Kind: supervisor.InboxRecovery, Agent: "orch-2", Optional: true,
				Choices: []string{"retry", "skip"}, Text: "failed", Since: time.Now()},
		)
		passes(progressPause)
		s.expect("2 words of yours are awaited, the first for 2 min: /inbox lists what for.\n")
		passes(9 * progressPause)
		s.expect("")
		passes(progressPause)
		s.expect("2 words of yours are awaited, the first for 12 min: /inbox lists what for.\n")
		s.typeLines("/inbox")
		s.expect("2 words of yours are awaited.\n" +
			"1. Orchestrator I asks leave, for 12 min: answer with 1 y, 1 run, 1 always, or 1 n REASON.\n" +
			"    Bash: make\n" +
			"2. The Arbiter asks, for 11 min: your next word to the Arbiter is the answer, or /answer 2 TEXT.\n" +
			"    This\n    or that?\n" +
			"3. Orchestrator II has failed, for 11 min: /answer 3 retry, or skip.\n\n")
		waits()
		passes(20 * progressPause)
		s.expect("")
		s.end()
	})
}

// TestAnswerInbox: items that /inbox lists are answered by number, also those from before the frontend
// started; all requests can be answered at once only after they were listed.
func TestAnswerInbox(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		leave := func(id, agent string) supervisor.InboxItem {
			return supervisor.InboxItem{ID: id, Kind: supervisor.InboxPermission, Agent: agent, Text: "Bash: go test ./" + id,
				Since: time.Now(),
				Request: &contract.PermissionRequest{Request: id, Action: "hash of " + id,
					Suggestions: []string{"Bash(go test *)"}}}
		}
		list := []supervisor.InboxItem{leave("a", "orch-1"), leave("b", "orch-2"),
			{ID: "question-1", Kind: supervisor.InboxQuestion, Agent: "arbiter", Text: "This or that?", Since: time.Now()},
			{ID: "trust", Kind: supervisor.InboxTrust, Text: "It has changed.", Choices: []string{"trust", "without"},
				Since: time.Now()}}
		host := newFake()
		s := play(t, &Frontend{Begin: true, Inbox: func() []supervisor.InboxItem { return list },
			Covers: func(string) []string { return []string{"a", "b", "gone"} }}, host)
		took := func(want ...contract.CommandBody) {
			t.Helper()
			host.mu.Lock()
			defer host.mu.Unlock()
			if diff := cmp.Diff(want, host.puts); diff != "" {
				t.Errorf("the run was told (-want +got):\n%s", diff)
			}
			host.puts = nil
		}
		s.typeLines("/inbox")
		s.expect("4 words of yours are awaited.\n" +
			"1. Orchestrator I asks leave, just now: answer with 1 y, 1 run, 1 always, or 1 n REASON.\n" +
			"    Bash: go test ./a\n    1 run a allows Bash(go test *), which also settles 2: every command that begins with " +
			"`go test` (its options can run programs).\n" +
			"2. Orchestrator II asks leave, just now: answer with 2 y, 2 run, 2 always, or 2 n REASON.\n" +
			"    Bash: go test ./b\n    2 run a allows Bash(go test *), which also settles 1: every command that begins with " +
			"`go test` (its options can run programs).\n" +
			"3. The Arbiter asks, just now: your next word to the Arbiter is the answer, or /answer 3 TEXT.\n" +
			"    This or that?\n" +
			"4. The workspace needs your trust, just now: /answer 4 trust, or without.\n    It has changed.\n" +
			"/answer all y allows these 2 requests once, /answer all n denies them.\n\n")
		s.typeLines("/answer 1 run a", "/answer 2 n not that", "/answer 3 That one", "/answer 4 without")
		took(contract.Permit{Request: "a", Behavior: "allow", Scope: "run", Rule: "Bash(go test *)",
			Action: "hash of a"},
			contract.Permit{Request: "b", Behavior: "deny", Message: "not that", Action: "hash of b"},
			contract.Say{Text: "That one"}, contract.Choose{Option: "without"})
		for line, want := range map[string]string{
			"/answer 9 y":      "Nothing waits under number 9: /inbox lists what does.",
			"/answer x":        "Say which: /inbox lists",
			"/answer 1 please": "That was not taken. Answer with 1 y",
			"/answer 3":        "Write the answer behind the number",
			"/answer 4 maybe":  "That was not taken. Answer 4 with trust, or without.",
			"/answer all":      "Say /answer all y, or /answer all n.", "/answer all always": "Say /answer all y",
		} {
			s.typeLines(line)
			if got := s.output(); !strings.Contains(got, want) {
				t.Errorf("%s: said %q", line, got)
			}
		}
		const which = "That allows 2 permission requests:\n    1. Orchestrator I asks leave: Bash: go test ./a\n" +
			"    2. Orchestrator II asks leave: Bash: go test ./b\nTo do it, say /answer all y 2.\n\n"
		s.typeLines("/answer all y 2")
		s.expect(which)
		list = append(list[1:], leave("c", "orch-1"))
		s.typeLines("/answer all y 2") // these are other requests
		took()
		s.output()
		s.typeLines("/answer all y 2")
		took(contract.Permit{Request: "b", Behavior: "allow", Scope: "once", Action: "hash of b"},
			contract.Permit{Request: "c", Behavior: "allow", Scope: "once", Action: "hash of c"})
		s.end()
	})
}
