package supervisor

import (
	"fmt"
	"slices"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/conversation"
	"github.com/arbiter-cli/arbiter/supervisor/handoff"
	"github.com/arbiter-cli/arbiter/supervisor/roster"
	"github.com/arbiter-cli/arbiter/supervisor/verdict"
	"github.com/arbiter-cli/arbiter/supervisor/words"
)

// maxRecords is how often in a row an Arbiter may be renewed without a word of its
// own. One that never rules, however fresh, would go on for ever.
const maxRecords = 2

// maxShort is how often in a row a renewal may be due again after a single ruling. Where
// what an Arbiter inherits, or is made to read, fills its window, another is no help.
const maxShort = 3

const RulingsKept = 200

// enter puts a decision into the ledger.
func (st *step) enter(v verdict.Arbiter, source string) {
	keep := st.Rulings
	if len(keep) >= RulingsKept {
		keep = keep[len(keep)-RulingsKept+1:]
	}
	if v.Decision != verdict.Handoff {
		st.RulingsSinceRenewal++
	}
	st.Rulings = append(slices.Clone(keep), Ruling{
		At: st.at, Decision: v.Decision, To: v.To, Mode: v.Mode, Reason: words.Head(v.Reason, rulingSaid),
		Source: source,
	})
}

// askRenewal asks the Arbiter for its document when its context is at its end, at
// the boundary between two turns. What waits for it waits for its successor.
func (st *step) askRenewal() {
	if st.RenewalStage == renewalAsked && !st.renewalOpen() {
		st.RenewalStage = renewalNone // its turn ended with the run, or came to nothing
	}
	if st.RenewalStage != renewalNone || st.Paused || st.Budget.Holds() || st.Conversation.Held || len(st.Agents) == 0 {
		return
	}
	if st.FallbackReason != "" {
		return // it is not spoken to, and its context stands
	}
	a := st.Agents[0]
	if a.Role != roster.RoleArbiter || a.Status != roster.Ready || !a.HasHistory || !a.ContextLow() || a.Troubles > 0 {
		return
	}
	if slices.ContainsFunc(st.Conversation.Mail, func(m conversation.Mail) bool { return m.To == a.ID && ofSession(m) }) {
		return // a turn that was cut off, or is to be mended, comes first
	}
	if st.ShortRenewals >= maxShort {
		st.giveUp(bridge.CatCompaction, fmt.Sprintf("the Arbiter's context is full as soon as it is renewed (%.0f%% "+
			"of %d tokens): "+
			"raise --context-tokens or --context-critical, or use a model with a larger window, and resume",
			a.Context.Pct, a.Context.Window))
		return
	}
	st.RenewalStage = renewalAsked
	st.tell(a.ID, conversation.KindRenewal, fmt.Sprintf("Your context is at its end (%.0f%% of %d tokens). Another "+
		"takes your place, and knows nothing but what you leave. "+
		"Rule HANDOFF now, with your document: the vision, what was decided and rejected and why, what the human "+
		"said that still binds, where each Orchestrator stands, "+
		"what you were about to do. Nothing else; what waits is ruled on by your successor.",
		a.Context.Pct, a.Context.Window))
}

// renewalOpen reports whether the Arbiter may still answer that it was asked to be renewed.
func (s *State) renewalOpen() bool {
	a, _ := s.Agent(contract.Arbiter)
	all := slices.Concat(s.Conversation.Mail, s.Conversation.InTurn)
	return a.Status != roster.Ready || a.Troubles > 0 || slices.ContainsFunc(all, func(m conversation.Mail) bool {
		return m.To == a.ID && !s.renewing(m.Kind)
	})
}

// checkRenewal tests a ruling against a renewal that was asked for. The task's end
// needs no successor.
func (st *step) checkRenewal(v verdict.Arbiter) string {
	switch {
	case v.Decision == verdict.Handoff && st.RenewalStage != renewalAsked:
		return "HANDOFF is given only when the supervisor asks you to be renewed, and it has not."
	case v.Decision != verdict.Handoff && v.Decision != verdict.Complete && st.RenewalStage == renewalAsked:
		return "Your context is at its end: nothing but HANDOFF, with your document, is taken now."
	}
	return ""
}

// renewByRecord gives the Arbiter a successor though it left no document.
func (st *step) renewByRecord(why string) {
	st.GeneratedInRow++
	if st.GeneratedInRow > maxRecords {
		st.fail(contract.Arbiter, bridge.CatCompaction, "the Arbiter cannot go on: "+why, []string{})
		st.giveUp(bridge.CatCompaction, "the Arbiter cannot go on, however often it is renewed: "+why)
		return
	}
	st.callOffRenewal()
	st.RenewalStage = renewalGiven
	a, _ := st.Agent(contract.Arbiter)
	st.handOver(handoff.Handover{Agent: a.AgentRef, Kind: handoff.KindRenewal, Why: why,
		Document: handoff.ArbiterRecord(why, st.Task.Plan, st.asked())})
}
