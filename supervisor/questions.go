package supervisor

import (
	"github.com/arbiter-cli/arbiter/supervisor/permission"
	"github.com/arbiter-cli/arbiter/supervisor/question"
)

// OpenQuestion is what a human was asked and has not answered; nil if there is none.
func (s *State) OpenQuestion() *question.Question {
	if s.Ending != nil {
		return s.Ending.Question
	}
	return s.Question.Open
}

// QuestionParts lists the questions that wait for the human, oldest first. In a run that is over they are those that
// are asked again when it is taken up again.
func (s *State) QuestionParts() []question.Part { return s.OpenQuestion().List() }

// OpenRequests lists the permission requests that wait for the human, also those that their agents have yet to make
// again. In a run that is over they are those that were open at its end.
func (s *State) OpenRequests() []permission.Request {
	if s.Ending != nil {
		return s.Ending.Requests
	}
	return s.Permission.All()
}

// ParkedOptions are what can be chosen about an Arbiter that is parked.
func ParkedOptions() []string { return []string{"retry", "cancel"} }

// needsAnswer reports whether an Orchestrator waits for what the human is to answer. Nobody else gives it a word
// meanwhile but the Arbiter.
func (s *State) needsAnswer(id string) bool { return s.awaitsHuman() && s.Question.IsNeededBy(id) }
