package supervisor

// This part of the package keeps the pending decisions of a run, who makes them, and the decisions that were
// made.
//
// The task machine asks at two points: which agent works next, and what follows from a result. The run's
// decider answers: the Arbiter in its session, or another decider, whose decisions the Arbiter then reads in
// its work log. While the Arbiter cannot rule (State.FallbackReason), the rules do. A [RulingRequest] is such a
// question with its input. Every decision enters a ledger, and is recorded with its input; until then it stays
// in the state.

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/decider"
	"github.com/arbiter-cli/arbiter/supervisor/input"
	"github.com/arbiter-cli/arbiter/supervisor/runconfig"
	"github.com/arbiter-cli/arbiter/supervisor/verdict"
	"github.com/arbiter-cli/arbiter/supervisor/words"
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
	d, _ := p.input().Rule()
	d.Source, d.Warnings = decider.ByFallback, append(d.Warnings, why)
	return d
}

// input is what the question is about.
func (p *RulingRequest) input() decider.Input {
	if p.Point == decider.PointEvaluate {
		return p.Evaluate
	}
	return p.Select
}

// Ask puts a question to the run's decider.
func (s *RulingState) Ask(c *input.Collector, p *RulingRequest) {
	s.DeciderRequests++
	p.Serial = s.DeciderRequests
	s.DeciderRequest = p
	c.Do(input.Decide{Question: decider.Record{Serial: p.Serial, Number: s.Decisions + 1, Point: p.Point, About: p.About,
		Input: p.Input}})
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
	QuestionsInRow  int             `json:",omitempty"` // to the human, without another ruling in between
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
func (s *RulingState) Enter(at time.Time, v verdict.Arbiter, source string) {
	keep := s.Ledger
	if len(keep) >= LedgerKept {
		keep = keep[len(keep)-LedgerKept+1:]
	}
	s.Ledger = append(slices.Clone(keep), Ruling{
		At: at, Decision: v.Decision, To: v.To, Mode: v.Mode, Reason: words.Head(v.Reason, reasonKept),
		Source: source,
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
func (s *RulingState) Note(c *input.Collector, d input.Decided) {
	s.Unrecorded = append(slices.Clip(s.Unrecorded), d)
	c.Do(input.Note{Decision: decider.Record(d)})
}

// Noted drops a decision that is recorded now.
func (s *RulingState) Noted(number int) {
	s.Unrecorded = slices.DeleteFunc(slices.Clone(s.Unrecorded),
		func(d input.Decided) bool { return d.Number == number })
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
	s.Readings = slices.DeleteFunc(slices.Clone(s.Readings), func(r RulingReading) bool { return r.Message == id })
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

// Rule counts a ruling of the Arbiter's session, or of the rules in its place, and records it with its input.
// It closes open requests, and returns the point of decision.
func (s *RulingState) Rule(c *input.Collector, v verdict.Arbiter, source decider.Source, warnings ...string,
) decider.DecisionPoint {
	s.Decisions++
	f := input.Decided{Number: s.Decisions, Point: decider.PointTalk, Decision: decider.Decision{
		Decision: v.Decision, Mode: v.Mode, Reason: v.Reason, Message: v.Message, Summary: v.Summary,
		Source: source, Warnings: warnings,
	}}
	if p := s.ArbiterRequest; p != nil {
		f.Point, f.About, f.Input = p.Point, p.About, p.Input
	}
	if read := s.takeReadings(); source == decider.BySession {
		f.Decision.Prompt = read
	}
	s.ArbiterRequest, s.DeciderRequest, s.DeciderYielded = nil, nil, false
	s.Note(c, f)
	return f.Point
}

// LeaveFallback returns the decisions to the Arbiter.
func (s *RulingState) LeaveFallback(c *input.Collector) {
	if s.FallbackReason == "" {
		return
	}
	s.FallbackReason = ""
	c.Notice("The Arbiter rules again.")
}

// EnterFallback lets the rules decide until the Arbiter can rule again.
func (s *RulingState) EnterFallback(c *input.Collector, why string) {
	if s.FallbackReason == "" {
		c.Notice("The Arbiter can no longer rule: " + strings.TrimSuffix(why, ".") + ". The run continues by the " +
			"rules.")
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
