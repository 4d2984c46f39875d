package supervisor

// This part of the package holds the task of a run: its plan, its executions, and the counts of failures.
//
// An execution is one period of an Orchestrator's work, from a brief or an instruction to its `done`, `handoff`
// or end. While it runs it is kept with the agent (Work), and afterwards in [TaskState.History], which
// deciders see. The counters of failures and iterations belong to one task: [TaskState.Begin] resets them.

import (
	"cmp"
	"fmt"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/decider"
	"github.com/arbiter-cli/arbiter/supervisor/input"
	"github.com/arbiter-cli/arbiter/supervisor/machine"
	"github.com/arbiter-cli/arbiter/supervisor/runconfig"
	"github.com/arbiter-cli/arbiter/supervisor/verdict"
	"github.com/arbiter-cli/arbiter/supervisor/words"
)

// outputKept bounds how much of an execution's text is kept, in bytes. An evaluation shows 2,000 characters of
// it.
const outputKept = 8 << 10

// AnyMode is the mode in the history of Orchestrators that were spawned without one.
const AnyMode = "orchestrator"

// Worked adds what a turn of an Orchestrator used and changed.
func Worked(a *Agent, t bridge.Turn) {
	if a.Work == nil {
		return
	}
	w := *a.Work
	w.Tokens.Input += t.Usage.Input + t.Usage.CacheRead + t.Usage.CacheCreation
	w.Tokens.Output += t.Usage.Output
	w.Tokens.Total = w.Tokens.Input + w.Tokens.Output
	w.changed(t.Files)
	switch {
	case t.Outcome == bridge.TurnInterrupted, t.Outcome == bridge.TurnLost:
		w.Failed = nil // the tool call ended with the turn: the agent did not fail
	case t.Tools > 0 || t.Failed != nil:
		w.Failed = t.Failed
	}
	a.Work = &w
}

// changed adds files that were changed.
func (w *Work) changed(files []string) {
	w.Files = slices.Clone(w.Files)
	for _, f := range files {
		if len(w.Files) < bridge.TurnFiles && !slices.Contains(w.Files, f) {
			w.Files = append(w.Files, f)
		}
	}
}

// RecordedFor adds to the work of an agent what the snapshot after its turn shows: its commands change files, too. What
// others may have changed meanwhile is left out.
func RecordedFor(a *Agent, s *input.ChangeState, top string, paths []string) {
	if a == nil || a.Work == nil {
		return
	}
	var files []string
	for _, p := range paths {
		if _, known := s.ChangedBy(p, a.ID); known {
			files = append(files, path.Join(top, p))
		}
	}
	w := *a.Work
	w.changed(files)
	a.Work = &w
}

// execution is an agent's work as the history keeps it.
func execution(a *Agent, now time.Time) decider.DecisionExecution {
	w := a.Work
	e := decider.DecisionExecution{
		Agent: ModeOf(a), ID: a.ID, Iteration: w.Iteration, StartedAt: w.Since, CompletedAt: w.Completed,
		Output: w.Said, Files: w.Files, Tokens: w.Tokens, Document: w.Document,
	}
	if e.CompletedAt.IsZero() {
		e.CompletedAt = now
	}
	return e
}

// Refuted is the first failed check of a document, as a failure.
func (s *TaskState) Refuted(r *Roster, a *Agent, h Handover, now time.Time) *decider.DecisionFailure {
	for i, receipt := range h.Receipts {
		if h.Document == nil || i >= len(h.Document.Checks) || receipt.Result != verdict.CheckFailed {
			continue
		}
		c := h.Document.Checks[i]
		return &decider.DecisionFailure{
			Agent: ModeOf(a), Tool: "check", Step: s.stepEnded(r, a.ID), Attempted: "proving the work: " + c.Expect,
			Command:  words.Head(c.Command, 500),
			Message:  words.Head(fmt.Sprintf("check %d of its document failed: %s", i+1, receipt.Why), 1000),
			Category: decider.ToolFailure, At: now, Files: a.Work.touched(),
		}
	}
	return nil
}

