package decider

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/arbiter-cli/arbiter/internal/testkit"
)

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
	for _, f := range h.Failures {
		list = append(list, f.DecisionExecution)
	}
	return list
}

func iterations(list []DecisionExecution) []int {
	var got []int
	for _, e := range list {
		got = append(got, e.Iteration)
	}
	return got
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
			if want := tenth(100 * float64(succeeded) / float64(counted)); got.SuccessRate != want {
				t.Fatalf("after %d: %s succeeds at %v %%, want %v", i+1, name, got.SuccessRate, want)
			}
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
