package supervisor

// This part of the package starts Orchestrators.

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/runconfig"
	"github.com/arbiter-cli/arbiter/supervisor/words"
)

// successorOfNone is the predecessor of an Orchestrator that continues nobody's work while a document waits.
const successorOfNone = "none"

// SpawningRequest describes the Orchestrator to spawn.
type SpawningRequest struct {
	Brief, Mode string
	SuccessorOf string  // empty: the first one whose document waits for a successor, if any
	By          string  // who asked for it
	Isolated    bool    // in its own directory
	Host        string  // host or pool to run on; empty: any with a free slot
	Make        string  // of agent; empty: the step's at hand, or the mode's
	FuseUSD     float64 // what it may cost before it is parked; 0: the rest of its predecessor's, or the default
}

// SpawningPlan is a request that passed checkSpawning.
type SpawningPlan struct {
	SpawningRequest
	old  Agent // its predecessor, if any
	fuse AgentFuse
}

// checkSpawning says why an Orchestrator cannot be spawned, or returns the plan for it.
func (st *step) checkSpawning(in SpawningRequest) (p SpawningPlan, problem string) {
	mode, known := st.Options.ModeNamed(in.Mode)
	p = SpawningPlan{SpawningRequest: in}
	p.Make = cmp.Or(in.Make, st.makeOfStep(in.Mode), mode.Make, st.Options.DefaultMake)
	if p.Make == runconfig.ClaudeMake {
		p.Make = ""
	}
	p.SuccessorOf = cmp.Or(in.SuccessorOf, st.Handoff.NextPredecessor())
	if strings.EqualFold(in.SuccessorOf, successorOfNone) {
		p.SuccessorOf = ""
	}
	p.old, problem = st.predecessor(p.SuccessorOf)
	switch {
	case strings.TrimSpace(in.Brief) == "":
		return p, "An Orchestrator needs a brief in `prompt`: the goal, the place, the scope, the constraints, and " +
			"done when."
	case in.Mode != "" && !known:
		return p, fmt.Sprintf("There is no mode %q. Modes: %s.", in.Mode, strings.Join(st.Options.ModeNames(), ", "))
	case problem != "":
		return p, problem
	case st.Options.MakeProblem(p.Make) != "":
		return p, st.Options.MakeProblem(p.Make)
	case in.Isolated && !st.Options.Workspace.Enabled():
		return p, "There is no Git repository with a commit here, so no Orchestrator gets a directory of its own: " +
			"leave out isolated."
	case st.LivingCount() >= st.Options.MaxOrchestrators:
		return p, fmt.Sprintf("%s already alive, which is the limit (%s). Wait with CONTINUE until one reports, or "+
			"release one that you no longer need.",
			words.Count(st.LivingCount(), "Orchestrator"), st.LivingText())
	}
	if p.Host, problem = st.chooseHost(in.Host); problem != "" {
		return p, problem
	}
	if p.fuse, problem = st.fuseFor(p.SpawningRequest, &p.old); problem != "" {
		return p, problem
	}
	problem = st.Budget.NoNewAgent(&st.out, &st.Options, st.Spent())
	if p.SuccessorOf != "" { // a successor takes the place of its predecessor
		problem = ""
	}
	return p, problem
}

// makeOfStep is the make that the step at hand is for, if a summons in a mode is for that step.
func (s *State) makeOfStep(mode string) string {
	i := s.Task.StepAtHand()
	if i < 0 || s.Task.Plan[i].Mode != "" && s.Task.Plan[i].Mode != mode {
		return ""
	}
	return s.Task.Plan[i].Make
}

// fuseShare is the part of what is left of --max-cost that one summons may cost by default.
const fuseShare = 4

// maxFuses is how many fuses the Arbiter may set for one work, over its successors, until a human says something.
const maxFuses = 4

// fuseFor is the fuse of an Orchestrator that is summoned. A successor continues on the rest of its predecessor's,
// unless the summons sets another: so no chain of successors gets around a fuse by handing off. A model cannot exceed
// what the human has set with --fuse.
func (s *State) fuseFor(in SpawningRequest, old *Agent) (f AgentFuse, problem string) {
	f = AgentFuse{USD: s.Options.FuseUSD, Nth: 1}
	if f.USD == 0 && s.Options.MaxCostUSD > 0 {
		f.USD = max(s.Options.MaxCostUSD-s.Spent(), 0) / fuseShare
	}
	left := old.Fuse.USD - old.FuseSpent()
	switch most := s.Options.FuseUSD; {
	case in.FuseUSD < 0:
		return f, "fuse_usd must not be negative."
	case in.FuseUSD > most && most > 0 && in.By != contract.Human:
		return f, fmt.Sprintf("The human has set $%.4f as the most that one summons may cost (--fuse).", most)
	case in.By == contract.Human || in.FuseUSD == 0 && old.Fuse.USD == 0:
	case in.FuseUSD == 0 && left <= 0:
		return f, fmt.Sprintf("The fuse of %s is spent ($%.4f of $%.4f). If the work is worth more, summon its successor "+
			"with fuse_usd. Else have it done in another way, or leave it.", old.ID, old.FuseSpent(), old.Fuse.USD)
	case in.FuseUSD == 0:
		f.USD, f.Nth = left, old.Fuse.Nth
	case old.Fuse.Nth >= maxFuses:
		return f, fmt.Sprintf("%s were set for this work already, one after the other. Ask the human with ADDRESS_HUMAN "+
			"whether it goes on.", words.Count(old.Fuse.Nth, "fuse"))
	default:
		f.Nth += old.Fuse.Nth
	}
	if in.FuseUSD > 0 {
		f.USD = in.FuseUSD
	}
	return f, ""
}

