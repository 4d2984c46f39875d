package supervisor

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/arbiter-cli/arbiter/supervisor/budget"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/conversation"
	"github.com/arbiter-cli/arbiter/supervisor/decider"
	"github.com/arbiter-cli/arbiter/supervisor/decision"
	"github.com/arbiter-cli/arbiter/supervisor/effect"
	"github.com/arbiter-cli/arbiter/supervisor/input"
	"github.com/arbiter-cli/arbiter/supervisor/machine"
	"github.com/arbiter-cli/arbiter/supervisor/prompts"
	"github.com/arbiter-cli/arbiter/supervisor/roster"
	"github.com/arbiter-cli/arbiter/supervisor/runconfig"
	"github.com/arbiter-cli/arbiter/supervisor/task"
	"github.com/arbiter-cli/arbiter/supervisor/words"
	"github.com/arbiter-cli/arbiter/transcript/jsonl"
)

// leftUndone reports whether one has handed off its own work. A planner hands on a plan.
func (s *State) leftUndone(a *roster.Agent) bool {
	return a.Standing == roster.HandedOff && !(a.Mode == task.PlannerMode && len(s.Task.Plan) > 0)
}

// due finds the point of decision that the task stands at.
func (st *step) due() (point decision.Point, about string, ok bool) {
	if st.Task.Text == "" {
		return "", "", false
	}
	for _, m := range st.Conversation.Mail {
		if !m.AwaitsJudgement() || st.Task.Phase == machine.Idle {
			continue
		}
		if a, _ := st.Agent(m.From); m.Stumble || st.leftUndone(&a) || !st.AnyWorks() {
			return pointOf(&m), m.From, true // what is done waits for what others still do
		}
	}
	if id := st.failedBefore(); st.FallbackReason != "" && id != "" {
		return decision.PointSelect, id, true // the Arbiter had read of the failure, and rules no more
	}
	aside := st.FallbackReason != "" || st.Agents[0].Status != roster.Busy && !st.arbiterAsked()
	if st.Task.Phase == machine.Evaluating {
		if last := st.Task.History.Last(1); aside && len(last) > 0 && !st.Engaged() && !st.Handoff.IsDue() {
			return decision.PointEvaluate, last[0].ID, true // the Arbiter had read it, and rules no more
		}
	}
	switch {
	case st.Handoff.IsDue():
		return "", "", false
	case st.Task.Phase == machine.Error:
		if st.AnyWorks() {
			return "", "", false // the one that broke waits for a word
		}
	case st.Task.Phase == machine.Idle || st.Engaged():
		return "", "", false // in executing, too, nobody may be left: the Arbiter released them, and then ruled no more
	}
	return decision.PointSelect, "", aside // else it speaks with somebody, and may rule itself
}

// arbiterAsked reports whether the Arbiter's own word is asked for, beyond the task: by the
// human, an Orchestrator, or a correction.
func (s *State) arbiterAsked() bool {
	return slices.ContainsFunc(slices.Concat(s.Conversation.Mail, s.Conversation.InTurn), func(m conversation.Mail) bool {
		return m.To == contract.Arbiter && m.Kind != conversation.KindTask && m.Kind != conversation.KindNotice &&
			m.Kind != conversation.KindRenewal
	})
}

// pointOf is the point of decision that a message which ends an execution stands at.
func pointOf(m *conversation.Mail) decision.Point {
	if m.Stumble {
		return decision.PointSelect
	}
	return decision.PointEvaluate
}

// withheld reports whether a message waits for a decision that the Arbiter does not make.
func (s *State) withheld(m *conversation.Mail) bool {
	switch {
	case m.To != contract.Arbiter || m.Sent:
		return false
	case s.FallbackReason != "":
		return true
	case !s.asksOther() || s.Task.Text == "":
		return false
	}
	return m.EndsExecution() || m.Kind == conversation.KindTask && s.Task.Phase != machine.Idle
}

// record is the task as the inputs of decisions are built from.
func (st *step) record() decision.Record {
	r := st.State.Record()
	r.Elapsed = st.elapsed()
	return r
}

