package supervisor

import (
	"strings"
	"testing"
	"time"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/input"
	"github.com/arbiter-cli/arbiter/supervisor/runconfig"
)

// overdue lets the timer for the proof of an agent's messages ring.
func (p *play) overdue(id string) []input.Effect {
	p.t.Helper()
	p.at = p.at.Add(ProofWait - time.Second)
	return p.do(input.Timer{Key: DeliveryTimerPrefix + p.agent(id).Turn[0]})
}

// TestASwallowedMessage: it is noticed at the deadline, written once more under the same id, which the CLI
// ignores if it has the message after all, and then given to another process.
func TestASwallowedMessage(t *testing.T) {
	p := begin(t, nil)
	first := p.sends("arbiter")[0]
	if wait := timer(p.out, DeliveryTimerPrefix+first.MessageID); wait != ProofWait {
		t.Fatalf("its proof is awaited for %s", wait)
	}
	out := p.overdue("arbiter")
	again := p.sends("arbiter")
	if len(again) != 2 || again[1].MessageID != first.MessageID || again[1].Content != first.Content ||
		timer(out, DeliveryTimerPrefix+first.MessageID) != ProofWait {
		t.Fatalf("written again: %+v", again)
	}
	if p.notices("not received within 30s") != 1 {
		t.Errorf("notices %v", told[contract.Notice](p))
	}
	p.overdue("arbiter")
	if k := effects[input.Kill](p); len(k) != 1 || len(p.sends("arbiter")) != 2 ||
		p.notices("sent twice and not received") != 1 {
		t.Fatalf("kills %v, %d sends", k, len(p.sends("arbiter")))
	}
	p.happen("arbiter", bridge.Turn{MessageIDs: p.agent("arbiter").Turn, Outcome: bridge.TurnLost})
	p.happen("arbiter", bridge.Done{Exit: bridge.Exit{Code: -1, Signal: "killed"}})
	p.comes("arbiter", p.remembers("arbiter", bridge.DeliveryAbsent))
	third := p.sends("arbiter")[2]
	if third.MessageID == first.MessageID || third.Content != first.Content || third.Generation != 2 {
		t.Errorf("to the next process: %+v", third)
	}
	if len(p.saidDelivered()) != 0 {
		t.Error("delivered was said of a swallowed message")
	}
	p.proven("arbiter")
	want := ConversationLedger{Posted: 1, Sent: 3, Seen: 1, Resent: 1, Swallowed: 1, Requeued: 1}
	if p.s.Conversation.Ledger != want {
		t.Errorf("ledger %+v, want %+v", p.s.Conversation.Ledger, want)
	}
	if p.s.Lifecycle.Crashes != 0 {
		t.Errorf("%d crashes", p.s.Lifecycle.Crashes)
	}
	p.folds()
}

// TestAProofThatComesLate: a late proof, for either of the two writes, settles it.
func TestAProofThatComesLate(t *testing.T) {
	p := begin(t, nil)
	p.overdue("arbiter")
	wire := p.agent("arbiter").Turn[0]
	p.proven("arbiter")
	p.proven("arbiter") // of the second one
	p.speaks("arbiter")
	if timer(p.out, DeliveryTimerPrefix+wire) != 0 {
		t.Error("its proof is still awaited")
	}
	p.do(input.Timer{Key: DeliveryTimerPrefix + wire}) // it had rung already
	if len(effects[input.Kill](p)) != 0 || len(p.sends("arbiter")) != 2 || len(told[contract.Delivered](p)) != 1 {
		t.Errorf("kills %v, %d sends, delivered %v", effects[input.Kill](p),
			len(p.sends("arbiter")), told[contract.Delivered](p))
	}
	p.folds()
}

