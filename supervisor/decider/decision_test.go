package decider

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/arbiter-cli/arbiter/internal/testkit"
	"github.com/arbiter-cli/arbiter/supervisor/verdict"
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
		n := len([]rune(c.text))
		testkit.Check(t, n <= c.most && n >= c.most*3/4, "the %s has %d runes, want about %d", what, n, c.most)
	}
	for _, text := range []string{last.Output.Summary, last.Output.Full} {
		testkit.Check(t, strings.HasSuffix(text, "\nModified a.go\nFAIL: TestX"), "what is important is lost: …%s",
			text[len(text)-60:])
	}
	testkit.Same(t, "tokens", &Tokens{2, 1, 3}, last.Tokens)
	n := len(last.Output.FilesModified)
	testkit.Check(t, n == filesListed+1 && last.Output.FilesModified[filesListed] == "… and 10 more",
		"%d files are listed, the last %q", n, last.Output.FilesModified[n-1])
	for _, s := range slices.Concat(in.History, SelectInput(r).History) {
		testkit.Check(t, s.Output.Full == "" && s.Tokens == nil,
			"a history tells the full output or tokens of iteration %d", s.Iteration)
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
		testkit.Same(t, fmt.Sprintf("%s: p.CurrentStepIndex", c.statuses), c.current, p.CurrentStepIndex)
		testkit.Same(t, fmt.Sprintf("%s: complete", c.statuses), c.complete, p.IsComplete)
		for i, s := range p.Steps {
			testkit.Check(t, s.Index == i+1 &&
				slices.Contains([]string{"pending", "in_progress", "complete", "failed", "skipped"}, s.Status),
				"%s: step %d is %d, %s", c.statuses, i, s.Index, s.Status)
		}
		testkit.Same(t, fmt.Sprintf("%s: at hand is %v", c.statuses, p.Current()), c.complete, (p.Current() == nil))
		testkit.Same(t, fmt.Sprintf("%s: the record was changed", c.statuses), 0, r.Steps[0].Index)
	}
	for _, wrong := range []int{-1, 9} { // in an input that was written by hand
		p := (&DecisionPlan{Steps: make([]DecisionStep, 3), CurrentStepIndex: wrong})
		testkit.Check(t, p.Current() == nil && len(p.Near(2)) == 2, "a plan at %d has %v at hand", wrong, p.Current())
	}
	p := SelectInput(DecisionRecord{}).Plan
	testkit.Check(t, p == nil && p.Current() == nil && p.Near(3) == nil, "a plan without steps: %v", p)
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
		testkit.Need(t, p.Near(-1) == nil && len(p.Near(1000)) == 100, "bounds of Near")
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
	testkit.Check(t, got[0].Name == "developer" && got[1].DisplayName == "tester" && r.Agents[0].Name == "tester" &&
		r.Agents[0].DisplayName == "", "agents: %+v; the record's: %+v", got, r.Agents)
	testkit.Check(t, got[0].RecentPerformance.SuccessRate == 100 && got[1].RecentPerformance == nil,
		"performance: %v, %v", got[0].RecentPerformance, got[1].RecentPerformance)
	n := len([]rune(got[1].WhenToUse))
	testkit.Check(t, n <= agentRunes, "when to use has %d runes", n)
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
		{"fresh", DecisionRecord{DecisionConstraints: DecisionConstraints{MaxIterations: 50}}, 50, 0, 0, 0},
		{"beyond the limit",
			DecisionRecord{DecisionConstraints: DecisionConstraints{MaxIterations: 5, CurrentIteration: 7}},
			0, 0, 0, 0},
		{"two steps are left", DecisionRecord{Steps: open, History: h}, 0, 2000, 0, 0},
		{"the timeout bounds it", DecisionRecord{Steps: open, History: h, Timeout: 10 * time.Second,
			Elapsed: 9 * time.Second},
			0, 1000, 9000, 0},
		{"the timeout is over", DecisionRecord{Steps: open, History: h, Timeout: time.Second, Elapsed: 9 * time.Second}, 0, 0,
			9000, 0},
		{"clocks went backwards", DecisionRecord{Steps: open, History: h, Timeout: 10 * time.Second, Elapsed: -time.Hour,
			DecisionConstraints: DecisionConstraints{EstimatedTokensUsed: -1}}, 0, 2000, 0, 0},
		{"nothing to estimate from", DecisionRecord{Steps: open, Timeout: time.Hour}, 0, 0, 0, 0},
		{"nothing is left to do", DecisionRecord{Steps: []DecisionStep{{Status: "done"}}, History: h}, 0, 0, 0, 0},
		{"for ever", DecisionRecord{Steps: open,
			History: DecisionHistory{}.Add(DecisionExecution{StartedAt: start, CompletedAt: start.Add(1<<63 - 1)})}, 0,
			(1<<63 - 1) / 1_000_000, 0, 0},
	} {
		got := SelectInput(c.r).Constraints
		testkit.Check(t, got.IterationsRemaining == c.remaining && got.EstimatedTimeRemaining == c.estimate &&
			got.TimeElapsedMS == c.elapsed && int64(got.EstimatedTokensUsed) == c.tk, "%s: %+v", c.name, got)
	}
}

