package supervisor

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/conversation"
	"github.com/arbiter-cli/arbiter/supervisor/handoff"
	"github.com/arbiter-cli/arbiter/supervisor/machine"
	"github.com/arbiter-cli/arbiter/supervisor/roster"
	"github.com/arbiter-cli/arbiter/supervisor/verdict"
)

// The plan: who sets it, which step is at hand, and whose it is.

func (st *step) setPlan(steps []contract.Step) {
	st.Plan = steps
	st.emit(contract.Supervisor, contract.Plan{Steps: steps, Tasks: st.AgentTasks})
	for i := range st.Agents {
		if a := st.Agents[i]; a.Status == roster.Ready || a.Status == roster.Busy {
			st.remind(a)
		}
	}
}

// sameAgents keeps who worked on a step, where a new plan has that step again.
func (st *step) sameAgents(steps []contract.Step) []contract.Step {
	for i := range steps {
		for _, was := range st.Plan {
			if steps[i].Agent == "" && was.Text == steps[i].Text {
				steps[i].Agent, steps[i].Mode = was.Agent, cmp.Or(steps[i].Mode, was.Mode)
			}
		}
	}
	return steps
}

// planText lists the steps for a model, counted from 1.
func planText(steps []contract.Step) string {
	if len(steps) == 0 {
		return "(no plan)"
	}
	var b strings.Builder
	for i, s := range steps {
		fmt.Fprintf(&b, "%d. [%s] %s", i+1, s.Status, s.Text)
		if s.Mode != "" {
			fmt.Fprintf(&b, " (for %s)", s.Mode)
		}
		b.WriteByte('\n')
	}
	return b.String()
}

// skipStep skips the step that an agent is at, or the one at hand, and reports whether there
// is one.
func (st *step) skipStep(ref, agent string) bool {
	i := st.stepToSkip(agent)
	if i < 0 && agent != "" && st.stepAtHand() >= 0 {
		st.reject(ref, "the step at hand is not that of %s: skip_step skips it all the same", st.displayName(agent))
		return false
	}
	if i < 0 {
		st.reject(ref, "the plan has no step to skip: set one with set_plan")
		return false
	}
	st.accept(ref, fmt.Sprintf("skipped step %d: %s", i+1, st.Plan[i].Text))
	st.fire(machine.SkipStep, occasion{agent: agent})
	return true
}

// stepToSkip is its index; -1: there is none, or it is another's who works on it.
func (s *State) stepToSkip(agent string) int {
	if n := s.stepOf(agent); n > 0 && agent != "" {
		return n - 1
	}
	i := s.stepAtHand()
	if i >= 0 && agent != "" && s.Plan[i].Agent != agent {
		if other, ok := s.Agent(s.Plan[i].Agent); ok && other.Engaged() {
			return -1
		}
	}
	return i
}

// skip marks a step as skipped and tells whom it concerns.
func (st *step) skip(i int) {
	plan := slices.Clone(st.Plan)
	plan[i].Status = contract.StepSkipped
	st.setPlan(plan)
	st.tell(contract.Arbiter, conversation.KindNotice, fmt.Sprintf("The human skipped step %d of the plan: %s", i+1, plan[i].Text))
	if a, ok := st.Agent(plan[i].Agent); ok && a.Works() {
		st.post(conversation.Mail{From: contract.Human, To: a.ID, Kind: conversation.KindInstruction, Strength: contract.Steer,
			Text: fmt.Sprintf("Leave step %d of the plan, %q: it is skipped. Undo nothing; go on with what follows it.", i+1, plan[i].Text)})
	}
}

// stepAtHand is the plan's step that is at work, or the next one; -1: there is none.
func (s *State) stepAtHand() int {
	if i := slices.IndexFunc(s.Plan, func(p contract.Step) bool { return p.Status == contract.StepActive }); i >= 0 {
		return i
	}
	return slices.IndexFunc(s.Plan, func(p contract.Step) bool { return p.Status == contract.StepPending })
}

// stepOf is the number of the step an agent works on, counted from 1; 0: none is known. A
// step is an agent's if it is active in its name, or if the agent was chosen for it. Where
// nobody said so, the step at hand is that of the only one at work; of several, each has the
// step that names its mode alone.
func (s *State) stepOf(id string) int {
	a, _ := s.Agent(id)
	if i := slices.IndexFunc(s.Plan, func(p contract.Step) bool { return p.Status == contract.StepActive && p.Agent == id }); i >= 0 {
		return i + 1
	}
	if n := a.PlanStep; n > 0 && n <= len(s.Plan) && !over(s.Plan[n-1].Status) && s.Plan[n-1].Agent == id {
		return n
	}
	if !s.EngagedBeside(id) {
		return s.stepAtHand() + 1
	}
	if a.Mode == "" || s.ModeEngagedBeside(a.Mode, id) {
		return 0
	}
	return 1 + slices.IndexFunc(s.Plan, func(p contract.Step) bool {
		return p.Mode == a.Mode && !over(p.Status) && (p.Agent == "" || p.Agent == id)
	})
}

// stepEnded is the number of the step whose work an agent has just handed over: the last
// in its name, else the one it works on.
func (s *State) stepEnded(id string) int {
	for i := len(s.Plan) - 1; i >= 0; i-- {
		if s.Plan[i].Agent == id && s.Plan[i].Status != contract.StepPending {
			return i + 1
		}
	}
	return s.stepOf(id)
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
	i := st.stepAtHand()
	if st.Ending != nil || a == nil || !a.Works() || i < 0 {
		return
	}
	if mode := st.Plan[i].Mode; open && mode != "" && mode != a.Mode {
		return
	}
	a.PlanStep = i + 1
	if st.Plan[i].Status == contract.StepActive && st.Plan[i].Agent == id {
		return
	}
	plan := slices.Clone(st.Plan)
	plan[i].Status, plan[i].Agent = contract.StepActive, id
	st.setPlan(plan)
}

// assigned ends the step that an agent was chosen for, as its execution ended.
func (st *step) assigned(id, status string) {
	a := st.Edit(id)
	if a == nil || a.PlanStep == 0 {
		return
	}
	i := a.PlanStep - 1
	a.PlanStep = 0
	if i >= len(st.Plan) || st.Plan[i].Status != contract.StepActive || st.Plan[i].Agent != id {
		return // it has kept the plan itself, or there is another
	}
	plan := slices.Clone(st.Plan)
	plan[i].Status = status
	st.setPlan(plan)
}

// plannerMode is the mode whose document is a plan.
const plannerMode = "planner"

// planFrom makes the plan of a planner's document, where nobody has made one.
func (st *step) planFrom(h handoff.Handover) {
	a, ok := st.Agent(h.Agent.ID)
	if !ok || a.Mode != plannerMode || len(st.Plan) > 0 || h.Document == nil || len(h.Document.Remaining) == 0 {
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
