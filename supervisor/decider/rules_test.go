package decider

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/arbiter-cli/arbiter/internal/testkit"
)

const (
	ok   = StatusSuccess
	bad  = StatusFailure
	late = StatusTimeout
	cut  = StatusCancelled
)

// ruling is the decision that a table expects.
type ruling struct {
	Decision, Mode string
	Clear          bool
}

// rulingCase is a task and the decision of the rules about it. Facts must be in the reason.
type rulingCase struct {
	name  string
	task  DecisionRecord
	want  ruling
	facts []string
}

func with(r DecisionRecord, change func(*DecisionRecord)) DecisionRecord {
	change(&r)
	return r
}

func planned(r DecisionRecord, list ...DecisionStep) DecisionRecord {
	r.Steps = list
	return r
}

func erring(r DecisionRecord, f DecisionFailure) DecisionRecord {
	r.Error = &f
	return r
}

func TestRulesSelect(t *testing.T) {
	overload := DecisionFailure{Agent: developer, Category: ProviderError, Transient: true, Message: "529"}
	for _, c := range []rulingCase{
		{"nothing done", record(), ruling{SelectMode, planner, true}, []string{"no plan", "nothing has been done"}},
		{"no planner", with(record(), func(r *DecisionRecord) { r.Agents = agentsNamed("coder", developer) }),
			ruling{SelectMode, developer, false}, nil},
		{"strangers", with(record(), func(r *DecisionRecord) { r.Agents = agentsNamed("coder", "writer") }),
			ruling{SelectMode, "coder", false}, nil},
		{"a plan by the human", planned(record(), step("pending", tester)), ruling{SelectMode, tester, false},
			[]string{"Step 1", tester}},
		{"a step that names its agent",
			planned(record(ran(planner, 1, ok)), step("complete", planner), step("pending", tester)),
			ruling{SelectMode, tester, true}, []string{"Step 2"}},
		{"the same after a failure got over",
			with(planned(record(ran(planner, 1, ok), ran(developer, 2, bad)), step("skipped", ""),
				step("pending", tester)), func(r *DecisionRecord) { r.Error = nil }),
			ruling{SelectMode, tester, false}, nil},
		{"a step that names nobody", planned(record(ran(planner, 1, ok)), step("pending", "")),
			ruling{SelectMode, developer, false}, []string{"Step 1", "names no agent"}},
		{"a step that names a stranger", planned(record(ran(planner, 1, ok)), step("pending", "wizard")),
			ruling{SelectMode, developer, false}, []string{"names no agent"}},
		{"an error", record(ran(developer, 1, bad)), ruling{Retry, "", false}, []string{developer, "tool_failure"}},
		{"an error before any plan", record(ran(planner, 1, bad)), ruling{Retry, "", false}, []string{planner}},
		{"an error that passes", erring(record(ran(developer, 1, bad)), overload), ruling{Retry, "", true},
			[]string{"provider", "passes"}},
		{"an error that does not",
			erring(record(ran(developer, 1, bad)),
				DecisionFailure{Agent: developer, Category: ProviderError}),
			ruling{SelectMode, planner, false}, []string{"trying again helps nothing"}},
		{"two in a row", with(record(ran(developer, 1, bad), ran(developer, 2, bad)), func(r *DecisionRecord) {
			r.MaxConsecutiveFailures = 9
		}), ruling{SelectMode, planner, false}, []string{"failed 2 times in a row"}},
		{"failures forgiven", with(record(ran(developer, 1, bad), ran(developer, 2, bad)), func(r *DecisionRecord) {
			r.ConsecutiveFailures = 0
		}), ruling{Retry, "", false}, []string{developer}},
		{"nobody else", with(record(ran(developer, 1, bad), ran(developer, 2, bad)), func(r *DecisionRecord) {
			r.Agents = agentsNamed(developer)
		}), ruling{Retry, "", false}, []string{"2 failures in a row"}},
		{"an agent that is gone", with(record(ran("wizard", 1, bad)), func(r *DecisionRecord) {
			r.MaxConsecutiveFailures = 9
		}), ruling{SelectMode, developer, false}, []string{"wizard", "no longer exists"}},
		{"the limit", record(ran(developer, 1, bad), ran(developer, 2, bad), ran(planner, 3, bad)),
			ruling{Retry, "", false}, []string{"3 failures in a row", "limit"}},
		{"a whole plan, unchecked", planned(record(ran(developer, 1, ok)), step("complete", "")),
			ruling{SelectMode, tester, false}, []string{"Every step", "nobody has checked"}},
		{"a whole plan, checked", planned(record(ran(developer, 1, ok), ran(tester, 2, ok)), step("complete", "")),
			ruling{Complete, "", false}, []string{"Every step"}},
		{"one that was stopped", record(ran(planner, 1, cut)), ruling{SelectMode, planner, false},
			[]string{"nothing has succeeded"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			d, clear := SelectInput(c.task).Rule()
			checkRuling(t, c, d, clear)
		})
	}
}