func TestNothingHostileBreaksAnInput(t *testing.T) {
	bad := "a\xffb"
	e := DecisionExecution{Agent: "developer", Status: StatusFailure, Output: bad,
		Error: &DecisionFailure{Message: bad, Attempted: bad, Command: bad}}
	r := DecisionRecord{Task: bad, Steps: []DecisionStep{{Description: bad}}, History: DecisionHistory{}.Add(e),
		Error: e.Error, Agents: []AgentDescription{{Name: "x", WhenToUse: bad}}}
	in, eval := SelectInput(r), EvaluateInput(r)
	for _, text := range []string{
		in.Task, eval.Task, in.Plan.Steps[0].Description, in.History[0].Output.Summary, in.History[0].Error.Message,
		eval.LastExecution.Output.Full, in.LastError.Attempted, in.LastError.Message,
		in.LastError.Context.CommandExecuted, in.AvailableAgents[0].WhenToUse,
	} {
		testkit.Same(t, "with the wrong byte replaced", "a\uFFFDb", text)
	}
}

// TestDocumentsReachBothInputs: the judged execution contains its full document, a history contains what it
// leaves open and the results of its checks, and both inputs contain what the last document of each mode leaves
// open.
func TestDocumentsReachBothInputs(t *testing.T) {
	given := &verdict.Document{
		Accomplished: []string{"read it"}, Remaining: []string{"BLOCKER: it loses data", " None. "},
		OpenQuestions: []string{"Which format?", "n/a"}, KeyContext: "the port is 8080",
		Decisions:   []verdict.Decision{{Choice: "a table", Rejected: "a switch", Why: "speed"}},
		Constraints: []string{"under 20 ms"}, Files: []string{"a.go"},
		Checks: []verdict.Check{{Command: "make test", Expect: "exit 0"}, {Command: "make lint", Expect: "exit 0"}},
		Claims: []verdict.Claim{{Claim: "tests pass", Check: 1}, {Claim: "lint is clean", Check: 2}},
	}
	receipts := []verdict.Receipt{
		{Result: verdict.CheckPassed, Output: "ok", SHA256: "ab"},
		{Result: verdict.CheckFailed, Why: "exit code 1, expected 0", Output: "a.go:1: no"},
	}
	whole := &DecisionDocument{
		Accomplished: []string{"read it"}, Remaining: []string{"BLOCKER: it loses data"},
		OpenQuestions: []string{"Which format?"}, KeyContext: "the port is 8080",
		Choices: []string{"a table — rejected: a switch — why: speed"}, Constraints: []string{"under 20 ms"},
		Files: []string{"a.go"}, Claims: []DecisionClaim{{"tests pass", "verified"}, {"lint is clean", "refuted"}},
		Checks: []DecisionCheck{
			{Command: "make test", Expect: "exit 0", Result: "passed"},
			{Command: "make lint", Expect: "exit 0", Result: "failed", Why: "exit code 1, expected 0",
				Output: "a.go:1: no"},
		},
	}
	brief := &DecisionDocument{
		Remaining: whole.Remaining, OpenQuestions: whole.OpenQuestions, KeyContext: whole.KeyContext,
		Claims: []DecisionClaim{{"lint is clean", "refuted"}},
		Checks: []DecisionCheck{{Command: "make test", Result: "passed"},
			{Command: "make lint", Result: "failed", Why: "exit code 1, expected 0"}},
	}
	r := full()
	r.History = DecisionHistory{}
	one := worked(3, "reviewer", StatusSuccess)
	one.Document = Handed(given, receipts)
	diff := cmp.Diff(whole, one.Document)
	testkit.Need(t, diff == "", "the document (-want +got):\n%s", diff)
	r.History = r.History.Add(one)
	r.Judged = one.ID
	open := []OpenPoint{{Agent: "reviewer", Iteration: one.Iteration, Remaining: whole.Remaining,
		OpenQuestions: whole.OpenQuestions}}
	s, e := SelectInput(r), EvaluateInput(r)
	for what, d := range map[string]string{
		"what is judged":            cmp.Diff(whole, e.LastExecution.Document),
		"an evaluation's history":   cmp.Diff(brief, e.History[0].Document),
		"a selection's last":        cmp.Diff(whole, s.History[0].Document),
		"a selection's points":      cmp.Diff(open, s.OpenPoints),
		"an evaluation's points":    cmp.Diff(open, e.OpenPoints),
		"what history itself tells": cmp.Diff(whole, r.History.Last(1)[0].Document),
	} {
		testkit.Same(t, what, "", d)
	}
	// Another agent works, and then the reviewer has nothing left: the point is reported with the agent that
	// worked, and is not reported after that.
	r.History = r.History.Add(worked(2, "developer", StatusSuccess))
	open[0].Since = []string{"developer"}
	testkit.Same(t, "worked since", open, SelectInput(r).OpenPoints)
	testkit.Same(t, "one that was followed by another", brief, SelectInput(r).History[0].Document)
	again := worked(1, "reviewer", StatusSuccess)
	again.Document = Handed(&verdict.Document{Accomplished: []string{"looked again"}, Remaining: []string{"Nothing."}},
		nil)
	r.History = r.History.Add(again)
	got := EvaluateInput(r).OpenPoints
	testkit.Check(t, got == nil, "still open: %+v", got)
}

