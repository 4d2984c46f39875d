package plain

import (
	"encoding/json"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/inbox"
)

// TestInbox: how much waits is said once it has waited for a minute, again when it changes, and every ten minutes;
// /inbox lists it, with the numbers that answers take.
func TestInbox(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		var list []inbox.Item
		waits := func(items ...inbox.Item) { mu.Lock(); list = items; mu.Unlock() }
		s := play(t, &Frontend{Begin: true, Inbox: func() []inbox.Item { mu.Lock(); defer mu.Unlock(); return list }},
			newFake())
		passes := func(d time.Duration) { time.Sleep(d); synctest.Wait() }
		s.say("/inbox")
		s.expect("Nothing waits for you.\n")
		leave := inbox.Item{ID: "r-9", Kind: inbox.Permission, Agent: "orch-1", Text: "Bash: make", Since: time.Now()}
		s.tell("orch-1", contract.PermissionRequest{Request: "r-9", Tool: "Bash",
			Input: json.RawMessage(`{"command":"make"}`)})
		s.heard()
		waits(leave)
		passes(progressPause)
		s.expect("A word of yours is awaited, the first for 1 min: /inbox lists what for.\n")
		question := inbox.Item{ID: "question-1", Kind: inbox.Question, Agent: "arbiter", Text: "This\nor that?",
			Since: time.Now()}
		waits(leave, question, inbox.Item{ID: "recovery-orch-2", Kind: inbox.Recovery, Agent: "orch-2", Optional: true,
			Choices: []string{"retry", "skip"}, Text: "failed", Since: time.Now()})
		passes(progressPause)
		s.expect("2 words of yours are awaited, the first for 2 min: /inbox lists what for.\n")
		passes(9 * progressPause)
		s.expect("")
		passes(progressPause)
		s.expect("2 words of yours are awaited, the first for 12 min: /inbox lists what for.\n")
		s.say("/inbox")
		s.expect("2 words of yours are awaited.\n" +
			"Orchestrator I asks leave, for 12 min: answer with 1 y, 1 run, 1 always, or 1 n REASON.\n" +
			"    Bash: make\n" +
			"The Arbiter asks, for 11 min: your next word to the Arbiter is the answer.\n    This or that?\n" +
			"Orchestrator II has failed, for 11 min: /choose retry, skip.\n\n")
		waits()
		passes(20 * progressPause)
		s.expect("")
		s.end()
	})
}
