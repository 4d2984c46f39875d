package supervisor

// This part of the package keeps the pending decisions of a run, who makes them, and the decisions that were
// made.
//
// The task machine asks at two points: which agent works next, and what follows from a result. The run's
// decider answers: the Arbiter in its session, or another decider, whose decisions the Arbiter then reads in
// its work log. While the Arbiter cannot rule (State.FallbackReason), the rules do. A [RulingRequest] is such a
// question with its input. Every decision enters a ledger, and is recorded with its input; until then it stays
// in the state.
//
// The package finds the decision point and keeps the ledger. Package supervisor carries decisions out.

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/decider"
	"github.com/arbiter-cli/arbiter/supervisor/effect"
	"github.com/arbiter-cli/arbiter/supervisor/input"
	"github.com/arbiter-cli/arbiter/supervisor/machine"
	"github.com/arbiter-cli/arbiter/supervisor/runconfig"
	"github.com/arbiter-cli/arbiter/supervisor/verdict"
	"github.com/arbiter-cli/arbiter/supervisor/words"
	"github.com/arbiter-cli/arbiter/transcript/jsonl"
)

// Unfit says why a decision cannot be acted on; empty: it can. Deciders check this themselves; this check
// guards against one that does not.
func Unfit(o *runconfig.Options, d decider.Decision) string {
	switch d.Decision {
	case verdict.SelectMode:
		if _, ok := o.ModeNamed(d.Mode); !ok {
			return fmt.Sprintf("there is no mode %q", d.Mode)
		}
	case verdict.Continue, verdict.Retry, verdict.Complete:
	default:
		return fmt.Sprintf("there is no decision %q", d.Decision)
	}
	return ""
}

// ByRules is the decision of the deterministic rules; why says why they decide. Its Decision is empty if there
// is not an agent that a rule could choose.
func (p *RulingRequest) ByRules(why string) decider.Decision {
	var rules decider.Rules
	var d decider.Decision
	if p.Point == decider.PointSelect {
		d, _ = rules.Select(p.Select)
	} else {
		d, _ = rules.Evaluate(p.Evaluate)
	}
	d.Source, d.Warnings = decider.ByFallback, append(d.Warnings, why)
	return d
}

// ContinueHandoff decides that another agent of the same mode continues what an agent hands off: the work is
// not done, and an agent of that mode has the tools for it. why says why the rules decide; empty: they do not.
func ContinueHandoff(name, why string) decider.Decision {
	d := decider.Decision{Decision: verdict.Continue, Reason: name +
		" hands off its work, and another of its mode takes it up.", Source: decider.ByRules}
	if why != "" {
		d.Source, d.Warnings = decider.ByFallback, []string{why}
	}
	return d
}

// GoOn determines who continues: the agent whose work was judged if it is alive, otherwise one of the same
// mode.
func (p *RulingRequest) GoOn(w RulingStanding, v verdict.Arbiter) verdict.Arbiter {
	about := p.About
	if about == "" {
		about = w.Task.LastWorked()
	}
	if a, ok := w.Roster.Agent(about); ok && a.Alive() && a.Standing != HandedOff {
		v.To = about
		v.Message = cmp.Or(v.Message, goOnText(w.Task, v))
		return v
	}
	mode := ""
	if a, ok := w.Roster.Agent(about); ok {
		mode = a.Mode
	} else if last := w.Task.History.Last(1); len(last) > 0 && last[0].Agent != AnyMode {
		mode = last[0].Agent
	}
	if _, known := w.Options.ModeNamed(mode); !known {
		mode = ""
	}
	v.Decision, v.Mode = verdict.SelectMode, mode
	return v
}

// goOnText is the message to an agent that continues.
func goOnText(t *TaskState, v verdict.Arbiter) string {
	text := "Go on with the task."
	if v.Decision == verdict.Retry {
		text = "It failed. Try again, another way."
	}
	if i := t.StepAtHand(); i >= 0 {
		text += fmt.Sprintf(" At hand is step %d of the plan: %s", i+1, t.Plan[i].Text)
	}
	return text + "\n\n" + v.Reason
}

// Brief is the brief of an Orchestrator that was not spawned by the Arbiter. aside: its work is not part of
// the plan. The error says why the user's template could not be used; the brief is usable all the same.
func (s *RulingState) Brief(w RulingStanding, v verdict.Arbiter, aside bool) (text string, err error) {
	set, err := decider.NewSet(w.Options.Templates)
	if err == nil {
		text, err = set.Brief(decider.BriefPrompt{Input: s.briefed(w), Mode: v.Mode, Reason: v.Reason, Message: v.Message,
			Aside: aside})
	}
	if err != nil || strings.TrimSpace(text) == "" {
		return w.Task.Text + "\n\n" + PlanText(w.Task.Plan),
			fmt.Errorf("the template of briefs cannot be used: %v", err)
	}
	return text, nil
}

