package view

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/arbiter-cli/arbiter/supervisor"
	"github.com/arbiter-cli/arbiter/supervisor/agents"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/decider"
)

func TestAmend(t *testing.T) {
	s := &supervisor.State{Task: supervisor.TaskState{Plan: laidSlash("+read *build ship:tester")}}
	s.Options.Modes = []agents.Agent{{Name: "tester"}, {Name: "weaver"}}
	for typed, want := range map[string]string{
		"/plan add prove":       "+read *build ship:tester prove",
		"/plan 2 done":          "+read +build ship:tester",
		"/plan 2 skip":          "+read -build ship:tester",
		"/plan 2 FAIL":          "+read !build ship:tester",
		"/plan 3 start":         "+read *build *ship:tester",
		"/plan 1 pending":       "read *build ship:tester",
		"/plan 3 up":            "+read ship:tester *build",
		"/plan 1 down":          "*build +read ship:tester",
		"/plan 3 down":          "+read *build ship:tester",
		"/plan 2 delete":        "+read ship:tester",
		"/plan 2 text forge":    "+read *forge ship:tester",
		"/plan 2 mode weaver":   "+read *build:weaver ship:tester",
		"/plan 3 mode":          "+read *build ship",
		"/plan 4 done":          "error: there is no step 4",
		"/plan 2 dance":         `error: step 2: "dance" is none of done`,
		"/plan 2 done now":      `error: step 2: "done now" is none of done`,
		"/plan 2 text":          "error: step 2: its new text is missing",
		"/plan 2 mode wizard":   `error: step 2: there is no mode "wizard"; modes: tester, weaver`,
		"/plan 999999999999999": "",
	} {
		c, err := ParseSlash(typed)
		if err != nil {
			if want != "" {
				t.Errorf("%s: %v", typed, err)
			}
			continue
		}
		got, err := amended(s, c)
		if problem, ok := strings.CutPrefix(want, "error: "); ok {
			if err == nil || !strings.HasPrefix(err.Error(), problem) {
				t.Errorf("%s: error %v, want %q", typed, err, problem)
			}
			continue
		}
		if diff := cmp.Diff(contract.SetPlan{Steps: laidSlash(want)}, got); diff != "" || err != nil {
			t.Errorf("%s (-want +got), %v:\n%s", typed, err, diff)
		}
	}
	if diff := cmp.Diff(laidSlash("+read *build ship:tester"), s.Task.Plan); diff != "" {
		t.Errorf("the run's own plan was changed (-want +got):\n%s", diff)
	}
	if _, err := amended(nil, EditorCommand{Name: "plan", Args: []string{"add", "x"}}); err == nil {
		t.Error("a plan was made of no run")
	}
}

func TestAgents(t *testing.T) {
	s := &supervisor.State{}
	s.Options.Modes = []agents.Agent{
		{Name: "weaver", Description: "# Use it\nto weave\x1b[2J", Tools: []string{"Read", "Ed`it"},
			DisallowedTools: []string{"Bash"}, Source: "/p/.arbiter/agents/weaver.md", Model: "haiku",
			Limits: agents.Limits{MaxTurns: 9, MaxCostUSD: 2}},
		{Name: "idler", Description: "never", Tools: []string{}},
	}
	s.Task.History = s.Task.History.Add(decider.DecisionExecution{Agent: "idler", Status: decider.StatusSuccess,
		CompletedAt: time.Date(2026, 3, 1, 12, 0, 0, 0, time.Local)})
	text := SlashAgents(s)
	for _, want := range []string{"## weaver", `\# Use it`, "tools: `Read`, `Ed'it`, but not `Bash`", "model: `haiku`",
		"limits: 9 turns, $2.00", "from: `/p/.arbiter/agents/weaver.md`", "tools: none", "model: `the run's`",
		"from: `built-in`", "last success 2026-03-01 12:00:00"} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is not in:\n%s", want, text)
		}
	}
	if strings.Contains(text, "\x1b") {
		t.Errorf("unsafe: %q", text)
	}
	if text = SlashAgents(nil); !strings.Contains(text, "## developer") {
		t.Errorf("without a run there are no built-in ones:\n%s", text)
	}
}
