package decider

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
)

// busy is a record with so many executions of the usual length, and the same as a plain list. The latest ones
// are equal however many there are.
func busy(n int) (DecisionRecord, []DecisionExecution) {
	r := full()
	r.History = DecisionHistory{}
	all := make([]DecisionExecution, 0, n)
	for i := range n {
		e := worked(n-i, []string{"developer", "tester"}[i%2],
			[]DecisionStatus{StatusSuccess, StatusSuccess, StatusSuccess, StatusFailure}[(n-i)%4])
		e.Output = strings.Repeat("Looked at the handler and changed it as the plan says. ", 20) +
			"\nModified auth/login.go\nPASS: 12 passed\n"
		e.Files = []string{"auth/login.go"}
		r.History, all = r.History.Add(e), append(all, e)
	}
	return r, all
}

// BenchmarkSelect builds an input from histories of 20 and of 10,000 executions, and, for comparison, with
// SPEC-0006's own algorithm, from a list of all executions. The last case reports both as multiples of the
// short history's cost.
func BenchmarkSelect(b *testing.B) {
	cost := map[string]float64{}
	for _, n := range []int{20, 10_000} {
		r, all := busy(n)
		name := fmt.Sprintf("of%d", n)
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				SelectInput(r)
			}
			cost[name] = perOp(b)
			if base := cost["of20"]; n > 20 && base > 0 {
				b.ReportMetric(cost[name]/base, "x_of20")
			}
		})
		b.Run(name+"/specification", func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				in := SelectInput(DecisionRecord{Task: r.Task, Steps: r.Steps, Error: r.Error})
				in.History = asSpecified(all, selectWindow)
				in.AvailableAgents = []AgentDescription{{Name: "developer",
					RecentPerformance: figuresAsSpecified(all, "developer")}}
			}
			if base := cost["of20"]; base > 0 {
				b.ReportMetric(perOp(b)/base, "x_of20")
			}
		})
	}
}

func perOp(b *testing.B) float64 { return float64(b.Elapsed().Nanoseconds()) / float64(b.N) }

// asSpecified is SPEC-0006's buildExecutionHistory: it searches the whole list for the failures, and for the
// place of each entry.
func asSpecified(all []DecisionExecution, window int) []ExecutionSummary {
	failure := func(e DecisionExecution) bool { return e.Status == StatusFailure }
	last := all[max(len(all)-window, 0):]
	var failed, others []DecisionExecution
	for _, e := range last {
		if !failure(e) {
			others = append(others, e)
		}
	}
	entries := last
	if len(last)-len(others) > manyFailures {
		for _, e := range all {
			if failure(e) {
				failed = append(failed, e)
			}
		}
		entries = slices.Concat(failed[max(len(failed)-5, 0):], others)
	}
	out := make([]ExecutionSummary, len(entries))
	for i, e := range entries {
		at := slices.IndexFunc(all, func(x DecisionExecution) bool { return x.ID == e.ID })
		out[i] = summary(numbered{at, kept{DecisionExecution: e, Summary: Cut(e.Output, SummaryRunes)}})
		out[i].Iteration = at + 1
	}
	return out
}

// figuresAsSpecified computes an agent's performance in the plain way. SPEC-0006 requires it and gives no
// algorithm.
func figuresAsSpecified(all []DecisionExecution, agent string) *DecisionPerformance {
	p, succeeded, counted := DecisionPerformance{}, 0, 0
	for _, e := range all {
		if e.Agent != agent {
			continue
		}
		if counted++; e.Status == StatusSuccess {
			succeeded++
			p.LastSuccess = stamp(e.CompletedAt)
		} else {
			p.LastFailure = stamp(e.CompletedAt)
		}
	}
	p.SuccessRate = tenth(100 * float64(succeeded) / float64(max(counted, 1)))
	return &p
}

func BenchmarkAdd(b *testing.B) {
	for _, n := range []int{20, 10_000} {
		b.Run(fmt.Sprintf("to%d", n), func(b *testing.B) {
			r, all := busy(n)
			b.ReportAllocs()
			for b.Loop() {
				r.History.Add(all[0])
			}
		})
	}
}

// TestInputsCostTheWindow: building an input from a history of 10,000 executions needs as many allocations as
// from one of 20, and memory contains only what is kept.
func TestInputsCostTheWindow(t *testing.T) {
	short, _ := busy(20)
	long, _ := busy(10_000)
	few := testing.AllocsPerRun(20, func() { SelectInput(short); EvaluateInput(short) })
	many := testing.AllocsPerRun(20, func() { SelectInput(long); EvaluateInput(long) })
	if many > few*1.1 {
		t.Errorf("inputs over 10,000 executions make %v allocations, over 20 %v", many, few)
	}
	if n := len(long.History.recent); n > keptExecutions {
		t.Errorf("%d executions are kept", n)
	}
	if n := len(long.History.failures); n > keptFailures {
		t.Errorf("%d failures are kept", n)
	}
	said := 0
	for _, e := range long.History.recent {
		said += len(e.Output)
	}
	if most := keptOutputs*1200 + keptExecutions*SummaryRunes*4; said > most {
		t.Errorf("%d bytes of output are kept, want at most %d", said, most)
	}
	if d := long.History.Mean(); d != time.Second {
		t.Errorf("mean %v", d)
	}
}