// predecessor is the agent that an Orchestrator succeeds, if any.
func (s *State) predecessor(id string) (old Agent, problem string) {
	if id == "" {
		return old, ""
	}
	old, ok := s.Agent(id)
	switch {
	case !ok || old.Role != RoleOrchestrator:
		return old, fmt.Sprintf("successor_of names no Orchestrator: %q.", id)
	case old.Forgotten:
		return old, fmt.Sprintf("%s has been gone for too long: its document is no longer kept. Put what matters into "+
			"the brief.", id)
	}
	return old, ""
}

// spawn starts an Orchestrator, and posts its brief with the document of its predecessor. It returns it.
func (st *step) spawn(p SpawningPlan) *Agent {
	st.Spawned++
	a := &Agent{
		AgentIdentity: AgentIdentity{
			AgentRef: bridge.AgentRef{ID: fmt.Sprintf("orch-%d", st.Spawned), Generation: 1},
			Role:     RoleOrchestrator, Name: "Orchestrator " + contract.Roman(st.Spawned), Mode: p.Mode,
			Predecessor: p.SuccessorOf, Brief: p.Brief,
			Isolation: st.Options.IsolationOf(p.Isolated || p.old.Isolation != "" || p.Host != LifecycleHere),
			Host:      p.Host,
		},
		AgentMake:     AgentMake{Make: p.Make},
		AgentSpending: AgentSpending{Fuse: p.fuse},
		AgentWork:     AgentWork{Standing: AgentWorking, Unexamined: p.old.Document != nil},
	}
	ruler := st.Agents[0]
	if turn := slices.Concat(ruler.InterruptedTurn, ruler.Turn); p.By == contract.Arbiter && len(turn) > 0 {
		a.SpawnedIn = turn[0]
	}
	warnOfOthers := ""
	if a.Isolation == "" {
		warnOfOthers = st.SharingText(a.ID)
	}
	if f := st.Options.Expected[cmp.Or(a.Mode, AnyMode)]; f.From > 0 {
		f.Step = st.Task.StepAtHand() + 1
		st.emit(a.ID, f)
	}
	st.addAgent(a, p.Brief)
	st.emitFuse(a, contract.FuseSet)
	var attached []EnvelopePart
	if old := &p.old; old.Document != nil {
		left := Handover{Document: old.Document, Receipts: old.Receipts, Why: old.GeneratedWhy}
		attached = append(attached, EnvelopePart{Title: "handed over", From: old.ID, Kind: "document",
			Text: "## Handed over by " + old.Name + " (" + old.ID + ")\n\n" + successorText(old)})
		attached = append(attached, partOf("checks", tallyOf(left))...)
		st.emit(old.ID, left.Event(old.ID, a.ID))
	}
	st.Handoff.LeaveSuccessorQueue(p.SuccessorOf)
	st.Question.Recovery.Overcome(&st.Roster, p.SuccessorOf)
	attached = append(attached, partOf("acceptance criteria", st.Task.Acceptance.Text())...)
	images := st.Task.Images
	if p.By == contract.Arbiter { // it has seen the images; its brief says what matters about them, but not the plan
		images = nil
		if len(st.Task.Plan) > 0 {
			attached = append(attached, partOf("plan", PlanText(st.Task.Plan))...)
		}
	}
	st.post(Mail{From: p.By, To: a.ID, Kind: KindBrief, Text: p.Brief + movedText(&p.old, p.Host) + warnOfOthers,
		Attached: attached, Images: images})
	st.assign(a.ID, st.Task.stepIn(a.Predecessor), true)
	return a
}