// briefed is the data for a brief. A document that is handed over with the brief is not included.
func (s *RulingState) briefed(w RulingStanding) decider.SelectAgentInput {
	in := decider.SelectInput(s.Record(w))
	last := w.Task.History.Last(1)
	if len(last) == 0 || last[0].ID != w.Handoff.NextPredecessor() {
		return in
	}
	in.History[len(in.History)-1].Document = nil
	in.OpenPoints = slices.DeleteFunc(in.OpenPoints, func(p decider.OpenPoint) bool { return p.Agent == last[0].Agent })
	return in
}

// RulingStanding is the present state of a run, as far as decisions depend on it. It is only read.
type RulingStanding struct {
	Options      *runconfig.Options
	Task         *TaskState
	Roster       *Roster
	Conversation *ConversationState
	Handoff      *HandoffState
	Tokens       int // used so far
	CostUSD      float64
	Elapsed      time.Duration
}

// AsksOther reports whether a decider other than the Arbiter's session decides at the points.
func (s *RulingState) AsksOther(o *runconfig.Options) bool {
	return o.Decider != "" && o.Decider != runconfig.DeciderSession && !s.DeciderYielded
}

// Withholds reports whether a message waits for a decision that the Arbiter does not make.
func (s *RulingState) Withholds(o *runconfig.Options, t *TaskState, m *Mail) bool {
	switch {
	case m.To != contract.Arbiter || m.Sent:
		return false
	case s.FallbackReason != "":
		return true
	case !s.AsksOther(o) || t.Text == "":
		return false
	}
	return m.EndsExecution() || m.Kind == KindTask && t.Phase != machine.Idle
}

// FailedBefore is the agent that waits for the Arbiter's ruling on its failure; empty: none.
func (s *RulingState) FailedBefore(r *Roster) string {
	if p := s.ArbiterRequest; p != nil && p.Point == decider.PointSelect {
		if a, ok := r.Agent(p.About); ok && a.Alive() && a.Standing == AgentWaiting {
			return a.ID
		}
	}
	return ""
}

// Due finds the point of decision that the task has reached.
func (s *RulingState) Due(w RulingStanding) (point decider.DecisionPoint, about string, ok bool) {
	if w.Task.Text == "" {
		return "", "", false
	}
	for _, m := range w.Conversation.Mail {
		if !m.AwaitsJudgement() || w.Task.Phase == machine.Idle {
			continue
		}
		if a, _ := w.Roster.Agent(m.From); m.Stumble || w.Task.HandedOffUnfinished(&a) || !w.Roster.AnyWorks() {
			return pointOf(&m), m.From, true // a finished document waits for other agents' work
		}
	}
	if id := s.FailedBefore(w.Roster); s.FallbackReason != "" && id != "" {
		return decider.PointSelect, id, true // the Arbiter had read about the failure, and rules no more
	}
	aside := s.FallbackReason != "" || w.Roster.Agents[0].Status != AgentBusy && !w.Conversation.AsksArbiter()
	if w.Task.Phase == machine.Evaluating {
		if id := w.Task.LastWorked(); aside && id != "" && !w.Roster.Engaged() && !w.Handoff.IsDue() {
			return decider.PointEvaluate, id, true // the Arbiter had read it, and rules no more
		}
	}
	switch {
	case w.Handoff.IsDue():
		return "", "", false
	case w.Task.Phase == machine.Error:
		if w.Roster.AnyWorks() {
			return "", "", false // the failed agent waits for a message
		}
	case w.Task.Phase == machine.Idle || w.Roster.Engaged():
		return "", "", false // in executing, too, there may be no Orchestrator: the Arbiter released them
	}
	return decider.PointSelect, "", aside // else the Arbiter is in a dialogue, and may rule itself
}

// pointOf is the point of decision for a message that ends an execution.
func pointOf(m *Mail) decider.DecisionPoint {
	if m.Stumble {
		return decider.PointSelect
	}
	return decider.PointEvaluate
}

