package supervisor

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/conversation"
	"github.com/arbiter-cli/arbiter/supervisor/decider"
	"github.com/arbiter-cli/arbiter/supervisor/decision"
	"github.com/arbiter-cli/arbiter/supervisor/effect"
	"github.com/arbiter-cli/arbiter/supervisor/input"
	"github.com/arbiter-cli/arbiter/supervisor/machine"
	"github.com/arbiter-cli/arbiter/supervisor/verdict"
)

// DecisionState holds what is to be decided, by whom, and what was.
type DecisionState struct {
	Decisions       int              // rulings of the run, by all deciders
	ArbiterRequest  *DecisionRequest // what the Arbiter was shown with the message it rules on
	Readings        []Reading        // what it has taken up since it last ruled, oldest first
	DeciderRequest  *DecisionRequest // what another decider is asked
	DeciderRequests int              // put to it so far
	DeciderYielded  bool             // that one leaves it to the Arbiter
	Unrecorded      []input.Decided  // decisions that are not recorded yet
	FallbackReason  string           // why the rules decide in the Arbiter's place; empty: they do not
	Rulings         []Ruling         // the ledger of decisions, oldest first
}

// DecisionRequest is a question of the task machine's as it was put.
type DecisionRequest struct {
	Serial int `json:",omitempty"` // of the questions to the run's decider
	Point  decision.Point
	About  string // whose document is judged
	Input  json.RawMessage
	Heard  []string `json:",omitempty"` // messages that had ended executions by then

	Select   decision.SelectAgentInput
	Evaluate decision.EvaluateProgressInput `json:",omitzero"` // at PointEvaluate
}

// Sources of a decision.
const (
	sourceSession  = string(decider.BySession)
	sourceFallback = string(decider.ByFallback)
	sourceHuman    = string(decider.ByHuman)
)

// Ruling is a decision as the ledger keeps it: what the next Arbiter must stand by.
type Ruling struct {
	At       time.Time
	Decision string
	To, Mode string
	Reason   string
	Source   string
}

// The task machine asks at two points: in selecting (and when an agent broke, or stopped at
// a failed tool) which agent works next, in evaluating what follows from what was done. Who
// answers is the run's decider: the Arbiter in its conversation, or another, whose decisions
// the Arbiter then reads in its work log. Where the Arbiter cannot rule, the rules do.
// points.go says where the task stands, carryout.go does what was decided.

// runDueDecisions sees that each point of decision finds its decider, where that is not the
// Arbiter in its own turn.
func (st *step) runDueDecisions() {
	if st.FallbackReason == "" && !st.asksOther() {
		return
	}
	// The rules decide at once, and may then be asked again: each decision summons,
	// addresses or ends. The bound only guards against a bug.
	for range 8 {
		if st.Ending != nil || st.Paused || st.Conversation.Held || st.DeciderRequest != nil {
			return
		}
		if st.FallbackReason != "" && st.answerInFallback() {
			continue
		}
		point, about, due := st.due()
		switch a, _ := st.Agent(about); {
		case !due || st.FallbackReason == "" && !st.BridgeUp:
			return // without a bridge no model answers
		case point == decision.PointEvaluate && st.leftUndone(&a):
			st.takenUp(about, st.FallbackReason)
			continue
		}
		if st.FallbackReason == "" {
			st.put(point, about)
			return
		}
		st.byRules(point, about, st.FallbackReason)
	}
}

// put asks the run's decider. What the Arbiter would have been told at this point it
// reads with what was decided: two must not rule on the same.
func (st *step) put(point decision.Point, about string) {
	if point == decision.PointSelect {
		st.shelveAll(func(m *conversation.Mail) bool {
			return m.To == contract.Arbiter && m.From == contract.Supervisor && m.Kind == conversation.KindNotice && !m.Sent
		})
	}
	st.DeciderRequests++
	p := st.requestDecision(point, about)
	p.Serial = st.DeciderRequests
	st.DeciderRequest = p
	st.do(effect.Decide{Question: decider.Record{Serial: p.Serial, Number: st.Decisions + 1, Point: point, About: about, Input: p.Input}})
}

// yield leaves a decision to the Arbiter, and sees that it hears of it.
func (st *step) yield() {
	st.DeciderYielded = true
	if st.Ending == nil && !st.pendingFor(contract.Arbiter) {
		st.tell(contract.Arbiter, conversation.KindNotice, "The decider leaves it to you how the task goes on. Rule.")
	}
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
		st.Unrecorded = slices.DeleteFunc(slices.Clone(st.Unrecorded), func(d input.Decided) bool { return d.Number == number })
	}
}

// answered keeps the books of a decision: what a model's answer has cost, used or not, and
// that one made here is recorded.
func (st *step) answered(f input.Decided) {
	if f.Serial == 0 {
		st.noted(f.Number)
		return
	}
	u := f.Decision.Usage
	st.charge(bridge.Usage{Input: u.Input, Output: u.Output, CacheRead: u.CacheRead, CacheCreation: u.CacheCreation}, u.CostUSD)
}

// decided takes the answer of the run's decider. One that is only recorded, or was
// overtaken by a ruling, decides nothing.
func (st *step) decided(f input.Decided) {
	st.answered(f)
	if f.Serial > 0 && st.checkBudget() {
		return
	}
	p := st.DeciderRequest
	if p == nil || f.Serial != p.Serial {
		return
	}
	st.DeciderRequest = nil
	switch {
	case f.Deferred:
		st.yield()
	case f.Failed != "":
		st.fire(machine.ArbiterError, occasion{})
		st.byRules(p.Point, p.About, "the decider failed: "+f.Failed)
	case st.unfit(f.Decision) != "":
		st.fire(machine.ArbiterError, occasion{})
		st.byRules(p.Point, p.About, "the decider gave no decision that can be acted on: "+st.unfit(f.Decision))
	default:
		if f.Decision.Source == decider.ByFallback {
			st.fire(machine.ArbiterError, occasion{})
		}
		st.carryOut(p, f.Decision)
	}
}

// unfit says why a decision cannot be acted on. Deciders see to that themselves; this
// holds where one does not.
func (st *step) unfit(d decider.Decision) string {
	switch d.Decision {
	case verdict.SelectMode:
		if _, ok := st.ModeNamed(d.Mode); !ok {
			return fmt.Sprintf("there is no mode %q", d.Mode)
		}
	case verdict.Continue, verdict.Retry, verdict.Complete:
	default:
		return fmt.Sprintf("there is no decision %q", d.Decision)
	}
	return ""
}

// Stages of the Arbiter's renewal.
const (
	renewalNone  = ""
	renewalAsked = "asked" // it was asked for its document
	renewalGiven = "given" // it gave one, or one was drawn up; its successor is on the way
)

// maxFallbacks is how often in a row the rules may decide in an agent's place.
// Beyond it a dialogue would go on that nobody leads and somebody pays for.
const maxFallbacks = 2

// Reading is a message that the Arbiter's session has taken up since it last ruled, as it
// was sent: what the next ruling is made from, beside the conversation before it.
type Reading struct{ Message, Content string }

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
	return strings.ToValidUTF8(text[:readingKept], "") + fmt.Sprintf("\n(cut here: the first %d of %d bytes are recorded)", readingKept, len(text))
}