// ModeOf is the name of an agent in the history.
func ModeOf(a *Agent) string { return cmp.Or(a.Mode, AnyMode) }

// BeginWork begins an execution of an Orchestrator, unless one is running.
func (s *TaskState) BeginWork(a *Agent, now time.Time) {
	if a == nil || a.Role != RoleOrchestrator || a.Work != nil && a.Work.Completed.IsZero() {
		return
	}
	a.Work = &Work{Since: now, Iteration: s.Iterations}
}

// CompleteWork records that an Orchestrator said `done` or `handoff`.
func (s *TaskState) CompleteWork(a *Agent, said string, now time.Time) {
	if a == nil {
		return
	}
	if a.Work == nil {
		s.BeginWork(a, now)
	}
	w := *a.Work
	w.Said, w.Completed = words.Head(said, outputKept), now
	a.Work = &w
}

// Succeed records an agent's execution as successful.
func (s *TaskState) Succeed(a *Agent, now time.Time) {
	e := execution(a, now)
	e.Status = decider.StatusSuccess
	s.History = s.History.Add(e)
	s.Failures, s.LastError = 0, nil
	a.Work = nil
}

// Fail records an agent's execution as failed. For a nil agent, or one without an execution, it only counts.
func (s *TaskState) Fail(a *Agent, f *decider.DecisionFailure, now time.Time) {
	s.Failures++
	s.TotalFailures++
	if f != nil {
		s.LastError = f
	}
	if a == nil || a.Role != RoleOrchestrator {
		return
	}
	if a.Work == nil {
		s.BeginWork(a, now)
	}
	e := execution(a, now)
	if e.Status, e.Error = decider.StatusFailure, f; f != nil && f.Category == decider.TimeoutError {
		e.Status = decider.StatusTimeout
	}
	s.History = s.History.Add(e)
	a.Work = nil
}

// Abandon ends an execution that will not be continued.
func (s *TaskState) Abandon(a *Agent, now time.Time) {
	if a == nil || a.Work == nil {
		return
	}
	e := execution(a, now)
	e.Status = decider.StatusCancelled
	if !a.Work.Completed.IsZero() {
		e.Status, e.Document = decider.StatusSuccess, decider.Handed(a.Document, a.Receipts)
	}
	s.History = s.History.Add(e)
	a.Work = nil
}

// ToolFailure is the failed tool call that stopped an Orchestrator, as a failure.
func (s *TaskState) ToolFailure(r *Roster, a *Agent, now time.Time) *decider.DecisionFailure {
	t := a.Work.Failed
	return &decider.DecisionFailure{
		Agent: ModeOf(a), Tool: t.Tool, Step: s.StepOf(r, a.ID), Attempted: t.Attempted, Command: t.Command,
		Message: t.Message, Category: decider.ToolCategory(t.Message, t.Denied), At: now, Files: a.Work.touched(),
		InputSize: t.InputSize, OutputSize: t.Size,
	}
}

// AgentFailure is an agent that failed, as a failure.
func (s *TaskState) AgentFailure(r *Roster, id string, c bridge.Category, message string,
	now time.Time) *decider.DecisionFailure {
	f := &decider.DecisionFailure{
		Agent: AnyMode, Attempted: "its work", Message: words.Head(message, 2000), At: now,
		Category:  cmp.Or(failures[c].spec, decider.UnknownError),
		Transient: failures[c].passes,
	}
	if a, ok := r.Agent(id); ok {
		f.Agent, f.Step = ModeOf(&a), s.StepOf(r, id)
		if a.Brief != "" {
			f.Attempted = words.Head(words.FirstLine(a.Brief), 500)
		}
		if a.Work != nil {
			f.Files = a.Work.touched()
		}
	}
	return f
}

