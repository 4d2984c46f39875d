package report

// This file sums up the cost of runs from their events: by day, by run, by agent or by model.

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
)

// SpendingBy is the grouping of the costs.
type SpendingBy string

// The groupings.
const (
	SpendingDay   SpendingBy = "day"
	SpendingRun   SpendingBy = "run"
	SpendingAgent SpendingBy = "agent"
	SpendingModel SpendingBy = "model"
)

// SpendingWays lists the groupings.
func SpendingWays() []SpendingBy {
	return []SpendingBy{SpendingDay, SpendingRun, SpendingAgent, SpendingModel}
}

// Row is the cost of one group. Of Day, Run, Agent and Model, those of the grouping are set.
type Row struct {
	Day     string       `json:"day,omitempty"`
	Run     string       `json:"run,omitempty"`
	Agent   string       `json:"agent,omitempty"`
	Model   string       `json:"model,omitempty"` // [SpendingUnknown] if it was not reported
	Turns   int          `json:"turns"`           // that ended
	CostUSD float64      `json:"cost_usd"`
	Usage   bridge.Usage `json:"usage"`
}

// SpendingUnknown stands for a model that was not reported.
const SpendingUnknown = "unknown"

// Sum adds up the costs of any number of runs.
type Sum struct {
	by   SpendingBy
	zone *time.Location
	rows map[key]*Row

	run       string
	rehearsal bool
	live      map[string]contract.Cost // of running turns, by agent: it is charged if the turn is lost
}

type key struct{ day, run, agent, model string }

// NewSpending returns an empty sum. Days are those of a time zone.
func NewSpending(by SpendingBy, zone *time.Location) *Sum {
	return &Sum{by: by, zone: zone, rows: map[key]*Row{}, live: map[string]contract.Cost{}}
}

// Begin begins the events of a run.
func (s *Sum) Begin(run string) {
	s.run, s.rehearsal = run, false
	clear(s.live)
}

// spendingWanted are the events that report costs, or that a running turn was lost.
var spendingWanted = map[string]bool{
	"session": true, "spawn": true, "cost": true, "turn": true, "decision": true, "done": true, "result": true,
}

// Take adds an event, as its line in an event log. The simulated costs of a rehearsal do not count.
func (s *Sum) Take(at time.Time, line []byte) error {
	if !spendingWanted[contract.EventNameOf(line)] {
		return nil
	}
	e, err := contract.DecodeWritten(line)
	if err != nil {
		return err
	}
	switch b := e.Body.(type) {
	case contract.Session:
		s.rehearsal = b.Rehearsal
		s.lose(at) // of the previous process of the run
	case contract.Result:
		s.lose(at)
	case contract.Spawn, contract.Done:
		s.loseOf(at, e.ID)
	case contract.Cost:
		s.live[e.ID] = b
	case contract.Turn:
		delete(s.live, e.ID)
		s.turn(at, e.ID, b)
	case contract.Decision:
		if b.CostUSD > 0 {
			s.charge(at, "decider", SpendingUnknown, b.CostUSD, bridge.Usage{}, 0)
		}
	}
	return nil
}

// noise is the maximum difference between a turn and the sum of its models, which are rounded separately.
const noise = 1e-4

// turn adds the cost of a finished turn, by models if those are reported.
func (s *Sum) turn(at time.Time, agent string, b contract.Turn) {
	rest, turns := b.CostUSD, 1
	for _, m := range b.Models {
		s.charge(at, agent, m.Model, m.CostUSD, m.Usage, turns)
		rest, turns = rest-m.CostUSD, 0
	}
	switch {
	case len(b.Models) == 0:
		s.charge(at, agent, SpendingUnknown, rest, b.Usage, turns)
	case rest > noise:
		s.charge(at, agent, SpendingUnknown, rest, bridge.Usage{}, turns)
	}
}

// lose adds the costs of turns whose end was not reported.
func (s *Sum) lose(at time.Time) {
	for _, agent := range slices.Sorted(maps.Keys(s.live)) {
		s.loseOf(at, agent)
	}
}

func (s *Sum) loseOf(at time.Time, agent string) {
	if c, ok := s.live[agent]; ok {
		delete(s.live, agent)
		s.charge(at, agent, SpendingUnknown, c.CostUSD, c.Usage, 0)
	}
}

func (s *Sum) charge(at time.Time, agent, model string, usd float64, used bridge.Usage, turns int) {
	if s.rehearsal || usd == 0 && used == (bridge.Usage{}) {
		return
	}
	var k key
	switch s.by {
	case SpendingDay:
		k.day = at.In(s.zone).Format(time.DateOnly)
	case SpendingRun:
		k.run = s.run
	case SpendingAgent:
		k.run, k.agent = s.run, agent
	case SpendingModel:
		k.model = model
	}
	row := s.rows[k]
	if row == nil {
		row = &Row{Day: k.day, Run: k.run, Agent: k.agent, Model: k.model}
		s.rows[k] = row
	}
	row.add(Row{Turns: turns, CostUSD: usd, Usage: used})
}

func (r *Row) add(o Row) {
	r.Turns += o.Turns
	r.CostUSD = contract.RoundUSD(r.CostUSD + o.CostUSD)
	r.Usage.Input += o.Usage.Input
	r.Usage.Output += o.Usage.Output
	r.Usage.CacheRead += o.Usage.CacheRead
	r.Usage.CacheCreation += o.Usage.CacheCreation
}

// Rows returns the sums, days in their order, all others by cost, and their total.
func (s *Sum) Rows() (rows []Row, total Row) {
	rows = []Row{}
	for _, r := range s.rows {
		rows = append(rows, *r)
		total.add(*r)
	}
	slices.SortFunc(rows, func(a, b Row) int {
		return cmp.Or(cmp.Compare(a.Day, b.Day), cmp.Compare(b.CostUSD, a.CostUSD), cmp.Compare(a.Run, b.Run),
			cmp.Compare(a.Agent, b.Agent), cmp.Compare(a.Model, b.Model))
	})
	return rows, total
}

// Live returns what the running turns of the current run have cost so far, which is not in the rows yet.
func (s *Sum) Live() (usd float64) {
	if s.rehearsal {
		return 0
	}
	for _, c := range s.live {
		usd += c.CostUSD
	}
	return usd
}
