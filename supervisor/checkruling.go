package supervisor

import (
	"fmt"
	"strings"

	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/machine"
	"github.com/arbiter-cli/arbiter/supervisor/renewal"
	"github.com/arbiter-cli/arbiter/supervisor/roster"
	"github.com/arbiter-cli/arbiter/supervisor/verdict"
	"github.com/arbiter-cli/arbiter/supervisor/words"
)

// checkRuling tests an Arbiter's verdict against the state: who lives, who works.
func (st *step) checkRuling(v verdict.Arbiter) error {
	bad := func(format string, args ...any) error {
		return &verdict.Problem{Text: fmt.Sprintf(format, args...) + " Give your verdict again."}
	}
	if v.To != "" && (v.Decision == verdict.AddressOrchestrator || v.Decision == verdict.Continue ||
		v.Decision == verdict.Retry) {
		a, ok := st.Agent(v.To)
		if !ok || a.Role != roster.RoleOrchestrator {
			return bad("There is no Orchestrator %q. Alive: %s.", v.To, st.LivingText())
		}
		if !a.Alive() {
			return bad("%s (%s) is gone. Alive: %s. Summon another with spawn_orchestrator or SELECT_MODE.", a.Name,
				a.ID, st.LivingText())
		}
	}
	if problem := st.Renewal.Objection(v); problem != "" {
		return bad("%s", problem)
	}
	if st.nothingWanted() && (v.Decision == verdict.SelectMode || v.Decision == verdict.Complete ||
		v.Decision == verdict.Continue && !st.pendingFor(contract.Arbiter)) {
		return bad("There is no task: the human reset it. Ask them what is wanted, with ADDRESS_HUMAN.")
	}
	switch v.Decision {
	case verdict.Continue:
		// What lies in its mail already is worth waiting for, too, and what is on its way.
		if v.To == "" && !st.AnyWorks() && len(st.Handoff.SuccessorQueue) == 0 && !st.Handoff.IsDue() &&
			!st.pendingFor(contract.Arbiter) && !st.AnyTakenOver() && !st.awaitsHuman() {
			return bad("CONTINUE without `to` waits for an Orchestrator, but none is at work (alive: %s). Address one, summon "+
				"one, speak to the human, or COMPLETE.", st.LivingText())
		}
	case verdict.Complete:
		if st.AnyWorks() {
			return bad("COMPLETE while Orchestrators still work (%s). Wait with CONTINUE, or release them first.",
				st.LivingText())
		}
		if taken := st.TakenOver(); taken != "" {
			return bad("COMPLETE while the human has a session in a terminal (%s). Wait for it with CONTINUE.", taken)
		}
		if st.Handoff.ReportIsDue() {
			return bad("COMPLETE while the supervisor still checks a document that was handed to you. Wait for it " +
				"with CONTINUE.")
		}
		if problem := st.unanswered(); problem != "" {
			return bad("%s", problem)
		}
		if doubt := st.Handoff.Doubt(); doubt != "" {
			return bad("%s", doubt)
		}
	case verdict.SelectMode:
		if _, ok := st.Options.ModeNamed(v.Mode); !ok {
			st.fire(machine.SelectionFailed, occasion{mode: v.Mode})
			return bad("There is no mode %q. Modes: %s.", v.Mode, strings.Join(st.Options.ModeNames(), ", "))
		}
	}
	return nil
}

// unanswered says why the Arbiter may not complete over its question to the human; empty: it
// may. Where an Orchestrator waits for the answer, so does the run. Else the Arbiter is reminded
// once, unless it is about to be renewed: it knows whether the answer still matters.
func (st *step) unanswered() string {
	switch waits := st.AnyWaiting(); {
	case !st.awaitsHuman():
		return ""
	case waits:
		return "The human has not answered what you asked, and an Orchestrator waits for it: " +
			words.Head(st.Question.Open.Text, 2000) + "\nWait for the answer with CONTINUE."
	case st.Renewal.Stage != renewal.None || st.Question.Open.Recalled:
		return ""
	}
	st.Question.Recall()
	return "The human has not answered what you asked: " + words.Head(st.Question.Text(), 2000) +
		"\nWait for the answer with CONTINUE. COMPLETE once more only if it does not matter any more."
}

// nothingWanted reports whether the task was dropped, and none was given in its place: what
// the Arbiter still rules is about that one.
func (s *State) nothingWanted() bool {
	return s.Task.Phase == machine.Idle && s.Task.Text == "" && !s.AnyWorks()
}
