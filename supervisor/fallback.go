package supervisor

import (
	"cmp"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/decision"
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