// forgetEnded drops the records of Orchestrators that ended long before the last ones, and finally the Orchestrators
// themselves: every search and every snapshot goes through all agents.
func (st *step) forgetEnded() {
	gone, keep := 0, make([]*Agent, 0, len(st.Agents))
	for _, a := range slices.Backward(st.Agents) {
		queue := st.Handoff.SuccessorQueue // of which so many documents are kept
		handsOver := func(h Handover) bool { return h.Agent.ID == a.ID }
		if a.Role == RoleOrchestrator && a.Gone() && !slices.Contains(queue[:min(len(queue), RecordsKept)], a.ID) &&
			!slices.ContainsFunc(st.Handoff.Documents, handsOver) {
			if gone++; gone > RecordsKept {
				// The next Orchestrator that is spawned would be refused its document.
				st.Handoff.LeaveSuccessorQueue(a.ID)
			}
			switch {
			case gone > NamesKept:
				continue
			case gone > RecordsKept && !a.Forgotten:
				st.Changes.Forget(a.ID)
				a = a.WithoutRecords()
			}
		}
		keep = append(keep, a)
	}
	slices.Reverse(keep)
	st.Agents = keep
}

// chooseHost chooses the host of a new Orchestrator: the named host, or one of a named pool; empty: any host with a
// free slot. The second result says why there is no place.
func (st *step) chooseHost(named string) (host, problem string) {
	s := &st.State
	if named == "" && len(s.Options.Hosts) == 0 || named == runconfig.Here {
		return LifecycleHere, ""
	}
	hosts, problem := s.candidateHosts(named)
	if problem != "" {
		return "", problem
	}
	var parked, full []string
	free := map[string]int{}
	hosts = slices.DeleteFunc(hosts, func(x runconfig.Host) bool {
		free[x.Name] = x.Slots - s.livingOn(x.Name)
		switch {
		case s.Lifecycle.Bridge(x.Name).Parked:
			parked = append(parked, x.Name+" ("+s.Lifecycle.Bridge(x.Name).Reason+")")
		case free[x.Name] <= 0:
			full = append(full, fmt.Sprintf("%s (%s)", x.Name, words.Count(x.Slots, "slot")))
		default:
			return false
		}
		return true
	})
	if len(hosts) > 0 {
		// The first of the hosts with the most free slots; a host that is lost only if there is no other.
		missed := func(host runconfig.Host) int {
			if s.Lifecycle.Missed(host.Name, st.at) {
				return 1
			}
			return 0
		}
		best := slices.MinFunc(hosts, func(a, b runconfig.Host) int {
			return cmp.Or(cmp.Compare(missed(a), missed(b)), cmp.Compare(free[b.Name], free[a.Name]))
		})
		if named == "" && s.Options.HereToo && missed(best) > 0 {
			return LifecycleHere, ""
		}
		if !s.Options.Workspace.Enabled() {
			return "", "There is no Git repository with a commit here, so nothing can be brought to host " + best.Name +
				" and back: name the host here."
		}
		return best.Name, ""
	}
	if named == "" && s.Options.HereToo {
		return LifecycleHere, ""
	}
	problem = "No host has a free slot."
	if len(full) > 0 {
		problem += " Full: " + strings.Join(full, ", ") + "."
	}
	if len(parked) > 0 {
		problem += " Cannot be used before the human has seen to it: " + strings.Join(parked, ", ") + "."
	}
	return "", problem + " Release an Orchestrator there, or name another host: " + s.Options.HostNames() + "."
}

// candidateHosts are the hosts that a name can mean.
func (s *State) candidateHosts(named string) (hosts []runconfig.Host, problem string) {
	wanted := func(host string) bool { return named == "" || host == named }
	if i := slices.IndexFunc(s.Options.Pools, func(p runconfig.Pool) bool { return p.Name == named }); i >= 0 {
		wanted = func(host string) bool { return slices.Contains(s.Options.Pools[i].Hosts, host) }
	}
	for _, x := range s.Options.Hosts {
		if wanted(x.Name) {
			hosts = append(hosts, x)
		}
	}
	if len(hosts) == 0 {
		return nil, fmt.Sprintf("There is no host or pool %q in this run. There are: %s.", named, s.Options.HostNames())
	}
	return hosts, ""
}

// livingOn counts the Orchestrators that hold a slot of a host.
func (s *State) livingOn(host string) int {
	return s.count(func(a *Agent) bool { return a.Host == host && a.holdsPlace() })
}

// hostText says to the Arbiter where a new Orchestrator runs, and what it waits for.
func (s *State) hostText(host string) string {
	text := " It lives on host " + host + ", in a directory of its own."
	if b := s.Lifecycle.Bridge(host); !b.Up {
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
	return fmt.Sprintf("\n\n## Another host\n\n%s worked on host %s, and you work on host %s. Your directory begins "+
		"with "+
		"the last commit of its work that was brought back. What it did after that, and what lies outside of the "+
		"repository, is not here.", old.Name, cmp.Or(old.Host, runconfig.Here), cmp.Or(host, runconfig.Here))
}
