package supervisor

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/decider"
	"github.com/arbiter-cli/arbiter/supervisor/machine"
	"github.com/arbiter-cli/arbiter/supervisor/verdict"
)

// fallback decides by rule when an agent gives no valid verdict. It never guesses what the agent
// meant: it lets the dialogue continue, and says that it does.
func (st *step) fallback(a *Agent, cause error, t bridge.Turn) {
	tries := a.Corrections
	a.Corrections = 0
	a.Fallbacks++
	said := strings.TrimSpace(t.Text)
	if said == "" {
		said = textOf(t)
	}
	trouble := fmt.Sprintf("%s gave no valid verdict %d times (%v)", a.Name, tries, cause)
	switch {
	case a.Role == RoleArbiter && st.Renewal.Stage == RenewalAsked:
		a.Fallbacks = 0
		st.emit(a.ID, contract.Notice{Text: trouble + "; a successor replaces it, with the supervisor's record"})
		st.renewByRecord("it gave no valid document when it was asked for one")
		return
	case a.Fallbacks > maxFallbacks && a.Role == RoleArbiter:
		st.stopForLostArbiter(trouble, said)
		return
	case a.Fallbacks > maxFallbacks:
		a.Fallbacks = 0
		st.broken(a, bridge.CatVerdict, trouble)
		return
	}
	if a.Role == RoleOrchestrator {
		trouble += "; its last words go to the Arbiter as a question"
	} else {
		trouble += "; the rules decide"
	}
	st.fail(a.ID, bridge.CatVerdict, trouble, []string{})
	if a.Role == RoleOrchestrator {
		st.routeOrchestrator(a, verdict.Orchestrator{
			ExpectsResponse: true, Kind: verdict.KindQuestion,
			Message: "(It gave no valid verdict. Its last text was:)\n\n" + cmp.Or(said, noText),
		})
		return
	}
	st.fallbackArbiter(said)
}

// textOf returns the text of a verdict that cannot be acted on.
func textOf(t bridge.Turn) string {
	var v struct{ Message string }
	if json.Unmarshal(t.Verdict, &v) == nil && strings.TrimSpace(v.Message) != "" {
		return strings.TrimSpace(v.Message)
	}
	return strings.TrimSpace(string(t.Verdict))
}

// fallbackArbiter decides in the Arbiter's place. An agent that waits for a ruling continues by its own
// judgement, unless it needs an answer that the human can still give; a hand-off gets its successor; agents
// that work are waited for; else the human decides.
func (st *step) fallbackArbiter(said string) {
	const reason = "the Arbiter gave no valid verdict"
	free := slices.ContainsFunc(st.WaitingAgents(), func(id string) bool { return !st.needsAnswer(id) })
	if st.awaitsHuman() && !st.AnyWorks() && !free {
		st.rule(verdict.Arbiter{Decision: verdict.Continue, Reason: reason + "; the human's answer is awaited"},
			decider.ByFallback)
		return
	}
	if id := st.failedBefore(); id != "" {
		st.byRules(decider.PointSelect, id, reason)
		return
	}
	for i := range st.Agents {
		if a := st.Agents[i]; a.Role == RoleOrchestrator && a.Alive() && a.Standing == AgentWaiting &&
			!st.needsAnswer(a.ID) {
			st.rule(verdict.Arbiter{
				Decision: verdict.Continue, To: a.ID, Reason: reason, Message: ownJudgement,
			}, decider.ByFallback)
			return
		}
	}
	if point, about, ok := st.askedAt(); ok {
		st.byRules(point, about, reason)
		return
	}
	if len(st.Handoff.SuccessorQueue) > 0 || st.AnyWorks() || st.Handoff.IsDue() {
		v := verdict.Arbiter{Decision: verdict.Continue, Reason: reason}
		st.rule(v, decider.ByFallback)
		st.succession(v)
		return
	}
	st.rule(verdict.Arbiter{Decision: verdict.AddressHuman, Reason: reason, Message: cmp.Or(said, noText)},
		decider.ByFallback)
}

const ownJudgement = "The Arbiter gives no answer. Decide yourself, within your brief, and go on. Ask again only if " +
	"you cannot go on."

// answerInFallback answers what waits for the Arbiter apart from the points of decision, and reports whether it
// did something.
func (st *step) answerInFallback() bool {
	st.takeBack(func(m Mail) bool { // messages about a turn that will not be resumed
		return st.withholds(&m) && m.From == contract.Supervisor &&
			(m.Kind == KindCorrection || m.Kind == KindRenewal)
	})
	st.moveToWorkLog(func(m *Mail) bool {
		return st.withholds(m) && m.From != contract.Human &&
			m.Kind != KindTask && !m.EndsExecution()
	})
	if st.Task.Phase == machine.Error {
		return false // an agent that failed waits, too; a rule says how it continues
	}
	for i := range st.Agents {
		if a := st.Agents[i]; a.Role == RoleOrchestrator && a.Alive() && a.Standing == AgentWaiting &&
			!st.isStumbling(a.ID) && !st.needsAnswer(a.ID) {
			st.letContinue(st.Edit(a.ID))
			return true
		}
	}
	return false
}

// letContinue makes an Orchestrator that asked continue by its own judgement, a few times in a row.
func (st *step) letContinue(a *Agent) {
	if a.UnansweredQuestions++; a.UnansweredQuestions > maxFallbacks {
		st.fail(a.ID, bridge.CatVerdict, a.Name+" asks, and the Arbiter does not answer",
			st.recoveryOptions(a, bridge.CatVerdict, ""))
		st.agentFailed(a.ID, bridge.CatVerdict, "it asked, and the Arbiter could not answer")
		return
	}
	st.Rulings.ArbiterRequest = nil // that was the request to the Arbiter
	st.rule(verdict.Arbiter{Decision: verdict.Continue, To: a.ID, Reason: "the Arbiter rules no more",
		Message: ownJudgement}, decider.ByFallback, st.Rulings.FallbackReason)
}

// maxFallbacks is how often in a row the rules may decide in an agent's place. Beyond it a dialogue would
// continue, and cost money, without a session that leads it.
const maxFallbacks = 2

// maxCorrections is how many requests without a valid verdict may be followed by another correction.
const maxCorrections = 2
