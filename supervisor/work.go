package supervisor

import (
	"fmt"
	"strings"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/decision"
	"github.com/arbiter-cli/arbiter/supervisor/handoff"
	"github.com/arbiter-cli/arbiter/supervisor/question"
	"github.com/arbiter-cli/arbiter/supervisor/words"
)

// beginWork opens an execution, unless one is under way.
func (st *step) beginWork(id string) { st.Task.BeginWork(st.Edit(id), st.at) }

// completeWork notes that an Orchestrator said `done` or `handoff`.
func (st *step) completeWork(id, said string) { st.Task.CompleteWork(st.Edit(id), said, st.at) }

// settleWork records a completed execution once its document's checks have spoken.
func (st *step) settleWork(h handoff.Handover) {
	a := st.Edit(h.Agent.ID)
	if a == nil || a.Work == nil || a.Work.Completed.IsZero() {
		return
	}
	w := *a.Work
	w.Document = decision.Handed(h.Document, h.Receipts)
	a.Work = &w
	if refuted := st.Task.Refuted(&st.Roster, a, h, st.at); refuted != nil {
		st.recordFailure(a.ID, refuted, decision.StatusFailure)
		return
	}
	st.Task.Succeed(a, st.at)
	if h.Kind == handoff.KindDone {
		st.assigned(h.Agent.ID, contract.StepDone)
	}
}

// recordFailure ends an agent's execution as one that failed.
func (st *step) recordFailure(id string, f *decision.Failure, status decision.Status) {
	st.Task.Fail(st.Edit(id), f, status, st.at)
}

// abandonWork ends an execution that nobody wants to go on with.
func (st *step) abandonWork(id string) { st.Task.Abandon(st.Edit(id), st.at) }

// stumbled records a failed tool as a failed execution: the Orchestrator's last call
// failed, and it asks for a word. It reports whether that is so. One that asks of its own accord is
// answered; a human is called only where it stopped without a verdict.
func (st *step) stumbled(id, said string) bool {
	a := st.Edit(id)
	if a.Work == nil || a.Work.Failed == nil {
		return false
	}
	t := a.Work.Failed
	f := st.Task.ToolFailure(&st.Roster, a, st.at)
	st.completeWork(id, said)
	st.recordFailure(id, f, decision.StatusFailure)
	if a.Fallbacks == 0 {
		return true
	}
	message := fmt.Sprintf("%s stopped at a failed %s: %s", a.Name, t.Tool,
		words.Head(strings.TrimSpace(t.Message), 500))
	st.fail(id, bridge.CatTool, message, question.Choices(f))
	return true
}

// agentFailure is an agent that broke, as a failure.
func (st *step) agentFailure(id string, c bridge.Category, message string) *decision.Failure {
	return st.Task.AgentFailure(&st.Roster, id, c, message, st.at)
}