// TestSilenceWithAReason: a missing proof is not a loss while the CLI retries the API, or while its process is
// stopped.
func TestSilenceWithAReason(t *testing.T) {
	for name, c := range map[string]struct{ begins, ends func(p *play) }{
		"retries": {
			func(p *play) { p.happen("arbiter", bridge.Retry{Attempt: 1, DelayMS: 1000}) },
			func(p *play) { p.happen("arbiter", bridge.Context{Tokens: 10, Window: 100, Pct: 10}) },
		},
		"stopped": {
			func(p *play) {
				p.do(input.Probed{Agent: p.agent("arbiter").AgentRef, Result: bridge.ProbeResult{Stopped: true}})
			},
			func(p *play) {
				p.do(input.Probed{Agent: p.agent("arbiter").AgentRef, Result: bridge.ProbeResult{Answered: true}})
			},
		},
	} {
		p := begin(t, nil)
		c.begins(p)
		for range 100 {
			if out := p.overdue("arbiter"); timer(out, DeliveryTimerPrefix+p.agent("arbiter").Turn[0]) != ProofWait {
				t.Fatalf("%s: no timer checks it again", name)
			}
		}
		if len(p.sends("arbiter")) != 1 || len(effects[input.Kill](p)) != 0 {
			t.Errorf("%s: %d sends, kills %v", name, len(p.sends("arbiter")), effects[input.Kill](p))
		}
		c.ends(p)
		p.overdue("arbiter")
		if len(p.sends("arbiter")) != 2 {
			t.Errorf("%s: afterwards it was not written again", name)
		}
		p.folds()
	}
}

// TestSteeredMessageWaitsForItsTurn: the CLI processes it after the current tool, or in a turn of its own; only
// then can its proof be overdue.
func TestSteeredMessageWaitsForItsTurn(t *testing.T) {
	p := begin(t, nil)
	id := p.spawn("work")
	p.verdict("arbiter", ruling("CONTINUE", "Patience."))
	p.proven(id)
	p.say("mind the tests", contract.Steer, id)
	turn := p.agent(id).Turn
	if len(turn) != 2 || timer(p.out, DeliveryTimerPrefix+turn[1]) != 0 {
		t.Fatalf("turn %v, its proof is awaited for %s", turn, timer(p.out, DeliveryTimerPrefix+turn[1]))
	}
	out := p.happen(id, bridge.Turn{MessageIDs: turn[:1], Outcome: bridge.TurnDone, Verdict: []byte(`{"expects_response":false,"message":"m","kind":"progress"}`)})
	if timer(out, DeliveryTimerPrefix+turn[1]) != ProofWait || p.agent(id).Status != AgentBusy {
		t.Errorf("after the turn its proof is awaited for %s, and it is %s", timer(out, DeliveryTimerPrefix+turn[1]),
			p.agent(id).Status)
	}
	p.overdue(id)
	if s := p.sends(id); s[len(s)-1].MessageID != turn[1] {
		t.Errorf("written again: %+v", s[len(s)-1])
	}
	p.proven(id)
	p.folds()
}

// TestEverySwallowedMessageIsNoticed: 10,000 messages are each noticed within the deadline.
func TestEverySwallowedMessageIsNoticed(t *testing.T) {
	messages := often(1000, 10_000)
	at := time.Unix(1_800_000_000, 0)
	s, _ := Apply(State{}, input.Input{At: at,
		Body: input.Began{Options: runconfig.Options{Run: testRun, Delimiter: "d", HumanPresent: true}.WithDefaults()}})
	do := func(f input.Body) (out []input.Effect) {
		s, out = Apply(s, input.Input{At: at, Body: f})
		return out
	}
	do(input.Spawned{Agent: s.Agents[0].AgentRef})
	noticed := 0
	for range messages {
		out := do(input.Command{Channel: input.ChannelStdin, Command: contract.Command{Body: contract.Say{Text: "x"}}})
		wire := s.Agents[0].Turn[0]
		wait := timer(out, DeliveryTimerPrefix+wire)
		if wait <= 0 || wait > 30*time.Second {
			t.Fatalf("its proof is awaited for %s", wait)
		}
		at = at.Add(wait)
		for _, e := range do(input.Timer{Key: DeliveryTimerPrefix + wire}) {
			if n, ok := e.(input.Emit); ok {
				if b, ok := n.Event.Body.(contract.Notice); ok && strings.Contains(b.Text, "not received within") {
					noticed++
				}
			}
		}
		do(input.AgentEvent{Event: bridge.Event{AgentRef: s.Agents[0].AgentRef,
			Body: bridge.Delivered{MessageID: wire}}})
		do(input.AgentEvent{Event: bridge.Event{AgentRef: s.Agents[0].AgentRef,
			Body: bridge.Turn{MessageIDs: []string{wire}, Outcome: bridge.TurnDone,
				Verdict: []byte(`{"decision":"ADDRESS_HUMAN","message":"m","reason":"r"}`)}}})
	}
	want := ConversationLedger{Posted: messages, Sent: 2 * messages, Seen: messages, Resent: messages}
	if noticed != messages || s.Conversation.Ledger != want {
		t.Errorf("%d of %d were noticed, ledger %+v", noticed, messages, s.Conversation.Ledger)
	}
}
