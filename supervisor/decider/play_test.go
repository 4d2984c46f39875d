package decider

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/arbiter-cli/arbiter/internal/testkit"

	"github.com/google/go-cmp/cmp"
)

// game is a task that only the rules lead, with the moves and limits of the task machine.
type game struct {
	t      *testing.T
	task   DecisionRecord
	agent  string   // the agent that works, or worked last
	path   []string // the agents' executions
	turn   func(g *game) DecisionStatus
	alive  func() bool // whether the agent can continue
	result string
}

func (g *game) play() {
	g.selects()
	for g.result == "" {
		status := g.turn(g)
		e := ran(g.agent, g.task.Iteration, status)
		add(&g.task, e)
		g.path = append(g.path, g.agent)
		if most := g.task.MaxIterations * maxStretches; len(g.path) > most {
			g.t.Fatalf("it goes on after %d executions in %d iterations: %v", most, g.task.Iteration, g.path)
		}
		g.evaluates()
	}
}

func (g *game) selects() {
	d, err := Rules{}.Decide(context.Background(), SelectInput(g.task))
	if err != nil {
		g.t.Fatalf("selecting: %v", err)
	}
	checkWords(g.t, d)
	switch {
	case d.Decision == Complete:
		g.result = "complete"
	case d.Decision == Retry && g.task.Failures >= g.task.MaxFailures:
		g.result = "failed"
	case d.Decision == Retry:
		g.summons(g.agent)
	case d.Decision == SelectMode:
		g.summons(d.Mode)
	default:
		g.t.Fatalf("selecting: %+v", d)
	}
}

func (g *game) evaluates() {
	d, err := Rules{}.Decide(context.Background(), EvaluateInput(g.task))
	if err != nil {
		g.t.Fatalf("evaluating: %v", err)
	}
	checkWords(g.t, d)
	switch {
	case d.Decision == Complete:
		g.result = "complete"
	case d.Decision == Retry && g.task.Failures >= g.task.MaxFailures:
		g.result = "failed"
	case d.Decision == SelectMode:
		g.summons(d.Mode)
	case !g.alive():
		g.selects()
	}
}

func (g *game) summons(mode string) {
	if !known(g.task.Agents, mode) {
		g.t.Fatalf("there is no agent %q", mode)
	}
	if g.task.Iteration >= g.task.MaxIterations {
		g.result = "limit"
		return
	}
	g.task.Iteration++
	g.agent = mode
}

// TestRulesEnd plays random tasks: whatever the agents do, the rules reach an end within the limits, and choose
// only agents that exist.
func TestRulesEnd(t *testing.T) {
	testkit.WithoutRace(t)
	results := map[string]int{}
	for seed := range uint64(3000) {
		rnd := rand.New(rand.NewPCG(seed, 6))
		g := random(t, rnd)
		g.play()
		if g.task.Iteration > g.task.MaxIterations {
			t.Fatalf("seed %d: %d iterations of %d", seed, g.task.Iteration, g.task.MaxIterations)
		}
		results[g.result]++
	}
	for _, r := range []string{"complete", "failed", "limit"} {
		if results[r] < 100 {
			t.Errorf("%d games end %s: the test shows too little of it: %v", results[r], r, results)
		}
	}
}

func random(t *testing.T, rnd *rand.Rand) *game {
	var agents []AgentDescription
	for len(agents) == 0 {
		for _, name := range []string{"coder", developer, planner, reviewer, tester, "writer"} {
			if rnd.IntN(3) > 0 {
				agents = append(agents, agentsNamed(name)...)
			}
		}
	}
	failing, progress, loyal := rnd.IntN(100), rnd.IntN(100), rnd.IntN(100)
	g := &game{t: t, alive: func() bool { return rnd.IntN(100) < loyal }}
	g.task = DecisionRecord{Task: "Weave", Agents: agents, MaxIterations: 1 + rnd.IntN(30),
		MaxFailures: 1 + rnd.IntN(5)}
	modes := []string{"", developer, planner, tester, reviewer, "wizard", "writer"}
	if rnd.IntN(2) == 0 {
		for range rnd.IntN(6) {
			g.task.Steps = append(g.task.Steps, step("pending", modes[rnd.IntN(len(modes))]))
		}
	}
	g.turn = func(g *game) DecisionStatus {
		switch n := rnd.IntN(100); {
		case n < failing && n%5 == 0:
			return StatusTimeout
		case n < failing:
			return StatusFailure
		case n%20 == 0:
			return StatusCancelled
		}
		if rnd.IntN(100) < progress {
			g.advance()
		}
		return StatusSuccess
	}
	return g
}

// advance completes the first step that is not over.
func (g *game) advance() {
	g.task.Steps = slices.Clone(g.task.Steps)
	for i := range g.task.Steps {
		if s := &g.task.Steps[i]; !s.Over() {
			s.Status = "complete"
			return
		}
	}
}

// TestRulesLead plays tasks with no failure, or with one.
func TestRulesLead(t *testing.T) {
	plan := steps(step("pending", developer), step("pending", developer), step("pending", tester))
	for _, c := range []struct {
		name  string
		plan  []DecisionStep // the planner's
		fails map[int]bool   // by execution, counted from 1
		stuck bool           // no agent marks a step as done
		path  []string
		ends  string
	}{
		{name: "no plan", path: []string{planner, developer, tester, reviewer}, ends: "complete"},
		{name: "a plan", plan: plan, path: []string{planner, developer, developer, tester}, ends: "complete"},
		{name: "one failure", plan: plan, fails: map[int]bool{2: true},
			path: []string{planner, developer, developer, developer, tester}, ends: "complete"},
		{name: "two failures", plan: plan, fails: map[int]bool{2: true, 3: true},
			path: []string{planner, developer, developer, planner, developer, developer, tester}, ends: "complete"},
		{name: "failures without an end", fails: map[int]bool{1: true, 2: true, 3: true},
			path: []string{planner, planner, developer}, ends: "failed"},
		{name: "an unmarked plan", plan: plan[:1], stuck: true,
			path: []string{planner, developer, developer, developer, developer, developer, developer, developer,
				developer, developer, developer, developer, developer}, ends: "limit"},
	} {
		t.Run(c.name, func(t *testing.T) {
			g := &game{t: t, alive: func() bool { return true }}
			g.task = DecisionRecord{Task: "Weave", Agents: builtIn(), MaxIterations: 20, MaxFailures: 3}
			if c.stuck {
				g.task.MaxIterations = 4
			}
			g.turn = func(g *game) DecisionStatus {
				switch {
				case c.fails[len(g.path)+1]:
					return StatusFailure
				case g.agent == planner && g.task.Steps == nil:
					g.task.Steps = c.plan
				case !c.stuck && g.agent != planner:
					g.advance()
				}
				return StatusSuccess
			}
			g.play()
			if diff := cmp.Diff(c.path, g.path); diff != "" || g.result != c.ends {
				t.Errorf("it ends %s, want %s; the path (-want +got):\n%s", g.result, c.ends, diff)
			}
		})
	}
}

// TestRulesAreDeterministic: the same input gives the same decision and text.
func TestRulesAreDeterministic(t *testing.T) {
	for seed := range uint64(50) {
		g := random(t, rand.New(rand.NewPCG(seed, 7)))
		first, _ := SelectInput(g.task).Rule()
		again, _ := SelectInput(g.task).Rule()
		if diff := cmp.Diff(first, again); diff != "" {
			t.Fatal(fmt.Sprintf("seed %d (-first +again):\n", seed), diff)
		}
	}
}
