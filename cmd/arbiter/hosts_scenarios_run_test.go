package main

import (
	"testing"

	"github.com/arbiter-cli/arbiter/internal/testkit"

	"github.com/google/go-cmp/cmp"

	"github.com/arbiter-cli/arbiter/internal/workspace/gittest"
	"github.com/arbiter-cli/arbiter/rehearsal"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/runconfig"
)

// TestScenariosOnAHost plays built-in scenarios with the Arbiter here and every Orchestrator on an ssh host, in
// another account. They end as they do without hosts, and the run branch has the files that the Orchestrators
// wrote there.
func TestScenariosOnAHost(t *testing.T) {
	ssh := hostKinds()[1]
	for _, play := range []struct {
		scenario string
		agents   int
		made     string
	}{
		{"parallel", 2, "east.txt\nold.txt\nwest.txt"},
		{"workflow", 4, "loom.txt\nold.txt"},
	} {
		for _, p := range players(t) {
			t.Run(play.scenario+"/"+p.name, func(t *testing.T) {
				if !p.real {
					testkit.Long(t) // TestOrchestratorsOnHosts covers more with the stand-in
				}
				source, err := rehearsal.BuiltinSource(play.scenario)
				if err != nil {
					t.Fatal(err)
				}
				claude := ""
				if p.real {
					claude = p.args[len(p.args)-1]
				}
				repo := gittest.New(t, map[string]string{"old.txt": "old\n"})
				s, model := hiredIn(t, p, string(source), repo.Path, "--config", ssh.configuration(t, claude), "--hosts",
					ssh.chose, "--isolation", runconfig.IsolationWorktree, "--lease", "30s", "--allow", "Bash(*)", "--allow",
					"Write", "--no-input", "--task", "Weave")
				r := s.finish(contract.ExitComplete)
				if list := model.Problems(); len(list) > 0 || r.Status != contract.StatusComplete || r.Crashes != 0 {
					t.Errorf("result %+v; the play left its script: %v\n%s", r, list, s.dump())
				}
				far := map[string]bool{}
				for _, l := range s.lines {
					if b, ok := l.Body.(contract.Spawn); ok && b.Host == ssh.chose {
						far[l.ID] = true
					}
				}
				branch := "arbiter/" + r.Session[:8] + "/main"
				if got := repo.Git("ls-tree", "--name-only", branch); len(far) != play.agents || got != play.made {
					t.Errorf("%d agents lived on the host, want %d; the run made %q\n%s", len(far), play.agents, got, s.dump())
				}
				if play.scenario == "workflow" {
					if diff := cmp.Diff([]string{"ppp", "app", "dpp", "ddp", "ddd"}, planned(s)); diff != "" {
						t.Errorf("plan (-want +got):\n%s", diff)
					}
				}
				if e := collect[contract.Error](s); len(e) > 0 {
					t.Errorf("errors %+v", e)
				}
			})
		}
	}
}
