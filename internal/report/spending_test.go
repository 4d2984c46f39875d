package report

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
)

var evening = time.Date(2026, 3, 14, 23, 0, 0, 0, time.UTC)

// play adds the events of two runs and a rehearsal: a turn before midnight and one after, one without
// models, a turn that was lost with its process, and the cost of a decider.
func play(t *testing.T) (all []Row) {
	t.Helper()
	var s Spending
	seq := uint64(0)
	end := func(run string) {
		for _, r := range s.Rows {
			r.Run = run
			all = append(all, r)
		}
		s = Spending{}
	}
	take := func(after time.Duration, id string, body contract.Body) {
		t.Helper()
		seq++
		at := evening.Add(after)
		line, err := contract.EncodeLine(nil, seq, at, contract.Event{ID: id, Body: body})
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Take(at, line[:len(line)-1]); err != nil {
			t.Fatal(err)
		}
	}
	ended := func(usd float64, models ...contract.ModelCost) contract.Turn {
		return contract.Turn{CostUSD: usd, Usage: bridge.Usage{Output: 1}, Models: models, Outcome: "done",
			MessageIDs: []string{}}
	}
	take(0, "supervisor", contract.Session{Session: "one"})
	take(0, "arbiter", contract.Cost{CostUSD: 0.4})
	take(0, "arbiter", ended(0.5, contract.ModelCost{Model: "large", CostUSD: 0.4, Usage: bridge.Usage{Output: 4}},
		contract.ModelCost{Model: "small", CostUSD: 0.1, Usage: bridge.Usage{Output: 2}}))
	take(time.Hour, "orch-1", ended(1, contract.ModelCost{Model: "large", CostUSD: 0.75}))
	take(time.Hour, "orch-1", contract.Cost{CostUSD: 0.25, Usage: bridge.Usage{Output: 7}})
	take(time.Hour, "orch-1", contract.Done{Reason: "crash"})
	take(time.Hour, "arbiter", contract.Decision{CostUSD: 0.05})
	end("one")
	take(2*time.Hour, "supervisor", contract.Session{Session: "two"})
	take(2*time.Hour, "orch-1", contract.Cost{CostUSD: 3})
	if usd := s.Live(); usd != 3 {
		t.Errorf("the running turn has cost $%v", usd)
	}
	take(3*time.Hour, "supervisor", contract.Session{Session: "two", Resumed: true}) // it was killed
	end("two")
	take(0, "supervisor", contract.Session{Session: "played", Rehearsal: true})
	take(0, "arbiter", ended(100))
	end("played")
	return all
}

func TestSums(t *testing.T) {
	output := func(n int) bridge.Usage { return bridge.Usage{Output: n} }
	for by, want := range map[SpendingBy][]Row{
		SpendingDay: {{Day: "2026-03-14", Turns: 1, CostUSD: 0.5, Usage: output(6)},
			{Day: "2026-03-15", Turns: 1, CostUSD: 4.3, Usage: output(7)}},
		SpendingRun: {{Run: "two", CostUSD: 3}, {Run: "one", Turns: 2, CostUSD: 1.8, Usage: output(13)}},
		SpendingAgent: {{Run: "two", Agent: "orch-1", CostUSD: 3},
			{Run: "one", Agent: "orch-1", Turns: 1, CostUSD: 1.25, Usage: output(7)},
			{Run: "one", Agent: "arbiter", Turns: 1, CostUSD: 0.5, Usage: output(6)},
			{Run: "one", Agent: "decider", CostUSD: 0.05}},
		SpendingModel: {{Model: SpendingUnknown, CostUSD: 3.55, Usage: output(7)},
			{Model: "large", Turns: 2, CostUSD: 1.15, Usage: output(4)},
			{Model: "small", CostUSD: 0.1, Usage: output(2)}},
	} {
		rows, total := GroupSpending(by, play(t))
		if diff := cmp.Diff(want, rows); diff != "" {
			t.Errorf("by %s (-want +got):\n%s", by, diff)
		}
		if total.CostUSD != 4.8 || total.Turns != 2 || total.Usage.Output != 13 {
			t.Errorf("by %s: total %+v", by, total)
		}
	}
}
