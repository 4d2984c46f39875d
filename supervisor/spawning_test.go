package supervisor

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/internal/testkit"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/input"
	"github.com/arbiter-cli/arbiter/supervisor/runconfig"
	"github.com/arbiter-cli/arbiter/supervisor/verdict"
)

// TestPlace: a named host is used if it has a free slot; otherwise the host with the most free slots.
func TestPlace(t *testing.T) {
	st := readyRun(runconfig.Options{
		Hosts:     []runconfig.Host{{Name: "a", Slots: 1}, {Name: "b", Slots: 3}},
		Pools:     []runconfig.Pool{{Name: "small", Hosts: []string{"a"}}},
		Workspace: runconfig.Workspace{Base: "abc"},
	})
	for named, want := range map[string]string{"": "b", "a": "a", "small": "a", runconfig.Here: LifecycleHere} {
		if got, problem := st.chooseHost(named); got != want || problem != "" {
			t.Errorf("%q: placed on %q (%s), want %q", named, got, problem, want)
		}
	}
	if _, problem := st.chooseHost("c"); !strings.Contains(problem, "no host or pool") {
		t.Errorf("an unknown host: %q", problem)
	}
	addOrchestrator(st).Host = "a"
	if _, problem := st.chooseHost("a"); !strings.Contains(problem, "Full: a (1 slot)") {
		t.Errorf("a full host: %q", problem)
	}
}

// TestCheck: problems are reported before anything is created.
func TestCheck(t *testing.T) {
	for want, in := range map[string]SpawningRequest{
		"needs a brief":         {Brief: " "},
		"no mode":               {Brief: "do it", Mode: "nobody"},
		"names no Orchestrator": {Brief: "do it", SuccessorOf: "orch-7"},
		"no Git repository":     {Brief: "do it", Isolated: true},
	} {
		st := readyRun(runconfig.Options{})
		if _, problem := st.checkSpawning(in); !strings.Contains(problem, want) {
			t.Errorf("%+v: %q, want %q", in, problem, want)
		}
		if n := len(st.out.Effects()); n != 0 || st.Spawned != 0 {
			t.Errorf("%+v: %d effects, %d summoned", in, n, st.Spawned)
		}
	}
}

// TestSpawn: an Orchestrator starts with its brief, and gets the documents that wait for a successor.
func TestSpawn(t *testing.T) {
	st := readyRun(runconfig.Options{})
	old := addOrchestrator(st)
	old.Standing, old.Document = HandedOff, &verdict.Document{}
	st.Handoff.SuccessorQueue = []string{old.ID}
	plan, problem := st.checkSpawning(SpawningRequest{Brief: "go on", By: contract.Arbiter})
	if problem != "" {
		t.Fatal(problem)
	}
	a := st.spawn(plan)
	_, ok := st.Agent(a.ID)
	if !ok || a.ID != "orch-2" || a.Predecessor != "orch-1" || a.Status != AgentStarting {
		t.Errorf("summoned %s: %+v", a.ID, a)
	}
	mail := st.Conversation.Mail
	if len(mail) != 1 || mail[0].To != a.ID || mail[0].Kind != KindBrief || len(mail[0].Attached) == 0 {
		t.Errorf("it gets %+v", mail)
	}
	if len(st.Handoff.SuccessorQueue) != 0 {
		t.Errorf("%v still wait for a successor", st.Handoff.SuccessorQueue)
	}
}

// TestSpawningForget: of ended agents, the last ones keep their records, and some more keep their names.
func TestSpawningForget(t *testing.T) {
	r := &step{}
	for i := range NamesKept + 2 {
		r.Add(&Agent{
			AgentIdentity: AgentIdentity{AgentRef: bridge.AgentRef{ID: fmt.Sprintf("orch-%d", i+1)},
				Role: RoleOrchestrator},
			AgentProcess: AgentProcess{Status: AgentEnded, Dismissed: true},
		})
	}
	r.forgetEnded()
	records := 0
	for _, a := range r.Agents {
		if !a.Forgotten {
			records++
		}
	}
	if len(r.Agents) != NamesKept || records != RecordsKept || r.Agents[0].ID != "orch-3" {
		t.Errorf("kept %d, %d with records, the first is %s", len(r.Agents), records, r.Agents[0].ID)
	}
}

