package supervisor

// This file validates a ruling of the Arbiter against the state of its run: which agents exist, which work,
// and which answers are expected.
//
// Its only change of the state is to record in the human's open question that the Arbiter was reminded of it.
// Package verdict checks the form of a verdict, sender.go who may rule.

import (
	"fmt"
	"strings"

	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/machine"
	"github.com/arbiter-cli/arbiter/supervisor/verdict"
	"github.com/arbiter-cli/arbiter/supervisor/words"
)

// rulingProblem says what is wrong with a ruling, as a correction for the Arbiter; empty: it can be carried out. It
// also reports whether the ruling selects an unknown mode.
func (st *step) rulingProblem(v verdict.Arbiter) (problem string, unknownMode bool) {
	for _, check := range []func(verdict.Arbiter) string{st.addresseeProblem, st.Renewal.Objection, st.taskProblem,
		st.assumedProblem} {
		if problem := check(v); problem != "" {
			return problem, false
		}
	}
	switch v.Decision {
	case verdict.Continue:
		return st.waitProblem(v), false
	case verdict.Complete:
		return st.completeProblem(), false
	case verdict.SelectMode:
		if _, known := st.Options.ModeNamed(v.Mode); !known {
			return fmt.Sprintf("There is no mode %q. Modes: %s.", v.Mode, strings.Join(st.Options.ModeNames(), ", ")), true
		}
	}
	return "", false
}

// nothingWanted reports whether the task was dropped and no other was given: a ruling of the Arbiter is still
// about the dropped task.
func (s *State) nothingWanted() bool {
	return s.Task.Phase == machine.Idle && s.Task.Text == "" && !s.AnyWorks()
}

// idOf is the id of the Orchestrator that a ruling names: by its id, its name or its number. A name that fits none is
// returned as it is.
func (s *State) idOf(to string) string {
	name := strings.ToLower(strings.TrimPrefix(strings.ReplaceAll(strings.ToLower(to), "-", " "), "orchestrator "))
	for _, a := range s.Agents {
		number, roman := strings.TrimPrefix(a.ID, "orch-"), strings.TrimPrefix(a.Name, "Orchestrator ")
		if a.Role == RoleOrchestrator && (strings.EqualFold(a.ID, to) || strings.EqualFold(roman, name) ||
			name == number || name == "orch "+number) {
			return a.ID
		}
	}
	return to
}

// addresseeProblem says what is wrong with the Orchestrator that a ruling is for.
func (s *State) addresseeProblem(v verdict.Arbiter) string {
	if v.To == "" || v.Decision != verdict.AddressOrchestrator && v.Decision != verdict.Continue &&
		v.Decision != verdict.Retry {
		return ""
	}
	a, ok := s.Agent(v.To)
	switch {
	case !ok || a.Role != RoleOrchestrator:
		return fmt.Sprintf("There is no Orchestrator %q. Alive: %s. Put an id such as orch-1 into `to`.", v.To,
			s.LivingText())
	case !a.Alive():
		return fmt.Sprintf("%s (%s) is gone. Alive: %s. Summon another with spawn_orchestrator or SELECT_MODE.", a.Name,
			a.ID, s.LivingText())
	}
	return ""
}

// taskProblem says that there is no task for a ruling.
func (s *State) taskProblem(v verdict.Arbiter) string {
	if s.nothingWanted() && (v.Decision == verdict.SelectMode || v.Decision == verdict.Complete ||
		v.Decision == verdict.Continue && !s.pendingFor(contract.Arbiter)) {
		return "There is no task: the human reset it. Ask the human what they want, with ADDRESS_HUMAN."
	}
	return ""
}

// assumedProblem says that work shall begin on what the Arbiter has assumed, although the human can be asked.
func (s *State) assumedProblem(v verdict.Arbiter) string {
	switch v.Decision {
	case verdict.SelectMode, verdict.AddressOrchestrator, verdict.Continue, verdict.Retry:
	default:
		return ""
	}
	if len(v.Assumed) == 0 || !s.HumanPresent || s.awaitsHuman() {
		return ""
	}
	return "You assumed what would change the result, and a human is present: " + words.Head(strings.Join(v.Assumed, "; "),
		1000) + ". Ask with ADDRESS_HUMAN first. Leave `assumed` out for what the human has settled."
}

// waitProblem says that there is nothing to wait for.
func (s *State) waitProblem(v verdict.Arbiter) string {
	// The Arbiter may also wait for messages in its mail, and for documents that are being processed.
	if v.To == "" && !s.AnyWorks() && len(s.Handoff.SuccessorQueue) == 0 && !s.Handoff.IsDue() &&
		!s.pendingFor(contract.Arbiter) && !s.AnyTakenOver() && !s.awaitsHuman() {
		return fmt.Sprintf("CONTINUE without `to` waits for an Orchestrator, but none is at work (alive: %s). Address "+
			"one, "+
			"summon one, or speak to the human. Use COMPLETE only if all that was asked for is proven.", s.LivingText())
	}
	return ""
}

// completeProblem says what prevents the end of the task.
func (st *step) completeProblem() string {
	taken := st.TakenOver()
	switch {
	case st.AnyWorks():
		return fmt.Sprintf("COMPLETE while Orchestrators still work (%s). Wait with CONTINUE, or release them first.",
			st.LivingText())
	case taken != "":
		return fmt.Sprintf("COMPLETE while the human has a session in a terminal (%s). Wait for it with CONTINUE.", taken)
	case st.Handoff.ReportIsDue():
		return "COMPLETE while the supervisor still checks a document that was handed to you. Wait for it with CONTINUE."
	}
	return st.unansweredProblem()
}

// unansweredProblem says why the Arbiter may not complete while its question to the human is open; empty: it may. If
// an Orchestrator waits for the answer, the run does, too. Otherwise the Arbiter is reminded once, unless it is
// about to be renewed: it knows whether the answer still matters.
func (st *step) unansweredProblem() string {
	switch {
	case !st.awaitsHuman():
		return ""
	case len(st.WaitingAgents()) > 0:
		return "The human has not answered what you asked, and an Orchestrator waits for it: " +
			words.Head(st.Question.Text(), 2000) + "\nWait for the answer with CONTINUE."
	case st.Renewal.Stage != RenewalNone || st.Question.Recalled:
		return ""
	}
	st.Question.Recalled = true
	return "The human has not answered what you asked: " + words.Head(st.Question.Text(), 2000) +
		"\nWait for the answer with CONTINUE. Use COMPLETE once more only if the answer no longer matters."
}

// isReport reports whether a message of the Arbiter to the human expects no answer. If the Arbiter does not say
// so, only an answer to a message that the human sent while agents worked is a report, and only if it asks
// nothing.
func (st *step) isReport(v verdict.Arbiter) bool {
	if len(v.Assumed) > 0 && st.HumanPresent {
		return false
	}
	if v.Report != nil {
		return *v.Report
	}
	return st.interjected && !strings.ContainsAny(v.Message, "?？")
}
