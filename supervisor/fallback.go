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
	"github.com/arbiter-cli/arbiter/supervisor/decider"
	"github.com/arbiter-cli/arbiter/supervisor/decision"
	"github.com/arbiter-cli/arbiter/supervisor/input"
	"github.com/arbiter-cli/arbiter/supervisor/machine"
	"github.com/arbiter-cli/arbiter/supervisor/roster"
	"github.com/arbiter-cli/arbiter/supervisor/verdict"
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
		st.stopForLostArbiter(trouble, said)
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
			Message: "(No valid verdict was given. The last words were:)\n\n" + cmp.Or(said, nothingText),
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

// fallbackArbiter: who waits for a ruling goes on by its own judgement, unless the human was
// asked and may be asked for just that; a hand-off gets its successor; who works is waited
// for; else the human decides.
func (st *step) fallbackArbiter(said string) {
	const reason = "the Arbiter gave no valid verdict"
	free := slices.ContainsFunc(st.WaitingAgents(), func(id string) bool { return !st.needsAnswer(id) })
	if st.awaitsHuman() && !st.AnyWorks() && !free {
		st.rule(verdict.Arbiter{Decision: verdict.Continue, Reason: reason + "; the human's answer is awaited"},
			sourceFallback)
		return
	}
	if id := st.failedBefore(); id != "" {
		st.byRules(decision.PointSelect, id, reason)
		return
	}
	for i := range st.Agents {
		if a := st.Agents[i]; a.Role == roster.RoleOrchestrator && a.Alive() && a.Standing == roster.Waiting &&
			!st.needsAnswer(a.ID) {
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
	st.rule(verdict.Arbiter{Decision: verdict.AddressHuman, Reason: reason, Message: cmp.Or(said, nothingText)},
		sourceFallback)
}

const ownJudgement = "The Arbiter gives no ruling. Go on by your own best judgement, within your brief; ask again " +
	"only if you cannot."

// answerInFallback answers what waits for the Arbiter's word beside the points of decision, and
// reports whether it did something.
func (st *step) answerInFallback() bool {
	st.takeBack(func(m conversation.Mail) bool { // about a turn that nobody takes up
		return st.withheld(&m) && m.From == contract.Supervisor &&
			(m.Kind == conversation.KindCorrection || m.Kind == conversation.KindRenewal)
	})
	st.moveAllToWorkLog(func(m *conversation.Mail) bool {
		return st.withheld(m) && m.From != contract.Human && m.Kind != conversation.KindTask && !m.EndsExecution()
	})
	if st.Task.Phase == machine.Error {
		return false // who broke waits, too; a rule says how it goes on
	}
	for i := range st.Agents {
		if a := *st.Agents[i]; a.Role == roster.RoleOrchestrator && a.Alive() && a.Standing == roster.Waiting &&
			!st.stumbling(a.ID) && !st.needsAnswer(a.ID) {
			st.letContinue(&a)
			return true
		}
	}
	return false
}

// letContinue has an Orchestrator that asked continue by its own judgement, a few times in a row.
func (st *step) letContinue(a *roster.Agent) {
	if st.Edit(a.ID).UnansweredQuestions++; a.UnansweredQuestions >= maxFallbacks {
		st.fail(a.ID, bridge.CatVerdict, a.Name+" asks, and nobody rules", st.recoveryOf(a, bridge.CatVerdict, ""))
		st.agentFailed(a.ID, bridge.CatVerdict, "it asked, and there was nobody to rule")
		return
	}
	st.ArbiterRequest = nil // that was put to the Arbiter
	st.rule(verdict.Arbiter{Decision: verdict.Continue, To: a.ID, Reason: "the Arbiter rules no more",
		Message: ownJudgement}, sourceFallback, st.FallbackReason)
}

// byRules has the deterministic rules decide, and says why.
func (st *step) byRules(point decision.Point, about, why string) {
	st.ArbiterRequest = nil
	if a, _ := st.Agent(about); point == decision.PointEvaluate && st.leftUndone(&a) {
		st.takenUp(about, why)
		return
	}
	p := st.requestDecision(point, about)
	var rules decider.Rules
	var d decider.Decision
	if point == decision.PointSelect {
		d, _ = rules.Select(p.Select)
	} else {
		d, _ = rules.Evaluate(p.Evaluate)
	}
	if d.Decision == "" {
		st.abandonDecision(why + ", and there is no agent that a rule could choose")
		return
	}
	d.Source, d.Warnings = decider.ByFallback, append(d.Warnings, why)
	st.note(input.Decided{Number: st.Decisions + 1, Point: point, About: about, Input: p.Input, Decision: d})
	st.carryOut(p, d)
}

// rulesDecide has the rules decide at the point the Arbiter was asked at and gave no
// valid verdict, and reports whether it was one.
func (st *step) rulesDecide(why string) bool {
	if st.Task.Text == "" {
		return false
	}
	p := st.ArbiterRequest
	switch {
	case st.Task.Phase == machine.Evaluating && p != nil && p.Point == decision.PointEvaluate:
		st.byRules(p.Point, p.About, why)
	case st.Task.Phase == machine.Selecting && !st.Engaged() && !st.Handoff.IsDue(), st.Task.Phase == machine.Error &&
		!st.AnyWorks() && !st.Handoff.IsDue():
		st.byRules(decision.PointSelect, "", why)
	default:
		return false
	}
	return true
}

// maxFallbacks is how often in a row the rules may decide in an agent's place.
// Beyond it a dialogue would go on that nobody leads and somebody pays for.
const maxFallbacks = 2

// maxCorrections is how often a missing or invalid verdict is asked for again.
const maxCorrections = 2
