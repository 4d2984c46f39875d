package decider

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/arbiter-cli/arbiter/internal/testkit"
)

func shown(list []ExecutionSummary) []int {
	got := []int{}
	for _, e := range list {
		got = append(got, e.Iteration)
	}
	return got
}

func TestWindows(t *testing.T) {
	failing := func(at ...int) func(int) DecisionStatus {
		return func(i int) DecisionStatus {
			if slices.Contains(at, i+1) {
				return StatusFailure
			}
			return StatusSuccess
		}
	}
	for _, c := range []struct {
		name             string
		n                int
		status           func(int) DecisionStatus
		selected, judged []int
	}{
		{"none", 0, succeeding, []int{}, []int{}},
		{"few", 3, succeeding, []int{1, 2, 3}, []int{1, 2, 3}},
		{"many", 30, succeeding, []int{21, 22, 23, 24, 25, 26, 27, 28, 29, 30}, []int{26, 27, 28, 29, 30}},
		{"two failures do not widen", 30, failing(1, 2, 3, 29, 30), []int{21, 22, 23, 24, 25, 26, 27, 28, 29, 30},
			[]int{26, 27, 28, 29, 30}},
		{"three bring the last five", 30, failing(2, 4, 6, 28, 29, 30),
			[]int{4, 6, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30}, []int{4, 6, 26, 27, 28, 29, 30}},
		{"failures before the small window", 30, failing(22, 23, 24, 30), []int{21, 22, 23, 24, 25, 26, 27, 28, 29, 30},
			[]int{26, 27, 28, 29, 30}},
		{"none is dropped that is in the window", 30, failing(21, 22, 23, 24, 25, 26, 27, 28, 29, 30),
			[]int{21, 22, 23, 24, 25, 26, 27, 28, 29, 30}, []int{26, 27, 28, 29, 30}},
		{"timeouts are failures", 30, func(i int) DecisionStatus {
			if i == 0 || i > 26 {
				return StatusTimeout
			}
			return StatusSuccess
		}, []int{1, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30}, []int{1, 26, 27, 28, 29, 30}},
		{"what was cancelled is none", 30, func(i int) DecisionStatus {
			if i == 0 {
				return StatusFailure
			}
			return StatusCancelled
		}, []int{21, 22, 23, 24, 25, 26, 27, 28, 29, 30}, []int{26, 27, 28, 29, 30}},
		{"failures of long ago", 1000, failing(1, 2, 998, 999, 1000),
			[]int{1, 2, 991, 992, 993, 994, 995, 996, 997, 998, 999, 1000}, []int{1, 2, 996, 997, 998, 999, 1000}},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := DecisionRecord{History: made(c.n, c.status)}
			testkit.Same(t, "a selection's history", c.selected, shown(SelectInput(r).History))
			testkit.Same(t, "an evaluation's history", c.judged, shown(EvaluateInput(r).History))
		})
	}
}

func TestOutputsByTheirReader(t *testing.T) {
	e := worked(0, "developer", StatusFailure)
	e.Output = strings.Repeat("Tried a thing. ", 400) + "\nModified a.go\nFAIL: TestX\n"
	e.Error.Message = strings.Repeat("error ", 500)
	for i := range 50 {
		e.Files = append(e.Files, fmt.Sprintf("f%d.go", i))
	}
	r := DecisionRecord{History: made(2, succeeding).Add(e)}
	in := EvaluateInput(r)
	last := in.LastExecution
	for what, c := range map[string]struct {
		text string
		most int
	}{
		"summary": {last.Output.Summary, 300}, "full output": {last.Output.Full, 2000},
		"message": {last.Error.Message, 300},
	} {
		if n := len([]rune(c.text)); n > c.most || n < c.most*3/4 {
			t.Errorf("the %s has %d runes, want about %d", what, n, c.most)
		}
	}
	for _, text := range []string{last.Output.Summary, last.Output.Full} {
		if !strings.HasSuffix(text, "\nModified a.go\nFAIL: TestX") {
			t.Errorf("what is important is lost: …%s", text[len(text)-60:])
		}
	}
	testkit.Same(t, "tokens", &Tokens{2, 1, 3}, last.Tokens)
	if n := len(last.Output.FilesModified); n != filesListed+1 ||
		last.Output.FilesModified[filesListed] != "… and 10 more" {
		t.Errorf("%d files are listed, the last %q", n, last.Output.FilesModified[n-1])
	}
	for _, s := range slices.Concat(in.History, SelectInput(r).History) {
		if s.Output.Full != "" || s.Tokens != nil {
			t.Errorf("a history tells the full output or tokens of iteration %d", s.Iteration)
		}
	}
}