// TestOpenPointsOutliveTheWindow: open points are kept beyond the window; a step of the plan is not an open
// point.
func TestOpenPointsOutliveTheWindow(t *testing.T) {
	r := full()
	r.History = DecisionHistory{}
	r.Steps = []DecisionStep{{Description: "developer: build it"}}
	plan := worked(90, "planner", StatusSuccess)
	plan.Document = Handed(&verdict.Document{Remaining: []string{"developer: build it"}}, nil)
	look := worked(80, "tester", StatusSuccess)
	look.Document = Handed(&verdict.Document{Remaining: []string{"the load was not tried"}}, nil)
	r.History = r.History.Add(plan).Add(look)
	for i := range 70 {
		r.History = r.History.Add(worked(70-i, "developer", StatusFailure))
	}
	want := []OpenPoint{{Agent: "tester", Iteration: look.Iteration, Remaining: []string{"the load was not tried"}}}
	testkit.Same(t, "open points", want, EvaluateInput(r).OpenPoints)
}

// TestDocumentsAreBounded: however long a document is.
func TestDocumentsAreBounded(t *testing.T) {
	long := strings.Repeat("word and word, ", 200)
	d := &verdict.Document{KeyContext: long}
	for i := range 100 {
		text := fmt.Sprint(i, " ", long)
		d.Remaining, d.OpenQuestions, d.Accomplished = append(d.Remaining, text), append(d.OpenQuestions, text),
			append(d.Accomplished, text)
		d.Constraints, d.Files = append(d.Constraints, text), append(d.Files, text)
		d.Decisions = append(d.Decisions, verdict.Decision{Choice: text})
		d.Claims, d.Checks = append(d.Claims, verdict.Claim{Claim: text}),
			append(d.Checks, verdict.Check{Command: text})
	}
	r := full()
	r.History = DecisionHistory{}
	for i := range 20 {
		e := worked(20-i, fmt.Sprint("mode", i), StatusSuccess)
		e.Document = Handed(d, nil)
		r.History = r.History.Add(e)
	}
	testkit.Same(t, "points remain", leftItems+1, len(r.History.Last(1)[0].Document.Remaining))
	for name, in := range map[string]any{"selection": SelectInput(r), "evaluation": EvaluateInput(r)} {
		raw := testkit.Must(json.Marshal(in))(t)
		testkit.Check(t, len(raw) <= 200_000, "the %s has %d bytes", name, len(raw))
	}
}