// FailedCriteria are the acceptance criteria that kept a COMPLETE from taking effect, if nothing was handed over since,
// as deciders see them.
func (s *TaskState) FailedCriteria() (list []decider.DecisionCheck) {
	if !s.Acceptance.Unanswered {
		return nil
	}
	for _, i := range s.Acceptance.failed() {
		r := s.Acceptance.Results[i]
		check := verdict.Check{Command: r.Command, Expect: "acceptance criterion: " + r.Text}
		why := cmp.Or(r.Why, fmt.Sprintf("exit code %d", r.Exit))
		list = append(list, decider.Ran(check, verdict.Receipt{Result: verdict.CheckFailed, Output: r.Output,
			Why: why}))
	}
	return list
}

// LastWorked is the agent of the last execution; empty: none.
func (s *TaskState) LastWorked() string {
	if last := s.History.Last(1); len(last) > 0 {
		return last[0].ID
	}
	return ""
}

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
		if s.Make != "" {
			fmt.Fprintf(&b, " (by %s)", s.Make)
		}
		b.WriteByte('\n')
	}
	return b.String()
}

// ForecastOf is what the next step of a mode will cost; From is 0 if nothing is known.
func ForecastOf(o *runconfig.Options, mode string) contract.Forecast {
	return o.Expected[cmp.Or(mode, AnyMode)]
}