func TestExecutionsWithoutNumbersAreNumbered(t *testing.T) {
	var h DecisionHistory
	for range 20 {
		h = h.Add(DecisionExecution{Agent: "developer", Status: StatusSuccess})
	}
	in := EvaluateInput(DecisionRecord{History: h})
	testkit.Same(t, "iterations", []int{16, 17, 18, 19, 20}, shown(in.History))
	if e := in.LastExecution; e.DurationMS != 0 || e.StartedAt != "" || e.Output != nil || e.Tokens != nil {
		t.Errorf("an execution without figures has some: %+v", e)
	}
}

func TestPlans(t *testing.T) {
	for _, c := range []struct {
		statuses string
		current  int
		complete bool
	}{
		{"pending pending", 0, false},
		{"done active pending", 1, false},
		{"complete in_progress", 1, false},
		{"done failed pending", 1, false},
		{"skipped done pending", 2, false},
		{"done skipped", 2, true},
		{"failed", 0, false},
	} {
		var r DecisionRecord
		for _, s := range strings.Fields(c.statuses) {
			r.Steps = append(r.Steps, DecisionStep{Description: s, Status: s})
		}
		p := SelectInput(r).Plan
		if p.CurrentStepIndex != c.current || p.IsComplete != c.complete {
			t.Errorf("%s: at %d, complete %v; want %d, %v", c.statuses, p.CurrentStepIndex, p.IsComplete, c.current,
				c.complete)
		}
		for i, s := range p.Steps {
			if s.Index != i+1 || !slices.Contains([]string{"pending", "in_progress", "complete", "failed", "skipped"},
				s.Status) {
				t.Errorf("%s: step %d is %d, %s", c.statuses, i, s.Index, s.Status)
			}
		}
		if (p.Current() == nil) != c.complete {
			t.Errorf("%s: at hand is %v", c.statuses, p.Current())
		}
		if r.Steps[0].Index != 0 {
			t.Errorf("%s: the record was changed", c.statuses)
		}
	}
	for _, wrong := range []int{-1, 9} { // in an input that was written by hand
		if p := (&DecisionPlan{Steps: make([]DecisionStep, 3), CurrentStepIndex: wrong}); p.Current() != nil ||
			len(p.Near(2)) != 2 {
			t.Errorf("a plan at %d has %v at hand", wrong, p.Current())
		}
	}
	if p := SelectInput(DecisionRecord{}).Plan; p != nil || p.Current() != nil || p.Near(3) != nil {
		t.Errorf("a plan without steps: %v", p)
	}
}

func TestStepsNearTheOneAtHand(t *testing.T) {
	for at := range 101 {
		p := &DecisionPlan{Steps: make([]DecisionStep, 100), CurrentStepIndex: at}
		for i := range p.Steps {
			p.Steps[i].Index = i + 1
		}
		near := p.Near(12)
		if len(near) != 12 || at < 100 && !slices.ContainsFunc(near, func(s DecisionStep) bool { return s.Index == at+1 }) {
			t.Fatalf("at %d: %d steps from %d", at, len(near), near[0].Index)
		}
		if p.Near(-1) != nil || len(p.Near(1000)) != 100 {
			t.Fatal("bounds of Near")
		}
	}
}

