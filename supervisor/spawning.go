package supervisor

// This part of the package starts Orchestrators.
//
// [CheckSpawning] decides whether the run may have another Orchestrator, whose work it continues, and on which host it
// runs ([Hosts.Place]). [Summon] creates it and posts its brief. [ForgetSpawning] drops the records of Orchestrators
// that ended long ago.
//
// Package supervisor counts the spawn against the limits of the task machine, between the check and the spawn.
//
// Events: handoff from a predecessor; those of packages process and delivery.

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/input"
	"github.com/arbiter-cli/arbiter/supervisor/words"
)

// SpawningRequest describes the Orchestrator to spawn.
type SpawningRequest struct {
	Brief, Mode string
	SuccessorOf string // empty: the first one whose document waits for a successor, if any
	By          string // who asked for it
	Isolated    bool   // in its own directory
	Host        string // host or pool to run on; empty: any with a free slot
}

// SpawningPlan is a request that passed [CheckSpawning].
type SpawningPlan struct {
	SpawningRequest
	old Agent // its predecessor, if any
}

// CheckSpawning says why an Orchestrator cannot be spawned, or returns the plan for it.
func CheckSpawning(c *ProcessContext, in SpawningRequest) (p SpawningPlan, problem string) {
	_, known := c.Options.ModeNamed(in.Mode)
	p = SpawningPlan{SpawningRequest: in}
	p.SuccessorOf = cmp.Or(in.SuccessorOf, c.Handoff.NextPredecessor())
	p.old, problem = predecessor(c.Roster, p.SuccessorOf)
	switch {
	case strings.TrimSpace(in.Brief) == "":
		return p, "An Orchestrator needs a brief: what is wanted, where, and how it will be judged."
	case in.Mode != "" && !known:
		return p, fmt.Sprintf("There is no mode %q. Modes: %s.", in.Mode, strings.Join(c.Options.ModeNames(), ", "))
	case problem != "":
		return p, problem
	case in.Isolated && !c.Options.Workspace.Enabled():
		return p, "There is no Git repository with a commit here, so no Orchestrator gets a directory of its own: " +
			"leave out isolated."
	case c.Roster.LivingCount() >= c.Options.MaxOrchestrators:
		return p, fmt.Sprintf("%s already alive, which is the limit (%s). Release one first.",
			words.Count(c.Roster.LivingCount(), "Orchestrator"), c.Roster.LivingText())
	}
	hosts := Hosts{Options: c.Options, Roster: c.Roster, Lifecycle: c.Lifecycle}
	if p.Host, problem = hosts.Place(in.Host); problem != "" {
		return p, problem
	}
	spent := Account{Options: c.Options, Roster: c.Roster, Budget: c.Budget}
	problem = c.Budget.NoNewAgent(c.Out, spent.Limits(), spent.Spent())
	if p.SuccessorOf != "" { // a successor takes the place of its predecessor
		problem = ""
	}
	return p, problem
}

// predecessor is the agent that an Orchestrator succeeds, if any.
func predecessor(r *Roster, id string) (old Agent, problem string) {
	if id == "" {
		return old, ""
	}
	old, ok := r.Agent(id)
	switch {
	case !ok || old.Role != RoleOrchestrator:
		return old, fmt.Sprintf("successor_of names no Orchestrator: %q.", id)
	case old.Forgotten:
		return old, fmt.Sprintf("%s is gone too long: its document is not at hand any more. Put what matters into "+
			"the brief.", id)
	}
	return old, ""
}

// Spawn starts an Orchestrator, and posts its brief with the document of its predecessor. It returns its id.
func Spawn(c *ProcessContext, p SpawningPlan) string {
	c.Roster.Spawned++
	a := Agent{
		AgentIdentity: AgentIdentity{
			AgentRef: bridge.AgentRef{ID: OrchestratorID(c.Roster.Spawned), Generation: 1},
			Role:     RoleOrchestrator, Name: OrchestratorName(c.Roster.Spawned), Mode: p.Mode,
			Predecessor: p.SuccessorOf, Brief: p.Brief,
			Isolation: c.Options.IsolationOf(p.Isolated || p.old.Isolation != "" || p.Host != LifecycleHere),
			Host:      p.Host,
		},
		AgentWork: AgentWork{Standing: AgentWorking},
	}
	if ruler := *c.Roster.Agents[0]; len(ruler.InterruptedTurn) > 0 {
		a.SpawnedIn = ruler.InterruptedTurn[0]
	} else if len(ruler.Turn) > 0 {
		a.SpawnedIn = ruler.Turn[0]
	}
	warnOfOthers := ""
	if a.Isolation == "" {
		warnOfOthers = c.Roster.SharingText(a.ID)
	}
	c.Add(a, p.Brief)
	text, attached := p.Brief, []ConversationAttached(nil)
	if p.old.Document != nil {
		text, attached = ForSuccessor(p.Brief, &p.old)
		left := Handover{Document: p.old.Document, Receipts: p.old.Receipts, Why: p.old.GeneratedWhy}
		c.Out.Emit(p.old.ID, left.Event(p.old.ID, a.ID))
	}
	c.Handoff.LeaveSuccessorQueue(p.SuccessorOf)
	images := c.Task.Images
	if p.By == contract.Arbiter { // the Arbiter has seen the images, and its brief says what matters about them
		images = nil
	}
	c.Post(Mail{From: p.By, To: a.ID, Kind: KindBrief,
		Text: text + movedText(&p.old, p.Host) + warnOfOthers, Attached: attached, Images: images})
	return a.ID
}

// ForgetSpawning drops the records of Orchestrators that ended long before the last ones, and finally the Orchestrators
// themselves: every search and every snapshot goes through all agents.
func ForgetSpawning(r *Roster, h *HandoffState, files *input.ChangeState) {
	gone, keep := 0, make([]*Agent, 0, len(r.Agents))
	for i := len(r.Agents) - 1; i >= 0; i-- {
		a := r.Agents[i]
		if a.Role == RoleOrchestrator && a.Gone() && !h.AwaitsSuccessor(a.ID) && !h.IsHandingOver(a.ID) {
			if gone++; gone > RecordsKept {
				h.RemoveFromSuccessorQueue(a.ID) // the next Orchestrator that is spawned would be refused its document
			}
			switch {
			case gone > NamesKept:
				continue
			case gone > RecordsKept && !a.Forgotten:
				files.Forget(a.ID)
				a = a.WithoutRecords()
			}
		}
		keep = append(keep, a)
	}
	slices.Reverse(keep)
	r.Agents = keep
}
