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
		st.Task.Fail(st.Edit(a.ID), refuted, decision.StatusFailure, st.at)
		return
	}
	st.Task.Succeed(a, st.at)
	if h.Kind == handoff.KindDone && st.Task.EndAssigned(a, contract.StepDone) {
		st.planChanged()
	}
}

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
	st.Task.CompleteWork(st.Edit(id), said, st.at)
	st.Task.Fail(st.Edit(id), f, decision.StatusFailure, st.at)
	if a.Fallbacks == 0 {
		return true
	}
	message := fmt.Sprintf("%s stopped at a failed %s: %s", a.Name, t.Tool,
		words.Head(strings.TrimSpace(t.Message), 500))
	st.fail(id, bridge.CatTool, message, question.Choices(f))
	return true
}
