package supervisor

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/decider"
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
	w.Files = slices.Clone(w.Files)
	for _, f := range t.Files {
		if len(w.Files) < bridge.TurnFiles && !slices.Contains(w.Files, f) {
			w.Files = append(w.Files, f)
		}
	}
	switch {
	case t.Outcome == bridge.TurnInterrupted, t.Outcome == bridge.TurnLost:
		w.Failed = nil // the tool call ended with the turn: the agent did not fail
	case t.Tools > 0 || t.Failed != nil:
		w.Failed = t.Failed
	}
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
			Category: decider.ToolFailure, At: now, Files: a.Work.Files,
		}
	}
	return nil
}

// categoryFor is SPEC-0006's name for a category of the bridge.
func categoryFor(c bridge.Category) decider.DecisionCategory {
	switch c {
	case bridge.CatOverloaded, bridge.CatRateLimit, bridge.CatServer, bridge.CatUsageLimit, bridge.CatAuth:
		return decider.ProviderError
	case bridge.CatTimeout:
		return decider.TimeoutError
	case bridge.CatVerdict, bridge.CatInvalidRequest:
		return decider.ValidationError
	case bridge.CatCrash, bridge.CatStart, bridge.CatWorkspace, bridge.CatResume, bridge.CatPromptTooLong,
		bridge.CatCompaction:
		return decider.AgentError
	}
	return decider.UnknownError
}

// passes reports whether waiting can solve a failure of this category.
func passes(c bridge.Category) bool {
	switch c {
	case bridge.CatOverloaded, bridge.CatRateLimit, bridge.CatServer, bridge.CatTimeout, bridge.CatUsageLimit:
		return true
	}
	return false
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
func (s *TaskState) Fail(a *Agent, f *decider.DecisionFailure, status decider.DecisionStatus, now time.Time) {
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
	if e.Status, e.Error = status, f; f != nil && f.Category == decider.TimeoutError {
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
		Message: t.Message, Category: decider.ToolCategory(t.Message, t.Denied), At: now, Files: a.Work.Files,
		InputSize: t.InputSize, OutputSize: t.Size,
	}
}

// AgentFailure is an agent that failed, as a failure.
func (s *TaskState) AgentFailure(r *Roster, id string, c bridge.Category, message string,
	now time.Time) *decider.DecisionFailure {
	f := &decider.DecisionFailure{
		Agent: AnyMode, Attempted: "its work", Message: words.Head(message, 2000), Category: categoryFor(c),
		Transient: passes(c), At: now,
	}
	if a, ok := r.Agent(id); ok {
		f.Agent, f.Step = ModeOf(&a), s.StepOf(r, id)
		if a.Brief != "" {
			f.Attempted = words.Head(words.FirstLine(a.Brief), 500)
		}
		if a.Work != nil {
			f.Files = a.Work.Files
		}
	}
	return f
}

// FailedCriteria are the acceptance criteria that kept a COMPLETE from taking effect, as deciders see them.
func (s *TaskState) FailedCriteria() []decider.DecisionCheck {
	var list []decider.DecisionCheck
	for _, r := range s.Acceptance.Failing() {
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

// HandedOffUnfinished reports whether an agent has handed off unfinished work. A planner that hands off a plan has not.
func (s *TaskState) HandedOffUnfinished(a *Agent) bool {
	return a.Standing == HandedOff && !(a.Mode == PlannerMode && len(s.Plan) > 0)
}

// AcceptanceEvents are the results of the criteria when they were last judged.
func (s *TaskState) AcceptanceEvents() []contract.Acceptance {
	tree := ""
	for _, r := range s.Acceptance.Results {
		if r.Tree != "" {
			tree = r.Tree
		}
	}
	var list []contract.Acceptance
	for _, e := range s.Acceptance.Entries(tree) {
		list = append(list, contract.Acceptance{
			Text: e.Text, Command: e.Command, By: string(e.By), Status: string(e.Status), ExitCode: e.ExitCode,
			SHA256: e.SHA256, Tree: e.Tree,
		})
	}
	return list
}
