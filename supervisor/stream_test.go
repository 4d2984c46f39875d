package supervisor

import (
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/arbiter-cli/arbiter/internal/testkit"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/input"
)

// stream is what a reader of a run's events knows: it must be what the state says.
type stream struct {
	ended    bool
	usd      float64            // charged
	running  map[string]float64 // what running turns have cost
	messages map[string]string  // to whom they went
	sessions int                // process runs so far
	started  map[string]int     // in which of them an agent was announced that has not ended
}

// follow updates the stream after one step, and compares it with the state.
func (l *stream) follow(t *testing.T, before, after *State, f input.Body, out []input.Effect) {
	t.Helper()
	if l.messages == nil {
		l.messages, l.running, l.started = map[string]string{}, map[string]float64{}, map[string]int{}
	}
	lose := func(id string) { // what a turn has cost whose end is not reported
		l.usd += l.running[id]
		delete(l.running, id)
	}
	asked, offered, answers, requests := map[string]bool{}, false, 0, map[string]bool{}
	settled := map[string]bool{}
	var plan *contract.Plan
	for _, e := range out {
		em, ok := e.(input.Emit)
		if !ok {
			continue
		}
		id := em.Event.ID
		if l.ended {
			if _, ok := em.Event.Body.(contract.Session); !ok {
				t.Fatalf("%T: %T after the result", f, em.Event.Body)
			}
		}
		switch b := em.Event.Body.(type) {
		case contract.Session:
			l.ended = false
			l.sessions++
			for id := range l.running {
				lose(id)
			}
		case contract.Result:
			l.ended = true
			for id := range l.running {
				lose(id)
			}
		case contract.Spawn:
			lose(id)
			l.started[id] = l.sessions
		case contract.Done:
			lose(id)
			delete(l.started, id)
		case contract.Cost:
			if l.running[id] = b.CostUSD; id == contract.Supervisor {
				lose(id)
			}
		case contract.Turn:
			delete(l.running, id)
			l.usd += b.CostUSD
		case contract.Decision:
			l.usd += b.CostUSD
		case contract.Message:
			l.messages[b.MessageID] = b.To
		case contract.Notice: // what an Orchestrator does not read any more may go to the Arbiter
			for id := range l.messages {
				if strings.Contains(b.Text, id) && strings.HasSuffix(b.Text, "the Arbiter gets it") {
					l.messages[id] = contract.Arbiter
				}
			}
		case contract.Delivered:
			if l.messages[b.MessageID] == "" {
				t.Fatalf("%T: %s was delivered, and never sent", f, b.MessageID)
			}
		case contract.Plan:
			plan = &b
		case contract.Question:
			asked[b.Question], offered = true, offered || len(b.Options) > 0
		case contract.Error:
			offered = offered || len(b.RecoveryOptions) > 0
		case contract.Host, contract.Restart:
			offered = true
		case contract.PermissionRequest:
			requests[b.Request] = true
		case contract.Permission:
			requests[b.Request] = false
		case contract.Settled:
			settled[b.Item] = true
		case contract.Accepted, contract.Rejected:
			answers++
		}
	}
	if math.Abs(l.usd-after.Budget.CostUSD) > 1e-9 {
		t.Fatalf("%T: the run has cost $%f, its events say $%f", f, after.Budget.CostUSD, l.usd)
	}
	if plan != nil || len(before.Task.Plan) != len(after.Task.Plan) {
		testkit.Need(t, plan != nil && cmp.Equal(plan.Steps, after.Task.Plan), "the plan is %+v, told %+v",
			after.Task.Plan, plan)
	}
	if c, ok := f.(input.Command); ok && before.Ending == nil {
		if _, later := c.Command.Body.(contract.Revert); answers != 1 && !later {
			t.Fatalf("%+v was answered %d times", c.Command.Body, answers)
		}
	}
	waits := map[string]bool{}
	for _, i := range InboxOf(after) {
		waits[i.ID] = true
	}
	if before.Ending == nil || !before.Ending.Said || beginsProcessRun(f) {
		for _, i := range InboxOf(before) {
			if waits[i.ID] == settled[i.ID] && i.Kind != InboxPermission {
				t.Fatalf("%T: %s waits: %v, and was settled: %v", f, i.ID, waits[i.ID], settled[i.ID])
			}
		}
	}
	for _, m := range after.Conversation.Mail {
		if to := l.messages[m.ID]; to != m.To {
			t.Fatalf("%T: a %s of %s waits for %s, and was sent to %q", f, m.Kind, m.From, m.To, to)
		}
	}
	if after.Ending != nil {
		return
	}
	for _, a := range after.Agents {
		up := a.Status == AgentReady || a.Status == AgentBusy
		gone := a.Status == AgentEnded || a.Status == AgentParked && !a.Leaving()
		if told := l.started[a.ID]; up && told != l.sessions || gone && told > 0 {
			was, _ := before.Agent(a.ID)
			t.Fatalf("%T: %s was %s and is %s, and was announced in session %d of %d", f, a.ID, was.Status, a.Status,
				told, l.sessions)
		}
	}
	if beginsProcessRun(f) {
		return
	}
	for _, p := range after.Permission.All() {
		asks, _ := f.(input.PermissionAsked) // random requests share names
		if open, told := requests[p.ID]; told && !open && asks.Params.Request != p.ID {
			t.Fatalf("%T: request %s was answered, and is open", f, p.ID)
		}
	}
	known := map[string]bool{}
	for _, i := range InboxOf(before) {
		known[i.ID] = true
	}
	for _, i := range InboxOf(after) {
		if !known[i.ID] && !asked[i.ID] && !requests[i.ID] && !(i.Kind.Chosen() && offered) {
			t.Fatalf("%T: %s waits for the human, and no event says so", f, i.ID)
		}
	}
}