func TestRulesEvaluate(t *testing.T) {
	twoFailures := with(record(ran(developer, 1, bad), ran(developer, 2, bad)), func(r *DecisionRecord) {
		r.MaxConsecutiveFailures = 9
	})
	overloaded := ran(developer, 1, bad)
	overloaded.Error = &DecisionFailure{Agent: developer, Category: ProviderError, Transient: true,
		Message: "overloaded"}
	stretch := ran(developer, 1, ok)
	for _, c := range []rulingCase{
		{"a planner without a plan", record(ran(planner, 1, ok)), ruling{SelectMode, developer, false},
			[]string{"no plan"}},
		{"then the developer", record(ran(planner, 1, ok), ran(developer, 2, ok)), ruling{SelectMode, tester, false},
			[]string{"tested"}},
		{"then the tester", record(ran(developer, 2, ok), ran(tester, 3, ok)), ruling{SelectMode, reviewer, false},
			[]string{"reviewed"}},
		{"then the reviewer", record(ran(tester, 3, ok), ran(reviewer, 4, ok)), ruling{Complete, "", false},
			[]string{reviewer}},
		{"no tester", with(record(ran(developer, 1, ok)), func(r *DecisionRecord) {
			r.Agents = agentsNamed(developer, reviewer)
		}), ruling{SelectMode, reviewer, false}, nil},
		{"nobody to check", with(record(ran("coder", 1, ok)), func(r *DecisionRecord) {
			r.Agents = agentsNamed("coder")
		}), ruling{Complete, "", false}, []string{"coder"}},
		{"no mode at all", record(ran(modeless, 1, ok)), ruling{SelectMode, tester, false}, []string{modeless}},
		{"the next step is the same agent's", planned(record(ran(developer, 1, ok)), step("complete", developer),
			step("pending", developer)), ruling{Continue, "", true}, []string{"Step 2", "goes on"}},
		{"the next step is another's", planned(record(ran(developer, 1, ok)), step("complete", developer),
			step("pending", reviewer)), ruling{SelectMode, reviewer, true}, []string{"Step 2", reviewer}},
		{"the next step names nobody", planned(record(ran(developer, 1, ok)), step("pending", "")),
			ruling{Continue, "", false}, []string{"Step 1"}},
		{"a modeless agent goes on", planned(record(ran(modeless, 1, ok)), step("pending", "")),
			ruling{Continue, "", false}, nil},
		{"a planner hands over", planned(record(ran(planner, 1, ok)), step("pending", "")),
			ruling{SelectMode, developer, false}, nil},
		{"a tester hands back", planned(record(ran(tester, 1, ok)), step("complete", ""), step("failed", "")),
			ruling{SelectMode, developer, false}, nil},
		{"whole and unchecked", planned(record(ran(developer, 1, ok)), step("complete", ""), step("skipped", "")),
			ruling{SelectMode, tester, false}, nil},
		{"whole and checked", planned(record(ran(developer, 1, ok), ran(reviewer, 2, ok)), step("complete", "")),
			ruling{Complete, "", false}, nil},
		{"checked before the last change",
			planned(record(ran(tester, 1, ok), ran(developer, 2, ok)), step("complete", "")),
			ruling{SelectMode, tester, false}, nil},
		{"a failure", record(ran(developer, 1, bad)), ruling{Retry, "", false},
			[]string{developer, "1 failure in a row of 3"}},
		{"a failure that passes", record(overloaded), ruling{Retry, "", true}, []string{"provider"}},
		{"out of time", record(ran(developer, 1, late)), ruling{Retry, "", false}, nil},
		{"the second failure of an agent", twoFailures, ruling{SelectMode, planner, false},
			[]string{"2 times in a row"}},
		{"the last but one", record(ran(developer, 1, bad), ran(tester, 2, bad)), ruling{SelectMode, planner, false},
			[]string{"one failure left"}},
		{"the limit", record(ran(developer, 1, bad), ran(developer, 2, bad), ran(developer, 3, bad)),
			ruling{Retry, "", false}, []string{"limit"}},
		{"the limit of all", with(record(ran(developer, 1, bad)), func(r *DecisionRecord) {
			r.MaxTotalFailures = 1
		}), ruling{Retry, "", false}, []string{"1 in all"}},
		{"a failure in a whole plan", planned(record(ran(tester, 1, bad)), step("complete", "")),
			ruling{Retry, "", false}, nil},
		{"stopped", planned(record(ran(developer, 1, cut)), step("pending", developer)),
			ruling{SelectMode, developer, false}, nil},
		{"too long under one summon", planned(record(stretch, stretch, stretch, stretch), step("pending", developer)),
			ruling{SelectMode, developer, false}, []string{"4 times under one summon"}},
		{"failing too long under one summon",
			with(record(stretch, stretch, stretch, ran(developer, 1, bad)), func(r *DecisionRecord) {
				r.Agents = agentsNamed(developer)
			}),
			ruling{SelectMode, developer, false}, []string{"4 times under one summon", "no other agent"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			d, clear := EvaluateInput(c.task).Rule()
			checkRuling(t, c, d, clear)
		})
	}
}

