package supervisor

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/arbiter-cli/arbiter/internal/testkit"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/input"
)

// stream is what a reader of a run's events knows: it must be what the state says.
type stream struct {
	ended    bool
	playback Playback
	messages map[string]string // to whom they went
	sessions int               // process runs so far
	started  map[string]int    // in which of them an agent was announced that has not ended
}

// follow updates the stream after one step, and compares it with the state.
func (l *stream) follow(t *testing.T, at time.Time, before, after *State, f input.Body, out []input.Effect) {
	t.Helper()
	if l.messages == nil {
		l.messages, l.started = map[string]string{}, map[string]int{}
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
		l.playback.Add(at, em.Event)
		if l.ended {
			_, ok := em.Event.Body.(contract.Session)
			testkit.Need(t, ok, "%T: %T after the result", f, em.Event.Body)
		}
		switch b := em.Event.Body.(type) {
		case contract.Session:
			l.ended = false
			l.sessions++
		case contract.Result:
			l.ended = true
		case contract.Spawn:
			l.started[id] = l.sessions
		case contract.Done:
			delete(l.started, id)
		case contract.Message:
			l.messages[b.MessageID] = b.To
		case contract.Notice: // what an Orchestrator does not read any more may go to the Arbiter
			for id := range l.messages {
				if strings.Contains(b.Text, id) && strings.HasSuffix(b.Text, "the Arbiter gets it") {
					l.messages[id] = contract.Arbiter
				}
			}
		case contract.Delivered:
			testkit.Need(t, l.messages[b.MessageID] != "", "%T: %s was delivered, and never sent", f, b.MessageID)
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
	l.checkPlayback(t, f, after)
	if plan != nil || len(before.Task.Plan) != len(after.Task.Plan) {
		testkit.Need(t, plan != nil && cmp.Equal(plan.Steps, after.Task.Plan), "the plan is %+v, told %+v",
			after.Task.Plan, plan)
	}
	if c, ok := f.(input.Command); ok && before.Ending == nil {
		_, later := c.Command.Body.(contract.Revert)
		testkit.Need(t, answers == 1 || later, "%+v was answered %d times", c.Command.Body, answers)
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
		to := l.messages[m.ID]
		testkit.Need(t, to == m.To, "%T: a %s of %s waits for %s, and was sent to %q", f, m.Kind, m.From, m.To, to)
	}
	if after.Ending != nil {
		return
	}
	for _, a := range after.Agents {
		up := a.Status == AgentReady || a.Status == AgentBusy
		gone := a.Status == AgentEnded || a.Status == AgentParked && !a.Leaving()
		// A new process run ends what the ones before it started: who is not announced again needs no done.
		if told := l.started[a.ID]; up && told != l.sessions || gone && told == l.sessions {
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
		open, told := requests[p.ID]
		testkit.Need(t, !told || open || asks.Params.Request == p.ID, "%T: request %s was answered, and is open", f, p.ID)
	}
	known := map[string]bool{}
	for _, i := range InboxOf(before) {
		known[i.ID] = true
	}
	for _, i := range InboxOf(after) {
		testkit.Need(t, known[i.ID] || asked[i.ID] || requests[i.ID] || i.Kind.Chosen() && offered,
			"%T: %s waits for the human, and no event says so", f, i.ID)
	}
}

// checkPlayback compares a state with what a playback of its events shows.
func (l *stream) checkPlayback(t *testing.T, f input.Body, s *State) {
	t.Helper()
	p := l.playback.Snapshot()
	same := func(what string, state, played any) {
		t.Helper()
		testkit.Need(t, state == played, "%T: %s: the state says %v, the playback %v", f, what, state, played)
	}
	same("the cost", fmt.Sprintf("%.6f", s.Budget.CostUSD), fmt.Sprintf("%.6f", p.Budget.CostUSD))
	same("all costs", fmt.Sprintf("%.6f", s.Spent()), fmt.Sprintf("%.6f", p.Spent()))
	same("the tokens", s.Used(), p.Used())
	if s.Ending != nil {
		return
	}
	same("halted", s.Halted, s.Halted && p.Halted)
	if s.Task.Text != "" { // no event says that it is over
		same("the task", s.Task.Text, p.Task.Text[:min(len(s.Task.Text), len(p.Task.Text))])
	}
	same("the phase", s.Task.Phase, p.Task.Phase)
	for _, a := range s.Agents {
		b, ok := p.Agent(a.ID)
		if !ok || a.Status != AgentReady && a.Status != AgentBusy {
			continue
		}
		same(a.ID+"'s name", a.Name, b.Name)
		same(a.ID+"'s mode", a.Mode, b.Mode)
		same(a.ID+"'s cost", fmt.Sprintf("%.6f", a.Spent()), fmt.Sprintf("%.6f", b.Spent()))
		same(a.ID+"'s generation", a.Generation, b.Generation)
		same(a.ID+"'s context", a.Context.Pct, b.Context.Pct)
		if a.WarnedLevel != "" || a.Context.Pct >= s.Options.ContextWarn { // no event says that it fell without a compaction
			same(a.ID+"'s level", a.WarnedLevel, b.WarnedLevel)
		}
	}
}
