package decider

import (
	"strings"
	"testing"
)

// TestRulesNeverCompleteOverOpenWork: open work that a tester or reviewer reports is done, and then checked
// again by the agent that reported it. What others leave open does not prevent the end of a task.
func TestRulesNeverCompleteOverOpenWork(t *testing.T) {
	done := &DecisionPlan{Steps: []DecisionStep{{Index: 1, Status: "complete"}}, CurrentStepIndex: 1,
		IsComplete: true}
	all := []string{"planner", "developer", "tester", "reviewer"}
	blocker := []string{"BLOCKER: it loses data"}
	for _, c := range []struct {
		name   string
		agents []string
		plan   *DecisionPlan
		worked []string // successes, oldest first
		open   []OpenPoint
		want   string
		says   string
		aside  bool
	}{
		{"nothing is open", all, done, []string{"developer", "tester", "reviewer"}, nil, "COMPLETE", "", false},
		{"the reviewer's blocker", all, done, []string{"developer", "tester", "reviewer"},
			[]OpenPoint{{Agent: "reviewer", Remaining: blocker}}, "SELECT_MODE developer",
			"BLOCKER: it loses data", true},
		{"without a plan", all, nil, []string{"developer", "tester", "reviewer"},
			[]OpenPoint{{Agent: "reviewer", Remaining: blocker}}, "SELECT_MODE developer",
			"BLOCKER: it loses data", true},
		{"somebody has worked since", all, done, []string{"reviewer", "developer"},
			[]OpenPoint{{Agent: "reviewer", Remaining: blocker, Since: []string{"developer"}}},
			"SELECT_MODE reviewer", "BLOCKER: it loses data", true},
		{"somebody has only looked since", all, done, []string{"developer", "tester", "reviewer"},
			[]OpenPoint{{Agent: "tester", Remaining: blocker, Since: []string{"reviewer"}}},
			"SELECT_MODE developer", "BLOCKER: it loses data", true},
		{"before the next step", all,
			&DecisionPlan{Steps: []DecisionStep{{Index: 1, Status: "complete"},
				{Index: 2, Mode: "reviewer", Status: "pending"}}, CurrentStepIndex: 1},
			[]string{"developer", "tester"}, []OpenPoint{{Agent: "tester", Remaining: blocker}},
			"SELECT_MODE developer", "BLOCKER: it loses data", true},
		{"nobody else is there", []string{"reviewer"}, done, []string{"reviewer"},
			[]OpenPoint{{Agent: "reviewer", Remaining: blocker}}, "CONTINUE", "BLOCKER: it loses data", true},
		{"who looked is not there any more", []string{"developer"}, done, []string{"developer"},
			[]OpenPoint{{Agent: "reviewer", Remaining: blocker, Since: []string{"developer"}}}, "CONTINUE",
			"BLOCKER: it loses data", true},
		{"the developer's remark", all, done, []string{"developer", "tester", "reviewer"},
			[]OpenPoint{{Agent: "developer", Remaining: []string{"docs"}}}, "COMPLETE", "docs (developer)",
			false},
		{"a reviewer's question", all, done, []string{"developer", "tester", "reviewer"},
			[]OpenPoint{{Agent: "reviewer", OpenQuestions: []string{"Is it wanted?"}}}, "COMPLETE",
			"Is it wanted? (reviewer)", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			in := EvaluateProgressInput{Task: "t", Plan: c.plan, OpenPoints: c.open}
			for i, name := range c.worked {
				in.History = append(in.History,
					ExecutionSummary{Agent: name, Iteration: i + 1, Status: StatusSuccess})
			}
			in.LastExecution = in.History[len(in.History)-1]
			for _, name := range c.agents {
				in.AvailableAgents = append(in.AvailableAgents, AgentDescription{Name: name})
			}
			evaluated, clear := Rules{}.Evaluate(in)
			if got := strings.TrimSpace(evaluated.Decision + " " + evaluated.Mode); got != c.want ||
				evaluated.Aside != c.aside {
				t.Errorf("evaluated: %s, aside %v (%s), want %s", got, evaluated.Aside, evaluated.Reason, c.want)
			}
			if clear {
				t.Error("it is called clear: a model would not be asked")
			}
			if said := evaluated.Message + evaluated.Summary; !strings.Contains(said, c.says) {
				t.Errorf("it says %q, and not %q", said, c.says)
			}
			selected, _ := Rules{}.Select(SelectAgentInput{Task: "t", Plan: c.plan, History: in.History,
				OpenPoints: c.open, AvailableAgents: in.AvailableAgents})
			if (selected.Decision == Complete) != (c.want == Complete) {
				t.Errorf("selected: %+v", selected)
			}
		})
	}
}
