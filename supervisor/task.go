package supervisor

import (
	"fmt"
	"strings"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/conversation"
	"github.com/arbiter-cli/arbiter/supervisor/decision"
	"github.com/arbiter-cli/arbiter/supervisor/handoff"
	"github.com/arbiter-cli/arbiter/supervisor/machine"
	"github.com/arbiter-cli/arbiter/supervisor/roster"
	"github.com/arbiter-cli/arbiter/supervisor/task"
	"github.com/arbiter-cli/arbiter/supervisor/verdict"
	"github.com/arbiter-cli/arbiter/supervisor/words"
)

// The plan: who sets it, which step is at hand, and whose it is.

func (st *step) setPlan(steps []contract.Step) {
	st.Task.Plan = steps
	st.planChanged()
}

// planChanged emits the plan, and renews what agents are reminded of.
func (st *step) planChanged() {
	st.emit(contract.Supervisor, contract.Plan{Steps: st.Task.Plan, Tasks: st.Task.AgentTasks})
	for i := range st.Agents {
		if a := st.Agents[i]; a.Status == roster.Ready || a.Status == roster.Busy {
			st.remind(a)
		}
	}
}

// skipStep skips the step that an agent is at, or the one at hand, and reports whether there
// is one.
func (st *step) skipStep(ref, agent string) bool {
	i := st.Task.StepToSkip(&st.Roster, agent)
	if i < 0 && agent != "" && st.Task.StepAtHand() >= 0 {
		st.reject(ref, "the step at hand is not that of %s: skip_step skips it all the same", st.displayName(agent))
		return false
	}
	if i < 0 {
		st.reject(ref, "the plan has no step to skip: set one with set_plan")
		return false
	}
	st.accept(ref, fmt.Sprintf("skipped step %d: %s", i+1, st.Task.Plan[i].Text))
	st.fire(machine.SkipStep, occasion{agent: agent})
	return true
}

// skip marks a step as skipped and tells whom it concerns.
func (st *step) skip(i int) {
	st.Task.Skip(i)
	st.planChanged()
	st.tell(contract.Arbiter, conversation.KindNotice, fmt.Sprintf("The human skipped step %d of the plan: %s", i+1, st.Task.Plan[i].Text))
	if a, ok := st.Agent(st.Task.Plan[i].Agent); ok && a.Works() {
		st.post(conversation.Mail{From: contract.Human, To: a.ID, Kind: conversation.KindInstruction, Strength: contract.Steer,
			Text: fmt.Sprintf("Leave step %d of the plan, %q: it is skipped. Undo nothing; go on with what follows it.", i+1, st.Task.Plan[i].Text)})
	}
}

// assign notes which step of the plan whoever goes on was chosen for: its success is the
// step's, where nobody else keeps the plan. While something is open, whoever is chosen against
// the step's mode sees to that, and the step waits.
func (st *step) assign(v *verdict.Arbiter, open bool) {
	id := v.To
	if v.Decision == verdict.SelectMode {
		last, _ := st.Last()
		id = last.ID
	}
	a := st.Edit(id)
	i := st.Task.StepAtHand()
	if st.Ending != nil || a == nil || !a.Works() || i < 0 {
		return
	}
	if mode := st.Task.Plan[i].Mode; open && mode != "" && mode != a.Mode {
		return
	}
	a.PlanStep = i + 1
	if st.Task.Start(i, id) {
		st.planChanged()
	}
}

// assigned ends the step that an agent was chosen for, as its execution ended.
func (st *step) assigned(id, status string) {
	a := st.Edit(id)
	if a == nil || a.PlanStep == 0 {
		return
	}
	i := a.PlanStep - 1
	a.PlanStep = 0
	if st.Task.End(i, id, status) {
		st.planChanged()
	}
}

// planFrom makes the plan of a planner's document, where nobody has made one.
func (st *step) planFrom(h handoff.Handover) {
	a, ok := st.Agent(h.Agent.ID)
	if !ok || a.Mode != task.PlannerMode || len(st.Task.Plan) > 0 || h.Document == nil || len(h.Document.Remaining) == 0 {
		return
	}
	var steps []contract.Step
	for _, text := range h.Document.Remaining {
		steps = append(steps, contract.Step{Text: text, Status: contract.StepPending, Mode: st.modeIn(text)})
	}
	st.setPlan(steps)
}

// modeIn finds the mode that a step names at its head: «tester: run the suite».
func (st *step) modeIn(text string) string {
	head, _, ok := strings.Cut(text, ":")
	name := strings.ToLower(strings.TrimSpace(head))
	if _, known := st.ModeNamed(name); ok && known {
		return name
	}
	return ""
}

// tasksChanged follows an Orchestrator's own list of tasks: what it has in common with
// the plan moves the plan, all of it is shown beside it.
func (st *step) tasksChanged(id string, b bridge.Tasks) {
	a, _ := st.Agent(id)
	if a.Role != roster.RoleOrchestrator {
		return
	}
	if st.Task.Follow(id, b.Items) {
		st.planChanged()
		return
	}
	st.emit(contract.Supervisor, contract.Plan{Steps: st.Task.Plan, Tasks: st.Task.AgentTasks})
}

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
// failed, and it asks for a word. It reports whether that is so. One that asks by itself is
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
	st.FailedAgent = id
	st.emit(id, contract.Error{
		Category: bridge.CatTool, Message: fmt.Sprintf("%s stopped at a failed %s: %s", a.Name, t.Tool, words.Head(strings.TrimSpace(t.Message), 500)),
		RecoveryOptions: st.offer(f),
	})
	return true
}

// agentFailure is an agent that broke, as a failure.
func (st *step) agentFailure(id string, c bridge.Category, message string) *decision.Failure {
	return st.Task.AgentFailure(&st.Roster, id, c, message, st.at)
}

// offer is what can be done about a failure, as `choose` takes it.
func (st *step) offer(f *decision.Failure) []string {
	var options []string
	for _, o := range decision.RecoveryOptions(*f) {
		options = append(options, string(o.Action))
	}
	st.RecoveryOptions = options
	return options
}

// overcome withdraws what was offered to get over an agent's failure: the talk goes on
// without that choice.
func (st *step) overcome(id string) {
	if a, ok := st.Agent(id); ok && a.Role == roster.RoleOrchestrator && st.FailedAgent == id {
		st.RecoveryOptions, st.FailedAgent = nil, ""
	}
}
