package supervisor

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/decision"
	"github.com/arbiter-cli/arbiter/supervisor/handoff"
	"github.com/arbiter-cli/arbiter/supervisor/roster"
	"github.com/arbiter-cli/arbiter/supervisor/verdict"
	"github.com/arbiter-cli/arbiter/supervisor/words"
)

// outputKept bounds what is kept of what an execution said, in bytes. An evaluation
// shows 2,000 characters of it.
const outputKept = 8 << 10

// anyMode is the name of Orchestrators that were summoned under no mode.
const anyMode = "orchestrator"

// beginWork opens an execution, unless one is under way.
func (st *step) beginWork(id string) {
	a := st.Edit(id)
	if a == nil || a.Role != roster.RoleOrchestrator || a.Work != nil && a.Work.Completed.IsZero() {
		return
	}
	a.Work = &roster.Work{Since: st.at, Iteration: st.Iterations}
}

// worked adds what a turn of an Orchestrator used and touched.
func worked(a *roster.Agent, t bridge.Turn) {
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
		w.Failed = nil // whoever ended the turn ended the tool call: it is no failure of the agent's
	case t.Tools > 0 || t.Failed != nil:
		w.Failed = t.Failed
	}
	a.Work = &w
}

// completeWork notes that an Orchestrator said `done` or `handoff`.
func (st *step) completeWork(id, said string) {
	a := st.Edit(id)
	if a == nil {
		return
	}
	if a.Work == nil {
		st.beginWork(id)
		a = st.Edit(id)
	}
	w := *a.Work
	w.Said, w.Completed = words.Head(said, outputKept), st.at
	a.Work = &w
}

// settleWork records a completed execution once its document's checks have spoken.
func (st *step) settleWork(h handoff.Handover) {
	a := st.Edit(h.Agent.ID)
	if a == nil || a.Work == nil || a.Work.Completed.IsZero() {
		return
	}
	w := *a.Work
	w.Document = decision.Handed(h.Document, h.Receipts)
	a.Work = &w
	if refuted := st.refuted(a, h); refuted != nil {
		st.recordFailure(a.ID, refuted, decision.StatusFailure)
		return
	}
	e := st.execution(a)
	e.Status = decision.StatusSuccess
	st.History = st.History.Add(e)
	st.Failures, st.LastError = 0, nil
	st.Edit(a.ID).Work = nil
	if h.Kind == handoff.KindDone {
		st.assigned(h.Agent.ID, contract.StepDone)
	}
}

// refuted is the first check of a document that failed, as a failure.
func (st *step) refuted(a *roster.Agent, h handoff.Handover) *decision.Failure {
	for i, r := range h.Receipts {
		if h.Document == nil || i >= len(h.Document.Checks) || r.Result != verdict.CheckFailed {
			continue
		}
		c := h.Document.Checks[i]
		return &decision.Failure{
			Agent: modeOf(a), Tool: "check", Step: st.stepEnded(a.ID), Attempted: "proving the work: " + c.Expect, Command: words.Head(c.Command, 500),
			Message: words.Head(fmt.Sprintf("check %d of its document failed: %s", i+1, r.Why), 1000), Category: decision.ToolFailure, At: st.at, Files: a.Work.Files,
		}
	}
	return nil
}

// recordFailure ends an agent's execution as one that failed.
func (st *step) recordFailure(id string, f *decision.Failure, status decision.Status) {
	st.Failures++
	st.TotalFailures++
	if f != nil {
		st.LastError = f
	}
	a := st.Edit(id)
	if a == nil || a.Role != roster.RoleOrchestrator {
		return
	}
	if a.Work == nil {
		st.beginWork(id)
		a = st.Edit(id)
	}
	e := st.execution(a)
	if e.Status, e.Error = status, f; f != nil && f.Category == decision.TimeoutError {
		e.Status = decision.StatusTimeout
	}
	st.History = st.History.Add(e)
	a.Work = nil
}

// abandonWork ends an execution that nobody wants to go on with.
func (st *step) abandonWork(id string) {
	a := st.Edit(id)
	if a == nil || a.Work == nil {
		return
	}
	e := st.execution(a)
	e.Status = decision.StatusCancelled
	if !a.Work.Completed.IsZero() {
		e.Status, e.Document = decision.StatusSuccess, decision.Handed(a.Document, a.Receipts)
	}
	st.History = st.History.Add(e)
	a.Work = nil
}

// execution is an agent's work as history keeps it.
func (st *step) execution(a *roster.Agent) decision.Execution {
	w := a.Work
	e := decision.Execution{
		Agent: modeOf(a), ID: a.ID, Iteration: w.Iteration, StartedAt: w.Since, CompletedAt: w.Completed,
		Output: w.Said, Files: w.Files, Tokens: w.Tokens, Document: w.Document,
	}
	if e.CompletedAt.IsZero() {
		e.CompletedAt = st.at
	}
	return e
}

// stumbled records a failed tool as a failed execution: the Orchestrator's last call
// failed, and it asks for a word. It reports whether that is so. One that asks by itself is
// answered; a human is called only where it stopped without a verdict.
func (st *step) stumbled(id, said string) bool {
	a := st.Edit(id)
	if a.Work == nil || a.Work.Failed == nil {
		return false
	}
	t := a.Work.Failed
	f := &decision.Failure{
		Agent: modeOf(a), Tool: t.Tool, Step: st.stepOf(id), Attempted: t.Attempted, Command: t.Command, Message: t.Message,
		Category: decision.ToolCategory(t.Message, t.Denied), At: st.at, Files: a.Work.Files, InputSize: t.InputSize, OutputSize: t.Size,
	}
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
	f := &decision.Failure{Agent: anyMode, Attempted: "its work", Message: words.Head(message, 2000), Category: categoryFor(c), Transient: passes(c), At: st.at}
	if a, ok := st.Agent(id); ok {
		f.Agent, f.Step = modeOf(&a), st.stepOf(id)
		if a.Brief != "" {
			f.Attempted = words.Head(words.FirstLine(a.Brief), 500)
		}
		if a.Work != nil {
			f.Files = a.Work.Files
		}
	}
	return f
}

// categoryFor is SPEC-0006's word for a category of the bridge's.
func categoryFor(c bridge.Category) decision.Category {
	switch c {
	case bridge.CatOverloaded, bridge.CatRateLimit, bridge.CatServer, bridge.CatUsageLimit, bridge.CatAuth:
		return decision.ProviderError
	case bridge.CatTimeout:
		return decision.TimeoutError
	case bridge.CatVerdict, bridge.CatInvalidRequest:
		return decision.ValidationError
	case bridge.CatCrash, bridge.CatStart, bridge.CatResume, bridge.CatPromptTooLong, bridge.CatCompaction:
		return decision.AgentError
	}
	return decision.UnknownError
}

// passes reports whether waiting helps.
func passes(c bridge.Category) bool {
	switch c {
	case bridge.CatOverloaded, bridge.CatRateLimit, bridge.CatServer, bridge.CatTimeout, bridge.CatUsageLimit:
		return true
	}
	return false
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

// modeOf is the name history knows an agent by.
func modeOf(a *roster.Agent) string { return cmp.Or(a.Mode, anyMode) }