// Record is the present state of the task; the inputs of decisions are built from it.
func (s *RulingState) Record(w RulingStanding) decider.DecisionRecord {
	o := w.Options
	r := decider.DecisionRecord{
		Task: w.Task.Text, History: w.Task.History, Error: w.Task.LastError, Failed: failedChecks(w),
		Iteration: w.Task.Iterations, MaxIterations: o.MaxIterations, Failures: w.Task.Failures,
		MaxFailures:   o.MaxFailures,
		TotalFailures: w.Task.TotalFailures, MaxTotalFailures: o.FailureLimit(s.FallbackReason != ""),
		TokensUsed: w.Tokens, CostUSD: w.CostUSD, MaxCostUSD: o.MaxCostUSD, Timeout: o.Timeout, Elapsed: w.Elapsed,
	}
	for _, p := range w.Task.Plan {
		r.Steps = append(r.Steps, decider.DecisionStep{Description: p.Text, Status: p.Status, Mode: p.Mode,
			AgentUsed: p.Agent})
	}
	for _, a := range o.AvailableModes() {
		d := decider.AgentDescription{
			Name: a.Name, DisplayName: a.Name, WhenToUse: a.Description,
			Tools: decider.ToolLists{Allowed: a.Tools, Blocked: a.DisallowedTools},
		}
		if p, known := o.Performance[a.Name]; known {
			d.RecentPerformance = &p
		}
		r.Agents = append(r.Agents, d)
	}
	return r
}

// failedChecks are the checks and criteria that kept a COMPLETE from taking effect, as deciders see them.
func failedChecks(w RulingStanding) []decider.DecisionCheck {
	return append(w.Handoff.FailedChecks(), w.Task.FailedCriteria()...)
}

// Request builds the request for a decision at the point that the task has reached.
func (s *RulingState) Request(w RulingStanding, point decider.DecisionPoint, about string) *RulingRequest {
	p := &RulingRequest{Point: point, About: about}
	for i := range w.Conversation.Mail {
		if m := &w.Conversation.Mail[i]; m.AwaitsJudgement() {
			p.EndedExecutions = append(p.EndedExecutions, m.ID)
		}
	}
	r := s.Record(w)
	r.Judged = about
	p.Select = decider.SelectInput(r)
	var raw any = p.Select
	if point == decider.PointEvaluate {
		p.Evaluate = decider.EvaluateInput(r)
		raw = p.Evaluate
	}
	var err error
	p.Input, err = jsonl.Marshal(raw)
	if err != nil {
		panic(err) // our own types
	}
	return p
}

// Ask puts a question to the run's decider.
func (s *RulingState) Ask(c *effect.Collector, p *RulingRequest) {
	s.DeciderRequests++
	p.Serial = s.DeciderRequests
	s.DeciderRequest = p
	c.Do(effect.Decide{Question: decider.Record{Serial: p.Serial, Number: s.Decisions + 1, Point: p.Point, About: p.About,
		Input: p.Input}})
}

// ShowArbiter records the request that a message puts to the Arbiter, if the Arbiter's ruling on it is one of
// the task machine's decisions.
func (s *RulingState) ShowArbiter(w RulingStanding, m Mail) {
	if s.AsksOther(w.Options) {
		return
	}
	t := w.Task
	switch {
	case m.Kind == KindCorrection || m.Kind == KindRetry:
		// It is about the same request.
	case m.EndsExecution():
		s.ArbiterRequest = s.Request(w, pointOf(&m), m.From)
	case t.Text == "" || m.Kind == KindRenewal:
		s.ArbiterRequest = nil
	case t.Phase == machine.Selecting, t.Phase == machine.Error,
		t.Phase == machine.Idle && m.From == contract.Human: // the task itself
		s.ArbiterRequest = s.Request(w, decider.PointSelect, "")
	case t.Phase == machine.Evaluating && m.Kind == KindNotice && len(failedChecks(w)) > 0:
		s.ArbiterRequest = s.Request(w, decider.PointEvaluate, t.LastWorked()) // its COMPLETE was sent back
	default:
		s.ArbiterRequest = nil
	}
}

// AsksAt returns the point of decision at which the Arbiter was asked and gave no valid verdict; false: there
// was none.
func (s *RulingState) AsksAt(w RulingStanding) (point decider.DecisionPoint, about string, ok bool) {
	if w.Task.Text == "" {
		return "", "", false
	}
	switch p := s.ArbiterRequest; {
	case w.Task.Phase == machine.Evaluating && p != nil && p.Point == decider.PointEvaluate:
		return p.Point, p.About, true
	case w.Task.Phase == machine.Selecting && !w.Roster.Engaged() && !w.Handoff.IsDue(),
		w.Task.Phase == machine.Error && !w.Roster.AnyWorks() && !w.Handoff.IsDue():
		return decider.PointSelect, "", true
	}
	return "", "", false
}