func checkRuling(t *testing.T, c rulingCase, d Decision, clear bool) {
	t.Helper()
	testkit.Same(t, fmt.Sprintf("the ruling :\n\nreason: %s", d.Reason), c.want, ruling{d.Decision, d.Mode, clear})
	testkit.Includes(t, "the reason does not name", d.Reason, c.facts...)
	checkWords(t, d)
}

// checkWords checks that every ruling consists of full sentences.
func checkWords(t *testing.T, d Decision) {
	t.Helper()
	testkit.Check(t, d.Source == ByRules && strings.HasSuffix(d.Reason, ".") && !strings.Contains(d.Reason, ".."),
		"source %q, reason %q: want a full sentence by the rules", d.Source, d.Reason)
	testkit.Check(t, (d.Decision == Complete) == (d.Summary != "") && (d.Decision != Complete) == (d.Message != ""),
		"%s has summary %q and message %q", d.Decision, d.Summary, d.Message)
}

func TestRulesWithoutAgents(t *testing.T) {
	ctx := context.Background()
	if d, err := (Rules{}).Decide(ctx, SelectAgentInput{}); !errors.Is(err, errNoAgents) {
		t.Errorf("selected %+v, %v, want ErrNoAgents", d, err)
	}
	r := record(ran(developer, 1, ok))
	r.Agents = nil
	d, err := Rules{}.Decide(ctx, EvaluateInput(r))
	testkit.Check(t, err == nil && d.Decision == Complete, "evaluated to %+v, %v, want COMPLETE: it needs no agent", d,
		err)
	r = record(ran(developer, 1, ok), ran(developer, 1, ok), ran(developer, 1, ok), ran(developer, 1, ok))
	r.Agents, r.Steps = nil, steps(step("pending", ""))
	d, err = (Rules{}).Decide(ctx, EvaluateInput(r))
	testkit.Check(t, errors.Is(err, errNoAgents), "evaluated to %+v, %v, want ErrNoAgents", d, err)
}

func TestRulesSummary(t *testing.T) {
	e := ran(reviewer, 2, ok)
	e.Output, e.Files = "All is\nwell", []string{"a.go", "b.go"}
	d, _ := EvaluateInput(planned(record(e), step("complete", ""), step("skipped", ""))).Rule()
	for _, fact := range []string{"Of 2 steps 1 were completed and 1 skipped", "weave a thread (skipped)",
		"All is well", "a.go, b.go"} {
		testkit.Includes(t, "the summary does not tell", d.Summary, fact)
	}
}

func TestRulesTellWhatWentWrong(t *testing.T) {
	d, _ := EvaluateInput(record(ran(developer, 1, bad))).Rule()
	testkit.Includes(t, "the message does not tell the error", d.Message, "in Bash: exit status 1")
}