// TestStartsAreQueued: as many Orchestrators start at once as the machine has processors, the others in the order in
// which they were spawned, each announced once. One that fails to start makes room, too.
func TestStartsAreQueued(t *testing.T) {
	p := begin(t, func(o *runconfig.Options) { o.Cores, o.MaxOrchestrators = 2, 20 })
	for range 20 {
		if a := p.call("arbiter", "spawn_orchestrator", `{"prompt":"work"}`); a.IsError {
			t.Fatal(a.Text)
		}
	}
	p.contains("status", p.call("arbiter", "status", "{}").Text, "orch-2 (Orchestrator II): process starting",
		"orch-3 (Orchestrator III): process queued")
	starting := func() (ids []string) {
		for _, a := range p.s.Agents {
			if a.Status == AgentStarting {
				ids = append(ids, a.ID)
			}
		}
		return ids
	}
	for n := 1; n <= 20; n++ {
		var want []string
		for i := n; i < min(n+2, 21); i++ {
			want = append(want, fmt.Sprintf("orch-%d", i))
		}
		if got := starting(); !slices.Equal(got, want) {
			t.Fatalf("%v are starting, want %v", got, want)
		}
		if n == 7 {
			p.do(input.NotSpawned{Agent: p.agent(want[0]).AgentRef, Category: bridge.CatStart, Message: "no"})
		} else {
			p.spawned(want[0])
		}
	}
	if got := starting(); len(got) > 0 {
		t.Errorf("%v are starting", got)
	}
	testkit.Same(t, "starts", 21, len(effects[input.Spawn](p)))
	announced := map[string]int{}
	for _, e := range p.out {
		if em, ok := e.(input.Emit); ok {
			if _, ok := em.Event.Body.(contract.Spawn); ok {
				announced[em.Event.ID]++
			}
		}
	}
	for id, n := range announced {
		if n != 1 {
			t.Errorf("%s was announced %d times", id, n)
		}
	}
	p.folds()
}

// TestQueuedStartKeepsItsSession: an Orchestrator whose start waited when the run's process was killed begins the
// session with which it was announced.
func TestQueuedStartKeepsItsSession(t *testing.T) {
	p := begin(t, func(o *runconfig.Options) { o.Cores, o.MaxOrchestrators = 1, 20 })
	for range 3 {
		p.call("arbiter", "spawn_orchestrator", `{"prompt":"work"}`)
	}
	announced := map[string]string{}
	note := func() {
		for _, e := range p.out {
			if em, ok := e.(input.Emit); ok {
				if s, ok := em.Event.Body.(contract.Spawn); ok {
					announced[em.Event.ID] = s.SessionID
				}
			}
		}
	}
	note()
	p.do(input.Resumed{Options: p.s.Options, Claude: p.s.Lifecycle.Claude(), Salt: "/2", Stay: true})
	p.comes(contract.Arbiter, p.remembers(contract.Arbiter, ""))
	for n := 1; n <= 3; n++ {
		p.comes(fmt.Sprintf("orch-%d", n), bridge.SpawnResult{})
	}
	note()
	for id, session := range announced {
		if got := p.agent(id).SessionID; got != session || p.agent(id).Status == AgentDown {
			t.Errorf("%s is %s in session %s, and was announced with %s", id, p.agent(id).Status, got, session)
		}
	}
}

// TestStartsAreQueuedOnEachHost: by the processors of the host, also when it comes back with many agents, and not for
// the Arbiter.
func TestStartsAreQueuedOnEachHost(t *testing.T) {
	p := spread(t, func(o *runconfig.Options) { o.Hosts[1].Slots, o.Cores = 3, 1 })
	p.spawnOn("gpu")
	p.spawnOn("gpu")
	p.spawnOn("gpu")
	p.spawnOn("here")
	p.do(input.BridgeBack{Host: "gpu", Dir: "/far", Cores: 2})
	for _, id := range []string{"orch-1", "orch-2", "orch-3"} {
		p.do(input.Timer{Key: RestartPrefix + RunOf(p.agent(id).AgentRef)})
	}
	if a := p.agent("orch-3"); !a.Waits() || p.agent("orch-2").Status != AgentStarting ||
		p.agent("orch-4").Status != AgentStarting {
		t.Errorf("%s, %s, %s", p.agent("orch-2").Status, a.Status, p.agent("orch-4").Status)
	}
	p.do(input.BridgeLost{Host: "gpu", Message: "reset"})
	p.do(input.Timer{Key: LifecycleTimerKey("gpu")})
	p.do(input.BridgeBack{Host: "gpu", Dir: "/far", Cores: 1})
	for _, id := range []string{"orch-1", "orch-2"} {
		p.do(input.Timer{Key: RestartPrefix + RunOf(p.agent(id).AgentRef)})
	}
	started := 0
	for _, id := range []string{"orch-1", "orch-2", "orch-3"} {
		if p.agent(id).Status == AgentStarting {
			started++
		}
	}
	testkit.Same(t, "start at once", 1, started)
	p.crash("arbiter", 1)
	if a := p.agent("arbiter"); !a.Up() {
		t.Errorf("the Arbiter is %s", a.Status)
	}
}
