package supervisor

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/conversation"
	"github.com/arbiter-cli/arbiter/supervisor/handoff"
	"github.com/arbiter-cli/arbiter/supervisor/lifecycle"
	"github.com/arbiter-cli/arbiter/supervisor/machine"
	"github.com/arbiter-cli/arbiter/supervisor/roster"
	"github.com/arbiter-cli/arbiter/supervisor/words"
)

// Summoning an Orchestrator: what may keep it from that, and what it is given.

// summons says what Orchestrator is wanted.
type summons struct {
	brief, mode, successorOf string
	by                       string
	isolated                 bool   // in a directory of its own
	host                     string // or pool that it is to live on; empty: where there is room
}

// summon starts an Orchestrator. It returns the reason when it must not; if
// the reason is a limit of the run, the run is ending when it returns.
func (st *step) summon(in summons) string {
	brief, mode, successorOf, by := in.brief, in.mode, in.successorOf, in.by
	_, known := st.Options.ModeNamed(mode)
	old, problem := st.predecessor(&successorOf)
	switch {
	case strings.TrimSpace(brief) == "":
		return "An Orchestrator needs a brief: what is wanted, where, and how it will be judged."
	case mode != "" && !known:
		return fmt.Sprintf("There is no mode %q. Modes: %s.", mode, strings.Join(st.Options.ModeNames(), ", "))
	case problem != "":
		return problem
	case in.isolated && !st.Options.Workspace.Enabled():
		return "There is no Git repository with a commit here, so no Orchestrator gets a directory of its own: " +
			"leave out isolated."
	case st.LivingCount() >= st.Options.MaxOrchestrators:
		return fmt.Sprintf("%s alive already, which is the most (%s). Release one first.",
			words.Count(st.LivingCount(), "Orchestrator"), st.LivingText())
	}
	host, problem := st.placement(in.host)
	if problem != "" {
		return problem
	}
	if problem := st.Budget.NoNewAgent(&st.out, st.limits(),
		st.Spent()); problem != "" && successorOf == "" { // a successor only takes a place
		return problem
	}
	if problem := st.mayIterate(mode, by); problem != "" {
		return problem
	}
	if st.exchange(); st.Ending != nil {
		return "The run has reached its limit of exchanges."
	}
	if st.Task.Phase == machine.Idle {
		posed := st.Rulings.ArbiterRequest // it summons by its tool, and has yet to say why
		st.fire(machine.StartTask, occasion{})
		st.Rulings.ArbiterRequest = posed
	}
	st.Summoned++
	a := roster.Agent{
		AgentIdentity: roster.AgentIdentity{
			AgentRef: bridge.AgentRef{ID: roster.OrchestratorID(st.Summoned), Generation: 1},
			Role:     roster.RoleOrchestrator, Name: roster.OrchestratorName(st.Summoned), Mode: mode,
			Predecessor: successorOf, Brief: brief,
			Isolation: st.Options.IsolationOf(in.isolated || old.Isolation != "" || host != lifecycle.Here),
			Host:      host,
		},
		AgentWork: roster.AgentWork{Standing: roster.Working},
	}
	if ruler := *st.Agents[0]; len(ruler.InterruptedTurn) > 0 {
		a.SummonedIn = ruler.InterruptedTurn[0]
	} else if len(ruler.Turn) > 0 {
		a.SummonedIn = ruler.Turn[0]
	}
	warnOfOthers := ""
	if a.Isolation == "" {
		warnOfOthers = st.SharingText(a.ID)
	}
	st.processes().Add(a, brief)
	text, attached := brief, []conversation.Attached(nil)
	if old.Document != nil {
		text, attached = handoff.ForSuccessor(brief, &old)
		left := handoff.Handover{Document: old.Document, Receipts: old.Receipts, Why: old.GeneratedWhy}
		st.emit(old.ID, left.Event(old.ID, a.ID))
	}
	st.Handoff.LeaveSuccessorQueue(successorOf)
	images := st.Task.Images
	if by == contract.Arbiter { // it has seen them, and says in the brief what matters of them
		images = nil
	}
	st.mail().Post(conversation.Mail{From: by, To: a.ID, Kind: conversation.KindBrief,
		Text: text + movedText(&old, host) + warnOfOthers, Attached: attached, Images: images})
	st.selected(a.ID, mode, by)
	st.forget()
	return ""
}

// predecessor is the agent that an Orchestrator succeeds, if any; where none was named, the author of the document
// that waits for a successor.
func (st *step) predecessor(id *string) (old roster.Agent, problem string) {
	if *id = cmp.Or(*id, st.Handoff.NextPredecessor()); *id == "" {
		return old, ""
	}
	old, ok := st.Agent(*id)
	switch {
	case !ok || old.Role != roster.RoleOrchestrator:
		return old, fmt.Sprintf("successor_of names no Orchestrator: %q.", *id)
	case old.Forgotten:
		return old, fmt.Sprintf("%s is gone too long: its document is not at hand any more. Put what matters into "+
			"the brief.", *id)
	}
	return old, ""
}

// mayIterate says why no further Orchestrator may be summoned. A limit of the run ends it,
// but not on the human's own word.
func (st *step) mayIterate(mode, by string) string {
	o := occasion{mode: mode}
	switch {
	case st.Task.Phase == machine.Idle: // START_TASK comes first, and counts anew
	case by == contract.Human && !st.wouldDo(machine.ForceAgent, o, machine.CountIteration):
		return words.Count(st.Task.Iterations, "Orchestrator") +
			" summoned for this task, which is the most: raise it with --max-iterations."
	case by != contract.Human && st.wouldDo(machine.AgentSelected, o, machine.EndAtLimit):
		st.fire(machine.AgentSelected, o)
		return "The run has reached its limit of iterations."
	}
	return ""
}

// selected enters `executing` by a summon.
func (st *step) selected(id, mode, by string) {
	on := machine.AgentSelected
	if by == contract.Human {
		on = machine.ForceAgent
	}
	st.fire(on, occasion{agent: id, mode: mode})
	st.Task.BeginWork(st.Edit(id), st.at)
	st.processes().LimitWork(id)
}

// forget drops what those left that were gone long before the last ones, and in the end
// themselves: every search and every snapshot goes through all agents.
func (st *step) forget() {
	gone, keep := 0, make([]*roster.Agent, 0, len(st.Agents))
	for i := len(st.Agents) - 1; i >= 0; i-- {
		a := st.Agents[i]
		if a.Role == roster.RoleOrchestrator && a.Gone() && !st.Handoff.AwaitsSuccessor(a.ID) &&
			!st.Handoff.IsHandingOver(a.ID) {
			if gone++; gone > roster.RecordsKept {
				st.Handoff.RemoveFromSuccessorQueue(a.ID) // the next one summoned would be refused its document
			}
			switch {
			case gone > roster.NamesKept:
				continue
			case gone > roster.RecordsKept && !a.Forgotten:
				st.Changes.Forget(a.ID)
				a = a.WithoutRecords()
			}
		}
		keep = append(keep, a)
	}
	slices.Reverse(keep)
	st.Agents = keep
}