// TestRulesNeverCompleteOverOpenWork: open work that a tester or reviewer reports is done, and then checked
// again by the agent that reported it. What others leave open does not prevent the end of a task.
func TestRulesNeverCompleteOverOpenWork(t *testing.T) {
	done := &DecisionPlan{Steps: []DecisionStep{{Index: 1, Status: "complete"}}, CurrentStepIndex: 1,
		IsComplete: true}
	half := &DecisionPlan{Steps: []DecisionStep{{Index: 1, Status: "complete"},
		{Index: 2, Mode: "reviewer", Status: "pending"}}, CurrentStepIndex: 1}
	const blocker, inTurn = "BLOCKER: it loses data", "developer tester reviewer"
	const all = "planner " + inTurn
	blocks := func(agent string, since ...string) []OpenPoint {
		return []OpenPoint{{Agent: agent, Remaining: []string{blocker}, Since: since}}
	}
	for _, c := range []struct {
		name, agents string
		plan         *DecisionPlan
		worked       string // successes, oldest first
		open         []OpenPoint
		want, says   string
	}{
		{"nothing is open", all, done, inTurn, nil, "COMPLETE", ""},
		{"the reviewer's blocker", all, done, inTurn, blocks("reviewer"), "SELECT_MODE developer", blocker},
		{"without a plan", all, nil, inTurn, blocks("reviewer"), "SELECT_MODE developer", blocker},
		{"somebody has worked since", all, done, "reviewer developer", blocks("reviewer", "developer"),
			"SELECT_MODE reviewer", blocker},
		{"somebody has only looked since", all, done, inTurn, blocks("tester", "reviewer"), "SELECT_MODE developer",
			blocker},
		{"before the next step", all, half, "developer tester", blocks("tester"), "SELECT_MODE developer", blocker},
		{"nobody else is there", "reviewer", done, "reviewer", blocks("reviewer"), "CONTINUE", blocker},
		{"who looked is not there any more", "developer", done, "developer", blocks("reviewer", "developer"),
			"CONTINUE", blocker},
		{"the developer's remark", all, done, inTurn, []OpenPoint{{Agent: "developer", Remaining: []string{"docs"}}},
			"COMPLETE", "docs (developer)"},
		{"a reviewer's question", all, done, inTurn,
			[]OpenPoint{{Agent: "reviewer", OpenQuestions: []string{"Is it wanted?"}}}, "COMPLETE",
			"Is it wanted? (reviewer)"},
	} {
		t.Run(c.name, func(t *testing.T) {
			in := EvaluateProgressInput{TaskInput: TaskInput{Task: "t", Plan: c.plan, OpenPoints: c.open}}
			for i, name := range strings.Fields(c.worked) {
				in.History = append(in.History,
					ExecutionSummary{Agent: name, Iteration: i + 1, Status: StatusSuccess})
			}
			in.LastExecution = in.History[len(in.History)-1]
			for _, name := range strings.Fields(c.agents) {
				in.AvailableAgents = append(in.AvailableAgents, AgentDescription{Name: name})
			}
			evaluated, clear := in.Rule()
			got := strings.TrimSpace(evaluated.Decision + " " + evaluated.Mode)
			testkit.Check(t, got == c.want && evaluated.Aside == (c.says == blocker),
				"evaluated: %s, aside %v (%s), want %s", got, evaluated.Aside, evaluated.Reason, c.want)
			testkit.Check(t, !clear, "it is called clear: a model would not be asked")
			testkit.Includes(t, "it says, and not", evaluated.Message+evaluated.Summary, c.says)
			selected, _ := SelectAgentInput{TaskInput: in.TaskInput}.Rule()
			testkit.Same(t, fmt.Sprintf("selected: %+v", selected), c.want == Complete, selected.Decision == Complete)
		})
	}
}

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
		e := ran(g.agent, g.task.CurrentIteration, status)
		add(&g.task, e)
		g.path = append(g.path, g.agent)
		if most := g.task.MaxIterations * maxStretches; len(g.path) > most {
			g.t.Fatalf("it goes on after %d executions in %d iterations: %v", most, g.task.CurrentIteration, g.path)
		}
		g.evaluates()
	}
}

func (g *game) selects() {
	d := testkit.Must(Rules{}.Decide(context.Background(), SelectInput(g.task)))(g.t)
	checkWords(g.t, d)
	switch {
	case d.Decision == Complete:
		g.result = "complete"
	case d.Decision == Retry && g.task.ConsecutiveFailures >= g.task.MaxConsecutiveFailures:
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
	d := testkit.Must(Rules{}.Decide(context.Background(), EvaluateInput(g.task)))(g.t)
	checkWords(g.t, d)
	switch {
	case d.Decision == Complete:
		g.result = "complete"
	case d.Decision == Retry && g.task.ConsecutiveFailures >= g.task.MaxConsecutiveFailures:
		g.result = "failed"
	case d.Decision == SelectMode:
		g.summons(d.Mode)
	case !g.alive():
		g.selects()
	}
}

func (g *game) summons(mode string) {
	testkit.Need(g.t, known(g.task.Agents, mode), "there is no agent %q", mode)
	if g.task.CurrentIteration >= g.task.MaxIterations {
		g.result = "limit"
		return
	}
	g.task.CurrentIteration++
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
		testkit.Need(t, g.task.CurrentIteration <= g.task.MaxIterations, "seed %d: %d iterations of %d", seed,
			g.task.CurrentIteration, g.task.MaxIterations)
		results[g.result]++
	}
	for _, r := range []string{"complete", "failed", "limit"} {
		testkit.Check(t, results[r] >= 100, "%d games end %s: the test shows too little of it: %v", results[r], r,
			results)
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
	g.task = DecisionRecord{Task: "Weave", Agents: agents, DecisionConstraints: DecisionConstraints{
		MaxIterations: 1 + rnd.IntN(30), MaxConsecutiveFailures: 1 + rnd.IntN(5)}}
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
			g.task = DecisionRecord{Task: "Weave", Agents: builtIn(),
				DecisionConstraints: DecisionConstraints{MaxIterations: 20, MaxConsecutiveFailures: 3}}
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
