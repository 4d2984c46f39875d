package view

import (
	"strings"
	"testing"

	"github.com/arbiter-cli/arbiter/supervisor"
	"github.com/arbiter-cli/arbiter/supervisor/runconfig"
)

// TestHosts: the list shows the state of each host, its agents, and how a parked one is retried.
func TestHosts(t *testing.T) {
	if text := hosts(&supervisor.State{}); !strings.Contains(text, "this machine") {
		t.Errorf("without hosts: %q", text)
	}
	s := &supervisor.State{}
	s.Options.Hosts = []runconfig.Host{{Name: "box", Slots: 2}, {Name: "gpu", Slots: 1}, {Name: "spare", Slots: 4}}
	s.Lifecycle.Bridges = []supervisor.Bridge{{Up: true}, {Host: "box", Up: true, Status: supervisor.StatusUp},
		{Host: "gpu", Status: supervisor.StatusDown, Parked: true, Reason: "Permission denied\x1b[2J (publickey)"}}
	a := &supervisor.Agent{}
	a.ID, a.Name, a.Role, a.Host = "orch-1", "Orchestrator I", supervisor.RoleOrchestrator, "box"
	s.Agents = []*supervisor.Agent{a}
	text := hosts(s)
	for _, want := range []string{"| box | up | Orchestrator I @box | 2 |", "| gpu | parked: Permission denied",
		"| spare | not used yet |  | 4 |", "`/choose retry host gpu`"} {
		if !strings.Contains(text, want) {
			t.Errorf("it does not say %q:\n%s", want, text)
		}
	}
	if strings.Contains(text, "\x1b") {
		t.Errorf("%q", text)
	}
}
