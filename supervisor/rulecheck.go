package supervisor

// This file validates a ruling of the Arbiter against the state of its run: which agents exist, which work,
// and which answers are expected.
//
// Its only change of the state is to record in the human's open question that the Arbiter was reminded of it.
// Package verdict checks the form of a verdict, package sender who may rule. Package supervisor sends the
// correction.

import (
	"fmt"
	"strings"

	"github.com/arbiter-cli/arbiter/supervisor/machine"
	"github.com/arbiter-cli/arbiter/supervisor/verdict"
	"github.com/arbiter-cli/arbiter/supervisor/words"
)

// RuleCheckRun is what a ruling is checked against.
type RuleCheckRun struct {
	RulingStanding
	Renewal  *RenewalState
	Question *QuestionState

	AwaitsHuman bool // a human who is present has not answered the Arbiter yet
	Pending     bool // a message waits for the Arbiter
}

// Check says what is wrong with a ruling, as a correction for the Arbiter; empty: it can be carried out. It
// also reports whether the ruling selects an unknown mode.
func (r RuleCheckRun) Check(v verdict.Arbiter) (problem string, unknownMode bool) {
	for _, check := range []func(verdict.Arbiter) string{r.addressee, r.Renewal.Objection, r.task} {
		if problem := check(v); problem != "" {
			return problem, false
		}
	}
	switch v.Decision {
	case verdict.Continue:
		return r.waiting(v), false
	case verdict.Complete:
		return r.complete(), false
	case verdict.SelectMode:
		if _, known := r.Options.ModeNamed(v.Mode); !known {
			return fmt.Sprintf("There is no mode %q. Modes: %s.", v.Mode, strings.Join(r.Options.ModeNames(), ", ")), true
		}
	}
	return "", false
}

// NothingWanted reports whether the task was dropped and no other was given: a ruling of the Arbiter is still
// about the dropped task.
func (r RuleCheckRun) NothingWanted() bool {
	return r.Task.Phase == machine.Idle && r.Task.Text == "" && !r.Roster.AnyWorks()
}

// addressee says what is wrong with the Orchestrator that a ruling is for.
func (r RuleCheckRun) addressee(v verdict.Arbiter) string {
	if v.To == "" || v.Decision != verdict.AddressOrchestrator && v.Decision != verdict.Continue &&
		v.Decision != verdict.Retry {
		return ""
	}
	a, ok := r.Roster.Agent(v.To)
	switch {
	case !ok || a.Role != RoleOrchestrator:
		return fmt.Sprintf("There is no Orchestrator %q. Alive: %s.", v.To, r.Roster.LivingText())
	case !a.Alive():
		return fmt.Sprintf("%s (%s) is gone. Alive: %s. Summon another with spawn_orchestrator or SELECT_MODE.", a.Name,
			a.ID, r.Roster.LivingText())
	}
	return ""
}

// task says that there is no task for a ruling.
func (r RuleCheckRun) task(v verdict.Arbiter) string {
	if r.NothingWanted() && (v.Decision == verdict.SelectMode || v.Decision == verdict.Complete ||
		v.Decision == verdict.Continue && !r.Pending) {
		return "There is no task: the human reset it. Ask them what is wanted, with ADDRESS_HUMAN."
	}
	return ""
}

// waiting says that there is nothing to wait for.
func (r RuleCheckRun) waiting(v verdict.Arbiter) string {
	// The Arbiter may also wait for messages in its mail, and for documents that are being processed.
	if v.To == "" && !r.Roster.AnyWorks() && len(r.Handoff.SuccessorQueue) == 0 && !r.Handoff.IsDue() &&
		!r.Pending && !r.Roster.AnyTakenOver() && !r.AwaitsHuman {
		return fmt.Sprintf("CONTINUE without `to` waits for an Orchestrator, but none is at work (alive: %s). Address one, "+
			"summon one, speak to the human, or COMPLETE.", r.Roster.LivingText())
	}
	return ""
}

// complete says what prevents the end of the task.
func (r RuleCheckRun) complete() string {
	taken := r.Roster.TakenOver()
	switch {
	case r.Roster.AnyWorks():
		return fmt.Sprintf("COMPLETE while Orchestrators still work (%s). Wait with CONTINUE, or release them first.",
			r.Roster.LivingText())
	case taken != "":
		return fmt.Sprintf("COMPLETE while the human has a session in a terminal (%s). Wait for it with CONTINUE.", taken)
	case r.Handoff.ReportIsDue():
		return "COMPLETE while the supervisor still checks a document that was handed to you. Wait for it with CONTINUE."
	}
	if problem := r.unanswered(); problem != "" {
		return problem
	}
	return r.Handoff.Doubt()
}

// unanswered says why the Arbiter may not complete while its question to the human is open; empty: it may. If
// an Orchestrator waits for the answer, the run does, too. Otherwise the Arbiter is reminded once, unless it is
// about to be renewed: it knows whether the answer still matters.
func (r RuleCheckRun) unanswered() string {
	switch waits := r.Roster.AnyWaiting(); {
	case !r.AwaitsHuman:
		return ""
	case waits:
		return "The human has not answered what you asked, and an Orchestrator waits for it: " +
			words.Head(r.Question.Open.Text, 2000) + "\nWait for the answer with CONTINUE."
	case r.Renewal.Stage != RenewalNone || r.Question.Open.Recalled:
		return ""
	}
	r.Question.Recall()
	return "The human has not answered what you asked: " + words.Head(r.Question.Text(), 2000) +
		"\nWait for the answer with CONTINUE. COMPLETE once more only if it does not matter any more."
}
