package supervisor

// This part of the package holds the task of a run: its plan, its executions, and the counts of failures.
//
// An execution is one period of an Orchestrator's work, from a brief or an instruction to its `done`, `handoff`
// or end. While it runs it is kept with the agent (Work), and afterwards in [TaskState.History], which
// deciders see. The counters of failures and iterations belong to one task: [TaskState.Begin] resets them.
//
// Callers pass agents as pointers that they may write to. The package emits nothing: package supervisor reports
// plans and failures, and moves the task machine (package machine).

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/decider"
	"github.com/arbiter-cli/arbiter/supervisor/machine"
	"github.com/arbiter-cli/arbiter/supervisor/runconfig"
	"github.com/arbiter-cli/arbiter/supervisor/verdict"
)

// TaskState is the state of the task, and the results of its executions.
type TaskState struct {
	Text          string           // what the human wants, as given first
	Images        []contract.Image `json:",omitempty"` // that came with Text
	Phase         machine.State
	Plan          []contract.Step
	AgentTasks    []contract.Tasks         // agents' own task lists
	Iterations    int                      // entries into `executing` by a summon, for this task
	Failures      int                      // failed executions in a row
	TotalFailures int                      // failed executions of this task
	History       decider.DecisionHistory  // of its executions
	LastError     *decider.DecisionFailure // that is not solved yet
	Acceptance    AcceptanceState          // what must hold before it is complete
	Lessons       []verdict.Lesson         // of its COMPLETE, for later runs
}