func TestRecoveryOptions(t *testing.T) {
	for _, c := range []struct {
		f    DecisionFailure
		want []DecisionAction
	}{
		{DecisionFailure{Category: ToolFailure}, []DecisionAction{DecisionRetry, DecisionSkip, DecisionFallback}},
		{DecisionFailure{Category: ProviderError, Transient: true}, []DecisionAction{DecisionRetry, DecisionFallback}},
		{DecisionFailure{Category: ProviderError}, []DecisionAction{DecisionFallback}},
		{DecisionFailure{Category: TimeoutError}, []DecisionAction{DecisionAbort, DecisionFallback}},
		{DecisionFailure{Category: PermissionError}, []DecisionAction{DecisionRetry, DecisionSkip, DecisionFallback}},
		{DecisionFailure{Category: ValidationError}, []DecisionAction{DecisionRetry, DecisionFallback}},
		{DecisionFailure{Category: AgentError}, []DecisionAction{DecisionRetry, DecisionAbort, DecisionFallback}},
		{DecisionFailure{Category: UnknownError}, []DecisionAction{DecisionRetry, DecisionSkip, DecisionFallback}},
		{DecisionFailure{}, []DecisionAction{DecisionRetry, DecisionSkip, DecisionFallback}},
		{DecisionFailure{Category: "new"}, []DecisionAction{DecisionRetry, DecisionSkip, DecisionFallback}},
	} {
		var got []DecisionAction
		for _, o := range RecoveryOptions(c.f) {
			got = append(got, o.Action)
			testkit.Check(t, o.Description != "" && o.Reason != "", "%s: %s says nothing", c.f.Category, o.Action)
		}
		testkit.Same(t, fmt.Sprintf("%s, transient %v", c.f.Category, c.f.Transient), c.want, got)
	}
}

func TestNothingIsSkippedWhereThereIsNoPlan(t *testing.T) {
	r := DecisionRecord{Error: &DecisionFailure{Message: "m"}}
	for _, o := range SelectInput(r).LastError.RecoveryOptions {
		testkit.Check(t, o.Action != DecisionSkip, "without a plan a step can be skipped")
	}
	r.Steps = []DecisionStep{{}}
	testkit.Same(t, "options with a plan", 3, len(SelectInput(r).LastError.RecoveryOptions))
	testkit.Same(t, "an error without a category", UnknownError, SelectInput(r).LastError.Category)
	testkit.Check(t, SelectInput(DecisionRecord{}).LastError == nil, "an error where there is none")
}

func TestToolCategory(t *testing.T) {
	for _, c := range []struct {
		message string
		denied  bool
		want    DecisionCategory
	}{
		{"Exit code 1", false, ToolFailure},
		{"", false, ToolFailure},
		{"", true, PermissionError},
		{"Command timed out after 2m", true, PermissionError},
		{"Exit code 143\nCommand timed out after 1s", false, TimeoutError},
		{"bash: ./x: Permission denied", false, PermissionError},
		{"EACCES: permission denied, open 'x'", false, PermissionError},
		{"Claude requested permissions to write to x, but you haven't granted it yet.", false, PermissionError},
		{"InputValidationError: Write failed: the required parameter `content` is missing", false, ValidationError},
		{"context deadline exceeded", false, TimeoutError},
	} {
		testkit.Same(t, fmt.Sprintf("%q, denied %v", c.message, c.denied), c.want, ToolCategory(c.message, c.denied))
	}
}

