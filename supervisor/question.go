package supervisor

// This part of the package holds the open questions to the human, and the choices after an error.
//
// The human's next message answers all open questions at once. A repeated question joins the open one. Choices are
// those of the last error that offered any.

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/decider"
	"github.com/arbiter-cli/arbiter/supervisor/input"
	"github.com/arbiter-cli/arbiter/supervisor/words"
)

// QuestionState is the question part of a run. It is a value: slices and the open question are cloned before they are
// written.
type QuestionState struct {
	Open     *Question
	Asked    int `json:",omitempty"` // questions put to the human so far
	Recovery QuestionRecovery
}

// Question waits for a human. It may have several parts: the human's next message answers all of them.
type Question struct {
	Text     string // of all parts
	At       time.Time
	Arbiter  bool           `json:",omitempty"` // asked at least one part, and has to read the answer; else the supervisor did
	Recalled bool           `json:",omitempty"` // the Arbiter was told that it completes while this is open
	Parts    []QuestionPart `json:",omitempty"` // oldest first
}

// QuestionPart is one of the questions that wait for a human.
type QuestionPart struct {
	Number  int    // of the run's questions, counted from 1
	Kind    string `json:",omitempty"`
	Text    string
	At      time.Time
	Arbiter bool     `json:",omitempty"` // asked it
	For     []string `json:",omitempty"` // Orchestrators that waited for a message when it was put
}

// KindAcceptance is the kind of the question what to do about a COMPLETE that was rejected too often.
const KindAcceptance = "acceptance"

// List returns the parts, oldest first; nil has none.
func (q *Question) List() []QuestionPart {
	switch {
	case q == nil:
		return nil
	case len(q.Parts) == 0: // of a question that was not put by this package
		return []QuestionPart{{Text: q.Text, At: q.At, Arbiter: q.Arbiter}}
	}
	return q.Parts
}

// ID names the question in the list of what waits for a human.
func (p QuestionPart) ID() string { return fmt.Sprintf("question-%d", p.Number) }

// with returns the question with one more part. repeated reports that this part is open already.
func (q *Question) with(p QuestionPart) (joined *Question, repeated bool) {
	parts := q.List()
	if slices.ContainsFunc(parts, func(o QuestionPart) bool { return o.Text == p.Text }) {
		return q, true
	}
	joined = joinParts(append(slices.Clip(parts), p))
	joined.Recalled = q != nil && q.Recalled && !p.Arbiter
	return joined, false
}

// joinParts makes one question from its parts; without parts, nil.
func joinParts(parts []QuestionPart) *Question {
	if len(parts) == 0 {
		return nil
	}
	q := &Question{At: parts[0].At, Parts: parts}
	var texts []string
	for _, p := range parts {
		texts = append(texts, p.Text)
		q.Arbiter = q.Arbiter || p.Arbiter
	}
	q.Text = strings.Join(texts, "\n\n")
	return q
}

// Drop closes the questions that need no answer any more.
func (s *QuestionState) Drop(unwanted func(QuestionPart) bool) {
	if s.Open == nil {
		return
	}
	parts := slices.DeleteFunc(slices.Clone(s.Open.List()), unwanted)
	if len(parts) == len(s.Open.List()) {
		return
	}
	recalled := s.Open.Recalled
	if s.Open = joinParts(parts); s.Open != nil {
		s.Open.Recalled = recalled
	}
}

// IsWaitedFor reports whether an Orchestrator that waited when a question was put still waits for its answer.
// One whose work has failed waits for the decision about the failure instead.
func (p QuestionPart) IsWaitedFor(r *Roster) bool {
	return slices.ContainsFunc(r.WaitingAgents(), func(id string) bool {
		a, _ := r.Agent(id)
		return a.Work != nil && slices.Contains(p.For, id)
	})
}

// AwaitsAnswer reports whether a question of the Arbiter is open. Only a human who is present can answer it.
func (s *QuestionState) AwaitsAnswer() bool { return s.Open != nil && s.Open.Arbiter }

// IsNeededBy reports whether an Orchestrator waits for the answer to a question of the Arbiter.
func (s *QuestionState) IsNeededBy(id string) bool {
	return slices.ContainsFunc(s.Open.List(), func(p QuestionPart) bool {
		return p.Arbiter && (p.Number == 0 || slices.Contains(p.For, id))
	})
}

// Text is the open question; empty: none.
func (s *QuestionState) Text() string {
	if s.Open == nil {
		return ""
	}
	return s.Open.Text
}

// Recall records that the Arbiter was told that it completes while the question is open.
func (s *QuestionState) Recall() {
	q := *s.Open
	q.Recalled = true
	s.Open = &q
}

// Put puts a question to the human, and emits it. It is added to the open ones.
func (s *QuestionState) Put(c *input.Collector, p QuestionPart) {
	p.Number, p.At = s.Asked+1, c.Now
	joined, open := s.Open.with(p)
	if open {
		p = s.again(p)
	} else {
		s.Asked, s.Open = p.Number, joined
	}
	reportQuestion(c, p)
}

// again adds to a question that is open already, and returns it as it was put first: now the Arbiter may ask
// it, and other agents may wait for it.
func (s *QuestionState) again(p QuestionPart) QuestionPart {
	parts := slices.Clone(s.Open.List())
	i := slices.IndexFunc(parts, func(o QuestionPart) bool { return o.Text == p.Text })
	open := &parts[i]
	open.Arbiter = open.Arbiter || p.Arbiter
	for _, id := range p.For {
		if !slices.Contains(open.For, id) {
			open.For = append(slices.Clip(open.For), id)
		}
	}
	recalled := s.Open.Recalled && !p.Arbiter
	s.Open = joinParts(parts)
	s.Open.Recalled = recalled
	return *open
}

// Repeat emits all open questions once more.
func (s *QuestionState) Repeat(c *input.Collector) {
	for _, p := range s.Open.List() {
		reportQuestion(c, p)
	}
}

func reportQuestion(c *input.Collector, p QuestionPart) {
	e := contract.Question{Text: p.Text}
	if p.Number > 0 {
		e.Question = p.ID()
	}
	c.Emit(contract.Arbiter, e)
}

// QuestionRecovery is what the human can choose about the last error, until an option is chosen or the error is solved.
type QuestionRecovery struct {
	Options []string // as the command `choose` takes them
	Agent   string   // whose error it was
	Text    string   `json:",omitempty"` // its message, shortened
}

// Fail emits an error about an agent or the supervisor, with the recovery options.
func (r *QuestionRecovery) Fail(
	c *input.Collector,
	id string,
	category bridge.Category,
	message string,
	options []string,
) {
	*r = QuestionRecovery{Options: options, Agent: id, Text: words.Head(strings.TrimSpace(message), 500)}
	c.Emit(id, contract.Error{Category: category, Message: message, RecoveryOptions: options})
}

// Overcome withdraws the choices about the failure of an Orchestrator: the dialogue continues without them.
func (r *QuestionRecovery) Overcome(agents *Roster, id string) {
	if agents.IsOrchestrator(id) && r.Agent == id {
		*r = QuestionRecovery{}
	}
}

// QuestionChoices are the recovery options for a failed execution, as the command `choose` takes them.
func QuestionChoices(f *decider.DecisionFailure) []string {
	var options []string
	for _, o := range decider.RecoveryOptions(*f) {
		options = append(options, string(o.Action))
	}
	return options
}