// Record is the task as it stands, but for the time.
func (s *State) Record() decision.Record {
	o := &s.Options
	r := decision.Record{
		Task: s.Task.Text, History: s.Task.History, Error: s.Task.LastError, Failed: append(s.Handoff.FailedChecks(),
			s.Task.FailedCriteria()...),
		Iteration: s.Task.Iterations, MaxIterations: o.MaxIterations, Failures: s.Task.Failures,
		MaxFailures:   o.MaxFailures,
		TotalFailures: s.Task.TotalFailures, MaxTotalFailures: s.Options.FailureLimit(s.FallbackReason != ""),
		TokensUsed: budget.Tokens(s.Budget.Usage), CostUSD: s.Budget.CostUSD, MaxCostUSD: o.MaxCostUSD,
		Timeout: o.Timeout, Elapsed: s.Budget.Runtime.Elapsed(s.Budget.Runtime.LastAt),
	}
	for _, p := range s.Task.Plan {
		r.Steps = append(r.Steps, decision.Step{Description: p.Text, Status: p.Status, Mode: p.Mode,
			AgentUsed: p.Agent})
	}
	for _, a := range o.AvailableModes() {
		d := decision.AgentDescription{
			Name: a.Name, DisplayName: a.Name, WhenToUse: a.Description,
			Tools: decision.ToolLists{Allowed: a.Tools, Blocked: a.DisallowedTools},
		}
		if p, known := o.Performance[a.Name]; known {
			d.RecentPerformance = &p
		}
		r.Agents = append(r.Agents, d)
	}
	return r
}

// SelectInput is what the choice of an agent would be made from now.
func (s *State) SelectInput() decision.SelectAgentInput { return decision.Select(s.Record()) }

// EvaluateInput is what progress would be judged from now; false: nothing was executed yet.
func (s *State) EvaluateInput() (decision.EvaluateProgressInput, bool) {
	if s.Task.History.Len() == 0 {
		return decision.EvaluateProgressInput{}, false
	}
	return decision.Evaluate(s.Record()), true
}

// requestDecision builds the input of the point at which the task stands.
func (st *step) requestDecision(point decision.Point, about string) *DecisionRequest {
	p := &DecisionRequest{Point: point, About: about}
	for i := range st.Conversation.Mail {
		if m := &st.Conversation.Mail[i]; m.AwaitsJudgement() {
			p.Heard = append(p.Heard, m.ID)
		}
	}
	r := st.record()
	r.Judged = about
	p.Select = decision.Select(r)
	var raw any = p.Select
	if point == decision.PointEvaluate {
		p.Evaluate = decision.Evaluate(r)
		raw = p.Evaluate
	}
	var err error
	p.Input, err = jsonl.Marshal(raw)
	if err != nil {
		panic(err) // our own types
	}
	return p
}

// noteArbiterRequest notes what the Arbiter is shown with a message, where its ruling on it is one of
// the task machine's decisions.
func (st *step) noteArbiterRequest(a *roster.Agent, m conversation.Mail) {
	if a.Role != roster.RoleArbiter || st.asksOther() {
		return
	}
	switch {
	case m.Kind == conversation.KindCorrection || m.Kind == conversation.KindRetry:
		// It is about what was posed already.
	case m.EndsExecution():
		st.ArbiterRequest = st.requestDecision(pointOf(&m), m.From)
	case st.Task.Text == "" || m.Kind == conversation.KindRenewal:
		st.ArbiterRequest = nil
	case st.Task.Phase == machine.Selecting, st.Task.Phase == machine.Error,
		st.Task.Phase == machine.Idle && m.From == contract.Human: // the task itself
		st.ArbiterRequest = st.requestDecision(decision.PointSelect, "")
	case st.Task.Phase == machine.Evaluating && m.Kind == conversation.KindNotice &&
		len(st.Handoff.FailedChecks())+len(st.Task.FailedCriteria()) > 0: // its COMPLETE was sent back
		st.ArbiterRequest = st.requestDecision(decision.PointEvaluate, st.lastWorked())
	default:
		st.ArbiterRequest = nil
	}
}

// lastWorked is whose execution was the last; empty: nobody's.
func (s *State) lastWorked() string {
	if last := s.Task.History.Last(1); len(last) > 0 {
		return last[0].ID
	}
	return ""
}