// IsStumbling reports whether the decision about an Orchestrator's failure is still open.
func (s *RulingState) IsStumbling(w RulingStanding, id string) bool {
	return id == s.FailedBefore(w.Roster) || slices.ContainsFunc(w.Conversation.Mail, func(m Mail) bool {
		return m.From == id && m.Stumble && !m.Sent
	})
}

// RulingState is the decision part of a run. It is a value: slices are cloned before they are written.
type RulingState struct {
	Decisions       int             // rulings of the run, by all deciders
	ArbiterRequest  *RulingRequest  // the request in the message that the Arbiter rules on
	Readings        []RulingReading // what the Arbiter has read since it last ruled, oldest first
	DeciderRequest  *RulingRequest  // the open request to another decider
	DeciderRequests int             // requests to that decider so far
	DeciderYielded  bool            // that decider leaves the decision to the Arbiter
	Unrecorded      []input.Decided // decisions that are not recorded yet
	FallbackReason  string          // why the rules decide in the Arbiter's place; empty: they do not
	Ledger          []Ruling        // the ledger of decisions, oldest first
}

// RulingRequest is a question of the task machine.
type RulingRequest struct {
	Serial          int `json:",omitempty"` // of the requests to the run's decider
	Point           decider.DecisionPoint
	About           string // the agent whose document is judged
	Input           json.RawMessage
	EndedExecutions []string `json:",omitempty"` // messages that had ended executions by then

	Select   decider.SelectAgentInput
	Evaluate decider.EvaluateProgressInput `json:",omitzero"` // at PointEvaluate
}

// RulingReading is a message that the Arbiter's session has read since it last ruled, as it was sent. The next ruling
// is based on these messages and the conversation before them.
type RulingReading struct{ Message, Content string }

// Ruling is a decision as the ledger keeps it: what the next Arbiter must stand by.
type Ruling struct {
	At       time.Time
	Decision string
	To, Mode string
	Reason   string
	Source   string
}

const (
	// LedgerKept is how many decisions the ledger keeps, the latest ones.
	LedgerKept = 200
	// reasonKept bounds the reason of a decision in the ledger, in bytes.
	reasonKept = 300
	// readingKept bounds what is recorded of the messages of one ruling, in bytes.
	readingKept = 256 << 10
)

// Enter adds a decision to the ledger.
func (s *RulingState) Enter(at time.Time, v verdict.Arbiter, source decider.Source) {
	keep := s.Ledger
	if len(keep) >= LedgerKept {
		keep = keep[len(keep)-LedgerKept+1:]
	}
	s.Ledger = append(slices.Clone(keep), Ruling{
		At: at, Decision: v.Decision, To: v.To, Mode: v.Mode, Reason: words.Head(v.Reason, reasonKept),
		Source: string(source),
	})
}

// LedgerText lists the decisions, for a model.
func (s *RulingState) LedgerText() string {
	var b strings.Builder
	for _, r := range s.Ledger {
		fmt.Fprintf(&b, "- %s %s", r.At.UTC().Format("15:04:05"), r.Decision)
		for _, more := range []string{r.To, r.Mode} {
			if more != "" {
				b.WriteString(" " + more)
			}
		}
		if r.Source != string(decider.BySession) {
			b.WriteString(" (by " + r.Source + ")")
		}
		fmt.Fprintf(&b, ": %s\n", strings.ReplaceAll(r.Reason, "\n", "\n  "))
	}
	if b.Len() == 0 {
		return "(nothing)\n"
	}
	return b.String()
}

// Note records a decision that was made here. The state keeps it until it is recorded: a crash in between must
// not lose it.
func (s *RulingState) Note(c *effect.Collector, d input.Decided) {
	s.Unrecorded = append(slices.Clip(s.Unrecorded), d)
	c.Do(effect.Note{Decision: decider.Record(d)})
}

// NoteAgain records the decisions that were not recorded before the last process ended.
func (s *RulingState) NoteAgain(c *effect.Collector) {
	for _, d := range s.Unrecorded {
		c.Do(effect.Note{Decision: decider.Record(d)})
	}
}

// Noted drops a decision that is recorded now.
func (s *RulingState) Noted(number int) {
	recorded := func(d input.Decided) bool { return d.Number == number }
	if slices.ContainsFunc(s.Unrecorded, recorded) {
		s.Unrecorded = slices.DeleteFunc(slices.Clone(s.Unrecorded), recorded)
	}
}

