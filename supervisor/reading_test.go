package supervisor

import (
	"strings"
	"testing"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/supervisor/decider"
	"github.com/arbiter-cli/arbiter/supervisor/input"
)

// lastNote is the last recorded decision.
func (p *play) lastNote() input.Decided {
	p.t.Helper()
	notes := effects[input.Note](p)
	if len(notes) == 0 {
		p.t.Fatal("no decision is recorded")
	}
	return input.Decided(notes[len(notes)-1].Decision)
}

// TestWhatTheArbiterReadIsRecorded: a decision is recorded with each message of its turn, and of earlier turns
// without a ruling, as it was sent.
func TestWhatTheArbiterReadIsRecorded(t *testing.T) {
	p := begin(t, nil)
	p.careful = true
	task := p.lastSent("arbiter")
	id := p.spawn("work")
	p.verdict("arbiter", ruling("CONTINUE", "Patience."))
	if got := p.lastNote().Decision.Prompt; got != task || !strings.Contains(got, "Build it") {
		t.Errorf("recorded as read:\n%s\nand sent was:\n%s", got, task)
	}
	p.verdict(id, report("done", "all of it", true))
	document := p.lastSent("arbiter")
	p.turn("arbiter", bridge.Turn{Text: "Hm."}) // no verdict: the run asks again
	correction := p.lastSent("arbiter")
	p.say("Be quick.", "steer", "arbiter")
	word := p.lastSent("arbiter")
	p.verdict("arbiter", ruling("COMPLETE", "It is done.", "summary", "s"))
	got := p.lastNote().Decision.Prompt
	if want := document + "\n" + correction + "\n" + word; got != want {
		t.Errorf("recorded as read:\n%s\nwant:\n%s", got, want)
	}
	p.contains("what was read", got, "where the task stands", "the second half", "Be quick.")
	p.folds()
}

// TestRepeatedMessageIsReadOnce: a message that was sent twice, to another process or another session, is
// recorded as read once.
func TestRepeatedMessageIsReadOnce(t *testing.T) {
	p := begin(t, nil)
	id := p.spawn("work")
	p.verdict("arbiter", ruling("CONTINUE", "Patience."))
	p.verdict(id, report("done", "all of it", true))
	a := p.agent("arbiter")
	p.happen("arbiter", bridge.Delivered{MessageID: a.Turn[0], Proof: "lifecycle"})
	p.rebirth("arbiter", bridge.DeliveryAbsent)
	p.verdict("arbiter", ruling("CONTINUE", "More.", "to", id))
	if got := p.lastNote().Decision.Prompt; strings.Count(got, "kind: done") != 1 {
		t.Errorf("recorded as read:\n%s", got)
	}
	if len(p.s.Rulings.Readings) != 0 {
		t.Errorf("still there: %+v", p.s.Rulings.Readings)
	}
}

// TestRulesLeaveVerdictsUnread: a verdict that the rules decide on in the Arbiter's place stays unread.
func TestRulesLeaveVerdictsUnread(t *testing.T) {
	p := begin(t, nil)
	p.crash("arbiter", 5)
	if n := p.lastNote(); n.Decision.Prompt != "" || n.Decision.Source != decider.ByFallback {
		t.Errorf("by %s, read:\n%s", n.Decision.Source, n.Decision.Prompt)
	}
}