func TestCut(t *testing.T) {
	filler := strings.Repeat("Looked at this and that. ", 40)
	for _, c := range []struct {
		name, text string
		most       int
		want       string
	}{
		{"short", "  all of it \n", 20, "all of it"},
		{"exactly", "12345", 5, "12345"},
		{"exactly, in runes", "äöüßé", 5, "äöüßé"},
		{"at a word's end", "one two three four five six", 20, "one two three four…"},
		{"no words", strings.Repeat("x", 30), 10, "xxxxxxxxx…"},
		{"a mark stays with its letter", "e\u0301e\u0301e\u0301e\u0301e\u0301e\u0301", 8, "e\u0301e\u0301e\u0301…"},
		{"what is joined stays so", "ab👩\u200d👩\u200d👧cd", 6, "ab…"},
		{"not UTF-8", "a\xff\xfeb", 10, "a\uFFFDb"},
		{"nothing", "text", 0, ""},
		{"room for the mark", "text", 1, "…"},
		{"an error at the end", filler + "\nerror: no such file\n", 60,
			"Looked at this and that. Looked at this…\nerror: no such file"},
		{"an error in the midst of a paragraph", filler + "The build failed. " + filler, 60,
			"Looked at this and that. Looked at this…\nThe build failed."},
		{"files before steps", filler + "\nStep 2 is there\nModified a/b.go\nStep 3 is not\n", 60,
			"Looked at this and that. Looked at this and…\nModified a/b.go"},
		{"in their order", filler + "\nCreated x.go\nnothing\npanic: y\n", 80,
			"Looked at this and that. Looked at this and that. Looked…\nCreated x.go\npanic: y"},
		{"the last errors", filler + "\nerror one\nerror two\nerror six\n", 60,
			"Looked at this and that. Looked at this…\nerror two\nerror six"},
		{"the same once", filler + "\nerror one\nerror one\n", 60,
			"Looked at this and that. Looked at this and that.…\nerror one"},
	} {
		t.Run(c.name, func(t *testing.T) {
			testkit.Same(t, fmt.Sprintf("cut to %d", c.most), c.want, Cut(c.text, c.most))
		})
	}
}

func TestCutFindsTheWordInALongLine(t *testing.T) {
	text := strings.Repeat("a,", 3000) + `"error":"disk full"` + strings.Repeat(",b", 3000)
	testkit.Includes(t, "the error is lost", Cut(text, SummaryRunes), "disk full")
	text = strings.Repeat("line\n", 100_000) + "fatal: the end\n"
	got := Cut(text, SummaryRunes)
	testkit.Check(t, strings.HasSuffix(got, "\nfatal: the end"), "the error at the end of a long text is lost: %q", got)
}

func FuzzCut(f *testing.F) {
	f.Add("one two three", 5)
	f.Add("e\u0301\u200d🇩🇪🇫🇷 error: \xff\xfe", 7)
	f.Add(strings.Repeat("Modified a.go. failed İİİİİİ step ", 30), 40)
	f.Fuzz(func(t *testing.T, s string, most int) {
		most = max(min(most, 5000), -5)
		got := Cut(s, most)
		testkit.Check(t, utf8.ValidString(got), "cut to %d, %q is not UTF-8: %q", most, s, got)
		n := utf8.RuneCountInString(got)
		testkit.Check(t, n <= max(most, 0), "cut to %d, %q has %d runes: %q", most, s, n, got)
		testkit.Same(t, fmt.Sprintf("cut to %d twice", most), got, Cut(got, most))
		if short := strings.TrimSpace(s); utf8.ValidString(s) && utf8.RuneCountInString(short) <= most && got != short {
			t.Errorf("cut to %d, %q became %q", most, s, got)
		}
	})
}

var start = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

// worked is an execution that ends a second after it began, i seconds after the start.
func worked(i int, agent string, s DecisionStatus) DecisionExecution {
	e := DecisionExecution{
		Agent: agent, ID: fmt.Sprintf("orch-%d", i), Iteration: i + 1, Status: s, Output: fmt.Sprintf("output %d", i),
		StartedAt: start.Add(time.Duration(i) * time.Second), CompletedAt: start.Add(time.Duration(i+1) * time.Second),
		Tokens: Tokens{2, 1, 3},
	}
	if s == StatusFailure {
		e.Error = &DecisionFailure{Agent: agent, Message: fmt.Sprintf("error %d", i), Category: ToolFailure}
	}
	return e
}

func made(n int, status func(i int) DecisionStatus) DecisionHistory {
	var h DecisionHistory
	for i := range n {
		h = h.Add(worked(i, "developer", status(i)))
	}
	return h
}

func succeeding(int) DecisionStatus { return StatusSuccess }

// failures are the failures that a history keeps.
func failures(h DecisionHistory) (list []DecisionExecution) {
	return testkit.Each(h.Failures, func(f numbered) DecisionExecution { return f.DecisionExecution })
}

func iterations(list []DecisionExecution) []int {
	return testkit.Each(list, func(e DecisionExecution) int { return e.Iteration })
}

