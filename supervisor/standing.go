package supervisor

import (
	"slices"

	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/input"
	"github.com/arbiter-cli/arbiter/supervisor/machine"
)

// awaitsHuman reports whether a human is present who has not answered the Arbiter yet. Only the human's answer
// closes the question.
func (s *State) awaitsHuman() bool {
	return s.Question.AwaitsAnswer() && s.HumanPresent
}

// OpenQuestion returns the question that the human has not answered, or nil.
func (s *State) OpenQuestion() *Question {
	if s.Ending != nil {
		return s.Ending.Question
	}
	return s.Question.Open
}

// QuestionParts lists the questions that wait for the human, oldest first. In a run that is over, these are the
// questions that a resume asks again.
func (s *State) QuestionParts() []QuestionPart { return s.OpenQuestion().List() }

// OpenRequests lists the permission requests that wait for the human, including those that their agents still
// have to repeat. In a run that is over, these are the requests that were open at its end.
func (s *State) OpenRequests() []input.PermissionRequest {
	if s.Ending != nil {
		return s.Ending.Requests
	}
	return s.Permission.All()
}

// ParkedOptions are the choices for a parked Arbiter.
func ParkedOptions() []string { return []string{"retry", "cancel"} }

// needsAnswer reports whether an Orchestrator waits for the human's answer. Until then it receives messages from the
// Arbiter only.
func (s *State) needsAnswer(id string) bool { return s.awaitsHuman() && s.Question.IsNeededBy(id) }

// Completed reports whether the run ended with COMPLETE. It can be resumed, and then waits for another task.
func (s *State) Completed() bool {
	return s.Task.Phase == machine.Complete && s.Ending != nil && s.Ending.Status == contract.StatusComplete
}

// pendingFor reports whether a message waits to be sent to the present generation of the agent.
func (s *State) pendingFor(id string) bool {
	return slices.ContainsFunc(s.Conversation.Mail, func(m Mail) bool {
		return m.To == id && !m.Sent && !(id == contract.Arbiter && s.Renewal.Withholds(m.Kind))
	})
}

// awaitsRuling reports whether a document is on its way to the Arbiter, or waits to be read by it.
func (s *State) awaitsRuling() bool { return s.Conversation.DocumentWaits() || s.Handoff.IsDue() }

// whoAnswers reports whether a human can answer a permission request, and how long it waits.
func (s *State) whoAnswers() input.PermissionHuman {
	return input.PermissionHuman{Present: s.HumanPresent, Wait: s.Options.PermissionWait}
}

// hasSnapshots reports whether the files of an agent are recorded: they are shared, or on a branch of its own.
func hasSnapshots(a *Agent) bool { return a.Isolation == "" || a.Own.Branch != "" }

// seesChanges reports whether the supervisor learns which files an agent's commands change.
func (s *State) seesChanges(a *Agent) bool {
	return s.Options.Workspace.Enabled() && !s.Changes.Failed && hasSnapshots(a)
}

// anyBusy reports whether a turn runs.
func (s *State) anyBusy() bool { return s.busyCount() > 0 }

// busyCount counts the turns that run.
func (s *State) busyCount() (n int) {
	for _, a := range s.Agents {
		if a.Status == AgentBusy {
			n++
		}
	}
	return n
}
