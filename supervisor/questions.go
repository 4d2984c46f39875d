package supervisor

import (
	"fmt"
	"slices"
	"strings"

	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/permission"
)

// What can be chosen about a workspace that is not trusted, besides cancel.
const (
	chooseTrust   = "trust"
	chooseWithout = "without"
)

// OpenQuestion is what a human was asked and has not answered; nil if there is none.
func (s *State) OpenQuestion() *Question {
	if s.Ending != nil {
		return s.Ending.Question
	}
	return s.Question
}

// QuestionParts lists the questions that wait for the human, oldest first. In a run that is over they are those that
// are asked again when it is taken up again.
func (s *State) QuestionParts() []QuestionPart { return s.OpenQuestion().parts() }

// OpenRequests lists the permission requests that wait for the human, also those that their agents have yet to make
// again. In a run that is over they are those that were open at its end.
func (s *State) OpenRequests() []permission.Request {
	if s.Ending != nil {
		return s.Ending.Requests
	}
	return s.Permission.All()
}

// TrustOptions are what can be chosen about a workspace that waits for the human's trust; nil: none does.
func (s *State) TrustOptions() []string {
	switch {
	case s.Lifecycle.TrustQuestion == nil:
		return nil
	case s.Lifecycle.TrustQuestion.Hash == "":
		return []string{chooseWithout, "cancel"}
	}
	return []string{chooseTrust, chooseWithout, "cancel"}
}

// ParkedOptions are what can be chosen about an Arbiter that is parked.
func ParkedOptions() []string { return []string{"retry", "cancel"} }

func (q *Question) parts() []QuestionPart {
	switch {
	case q == nil:
		return nil
	case len(q.Parts) == 0: // of a snapshot that did not have them
		return []QuestionPart{{Text: q.Text, At: q.At, Arbiter: q.Arbiter}}
	}
	return q.Parts
}

// ID names the question in the list of what waits for a human.
func (p QuestionPart) ID() string { return fmt.Sprintf("question-%d", p.Number) }

// with returns the question with one part more. Told reports that this part is open already.
func (q *Question) with(p QuestionPart) (joined *Question, told bool) {
	parts := q.parts()
	if slices.ContainsFunc(parts, func(o QuestionPart) bool { return o.Text == p.Text }) {
		return q, true
	}
	joined = joinParts(append(slices.Clip(parts), p))
	joined.Recalled = q != nil && q.Recalled && !p.Arbiter
	return joined, false
}

// joinParts makes one question of its parts; nil of none.
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

// dropQuestions closes the questions that need no answer any more.
func (st *step) dropQuestions(drop func(QuestionPart) bool) {
	if st.Question == nil {
		return
	}
	parts := slices.DeleteFunc(slices.Clone(st.Question.parts()), drop)
	if len(parts) == len(st.Question.parts()) {
		return
	}
	recalled := st.Question.Recalled
	if st.Question = joinParts(parts); st.Question != nil {
		st.Question.Recalled = recalled
	}
}

// needsAnswer reports whether an Orchestrator waits for what the human is to answer. Nobody else gives it a word
// meanwhile but the Arbiter.
func (s *State) needsAnswer(id string) bool {
	if !s.awaitsHuman() {
		return false
	}
	return slices.ContainsFunc(s.Question.parts(), func(p QuestionPart) bool {
		return p.Arbiter && (p.Number == 0 || slices.Contains(p.For, id))
	})
}

// isWaitedFor reports whether an Orchestrator that waited when a question was put still waits for its answer. One whose
// work has failed waits for what is decided about that.
func (s *State) isWaitedFor(p QuestionPart) bool {
	return slices.ContainsFunc(s.WaitingAgents(), func(id string) bool {
		a, _ := s.Agent(id)
		return a.Work != nil && slices.Contains(p.For, id)
	})
}

// undecided reports whether the human has yet to say what becomes of a COMPLETE that was rejected too often.
func (s *State) undecided() bool {
	return slices.ContainsFunc(s.Question.parts(), func(p QuestionPart) bool { return p.Kind == QuestionAcceptance })
}

// askedAgain takes a question in that is open already, and returns it as it was put first: the Arbiter may be the one
// who asks now, and others may wait.
func (st *step) askedAgain(p QuestionPart) QuestionPart {
	parts := slices.Clone(st.Question.parts())
	i := slices.IndexFunc(parts, func(o QuestionPart) bool { return o.Text == p.Text })
	open := &parts[i]
	open.Arbiter = open.Arbiter || p.Arbiter
	for _, id := range p.For {
		if !slices.Contains(open.For, id) {
			open.For = append(slices.Clip(open.For), id)
		}
	}
	recalled := st.Question.Recalled && !p.Arbiter
	st.Question = joinParts(parts)
	st.Question.Recalled = recalled
	return *open
}

// tellQuestion tells of an open question.
func (st *step) tellQuestion(p QuestionPart) {
	e := contract.Question{Text: p.Text}
	if p.Number > 0 {
		e.Question = p.ID()
	}
	st.emit(contract.Arbiter, e)
}
