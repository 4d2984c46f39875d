package supervisor

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/conversation"
	"github.com/arbiter-cli/arbiter/supervisor/decision"
	"github.com/arbiter-cli/arbiter/supervisor/machine"
	"github.com/arbiter-cli/arbiter/supervisor/roster"
	"github.com/arbiter-cli/arbiter/supervisor/verdict"
	"github.com/arbiter-cli/arbiter/supervisor/words"
)

// fallback decides by rule when an agent gave no valid verdict three times. It
// never guesses what the agent meant: it lets the dialogue go on, openly.
func (st *step) fallback(id string, cause error, t bridge.Turn) {
	a := st.Edit(id)
	a.Fallbacks++
	said := strings.TrimSpace(t.Text)
	if said == "" {
		said = saidIn(t)
	}
	trouble := fmt.Sprintf("%s gave no valid verdict %d times (%v)", a.Name, maxCorrections+1, cause)
	switch {
	case a.Role == roster.RoleArbiter && st.RenewalStage == renewalAsked:
		a.Fallbacks = 0
		st.emit(id, contract.Notice{Text: trouble + "; another takes its place by the supervisor's record"})
		st.renewByRecord("it gave no valid document when it was asked for one")
		return
	case a.Fallbacks > maxFallbacks && a.Role == roster.RoleArbiter:
		st.leaderless(trouble, said)
		return
	case a.Fallbacks > maxFallbacks:
		a.Fallbacks = 0
		st.broken(id, bridge.CatVerdict, trouble)
		return
	}
	if a.Role == roster.RoleOrchestrator {
		trouble += "; its last words go to the Arbiter as a question"
	} else {
		trouble += "; the rules decide"
	}
	st.fail(id, bridge.CatVerdict, trouble, []string{})
	if a.Role == roster.RoleOrchestrator {
		st.routeOrchestrator(id, verdict.Orchestrator{
			ExpectsResponse: true, Kind: verdict.KindQuestion,
			Message: "(No valid verdict was given. The last words were:)\n\n" + cmp.Or(said, nothing),
		})
		return
	}
	st.fallbackArbiter(said)
}

// saidIn is what a verdict says that cannot be acted on.
func saidIn(t bridge.Turn) string {
	var v struct{ Message string }
	if json.Unmarshal(t.Verdict, &v) == nil && strings.TrimSpace(v.Message) != "" {
		return strings.TrimSpace(v.Message)
	}
	return strings.TrimSpace(string(t.Verdict))
}

// leaderless stops the agents' talk when the Arbiter has ruled on nothing for too
// long: a human takes it up again, or the run ends.
func (st *step) leaderless(trouble, said string) {
	if !st.HumanPresent {
		if st.enterFallback(trouble) {
			return
		}
		st.fail(contract.Arbiter, bridge.CatVerdict, trouble, []string{})
		st.giveUp(bridge.CatVerdict, trouble)
		return
	}
	st.fail(contract.Arbiter, bridge.CatVerdict, trouble+"; a human decides", []string{})
	st.Conversation.Held = true
	st.ask("The Arbiter rules no more. Its last words: " + cmp.Or(said, nothing) + "\nSpeak, and it is asked again.")
}

// fallbackArbiter: who waits for a ruling goes on by its own judgement, unless the human was
// asked and may be asked for just that; a hand-off gets its successor; who works is waited
// for; else the human decides.
func (st *step) fallbackArbiter(said string) {
	const reason = "the Arbiter gave no valid verdict"
	if st.awaitsHuman() && !st.AnyWorks() {
		st.rule(verdict.Arbiter{Decision: verdict.Continue, Reason: reason + "; the human's answer is awaited"}, sourceFallback)
		return
	}
	if id := st.failedBefore(); id != "" {
		st.byRules(decision.PointSelect, id, reason)
		return
	}
	for i := range st.Agents {
		if a := st.Agents[i]; a.Role == roster.RoleOrchestrator && a.Alive() && a.Standing == roster.Waiting && !st.awaitsHuman() {
			st.rule(verdict.Arbiter{
				Decision: verdict.Continue, To: a.ID, Reason: reason, Message: ownJudgement,
			}, sourceFallback)
			return
		}
	}
	if st.rulesDecide(reason) {
		return
	}
	if len(st.Handoff.SuccessorQueue) > 0 || st.AnyWorks() || st.Handoff.IsDue() {
		v := verdict.Arbiter{Decision: verdict.Continue, Reason: reason}
		st.rule(v, sourceFallback)
		st.succession(v)
		return
	}
	st.rule(verdict.Arbiter{Decision: verdict.AddressHuman, Reason: reason, Message: cmp.Or(said, nothing)}, sourceFallback)
}

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
// reports whether it did something.
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

// reassure has an Orchestrator that asked continue by its own judgement, a few times in a row.
func (st *step) reassure(a *roster.Agent) {
	if st.Edit(a.ID).UnansweredQuestions++; a.UnansweredQuestions >= maxFallbacks {
		st.fail(a.ID, bridge.CatVerdict, a.Name+" asks, and nobody rules", st.recoveryOf(a, bridge.CatVerdict, ""))
		st.agentFailed(a.ID, bridge.CatVerdict, "it asked, and there was nobody to rule")
		return
	}
	st.ArbiterRequest = nil // that was put to the Arbiter
	st.rule(verdict.Arbiter{Decision: verdict.Continue, To: a.ID, Reason: "the Arbiter rules no more", Message: ownJudgement}, sourceFallback, st.FallbackReason)
}
