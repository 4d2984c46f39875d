package view

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/supervisor"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/input"
)

func TestOf(t *testing.T) {
	for typed, want := range map[string]contract.CommandBody{
		"/plan set\n- one\n* two\n\nthree": contract.SetPlan{Steps: []contract.Step{{Text: "one", Status: "pending"},
			{Text: "two", Status: "pending"}, {Text: "three", Status: "pending"}}},
		"/plan":                       nil,
		"/plan show":                  nil,
		"/stop":                       contract.Interrupt{},
		"/stop at once":               contract.Say{Text: "at once", Strength: contract.Stop},
		"/to orch-2 a word\nor two":   contract.Say{To: "orch-2", Text: "a word\nor two"},
		"/help":                       nil,
		"/note orch-2 a word\nor two": contract.Say{To: "orch-2", Text: "a word\nor two", Strength: contract.Note},
		"/steer orch-1 use make":      contract.Say{To: "orch-1", Text: "use make", Strength: contract.Steer},
		"/steer orch-1x use make":     contract.Say{Text: "orch-1x use make", Strength: contract.Steer},
		"/steer the orch-1 way":       contract.Say{Text: "the orch-1 way", Strength: contract.Steer},
		"/stop orch-1":                contract.Interrupt{ID: "orch-1"},
		"/stop arbiter wait":          contract.Say{To: "arbiter", Text: "wait", Strength: contract.Stop},
	} {
		c, err := ParseSlash(typed)
		if err != nil {
			t.Errorf("%q: %v", typed, err)
			continue
		}
		got, ok := of(c)
		if diff := cmp.Diff(want, got); diff != "" || ok != (want != nil) {
			t.Errorf("%q (-want +got):\n%s", typed, diff)
		}
	}
}

func TestPermit(t *testing.T) {
	request := &input.PermissionRequest{ID: "p",
		Params: bridge.PermissionParams{Tool: "Bash", Input: []byte(`{"command":"go test ./..."}`)}}
	for typed, want := range map[string]contract.Permit{
		"/allow":                        {Request: "p", Behavior: "allow"},
		"/allow run":                    {Request: "p", Behavior: "allow", Scope: "run"},
		"/allow always Bash(go test *)": {Request: "p", Behavior: "allow", Scope: "always", Rule: "Bash(go test *)"},
		"/deny":                         {Request: "p", Behavior: "deny"},
		"/deny not today":               {Request: "p", Behavior: "deny", Message: "not today"},
	} {
		c, err := ParseSlash(typed)
		if err != nil {
			t.Fatal(err)
		}
		want.Action = request.Key() // of the request, whatever the answer
		if got := Permit(c, request); got != want {
			t.Errorf("%q: %+v", typed, got)
		}
	}
}

// TestSlashAnswers: answers that are read from a state are correct, and safe to show.
func TestSlashAnswers(t *testing.T) {
	s := &supervisor.State{Task: supervisor.TaskState{Text: "weave\x1b[2J"}, Budget: supervisor.BudgetState{CostUSD: 1.25},
		Permission: input.PermissionState{Actions: []string{"a"}}}
	s.Options.Permissions, s.Options.Allow, s.Options.MaxCostUSD, s.Options.ContextWarn,
		s.Options.ContextCritical = "ask", []string{"Bash(\x1b]0;x\agit *)"}, 2, 70, 85
	s.Agents = []*supervisor.Agent{
		{AgentIdentity: supervisor.AgentIdentity{AgentRef: bridge.AgentRef{ID: "arbiter"}, Role: supervisor.RoleArbiter},
			AgentSpending: supervisor.AgentSpending{CostUSD: 0.25}},
		{AgentIdentity: supervisor.AgentIdentity{AgentRef: bridge.AgentRef{ID: "orch-1"}, Role: supervisor.RoleOrchestrator,
			Name: "Orchestrator I"}, AgentProcess: supervisor.AgentProcess{Status: supervisor.AgentEnded},
			AgentSpending: supervisor.AgentSpending{CostUSD: 1}},
		{AgentIdentity: supervisor.AgentIdentity{AgentRef: bridge.AgentRef{ID: "orch-2"}, Role: supervisor.RoleOrchestrator,
			Name: "Orchestrator II"}, AgentProcess: supervisor.AgentProcess{Status: supervisor.AgentBusy},
			AgentContext: supervisor.AgentContext{Context: bridge.Context{Tokens: 50_000, Window: 200_000, Pct: 25,
				TurnsLeft: 9}}},
	}
	for text, want := range map[string][]string{
		contextSlash(s, ""): {"The Arbiter** nothing is known yet", "50000 of 200000 tokens, 25.0 %, about 9 turns",
			"70 %", "85 %"},
		contextSlash(s, "orch-1"): {"Orchestrator I"},
		contextSlash(nil, ""):     {"no such agent"},
		costSlash(s):              {"$1.2500", "$2.00 at most", "| Orchestrator I | $1.0000 |"},
		costSlash(nil):            {"Nothing yet"},
		permissions(s):            {"**ask**", "`Bash(git *)`", "1 action."},
		permissions(nil):          {"no run"},
		taskText(s):               {"weave"},
		taskText(nil):             {"no task"},
		SlashName(nil, "orch-7"):  {"Orchestrator VII"},
		SlashName(s, "human"):     {"You"},
	} {
		for _, w := range want {
			if !strings.Contains(text, w) {
				t.Errorf("%q lacks %q", text, w)
			}
		}
		if strings.ContainsAny(text, "\x1b\a") {
			t.Errorf("unsafe: %q", text)
		}
	}
	if strings.Contains(contextSlash(s, ""), "Orchestrator I**") {
		t.Error("one that is gone is told of")
	}
}