func TestHistoryCountsAllAndKeepsItsEnd(t *testing.T) {
	h := made(1000, func(i int) DecisionStatus {
		if i%100 == 99 {
			return StatusFailure
		}
		return StatusSuccess
	})
	testkit.Same(t, "executions", 1000, h.Len())
	testkit.Same(t, "the last three", []int{998, 999, 1000}, iterations(h.Last(3)))
	testkit.Same(t, "the last failures", []int{600, 700, 800, 900, 1000}, iterations(failures(h)))
	testkit.Same(t, "executions kept", keptExecutions, len(h.Last(5000)))
	got, want := h.Tokens, (Tokens{2000, 1000, 3000})
	testkit.Check(t, got == want, "tokens %v, want %v", got, want)
	testkit.Same(t, "mean", time.Second, h.Mean())
	testkit.Same(t, "the last -1", 0, len(h.Last(-1)))
}

func TestHistoryForgetsWhatOldExecutionsSaid(t *testing.T) {
	long := strings.Repeat("word ", 1000)
	var h DecisionHistory
	for i := range keptOutputs + 1 {
		e := worked(i, "developer", StatusFailure)
		e.Output = long
		h = h.Add(e)
	}
	list := h.Last(keptOutputs + 1)
	n := len([]rune(list[0].Output))
	testkit.Check(t, n <= SummaryRunes, "the oldest output has %d runes, want at most %d", n, SummaryRunes)
	for i, e := range list[1:] {
		testkit.Same(t, fmt.Sprintf("the output of execution %d was shortened", i+1), long, e.Output)
	}
	for _, e := range failures(h) {
		testkit.Same(t, fmt.Sprintf("the output of failure %d was shortened", e.Iteration), long, e.Output)
	}
}

// TestAddsDoNotSeeEachOther extends two histories from one value, at every length around those at which
// something is dropped or shortened.
func TestAddsDoNotSeeEachOther(t *testing.T) {
	for n := range 2*keptExecutions + 2 {
		old := made(n, func(i int) DecisionStatus { return []DecisionStatus{StatusSuccess, StatusFailure}[i%2] })
		before := old.Last(keptExecutions)
		a := old.Add(worked(7000, "a", StatusFailure))
		b := old.Add(worked(8000, "b", StatusSuccess))
		got := a.Last(1)[0].Agent + b.Last(1)[0].Agent
		testkit.Need(t, got == "ab", "after %d: two Adds ended in %q, want ab", n, got)
		testkit.Need(t, a.Performance("b") == nil && b.Performance("a") == nil && old.Performance("a") == nil,
			"after %d: one history has figures of the other", n)
		diff := cmp.Diff(before, old.Last(keptExecutions))
		testkit.Need(t, diff == "", "after %d: Add changed the value it was given:\n%s", n, diff)
		if f := failures(a); f[len(f)-1].Agent != "a" || len(failures(b)) != len(failures(old)) {
			t.Fatalf("after %d: failures mixed: %+v", n, f)
		}
	}
}

func TestHistoryIsReadWhileItGrows(t *testing.T) {
	h := made(100, succeeding)
	var readers sync.WaitGroup
	for range 4 {
		readers.Go(func() {
			for i := range 50 {
				_ = h.Add(worked(i, "tester", StatusFailure))
				testkit.Check(t, len(h.Last(20)) == 20 && h.Performance("developer") != nil,
					"the history changed under its readers")
			}
		})
	}
	readers.Wait()
}

func TestPerformance(t *testing.T) {
	var h DecisionHistory
	testkit.Check(t, h.Performance("developer") == nil, "one who has not worked has figures")
	h = h.Add(worked(0, "developer", StatusCancelled))
	testkit.Check(t, h.Performance("developer") == nil, "what was cancelled counts")
	for i, s := range []DecisionStatus{StatusFailure, StatusTimeout, StatusSuccess, StatusSuccess, StatusFailure} {
		h = h.Add(worked(i, "developer", s)).Add(worked(i, "tester", StatusFailure))
	}
	want := &DecisionPerformance{
		LastSuccess: "2026-01-02T03:04:09.000Z", LastFailure: "2026-01-02T03:04:10.000Z",
		SuccessRate: 40, IterationAverage: 2, // three executions up to the first success, one up to the second
	}
	testkit.Same(t, "the developer's", want, h.Performance("developer"))
	want = &DecisionPerformance{LastFailure: "2026-01-02T03:04:10.000Z"}
	testkit.Same(t, "the tester's", want, h.Performance("tester"))
	at := time.Date(2026, 1, 2, 3, 4, 10, 0, time.UTC)
	counts := []DecisionCount{{"developer", 2, 3, 4, at.Add(-time.Second), at, 15, 5 * time.Second},
		{"tester", 0, 5, 0, time.Time{}, at, 15, 5 * time.Second}}
	testkit.Same(t, "counts", counts, h.Counts())
}