// taskText is what `status` tells of the task as the machine sees it.
func (s *State) taskText() string {
	most := func(n int) string {
		if n == 0 {
			return ""
		}
		return fmt.Sprintf(" of %d", n)
	}
	text := fmt.Sprintf("executions: %d; failures in a row: %d%s; in all: %d%s\ndecider: %s", s.Task.History.Len(),
		s.Task.Failures, most(s.Options.MaxFailures), s.Task.TotalFailures,
		most(s.Options.FailureLimit(s.FallbackReason != "")), cmp.Or(s.Options.Decider, runconfig.DeciderSession))
	switch {
	case s.FallbackReason != "":
		text += "; the rules decide in your place: " + s.FallbackReason
	case s.DeciderRequest != nil:
		text += ", which is being asked"
	case s.DeciderYielded:
		text += ", which leaves the next decision to you"
	}
	if f := s.Task.LastError; f != nil {
		text += fmt.Sprintf("\nlast error, of a %s: %s", f.Agent, words.Head(words.FirstLine(f.Message), 300))
	}
	return text + "\n"
}

// stateText is what the Arbiter reads of where the task stands, with a message on which
// it decides; nothing where there is nothing to tell yet.
func (s *State) stateText(p *DecisionRequest) string {
	set, err := prompts.NewSet(s.Options.Templates)
	if err != nil {
		return ""
	}
	if len(p.Select.History) == 0 && p.Select.LastError == nil {
		return ""
	}
	text, err := set.State(prompts.State{Input: p.Select, Point: p.Point})
	if err != nil {
		return ""
	}
	return text
}

// leaveFallback gives the decisions back to the Arbiter.
func (st *step) leaveFallback() {
	if st.FallbackReason == "" {
		return
	}
	st.FallbackReason = ""
	st.emit(contract.Supervisor, contract.Notice{Text: "The Arbiter rules again."})
}

// note has a decision recorded that was made here. Until it is, the state holds it: a
// crash in between must not cost the record.
func (st *step) note(d input.Decided) {
	st.Unrecorded = append(slices.Clip(st.Unrecorded), d)
	st.do(effect.Note{Decision: decider.Record(d)})
}

// noteAgain has those recorded that the end of a life kept from it.
func (st *step) noteAgain() {
	for _, d := range st.Unrecorded {
		st.do(effect.Note{Decision: decider.Record(d)})
	}
}

// noted lets go of a decision that is recorded.
func (st *step) noted(number int) {
	if slices.ContainsFunc(st.Unrecorded, func(d input.Decided) bool { return d.Number == number }) {
		st.Unrecorded = slices.DeleteFunc(slices.Clone(st.Unrecorded),
			func(d input.Decided) bool { return d.Number == number })
	}
}

// readingKept bounds what is recorded of the messages of one ruling, in bytes.
const readingKept = 256 << 10

// read notes that the Arbiter has taken up a message.
func (st *step) read(m conversation.Mail) {
	if m.To != contract.Arbiter || m.Content == "" {
		return
	}
	st.forgetReading(m.ID) // it may have been sent twice
	st.Readings = append(slices.Clip(st.Readings), Reading{Message: m.ID, Content: m.Content})
}

// forgetReading takes back that a message was read: it is sent again.
func (st *step) forgetReading(id string) {
	if slices.ContainsFunc(st.Readings, func(r Reading) bool { return r.Message == id }) {
		st.Readings = slices.DeleteFunc(slices.Clone(st.Readings), func(r Reading) bool { return r.Message == id })
	}
}

// whatWasRead is the text of what the Arbiter read for the ruling at hand; the next ruling
// begins with nothing.
func (st *step) whatWasRead() string {
	parts := make([]string, len(st.Readings))
	for i, r := range st.Readings {
		parts[i] = r.Content
	}
	st.Readings = nil
	text := strings.Join(parts, "\n")
	if len(text) <= readingKept {
		return text
	}
	return strings.ToValidUTF8(text[:readingKept], "") +
		fmt.Sprintf("\n(cut here: the first %d of %d bytes are recorded)", readingKept, len(text))
}
