package decider

import (
	"strings"
	"testing"
	"time"
)

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
	if many > few*1.1 {
		t.Errorf("inputs over 10,000 executions make %v allocations, over 20 %v", many, few)
	}
	if n := len(long.History.Recent); n > keptExecutions {
		t.Errorf("%d executions are kept", n)
	}
	if n := len(long.History.Failures); n > keptFailures {
		t.Errorf("%d failures are kept", n)
	}
	said := 0
	for _, e := range long.History.Recent {
		said += len(e.Output)
	}
	if most := keptOutputs*1200 + keptExecutions*SummaryRunes*4; said > most {
		t.Errorf("%d bytes of output are kept, want at most %d", said, most)
	}
	if d := long.History.Mean(); d != time.Second {
		t.Errorf("mean %v", d)
	}
}