// ForecastPlan is what the open steps of a plan will cost, all together and one by one. The steps of which nothing is
// known are counted, and left out.
func ForecastPlan(o *runconfig.Options, plan []contract.Step) (all contract.Forecast, steps []contract.Forecast) {
	for i, s := range plan {
		if s.Status != contract.StepPending && s.Status != contract.StepActive {
			continue
		}
		f := o.Expected[cmp.Or(s.Mode, AnyMode)]
		if f.From == 0 {
			all.Unknown++
			continue
		}
		f.Step = i + 1
		if steps = append(steps, f); all.From == 0 || f.From < all.From {
			all.From = f.From
		}
		all.USD, all.Tokens, all.Minutes = all.USD+f.USD, all.Tokens+f.Tokens, all.Minutes+f.Minutes
	}
	return all, steps
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

// stepIn is the index of the step that is active in an agent's name; -1: none. Another plan may have it elsewhere.
func (s *TaskState) stepIn(id string) int {
	return slices.IndexFunc(s.Plan, func(p contract.Step) bool {
		return id != "" && p.Agent == id && p.Status == contract.StepActive
	})
}

// StepOf is the number of the step an agent works on, counted from 1; 0: not known. Unless one is active in its name,
// the current step belongs to the only agent that works; if several work, each has the step that names its mode, if no
// other agent has that mode.
func (s *TaskState) StepOf(r *Roster, id string) int {
	a, _ := r.Agent(id)
	i := s.stepIn(id)
	if i < 0 { // the plan may have been set again without its statuses
		i = slices.IndexFunc(s.Plan, func(p contract.Step) bool { return p.Agent == id && !isOver(p.Status) })
	}
	if i >= 0 {
		return i + 1
	}
	if !r.EngagedBeside(id) {
		return s.StepAtHand() + 1
	}
	if a.Mode == "" || r.count(func(o *Agent) bool { return o.ID != id && o.Mode == a.Mode && o.Engaged() }) > 0 {
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
				steps[i].Make = cmp.Or(steps[i].Make, was.Make)
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
	s.AgentTasks = slices.DeleteFunc(slices.Clone(s.AgentTasks), func(t contract.Tasks) bool { return t.Agent == id })
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
	if s.DropTasks(id); len(list.Items) > 0 {
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

// Assign records that an agent was chosen for step i, counted from 0, and reports whether that changes the plan: if
// the agent succeeds, the step is done, unless somebody else updates the plan. While something is open, an
// agent of another mode than the step's was chosen for the open matter, and the step waits.
func (s *TaskState) Assign(a *Agent, i int, open bool) bool {
	if !a.Works() || i < 0 || s.stepIn(a.ID) == i {
		return false
	}
	if mode := s.Plan[i].Mode; open && mode != "" && mode != a.Mode {
		return false
	}
	s.mark(i, func(p *contract.Step) { p.Status, p.Agent = contract.StepActive, a.ID })
	return true
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

// ReachedText adds to the reason of an end what was achieved until then.
func (s *TaskState) ReachedText(why string) string {
	var b strings.Builder
	b.WriteString(why)
	if !strings.HasSuffix(why, ".") {
		b.WriteString(".")
	}
	if len(s.Plan) > 0 {
		done := 0
		for _, p := range s.Plan {
			if p.Status == contract.StepDone || p.Status == contract.StepSkipped {
				done++
			}
		}
		fmt.Fprintf(&b, " Reached: %d of %s of the plan.", done, words.Count(len(s.Plan), "step"))
		if i := s.StepAtHand(); i >= 0 {
			text := words.Head(words.FirstLine(s.Plan[i].Text), 200)
			fmt.Fprintf(&b, " At hand: %s.", strings.TrimSuffix(text, "."))
		}
	}
	if n := s.History.Len(); n > 0 {
		last := s.History.Last(1)[0]
		fmt.Fprintf(&b, " Executions: %d, the last by %s (%s, %s)", n, last.ID, last.Agent, last.Status)
		said, most := last.Output, 300
		if last.Status == decider.StatusFailure && last.Error != nil {
			said, most = last.Error.Message, 200
		}
		if said != "" {
			b.WriteString(": " + strings.TrimSuffix(words.Head(words.FirstLine(said), most), "."))
		}
		b.WriteString(".")
	}
	if b.Len() == len(why)+1 {
		return why
	}
	return b.String()
}

// Interrupted lists the work that is running now, and will not be finished.
func (s *TaskState) Interrupted(r *Roster, now time.Time) []string {
	var list []string
	for i := range r.Agents {
		if text := s.InterruptedOf(r, r.Agents[i], now); text != "" {
			list = append(list, text)
		}
	}
	return list
}

// InterruptedOf returns the interrupted work of one agent; empty: none.
func (s *TaskState) InterruptedOf(r *Roster, a *Agent, now time.Time) string {
	if a.Role != RoleOrchestrator || !MidTurn(a) {
		return ""
	}
	text := a.Name + " (" + a.ID + ")"
	if a.ToolCall != nil {
		text += " was at " + a.ToolCall.Tool
		if a.ToolCall.What != "" {
			text += " `" + a.ToolCall.What + "`"
		}
		if a.ToolCall.Cut {
			text += " when its process ended"
		} else {
			text += fmt.Sprintf(" for %s", now.Sub(a.ToolCall.Since).Round(time.Second))
		}
	} else {
		text += " was in the middle of a turn"
	}
	if n := s.StepOf(r, a.ID); n > 0 {
		text += fmt.Sprintf(", step %d of the plan: %s", n, words.Head(words.FirstLine(s.Plan[n-1].Text), 200))
	}
	if a.Work != nil && len(a.Work.Files) > 0 {
		text += fmt.Sprintf("; files written in this execution: %d", len(a.Work.Files))
	}
	return text
}

// BreachText says which limit of the task was reached; maxFailures is the limit of failures in a row.
func (s *TaskState) BreachText(maxFailures int) string {
	if s.Phase == machine.Complete {
		return words.Count(s.Iterations, "Orchestrator") +
			" summoned for this task, which is the limit (--max-iterations)"
	}
	why := words.Count(s.Failures, "execution") + " in a row failed"
	if s.Failures < maxFailures {
		why = words.Count(s.TotalFailures, "execution") +
			" of this task failed, which is the limit (--max-total-failures)"
	}
	if s.LastError != nil {
		why += "; the last: " + words.Head(s.LastError.Message, 300)
	}
	return why
}
