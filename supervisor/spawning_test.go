package supervisor

import (
	"strings"
	"testing"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
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
			AgentIdentity: AgentIdentity{AgentRef: bridge.AgentRef{ID: OrchestratorID(i + 1)},
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