// TestFiguresAgreeWithAllThatWas computes the statistics from a plain list, for histories far longer than what
// is kept.
func TestFiguresAgreeWithAllThatWas(t *testing.T) {
	var h DecisionHistory
	var all []DecisionExecution
	statuses := []DecisionStatus{StatusSuccess, StatusFailure, StatusTimeout, StatusCancelled}
	names := []string{"tester", "developer", "planner"}
	for i := range 500 {
		e := worked(i, names[i*i%7%3], statuses[i*i*i%11%4])
		all, h = append(all, e), h.Add(e)
		for _, name := range names {
			succeeded, counted, untilSuccess := 0, 0, 0
			for _, e := range all {
				if e.Agent != name || e.Status == StatusCancelled {
					continue
				}
				if counted++; e.Status == StatusSuccess {
					succeeded++
					untilSuccess = counted
				}
			}
			got := h.Performance(name)
			if counted == 0 {
				testkit.Need(t, got == nil, "after %d: %s has figures and has not worked", i+1, name)
				continue
			}
			want := tenth(100 * float64(succeeded) / float64(counted))
			testkit.Need(t, got.SuccessRate == want, "after %d: %s succeeds at %v %%, want %v", i+1, name, got.SuccessRate, want)
			testkit.Need(t, succeeded <= 0 || got.IterationAverage == tenth(float64(untilSuccess)/float64(succeeded)),
				"after %d: %s needs %v to a success, want %d/%d", i+1, name, got.IterationAverage, untilSuccess,
				succeeded)
		}
		failed := slices.DeleteFunc(slices.Clone(all), func(e DecisionExecution) bool { return !e.Failed() })
		diff := cmp.Diff(iterations(failed[max(len(failed)-5, 0):]), iterations(failures(h)))
		testkit.Need(t, diff == "", "after %d: the last failures (-want +got):\n%s", i+1, diff)
	}
}

// busy is a record with so many executions of the usual length. The latest ones are equal however many there are.
func busy(n int) DecisionRecord {
	r := full()
	r.History = DecisionHistory{}
	for i := range n {
		e := worked(n-i, []string{"developer", "tester"}[i%2],
			[]DecisionStatus{StatusSuccess, StatusSuccess, StatusSuccess, StatusFailure}[(n-i)%4])
		e.Output = strings.Repeat("Looked at the handler and changed it as the plan says. ", 20) +
			"\nModified auth/login.go\nPASS: 12 passed\n"
		e.Files = []string{"auth/login.go"}
		r.History = r.History.Add(e)
	}
	return r
}

// TestInputsCostTheWindow: building an input from a history of 10,000 executions needs as many allocations as
// from one of 20, and memory contains only what is kept.
func TestInputsCostTheWindow(t *testing.T) {
	short := busy(20)
	long := busy(10_000)
	few := testing.AllocsPerRun(20, func() { SelectInput(short); EvaluateInput(short) })
	many := testing.AllocsPerRun(20, func() { SelectInput(long); EvaluateInput(long) })
	testkit.Check(t, many <= few*1.1, "inputs over 10,000 executions make %v allocations, over 20 %v", many, few)
	n := len(long.History.Recent)
	testkit.Check(t, n <= keptExecutions, "%d executions are kept", n)
	n = len(long.History.Failures)
	testkit.Check(t, n <= keptFailures, "%d failures are kept", n)
	said := 0
	for _, e := range long.History.Recent {
		said += len(e.Output)
	}
	most := keptOutputs*1200 + keptExecutions*SummaryRunes*4
	testkit.Check(t, said <= most, "%d bytes of output are kept, want at most %d", said, most)
	testkit.Same(t, "mean", time.Second, long.History.Mean())
}
