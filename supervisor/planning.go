package supervisor

// This part of the package applies changes of a run's plan, reminds agents of it, and records the results of
// executions.

import (
	"fmt"
	"slices"
	"strings"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/decider"
	"github.com/arbiter-cli/arbiter/supervisor/input"
	"github.com/arbiter-cli/arbiter/supervisor/words"
)

// setPlan replaces the plan, and says what another plan will cost.
func (st *step) setPlan(steps []contract.Step) {
	same := slices.EqualFunc(st.Task.Plan, steps, func(a, b contract.Step) bool {
		return a.Text == b.Text && a.Mode == b.Mode && a.Make == b.Make
	})
	st.Task.Plan = steps
	if st.planChanged(); same || len(steps) == 0 || st.Options.Expected == nil {
		return
	}
	all, each := ForecastPlan(&st.Options, steps)
	st.emit(contract.Supervisor, all)
	for _, f := range each {
		st.emit(contract.Supervisor, f)
	}
}

// planChanged announces the plan, and updates the agents' reminders.
func (st *step) planChanged() {
	st.emit(contract.Supervisor, contract.Plan{Steps: st.Task.Plan, Tasks: st.Task.AgentTasks})
	for i := range st.Agents {
		if a := st.Agents[i]; a.Status == AgentReady || a.Status == AgentBusy {
			st.remindOfPlan(a)
		}
	}
}

// remindOfPlan updates what an agent reads after a compaction.
func (st *step) remindOfPlan(a *Agent) {
	st.do(input.Configure{Params: bridge.ConfigureParams{AgentRef: a.AgentRef,
		Reminder: st.reminder(a)}})
}

// skipPlanStep marks a step as skipped, counted from 0, and notifies the agents that it concerns.
func (st *step) skipPlanStep(i int) {
	st.Task.mark(i, func(p *contract.Step) { p.Status = contract.StepSkipped })
	st.planChanged()
	st.tell(fmt.Sprintf("The human skipped step %d of the plan: %s", i+1, st.Task.Plan[i].Text))
	if a, ok := st.Agent(st.Task.Plan[i].Agent); ok && a.Works() {
		st.post(Mail{From: contract.Human, To: a.ID, Kind: KindInstruction,
			Strength: contract.Steer,
			Text: fmt.Sprintf("Step %d of the plan, %q, is skipped: stop working on it. Undo nothing; go on with the step "+
				"after it.",
				i+1, st.Task.Plan[i].Text)})
	}
}

func (st *step) assign(id string, plan int, open bool) {
	if a, ok := st.Agent(id); ok && st.Ending == nil && st.Task.Assign(&a, plan, open) {
		st.planChanged()
	}
}

// takesStep records that an Orchestrator which the Arbiter summons works on the step at hand, unless it has its
// predecessor's. If another works on that step, has asked about it or waits for its own successor, its mode alone says
// which of the others the summons is for.
func (st *step) takesStep(a *Agent) {
	i := st.Task.StepAtHand()
	if i < 0 || st.Task.stepIn(a.ID) >= 0 {
		return
	}
	by, _ := st.Agent(st.Task.Plan[i].Agent)
	if by.Engaged() && by.Work != nil || by.Standing == HandedOff && !st.HasSuccessor(by.ID) {
		i = slices.IndexFunc(st.Task.Plan, func(p contract.Step) bool {
			return p.Status == contract.StepPending && p.Mode != "" && p.Mode == a.Mode
		})
	}
	st.assign(a.ID, i, true)
}

// followPlan handles an Orchestrator's own list of tasks: tasks that are also steps of the plan update the plan;
// the whole list is shown beside it.
func (st *step) followPlan(id string, b bridge.Tasks) {
	a, _ := st.Agent(id)
	if a.Role != RoleOrchestrator || !a.Alive() { // the list of one that ends is dropped already
		return
	}
	if st.Task.Follow(id, b.Items) {
		st.planChanged()
		return
	}
	st.emit(contract.Supervisor, contract.Plan{Steps: st.Task.Plan, Tasks: st.Task.AgentTasks})
}

// finishWork records a completed execution once its document's checks have been run.
func (st *step) finishWork(h Handover) {
	a := st.Edit(h.Agent.ID)
	if a == nil || a.Work == nil || a.Work.Completed.IsZero() {
		return
	}
	w := *a.Work
	w.Document = decider.Handed(h.Document, h.Receipts)
	a.Work = &w
	if refuted := st.Task.Refuted(&st.Roster, a, h, st.at); refuted != nil {
		st.Task.Fail(a, refuted, st.at)
		return
	}
	st.Task.Succeed(a, st.at)
	if i := st.Task.stepIn(a.ID); h.Kind == KindDone && i >= 0 {
		st.Task.mark(i, func(p *contract.Step) { p.Status = contract.StepDone })
		st.planChanged()
	}
}

// stumbled records a failed execution if the Orchestrator's last tool call failed and it asks for help. It
// reports whether that is so. If the Orchestrator itself asks, the Arbiter answers; the human is asked only if
// it stopped without a verdict.
func (st *step) stumbled(a *Agent, said string) bool {
	if a.Work == nil || a.Work.Failed == nil {
		return false
	}
	t := a.Work.Failed
	f := st.Task.ToolFailure(&st.Roster, a, st.at)
	st.Task.CompleteWork(a, said, st.at)
	st.Task.Fail(a, f, st.at)
	if a.Fallbacks == 0 {
		return true
	}
	message := fmt.Sprintf("%s stopped at a failed %s: %s", a.Name, t.Tool,
		words.Head(strings.TrimSpace(t.Message), 500))
	st.fail(a.ID, bridge.CatTool, message, QuestionChoices(f))
	return true
}

// attachedToTask is what the Arbiter reads with a task: the acceptance criteria, that nobody can be asked, and the
// reports of earlier runs.
func (s *State) attachedToTask() []EnvelopePart {
	var list []EnvelopePart
	if criteria := s.Task.Acceptance.Text(); criteria != "" {
		list = append(list, EnvelopePart{
			Title: "acceptance criteria", From: contract.Supervisor, Kind: "document", Trusted: true,
			Text: "COMPLETE takes effect when the supervisor has run the commands of these criteria on the final files, " +
				"and all passed.\n\n" + criteria,
		})
	}
	if !s.HumanPresent {
		list = append(list, partOf("human", "No human is present, and none will answer: decide yourself.")...)
	}
	if s.Options.Lessons != "" {
		list = append(list, EnvelopePart{
			Title: "memory", From: contract.Supervisor, Kind: "document", Text: s.Options.Lessons,
		})
	}
	return list
}

// mend lists what a human can do about what keeps an agent from working; of a make, only itself knows that.
func mend(a *Agent, category bridge.Category) []string {
	options := RecoveryOptions(category, RoleArbiter)
	if a.Make == "" || len(options) == 0 {
		return options
	}
	return []string{"see what `arbiter doctor` says about the make " + a.Make,
		"have Claude be the Arbiter: provider: {arbiter: claude}"}
}

// recoveryOptions lists what a human can do about an agent's failure.
func (st *step) recoveryOptions(a *Agent, category bridge.Category, message string) []string {
	options := mend(a, category)
	if a.Role == RoleArbiter || len(options) > 0 && a.Make == "" {
		return options
	}
	return QuestionChoices(st.Task.AgentFailure(&st.Roster, a.ID, category, message, st.at))
}
