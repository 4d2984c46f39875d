package supervisor

import (
	"encoding/json"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/input"
)

// checkRenewing: a renewal that holds mail back is in progress, and nothing else holds it.
func checkRenewing(t *testing.T, s *State) {
	t.Helper()
	if s.Ending != nil || !s.Task.Phase.Live() || len(s.Agents) == 0 || s.Paused || s.Conversation.Held {
		return
	}
	if s.budgetHolds() {
		return
	}
	a := s.Agents[0]
	for _, m := range s.Conversation.Mail {
		if s.turnsLeft() <= s.busyCount() {
			break // little is left of a cost limit
		}
		to, _ := s.Agent(m.To)
		held := m.Sent || !m.NotBefore.IsZero() || s.withholds(&m) || m.To == a.ID && s.Renewal.Withholds(m.Kind)
		if !held && to.Status == AgentReady {
			t.Fatalf("a %s to %s is not sent, and nothing holds it", m.Kind, m.To)
		}
	}
	if a.Status != AgentReady {
		return
	}
	switch s.Renewal.Stage {
	case RenewalAsked:
		asked := a.Troubles > 0
		for _, m := range slices.Concat(s.Conversation.Mail, s.Conversation.InTurn) {
			asked = asked || m.To == a.ID && !s.Renewal.Withholds(m.Kind)
		}
		if !asked {
			t.Fatal("the Arbiter's renewal is due, and no request asks for it")
		}
	case RenewalGiven:
		if !slices.ContainsFunc(s.Handoff.Documents, func(h Handover) bool { return h.Kind == HandoffKindRenewal }) {
			t.Fatal("the Arbiter's renewal is given, and nothing goes on")
		}
	}
}

// checkHeirs: each document is in the queue once, and no author in the queue works again.
func checkHeirs(t *testing.T, s *State) {
	t.Helper()
	waiting := map[string]bool{}
	for _, id := range s.Handoff.SuccessorQueue {
		if waiting[id] {
			t.Fatalf("%s waits twice", id)
		}
		waiting[id] = true
	}
	for _, p := range s.Permission.Open {
		if p.Params.Tool == "Check" && !s.Handoff.IsCheck(p.Params.Request) {
			t.Fatalf("a human is asked for check %s, which no document waits for", p.Params.Request)
		}
	}
}

// renewingInput fills the Arbiter's context, and returns what can happen then: mostly it gives its document, and
// sometimes it is disturbed.
func renewingInput(r *rand.Rand, s *State) input.Body {
	a := *s.Agents[0]
	event := func(b bridge.EventBody) input.Body {
		return input.AgentEvent{Event: bridge.Event{AgentRef: a.AgentRef, Body: b}}
	}
	switch {
	case a.Status == AgentRestarting && r.IntN(3) > 0:
		return event(bridge.Done{SessionID: a.SessionID, Exit: bridge.Exit{Expected: true}})
	case a.Status == AgentStarting && r.IntN(3) > 0:
		return input.Spawned{Agent: a.AgentRef, Result: bridge.SpawnResult{Window: 1000, Resumed: !a.NewSession, Deliveries: randomStatuses(r, a)}}
	case s.Renewal.Stage == RenewalAsked && a.Status == AgentBusy:
		full := bridge.Turn{MessageIDs: a.Turn, Outcome: bridge.TurnDone, Verdict: json.RawMessage(
			`{"decision":"HANDOFF","message":"m","reason":"r","handoff":{"accomplished":["a"],"remaining":[],"key_context":"k"}}`)}
		checked := full
		checked.Verdict = json.RawMessage(
			`{"decision":"HANDOFF","message":"m","reason":"r","handoff":{"accomplished":["a"],"remaining":[],"key_context":"k","checks":[{"command":"ls","expect":""}]}}`)
		stopped := bridge.Turn{MessageIDs: a.Turn, Outcome: bridge.TurnInterrupted}
		spent := bridge.Turn{MessageIDs: a.Turn, Outcome: bridge.TurnFailed, Category: bridge.CatPromptTooLong}
		limited := bridge.Turn{MessageIDs: a.Turn, Outcome: bridge.TurnFailed, Category: bridge.CatUsageLimit}
		done := bridge.Turn{MessageIDs: a.Turn, Outcome: bridge.TurnDone, Verdict: json.RawMessage(`{"decision":"COMPLETE","message":"m","reason":"r","summary":"s"}`)}
		return []input.Body{
			event(full), event(full), event(checked), event(stopped), event(spent), event(limited), event(done),
			input.Command{Channel: input.ChannelStdin, Command: contract.Command{Ref: "r",
				Body: contract.Say{Text: "x", Strength: contract.Steer}}},
			input.Command{Channel: input.ChannelStdin, Command: contract.Command{Ref: "r",
				Body: contract.Say{Text: "x", Strength: contract.Stop}}},
			event(bridge.Compact{Trigger: "auto", PreTokens: 9}), event(bridge.Context{Tokens: 1, Window: 100, Pct: 1}),
		}[r.IntN(11)]
	case a.CompactionBlocked && a.Status == AgentBusy:
		return []input.Body{input.Timer{Key: CompactionBlockedPrefix + RunOf(a.AgentRef)},
			event(bridge.Turn{MessageIDs: a.Turn, Outcome: bridge.TurnInterrupted})}[r.IntN(2)]
	case s.Paused:
		return input.Command{Channel: input.ChannelStdin, Command: contract.Command{Ref: "r",
			Body: contract.Continue{}}}
	case a.Status == AgentBusy:
		return []input.Body{
			event(bridge.Context{Tokens: 99, Window: 100, Pct: 99}), event(bridge.Compact{Trigger: "auto", Blocked: true}),
			input.Command{Channel: input.ChannelStdin, Command: contract.Command{Ref: "r", Body: contract.Pause{}}},
			event(bridge.Turn{MessageIDs: a.Turn, Outcome: bridge.TurnFailed, Category: bridge.CatCompaction}),
		}[r.IntN(4)]
	}
	for _, h := range s.Handoff.Documents {
		if h.Request != "" {
			author := h.Agent
			return []input.Body{
				input.PermissionAsked{Params: bridge.PermissionParams{AgentRef: author, Request: h.Request, Tool: "Check", Input: json.RawMessage(`{}`)}, Behavior: "ask"},
				input.Command{Channel: input.ChannelStdin, Command: contract.Command{Ref: "r",
					Body: contract.Permit{Request: h.Request, Behavior: "allow"}}},
				input.Checked{Serial: h.Serial, Number: len(h.Receipts) + 1, Request: h.Request, Result: bridge.CheckResult{SHA256: "s"}},
				input.Checked{Serial: h.Serial, Number: len(h.Receipts) + 1, Request: "another", Failed: "denied"},
			}[r.IntN(4)]
		}
	}
	return nil
}
