package supervisor

import (
	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/conversation"
	"github.com/arbiter-cli/arbiter/supervisor/handoff"
	"github.com/arbiter-cli/arbiter/supervisor/renewal"
)

// The Arbiter's renewal: it is asked for its document, and another session takes its place.

// askRenewal asks the Arbiter for its document when its context is at its end, at the boundary between two turns. What
// waits for it waits for its successor. While the rules decide it is not spoken to, and its context stands.
func (st *step) askRenewal() {
	if len(st.Agents) == 0 {
		return
	}
	a := st.Agents[0]
	st.Renewal.Lapse(a, &st.Conversation)
	if st.Paused || st.budgetHolds() || st.Conversation.Held || st.Rulings.FallbackReason != "" ||
		!st.Renewal.IsDue(a, &st.Conversation) {
		return
	}
	if st.Renewal.IsFutile() {
		st.giveUp(bridge.CatCompaction, renewal.FutileText(a))
		return
	}
	st.Renewal.Stage = renewal.Asked
	st.mail().Tell(a.ID, conversation.KindRenewal, renewal.DemandText(a))
}

// renewByRecord gives the Arbiter a successor though it left no document.
func (st *step) renewByRecord(why string) {
	if st.Renewal.Generate() {
		st.fail(contract.Arbiter, bridge.CatCompaction, "the Arbiter cannot go on: "+why, []string{})
		st.giveUp(bridge.CatCompaction, "the Arbiter cannot go on, however often it is renewed: "+why)
		return
	}
	st.processes().CallOffRenewal()
	st.Renewal.Stage = renewal.Given
	a, _ := st.Agent(contract.Arbiter)
	st.handOver(handoff.Handover{Agent: a.AgentRef, Kind: handoff.KindRenewal, Why: why,
		Document: handoff.ArbiterRecord(why, st.Task.Plan, st.Question.Text())})
}
