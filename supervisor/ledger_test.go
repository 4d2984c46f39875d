package supervisor

import (
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/decider"
	"github.com/arbiter-cli/arbiter/supervisor/input"
	"github.com/arbiter-cli/arbiter/supervisor/runconfig"
)

// ledger returns the message records of a play's history, by their text.
func (p *play) ledger() map[string]MessageRecord {
	p.t.Helper()
	var fold Replayer
	var m Messages
	for _, r := range records(p.t, p.in) {
		step, err := fold.Replay(r)
		if err != nil {
			p.t.Fatal(err)
		}
		notes(&m, step, &fold.State)
	}
	m.Close(&fold.State.Conversation)
	list := map[string]MessageRecord{}
	for _, r := range m.List {
		list[r.Text] = r
	}
	return list
}

// TestTheLedgerOfMessages: the ledger reports the delivery status of each message, even if the processes that
// should read it end.
func TestTheLedgerOfMessages(t *testing.T) {
	p := begin(t, nil)
	one, two := p.spawn("left half"), p.spawn("right half")
	p.verdict("arbiter", ruling("CONTINUE", "Patience."))
	p.rebirth(one, bridge.DeliveryAbsent) // unproven, and sent again
	p.verdict(one, report("progress", "left: half is there", false))
	p.proven(two)
	p.rebirth(two, bridge.DeliveryAbsent) // proven, and its history is lost with the process
	p.verdict(two, report("question", "May I?", true))
	atIt := ruling("ADDRESS_HUMAN", "They are at it.")
	atIt["report"] = true
	p.verdict("arbiter", atIt)
	p.say("for the other", contract.Note, two)
	p.say("one more word", contract.Note, one)
	p.say("and another", contract.Note, one)
	p.call("arbiter", "release_orchestrator", `{"id":"orch-2","reason":"enough"}`)
	p.verdict(one, report("progress", "left: more is there", false))

	got := map[string]string{}
	sent := map[string]int{}
	for text, r := range p.ledger() {
		got[text], sent[text] = r.Status, r.Sent
	}
	company := "right half" + (&Roster{Agents: p.s.Agents[:2]}).SharingText("orch-2")
	want := map[string]string{
		"Build it": MessageDelivered, "left half": MessageDelivered, company: MessageDelivered,
		"left: half is there": MessageDelivered, "May I?": MessageDelivered, "They are at it.": MessageReported,
		"for the other": MessageReturned, "one more word": MessageSent, "and another": MessageWaiting,
		"left: more is there": MessageWaiting, "Your report is in the work log. Continue.": MessageDelivered,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("statuses (-want +got):\n%s", diff)
	}
	if sent["left half"] != 2 || sent[company] != 2 || sent["Build it"] != 1 || sent["and another"] != 0 || sent["They are at it."] != 0 {
		t.Errorf("how often they were written: %v", sent)
	}
}

// TestTheLedgerAddsUp: in any run, every message to an agent was seen, waits, or was returned.
func TestTheLedgerAddsUp(t *testing.T) {
	for seed := range uint64(often(100, 300)) {
		r := rand.New(rand.NewPCG(seed, 11))
		var s State
		at := time.Unix(1_800_000_000, 0)
		body := input.Body(input.Began{Options: runconfig.Options{Run: testRun, Delimiter: "d", HumanPresent: true,
			Task: "t", MaxExchanges: 8, MaxOrchestrators: 3}.WithDefaults()})
		for range 300 {
			at = at.Add(time.Second)
			s, _ = Apply(s, input.Input{At: at, Body: body})
			waiting := 0
			for _, m := range s.Conversation.Mail {
				if !m.Reported {
					waiting++
				}
			}
			if l := s.Conversation.Ledger; l.Posted != l.Seen+l.Returned+l.Demoted+waiting || l.Sent < l.Seen ||
				l.Resent > l.Sent || l.Swallowed > l.Resent {
				t.Fatalf("seed %d, after %T: %+v, and %d wait", seed, body, l, waiting)
			}
			body = randomInput(r, &s)
		}
	}
}

// TestAMessageIsCountedOnce: a message that was seen, lost with its process and then returned with its reader
// counts as seen if a model has answered it, else as returned.
func TestAMessageIsCountedOnce(t *testing.T) {
	for _, answered := range []bool{false, true} {
		p := begin(t, nil)
		id := p.spawn("work")
		p.proven(id)
		if answered {
			p.speaks(id)
		}
		p.rebirth(id, bridge.DeliveryAbsent)
		p.call("arbiter", "release_orchestrator", `{"id":"orch-1","reason":"enough"}`)
		want := ConversationLedger{Posted: 2, Sent: 3, Returned: 1, Requeued: 1} // the task is still unproven
		status := MessageReturned
		if answered {
			want.Seen, want.Returned, status = 1, 0, MessageDelivered
		}
		if p.s.Conversation.Ledger != want {
			t.Errorf("answered %v: ledger %+v, want %+v", answered, p.s.Conversation.Ledger, want)
		}
		if r := p.ledger()["work"]; r.Status != status || r.Sent != 2 {
			t.Errorf("answered %v: %+v", answered, r)
		}
	}
}

// TestShelvedIsNotWaiting: a verdict that was ruled on without the Arbiter does not wait for a reader.
func TestShelvedIsNotWaiting(t *testing.T) {
	p := begin(t, func(o *runconfig.Options) { o.Decider = runconfig.DeciderRules })
	p.decides(decider.Rules{})
	id := p.working()
	p.verdict(id, report("done", "the plan is done", true))
	p.decides(decider.Rules{})
	if p.s.Conversation.Ledger.Demoted == 0 {
		t.Fatal("nothing was shelved")
	}
	list := p.ledger()
	for text, r := range list {
		if r.To == contract.Arbiter && r.Status == MessageWaiting {
			t.Errorf("%.40q is listed as waiting", text)
		}
	}
	if r := list["Build it"]; r.Status != MessageDemoted {
		t.Errorf("the task is listed as %q", r.Status)
	}
}

// TestWhoIsAlive: a refusal lists the agents that can receive messages, and does not list an agent called "none".
func TestWhoIsAlive(t *testing.T) {
	p := begin(t, nil)
	for _, b := range []contract.CommandBody{
		contract.Say{Text: "x", To: "orch-9"}, contract.Kill{ID: "orch-9"}, contract.Configure{ID: "orch-9", Model: "m"}, contract.Attach{ID: "orch-9"},
	} {
		if ok, why := p.command(b); ok || !strings.HasSuffix(why, "alive: arbiter") {
			t.Errorf("%s: %q", b.CommandType(), why)
		}
	}
	p.spawn("build it")
	if ok, why := p.command(contract.Kill{ID: "orch-9"}); ok || !strings.HasSuffix(why, "alive: arbiter, orch-1 working") {
		t.Error(why)
	}
}

// notes applies a step as the records of the event log describe it.
func notes(m *Messages, r Replayed, after *State) {
	for _, e := range after.Conversation.WorkLog {
		if e.Demoted {
			m.Demoted(e.ID)
		}
	}
	for _, e := range r.Effects {
		switch e := e.(type) {
		case input.Emit:
			switch b := e.Event.Body.(type) {
			case contract.Message:
				m.AddMessage(r.Input.At, b)
			case contract.Delivered:
				m.Delivered(b.MessageID, "")
			}
		case input.Send:
			if sent, ok := after.Conversation.SentAs(e.Params.MessageID); ok {
				m.Sent(sent.ID)
			}
		}
	}
}
