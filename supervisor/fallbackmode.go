package supervisor

import (
	"slices"
	"strings"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/conversation"
	"github.com/arbiter-cli/arbiter/supervisor/machine"
	"github.com/arbiter-cli/arbiter/supervisor/roster"
	"github.com/arbiter-cli/arbiter/supervisor/verdict"
	"github.com/arbiter-cli/arbiter/supervisor/words"
)

// enterFallback has the rules decide until the Arbiter can rule again, and says so. It says
// whether it does: without a task there is nothing that rules could decide.
func (st *step) enterFallback(why string) bool {
	if st.Task.Text == "" || !st.Task.Phase.Live() || st.Task.Phase == machine.Idle {
		return false
	}
	if st.FallbackReason == "" {
		st.fire(machine.ArbiterError, occasion{})
		st.emit(contract.Supervisor, contract.Notice{Text: "The Arbiter rules no more: " + strings.TrimSuffix(why, ".") + ". The run goes on by the rules."})
	}
	st.FallbackReason = why
	st.callOffRenewal() // nobody speaks to it until it rules again
	st.takeFromArbiter()
	if !st.awaitsHuman() {
		st.Question = nil
	}
	return true
}

// takeFromArbiter takes back what an Arbiter was sent whose process is gone.
func (st *step) takeFromArbiter() {
	if st.Agents[0].Up() {
		return
	}
	for _, m := range slices.Concat(st.Conversation.Mail, st.Conversation.InTurn) {
		if m.To == contract.Arbiter && m.Sent {
			st.requeue(m.Wire)
		}
	}
}

// leaveFallback gives the decisions back to the Arbiter.
func (st *step) leaveFallback() {
	if st.FallbackReason == "" {
		return
	}
	st.FallbackReason = ""
	st.emit(contract.Supervisor, contract.Notice{Text: "The Arbiter rules again."})
}

// withFallback adds to how a run ended that the Arbiter did not lead it there.
func (s *State) withFallback(text string) string {
	if s.FallbackReason == "" {
		return text
	}
	return strings.TrimSuffix(text, ".") + ". The rules led here, for the Arbiter ruled no more: " + words.Head(words.FirstLine(s.FallbackReason), 300)
}

const ownJudgement = "The Arbiter gives no ruling. Go on by your own best judgement, within your brief; ask again only if you cannot."

// answerInFallback answers what waits for the Arbiter's word beside the points of decision, and
// says whether it did something.
func (st *step) answerInFallback() bool {
	st.takeBack(func(m conversation.Mail) bool { // about a turn that nobody takes up
		return st.withheld(&m) && m.From == contract.Supervisor && (m.Kind == conversation.KindCorrection || m.Kind == conversation.KindRenewal)
	})
	st.shelveAll(func(m *conversation.Mail) bool {
		return st.withheld(m) && m.From != contract.Human && m.Kind != conversation.KindTask && !m.EndsExecution()
	})
	if st.Task.Phase == machine.Error || st.awaitsHuman() {
		return false // who broke waits, too; a rule says how it goes on
	}
	for i := range st.Agents {
		if a := *st.Agents[i]; a.Role == roster.RoleOrchestrator && a.Alive() && a.Standing == roster.Waiting && !st.stumbling(a.ID) {
			st.reassure(&a)
			return true
		}
	}
	return false
}

// stumbling reports whether what follows from an Orchestrator's failure is yet to be decided.
func (s *State) stumbling(id string) bool {
	return id == s.failedBefore() || slices.ContainsFunc(s.Conversation.Mail, func(m conversation.Mail) bool { return m.From == id && m.Stumble && !m.Sent })
}

// reassure lets one that has asked go on by itself, a few times in a row.
func (st *step) reassure(a *roster.Agent) {
	if st.Edit(a.ID).UnansweredQuestions++; a.UnansweredQuestions >= maxFallbacks {
		st.fail(a.ID, bridge.CatVerdict, a.Name+" asks, and nobody rules", st.recoveryOf(a, bridge.CatVerdict, ""))
		st.agentFailed(a.ID, bridge.CatVerdict, "it asked, and there was nobody to rule")
		return
	}
	st.ArbiterRequest = nil // that was put to the Arbiter
	st.rule(verdict.Arbiter{Decision: verdict.Continue, To: a.ID, Reason: "the Arbiter rules no more", Message: ownJudgement}, sourceFallback, st.FallbackReason)
}