// PlanText lists the steps for a model, counted from 1.
func PlanText(steps []contract.Step) string {
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

// StepToSkip returns the index of the step to skip; -1: there is none, or another agent works on it. agent is
// the one that works on the step; empty: any.
func (s *TaskState) StepToSkip(r *Roster, agent string) int {
	if n := s.StepOf(r, agent); n > 0 && agent != "" {
		return n - 1
	}
	i := s.StepAtHand()
	if i >= 0 && agent != "" && s.Plan[i].Agent != agent {
		if other, ok := r.Agent(s.Plan[i].Agent); ok && other.Engaged() {
			return -1
		}
	}
	return i
}

// StepAtHand is the index of the plan's active step, or the next one; -1: there is none.
func (s *TaskState) StepAtHand() int {
	if i := slices.IndexFunc(s.Plan, func(p contract.Step) bool { return p.Status == contract.StepActive }); i >= 0 {
		return i
	}
	return slices.IndexFunc(s.Plan, func(p contract.Step) bool { return p.Status == contract.StepPending })
}

// StepOf is the number of the step an agent works on, counted from 1; 0: not known. A step is an agent's if it
// is active in its name, or if the agent was chosen for it. Without such a record, the current step belongs to
// the only agent that works; if several work, each has the step that names its mode, if no other agent has that
// mode.
func (s *TaskState) StepOf(r *Roster, id string) int {
	a, _ := r.Agent(id)
	if i := slices.IndexFunc(s.Plan,
		func(p contract.Step) bool { return p.Status == contract.StepActive && p.Agent == id }); i >= 0 {
		return i + 1
	}
	if n := a.PlanStep; n > 0 && n <= len(s.Plan) && !isOver(s.Plan[n-1].Status) && s.Plan[n-1].Agent == id {
		return n
	}
	if !r.EngagedBeside(id) {
		return s.StepAtHand() + 1
	}
	if a.Mode == "" || r.ModeEngagedBeside(a.Mode, id) {
		return 0
	}
	return 1 + slices.IndexFunc(s.Plan, func(p contract.Step) bool {
		return p.Mode == a.Mode && !isOver(p.Status) && (p.Agent == "" || p.Agent == id)
	})
}

// stepEnded is the number of the step whose work an agent has just handed over: the last in its name, otherwise
// the one it works on.
func (s *TaskState) stepEnded(r *Roster, id string) int {
	for i := len(s.Plan) - 1; i >= 0; i-- {
		if s.Plan[i].Agent == id && s.Plan[i].Status != contract.StepPending {
			return i + 1
		}
	}
	return s.StepOf(r, id)
}

// SameAgents keeps who worked on a step, if a new plan contains the same step.
func (s *TaskState) SameAgents(steps []contract.Step) []contract.Step {
	for i := range steps {
		for _, was := range s.Plan {
			if steps[i].Agent == "" && was.Text == steps[i].Text {
				steps[i].Agent, steps[i].Mode = was.Agent, cmp.Or(steps[i].Mode, was.Mode)
			}
		}
	}
	return steps
}

// PlannerMode is the mode whose document is a plan.
const PlannerMode = "planner"

// taskStatuses maps the statuses of Claude's own task tools to those of a step.
var taskStatuses = map[string]string{"pending": contract.StepPending, "in_progress": contract.StepActive,
	"completed": contract.StepDone}

// isOver reports whether a step is finished: an agent's list does not reopen it.
func isOver(status string) bool {
	return status == contract.StepDone || status == contract.StepSkipped || status == contract.StepFailed
}

// sameStep compares texts of steps, ignoring case, space and a number in front.
func sameStep(a, b string) bool {
	plain := func(s string) string {
		s = strings.TrimLeft(strings.TrimSpace(s), "0123456789.)-* ")
		return strings.ToLower(strings.Join(strings.Fields(s), " "))
	}
	return plain(a) != "" && plain(a) == plain(b)
}

// DropTasks drops the task list of an agent that has ended.
func (s *TaskState) DropTasks(id string) {
	if slices.ContainsFunc(s.AgentTasks, func(t contract.Tasks) bool { return t.Agent == id }) {
		s.AgentTasks = slices.DeleteFunc(slices.Clone(s.AgentTasks), func(t contract.Tasks) bool {
			return t.Agent == id
		})
	}
}

// Skip marks a step of the plan as skipped.
func (s *TaskState) Skip(i int) {
	s.mark(i, func(p *contract.Step) { p.Status = contract.StepSkipped })
}

// Start records that an agent works on a step of the plan, and reports whether that changes the plan.
func (s *TaskState) Start(i int, id string) bool {
	if s.Plan[i].Status == contract.StepActive && s.Plan[i].Agent == id {
		return false
	}
	s.mark(i, func(p *contract.Step) { p.Status, p.Agent = contract.StepActive, id })
	return true
}

// End ends the step that an agent works on, and reports whether that changes the plan: the agent may have
// updated the plan itself, or there is another plan.
func (s *TaskState) End(i int, id, status string) bool {
	if i >= len(s.Plan) || s.Plan[i].Status != contract.StepActive || s.Plan[i].Agent != id {
		return false
	}
	s.mark(i, func(p *contract.Step) { p.Status = status })
	return true
}

// mark changes a step of the plan in this copy of the state.
func (s *TaskState) mark(i int, change func(*contract.Step)) {
	s.Plan = slices.Clone(s.Plan)
	change(&s.Plan[i])
}

// Follow takes an agent's own list of tasks: tasks that are also steps of the plan update the plan. It reports
// whether they did.
func (s *TaskState) Follow(id string, items []bridge.Task) (moved bool) {
	list := contract.Tasks{Agent: id, Items: []contract.Step{}}
	for _, t := range items {
		status := cmp.Or(taskStatuses[t.Status], contract.StepPending)
		list.Items = append(list.Items, contract.Step{Text: t.Text, Status: status, Agent: id})
		i := slices.IndexFunc(s.Plan, func(p contract.Step) bool { return sameStep(p.Text, t.Text) })
		if i < 0 || s.Plan[i].Status == status || status == contract.StepPending || isOver(s.Plan[i].Status) {
			continue
		}
		s.mark(i, func(p *contract.Step) { p.Status, p.Agent = status, id })
		moved = true
	}
	s.AgentTasks = slices.DeleteFunc(slices.Clone(s.AgentTasks), func(t contract.Tasks) bool { return t.Agent == id })
	if len(list.Items) > 0 {
		s.AgentTasks = append(s.AgentTasks, list)
	}
	return moved
}

// Begin sets the counters to zero: limits apply to one task.
func (s *TaskState) Begin() {
	s.Iterations, s.Failures, s.TotalFailures = 0, 0, 0
	s.History, s.LastError, s.AgentTasks = decider.DecisionHistory{}, nil, nil
	s.Acceptance.BeginTask()
}

// Assign records that an agent was chosen for the current step, and reports whether that changes the plan: if
// the agent succeeds, the step is done, unless somebody else updates the plan. While something is open, an
// agent of another mode than the step's was chosen for the open matter, and the step waits. A nil agent is
// chosen for nothing.
func (s *TaskState) Assign(a *Agent, open bool) bool {
	i := s.StepAtHand()
	if a == nil || !a.Works() || i < 0 {
		return false
	}
	if mode := s.Plan[i].Mode; open && mode != "" && mode != a.Mode {
		return false
	}
	a.PlanStep = i + 1
	return s.Start(i, a.ID)
}

// EndAssigned ends the step that an agent was chosen for when its execution ends, and reports whether that
// changes the plan.
func (s *TaskState) EndAssigned(a *Agent, status string) bool {
	if a == nil || a.PlanStep == 0 {
		return false
	}
	i := a.PlanStep - 1
	a.PlanStep = 0
	return s.End(i, a.ID, status)
}

// PlanFrom is the plan from a planner's document if there is no plan yet: from its steps, which name their
// agents, or else from the remaining work. For any other document it is empty.
func (s *TaskState) PlanFrom(a *Agent, d *verdict.Document, o *runconfig.Options) []contract.Step {
	if a.Mode != PlannerMode || len(s.Plan) > 0 || d == nil {
		return nil
	}
	var steps []contract.Step
	for _, x := range d.Steps {
		if strings.TrimSpace(x.Text) == "" {
			continue
		}
		mode := strings.ToLower(strings.TrimSpace(x.Mode))
		if _, known := o.ModeNamed(mode); !known {
			mode = modeIn(x.Text, o)
		}
		steps = append(steps, contract.Step{Text: x.Text, Status: contract.StepPending, Mode: mode})
	}
	if len(steps) == 0 {
		for _, text := range d.Remaining {
			steps = append(steps, contract.Step{Text: text, Status: contract.StepPending, Mode: modeIn(text, o)})
		}
	}
	return steps
}

// modeIn finds the mode that a step begins with: «tester: run the suite».
func modeIn(text string, o *runconfig.Options) string {
	head, _, ok := strings.Cut(text, ":")
	name := strings.ToLower(strings.TrimSpace(head))
	if _, known := o.ModeNamed(name); ok && known {
		return name
	}
	return ""
}