func TestAgentsAreSortedAndBounded(t *testing.T) {
	r := DecisionRecord{
		Agents: []AgentDescription{
			{Name: "tester", WhenToUse: strings.Repeat("when ", 1000)},
			{Name: "developer", DisplayName: "Development Agent", Tools: ToolLists{Allowed: []string{"Read"}}},
		},
		History: made(3, succeeding),
	}
	got := SelectInput(r).AvailableAgents
	if got[0].Name != "developer" || got[1].DisplayName != "tester" || r.Agents[0].Name != "tester" ||
		r.Agents[0].DisplayName != "" {
		t.Errorf("agents: %+v; the record's: %+v", got, r.Agents)
	}
	if got[0].RecentPerformance.SuccessRate != 100 || got[1].RecentPerformance != nil {
		t.Errorf("performance: %v, %v", got[0].RecentPerformance, got[1].RecentPerformance)
	}
	if n := len([]rune(got[1].WhenToUse)); n > agentRunes {
		t.Errorf("when to use has %d runes", n)
	}
	testkit.Same(t, "an evaluation's agents differ", got, EvaluateInput(r).AvailableAgents)
}

func TestConstraints(t *testing.T) {
	open := []DecisionStep{{Status: "done"}, {Status: "failed"}, {Status: "pending"}, {Status: "skipped"}}
	h := made(4, succeeding) // a second each
	for _, c := range []struct {
		name                  string
		r                     DecisionRecord
		remaining             int
		estimate, elapsed, tk int64
	}{
		{"fresh", DecisionRecord{MaxIterations: 50}, 50, 0, 0, 0},
		{"beyond the limit", DecisionRecord{MaxIterations: 5, Iteration: 7}, 0, 0, 0, 0},
		{"two steps are left", DecisionRecord{Steps: open, History: h}, 0, 2000, 0, 0},
		{"the timeout bounds it", DecisionRecord{Steps: open, History: h, Timeout: 10 * time.Second,
			Elapsed: 9 * time.Second},
			0, 1000, 9000, 0},
		{"the timeout is over", DecisionRecord{Steps: open, History: h, Timeout: time.Second, Elapsed: 9 * time.Second}, 0, 0,
			9000, 0},
		{"clocks went backwards", DecisionRecord{Steps: open, History: h, Timeout: 10 * time.Second, Elapsed: -time.Hour,
			TokensUsed: -1}, 0, 2000, 0, 0},
		{"nothing to estimate from", DecisionRecord{Steps: open, Timeout: time.Hour}, 0, 0, 0, 0},
		{"nothing is left to do", DecisionRecord{Steps: []DecisionStep{{Status: "done"}}, History: h}, 0, 0, 0, 0},
		{"for ever", DecisionRecord{Steps: open,
			History: DecisionHistory{}.Add(DecisionExecution{StartedAt: start, CompletedAt: start.Add(1<<63 - 1)})}, 0,
			(1<<63 - 1) / 1_000_000, 0, 0},
	} {
		got := SelectInput(c.r).Constraints
		if got.IterationsRemaining != c.remaining || got.EstimatedTimeRemaining != c.estimate ||
			got.TimeElapsedMS != c.elapsed || int64(got.EstimatedTokensUsed) != c.tk {
			t.Errorf("%s: %+v", c.name, got)
		}
	}
}

func TestNothingHostileBreaksAnInput(t *testing.T) {
	bad := "a\xffb"
	e := DecisionExecution{Agent: "developer", Status: StatusFailure, Output: bad,
		Error: &DecisionFailure{Message: bad, Attempted: bad, Command: bad}}
	r := DecisionRecord{
		Task:    bad,
		Steps:   []DecisionStep{{Description: bad}},
		History: DecisionHistory{}.Add(e),
		Error:   e.Error,
		Agents:  []AgentDescription{{Name: "x", WhenToUse: bad}},
	}
	in, eval := SelectInput(r), EvaluateInput(r)
	for _, text := range []string{
		in.Task, eval.Task, in.Plan.Steps[0].Description, in.History[0].Output.Summary, in.History[0].Error.Message,
		eval.LastExecution.Output.Full, in.LastError.Attempted, in.LastError.Message,
		in.LastError.Context.CommandExecuted, in.AvailableAgents[0].WhenToUse,
	} {
		if text != "a\uFFFDb" {
			t.Errorf("%q, want the wrong byte replaced", text)
		}
	}
}