// Read records that the Arbiter has read a message.
func (s *RulingState) Read(m Mail) {
	if m.To != contract.Arbiter || m.Content == "" {
		return
	}
	s.ForgetReading(m.ID) // it may have been sent twice
	s.Readings = append(slices.Clip(s.Readings), RulingReading{Message: m.ID, Content: m.Content})
}

// ForgetReading records that a message was not read after all: it is sent again.
func (s *RulingState) ForgetReading(id string) {
	of := func(r RulingReading) bool { return r.Message == id }
	if slices.ContainsFunc(s.Readings, of) {
		s.Readings = slices.DeleteFunc(slices.Clone(s.Readings), of)
	}
}

// takeReadings returns the text of what the Arbiter read for the current ruling, and clears it for the next
// one.
func (s *RulingState) takeReadings() string {
	parts := make([]string, len(s.Readings))
	for i, r := range s.Readings {
		parts[i] = r.Content
	}
	s.Readings = nil
	text := strings.Join(parts, "\n")
	if len(text) <= readingKept {
		return text
	}
	return strings.ToValidUTF8(text[:readingKept], "") +
		fmt.Sprintf("\n(cut here: the first %d of %d bytes are recorded)", readingKept, len(text))
}

// RulingBy says who made a decision, and how.
type RulingBy struct {
	Source   decider.Source
	Point    decider.DecisionPoint
	CostUSD  float64
	Warnings []string
}

// Rule counts a ruling of the Arbiter's session, or of the rules in its place, and records it with its input.
// It closes open requests.
func (s *RulingState) Rule(c *effect.Collector, v verdict.Arbiter, source decider.Source, warnings ...string) RulingBy {
	s.Decisions++
	by := RulingBy{Source: source, Point: decider.PointTalk, Warnings: warnings}
	f := input.Decided{Number: s.Decisions, Decision: decider.Decision{
		Decision: v.Decision, Mode: v.Mode, Reason: v.Reason, Message: v.Message, Summary: v.Summary,
		Source: source, Warnings: warnings,
	}}
	if p := s.ArbiterRequest; p != nil {
		by.Point, f.About, f.Input = p.Point, p.About, p.Input
	}
	f.Point = by.Point
	if read := s.takeReadings(); source == decider.BySession {
		f.Decision.Prompt = read
	}
	s.ArbiterRequest, s.DeciderRequest, s.DeciderYielded = nil, nil, false
	s.Note(c, f)
	return by
}

// LeaveFallback returns the decisions to the Arbiter.
func (s *RulingState) LeaveFallback(c *effect.Collector) {
	if s.FallbackReason == "" {
		return
	}
	s.FallbackReason = ""
	c.Emit(contract.Supervisor, contract.Notice{Text: "The Arbiter rules again."})
}

// EnterFallback lets the rules decide until the Arbiter can rule again.
func (s *RulingState) EnterFallback(c *effect.Collector, why string) {
	if s.FallbackReason == "" {
		c.Emit(contract.Supervisor, contract.Notice{Text: "The Arbiter can no longer rule: " +
			strings.TrimSuffix(why, ".") + ". The run continues by the rules."})
	}
	s.FallbackReason = why
}

// WithFallback adds to the reason why a run ended that the Arbiter did not lead it at the end.
func (s *RulingState) WithFallback(text string) string {
	if s.FallbackReason == "" {
		return text
	}
	return strings.TrimSuffix(text, ".") + ". The rules led here, for the Arbiter ruled no more: " +
		words.Head(words.FirstLine(s.FallbackReason), 300)
}

// DeciderText says who makes the present decision, after the name of the run's decider; empty: nothing is being
// decided.
func (s *RulingState) DeciderText() string {
	switch {
	case s.FallbackReason != "":
		return "; the rules decide in your place: " + s.FallbackReason
	case s.DeciderRequest != nil:
		return ", which is being asked"
	case s.DeciderYielded:
		return ", which leaves the next decision to you"
	}
	return ""
}

// Text is what the Arbiter reads about the state of the task, with a message on which it decides; empty if
// there is nothing to say yet.
func (p *RulingRequest) Text(templates map[string]string) string {
	if p == nil {
		return ""
	}
	set, err := decider.NewSet(templates)
	if err != nil || len(p.Select.History) == 0 && p.Select.LastError == nil {
		return ""
	}
	text, err := set.State(decider.StatePrompt{Input: p.Select, Point: p.Point})
	if err != nil {
		return ""
	}
	return text
}
