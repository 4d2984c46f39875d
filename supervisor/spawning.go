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
	"github.com/arbiter-cli/arbiter/supervisor/runconfig"
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

// Hosts are the hosts of a run, and the agents on them.
type Hosts struct {
	Options   *runconfig.Options
	Roster    *Roster
	Lifecycle *LifecycleState
}

// Place chooses the host of a new Orchestrator: the named host, or one of a named pool; empty: any host with a
// free slot. The second result says why there is no place.
func (h Hosts) Place(named string) (host, problem string) {
	if named == "" && len(h.Options.Hosts) == 0 || named == runconfig.Here {
		return LifecycleHere, ""
	}
	hosts, problem := h.candidates(named)
	if problem != "" {
		return "", problem
	}
	var parked, full []string
	free := map[string]int{}
	hosts = slices.DeleteFunc(hosts, func(x runconfig.Host) bool {
		free[x.Name] = x.Slots - h.livingOn(x.Name)
		switch {
		case h.Lifecycle.Bridge(x.Name).Parked:
			parked = append(parked, x.Name+" ("+h.Lifecycle.Bridge(x.Name).Reason+")")
		case free[x.Name] <= 0:
			full = append(full, fmt.Sprintf("%s (%s)", x.Name, words.Count(x.Slots, "slot")))
		default:
			return false
		}
		return true
	})
	if len(hosts) > 0 {
		// The first of the hosts with the most free slots; a host that was lost only if there is no other.
		best := slices.MinFunc(hosts, func(a, b runconfig.Host) int {
			return cmp.Or(cmp.Compare(h.lostRank(a.Name), h.lostRank(b.Name)), cmp.Compare(free[b.Name], free[a.Name]))
		})
		if !h.Options.Workspace.Enabled() {
			return "", "There is no Git repository with a commit here, so nothing can be brought to host " + best.Name +
				" and back: name the host here."
		}
		return best.Name, ""
	}
	if named == "" && h.Options.HereToo {
		return LifecycleHere, ""
	}
	problem = "No host has a free slot."
	if len(full) > 0 {
		problem += " Full: " + strings.Join(full, ", ") + "."
	}
	if len(parked) > 0 {
		problem += " Cannot be used before the human has seen to it: " + strings.Join(parked, ", ") + "."
	}
	return "", problem + " Release an Orchestrator there, or name another host: " + h.names() + "."
}

// candidates are the hosts that a name can mean.
func (h Hosts) candidates(named string) (hosts []runconfig.Host, problem string) {
	wanted := func(host string) bool { return named == "" || host == named }
	if i := slices.IndexFunc(h.Options.Pools, func(p runconfig.Pool) bool { return p.Name == named }); i >= 0 {
		wanted = func(host string) bool { return slices.Contains(h.Options.Pools[i].Hosts, host) }
	}
	for _, x := range h.Options.Hosts {
		if wanted(x.Name) {
			hosts = append(hosts, x)
		}
	}
	if len(hosts) == 0 {
		return nil, fmt.Sprintf("There is no host or pool %q in this run. There are: %s.", named, h.names())
	}
	return hosts, ""
}

// lostRank is higher for a host whose bridge was lost.
func (h Hosts) lostRank(host string) int {
	if h.Lifecycle.Bridge(host).Status == StatusLost {
		return 1
	}
	return 0
}

// livingOn counts the Orchestrators that hold a slot of a host.
func (h Hosts) livingOn(host string) (n int) {
	for _, a := range h.Roster.Agents {
		if a.Role == RoleOrchestrator && a.Host == host && a.Alive() && a.Standing != HandedOff {
			n++
		}
	}
	return n
}

// names lists the hosts and pools that an Orchestrator can be spawned on.
func (h Hosts) names() string {
	names := []string{runconfig.Here}
	for _, x := range h.Options.Hosts {
		names = append(names, x.Name)
	}
	for _, p := range h.Options.Pools {
		names = append(names, p.Name)
	}
	return strings.Join(names, ", ")
}

// Text says to the Arbiter where a new Orchestrator runs, and what it waits for.
func (h Hosts) Text(host string) string {
	text := " It lives on host " + host + ", in a directory of its own."
	if b := h.Lifecycle.Bridge(host); !b.Up {
		text += fmt.Sprintf(" That host is %s (%s): it begins when the host is up.", b.Status, b.Reason)
	}
	return text
}

// movedText says to a successor on another host than its predecessor what it will not find there; empty: it is
// on the same host.
func movedText(old *Agent, host string) string {
	if old.ID == "" || old.Host == host {
		return ""
	}
	return fmt.Sprintf("\n\n## Another host\n\n%s worked on host %s, and you work on host %s. Your directory begins with "+
		"the last commit of its work that was brought back. What it did after that, and what lies outside of the "+
		"repository, is not here.", old.Name, hostName(old.Host), hostName(host))
}

// hostName is a host as people write it.
func hostName(host string) string { return cmp.Or(host, runconfig.Here) }
