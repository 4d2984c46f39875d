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

// QuestionState is the question part of a run. It is a value: slices are cloned before they are written.
type QuestionState struct {
	Open     []QuestionPart `json:",omitempty"` // oldest first: the human's next message answers all of them
	Asked    int            `json:",omitempty"` // questions put to the human so far
	Recalled bool           `json:",omitempty"` // the Arbiter was told that it completes while they are open
	Recovery QuestionRecovery
}

// QuestionPart is one of the questions that wait for a human.
type QuestionPart struct {
	Number  int    // of the run's questions, counted from 1
	Kind    string `json:",omitempty"`
	Text    string
	At      time.Time
	Arbiter bool     `json:",omitempty"` // asked it, and has to read the answer; else the supervisor did
	For     []string `json:",omitempty"` // Orchestrators that waited for a message when it was put
}

// KindAcceptance is the kind of the question what to do about a COMPLETE that was rejected too often.
const KindAcceptance = "acceptance"

// ID names the question in the list of what waits for a human.
func (p QuestionPart) ID() string { return fmt.Sprintf("question-%d", p.Number) }

// Drop closes the questions that need no answer any more.
func (s *QuestionState) Drop(unwanted func(QuestionPart) bool) { _, s.Open = parted(s.Open, unwanted) }

// IsWaitedFor reports whether an Orchestrator that waited when a question was put still waits for its answer.
// One whose work has failed waits for the decision about the failure instead.
func (p QuestionPart) IsWaitedFor(r *Roster) bool {
	return slices.ContainsFunc(r.WaitingAgents(), func(id string) bool {
		a, _ := r.Agent(id)
		return a.Work != nil && slices.Contains(p.For, id)
	})
}

// AwaitsAnswer reports whether a question of the Arbiter is open. Only a human who is present can answer it.
func (s *QuestionState) AwaitsAnswer() bool {
	return slices.ContainsFunc(s.Open, func(p QuestionPart) bool { return p.Arbiter })
}

// IsNeededBy reports whether an Orchestrator waits for the answer to a question of the Arbiter.
func (s *QuestionState) IsNeededBy(id string) bool {
	return slices.ContainsFunc(s.Open, func(p QuestionPart) bool { return p.Arbiter && slices.Contains(p.For, id) })
}

// Text is the text of all open questions; empty: there are none.
func (s *QuestionState) Text() string {
	var texts []string
	for _, p := range s.Open {
		texts = append(texts, p.Text)
	}
	return strings.Join(texts, "\n\n")
}

// Put puts a question to the human, and emits it. One that is open already is put as it was first: now the Arbiter
// may ask it, and other agents may wait for it.
func (s *QuestionState) Put(c *input.Collector, p QuestionPart) {
	s.Recalled = s.Recalled && s.Open != nil && !p.Arbiter
	s.Open = slices.Clone(s.Open)
	i := slices.IndexFunc(s.Open, func(o QuestionPart) bool { return o.Text == p.Text })
	if i < 0 {
		s.Asked++
		p.Number, p.At = s.Asked, c.Now
		i, s.Open = len(s.Open), append(s.Open, p)
	}
	open := &s.Open[i]
	open.Arbiter = open.Arbiter || p.Arbiter
	for _, id := range p.For {
		if !slices.Contains(open.For, id) {
			open.For = append(slices.Clip(open.For), id)
		}
	}
	open.report(c)
}

// Repeat emits all open questions once more.
func (s *QuestionState) Repeat(c *input.Collector) {
	for _, p := range s.Open {
		p.report(c)
	}
}

func (p QuestionPart) report(c *input.Collector) {
	c.Emit(p.asker(), contract.Question{Text: p.Text, Question: p.ID()})
}

// asker returns who put the question.
func (p QuestionPart) asker() string {
	if p.Arbiter {
		return contract.Arbiter
	}
	return contract.Supervisor
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
	if len(options) > 0 {
		*r = QuestionRecovery{Options: options, Agent: id, Text: words.Head(strings.TrimSpace(message), 500)}
	}
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
