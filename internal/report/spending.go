package report

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/sanitize"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/words"
)

// This file sums up the cost of runs from their events: by day, by run, by agent or by model.

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
var SpendingWays = []SpendingBy{SpendingDay, SpendingRun, SpendingAgent, SpendingModel}

// Row is the cost of one group, which Day, Run, Agent and Model name: those of the grouping are set.
type Row struct {
	Day     string       `json:"day,omitempty"`
	Run     string       `json:"run,omitempty"`
	Agent   string       `json:"agent,omitempty"`
	Model   string       `json:"model,omitempty"` // [SpendingUnknown] if it was not reported
	Turns   int          `json:"turns"`           // that ended
	CostUSD float64      `json:"cost_usd"`
	Usage   bridge.Usage `json:"usage"`
	Unknown bool         `json:"cost_unknown,omitempty"` // a turn has cost more, and nobody knows how much
}

// SpendingUnknown stands for a model that was not reported.
const SpendingUnknown = "unknown"

// Spending is what one run has cost, from its events.
type Spending struct {
	Rows []Row `json:"rows"` // by day, agent and model, without the run
	contract.Charges

	ForkedFrom *contract.Fork `json:"forked_from,omitempty"`
}

// spendingWanted are the events that report costs, or that a running turn was lost.
var spendingWanted = map[string]bool{
	"session": true, "spawn": true, "cost": true, "turn": true, "decision": true, "done": true, "result": true,
}

// Take adds the next event, as its line in the run's event log. Days are those of the location of at.
func (s *Spending) Take(at time.Time, line []byte) error {
	if !spendingWanted[contract.EventNameOf(line)] {
		return nil
	}
	e, err := contract.DecodeWritten(line)
	if err != nil {
		return err
	}
	if b, ok := e.Body.(contract.Session); ok {
		if f := b.ForkedFrom; f != nil && (s.ForkedFrom == nil || *f != *s.ForkedFrom) {
			*s = Spending{ForkedFrom: f} // the costs so far are of the run that this one branched off from
		}
	}
	s.event(at, e)
	return nil
}

func (s *Spending) event(at time.Time, e contract.Event) {
	for _, c := range s.Charges.Take(e) {
		r := Row{Agent: c.ID, Model: SpendingUnknown, CostUSD: c.CostUSD, Usage: c.Usage}
		switch {
		case c.Turn != nil:
			s.turn(at, c.ID, *c.Turn)
			continue
		case c.ID == contract.Supervisor:
			r.Agent = "decider"
		}
		s.charge(at, r)
	}
}

// noise is the maximum difference between a turn and the sum of its models, which are rounded separately.
const noise = 1e-4

// turn adds the cost of a finished turn, by models if those are reported.
func (s *Spending) turn(at time.Time, agent string, b contract.Turn) {
	rest := Row{Agent: agent, Model: SpendingUnknown, Turns: 1, CostUSD: b.CostUSD, Unknown: b.Unknown}
	for _, m := range b.Models {
		s.charge(at, Row{Agent: agent, Model: m.Model, Turns: rest.Turns, CostUSD: m.CostUSD, Usage: m.Usage,
			Unknown: rest.Unknown})
		rest.Turns, rest.CostUSD, rest.Unknown = 0, rest.CostUSD-m.CostUSD, false
	}
	if len(b.Models) == 0 {
		rest.Usage = b.Usage
	}
	if len(b.Models) == 0 || rest.CostUSD > noise {
		s.charge(at, rest)
	}
}

// charge adds what an agent has used of a model to the row of the day.
func (s *Spending) charge(at time.Time, r Row) {
	if r.CostUSD == 0 && r.Turns == 0 && r.Usage == (bridge.Usage{}) {
		return
	}
	r.Day = at.Format(time.DateOnly)
	same := func(o Row) bool { return o.Day == r.Day && o.Agent == r.Agent && o.Model == r.Model }
	i := slices.IndexFunc(s.Rows, same)
	if i < 0 {
		i, s.Rows = len(s.Rows), append(s.Rows, Row{Day: r.Day, Agent: r.Agent, Model: r.Model})
	}
	s.Rows[i].add(r)
}

func (r *Row) add(o Row) {
	r.Turns += o.Turns
	r.CostUSD = contract.RoundUSD(r.CostUSD + o.CostUSD)
	r.Usage = r.Usage.Plus(o.Usage)
	r.Unknown = r.Unknown || o.Unknown
}

// GroupSpending adds up rows of any number of runs, days in their order, all others by cost, and their total.
func GroupSpending(by SpendingBy, all []Row) (rows []Row, total Row) {
	groups := map[Row]*Row{}
	for _, r := range all {
		var k Row
		switch by {
		case SpendingDay:
			k.Day = r.Day
		case SpendingRun:
			k.Run = r.Run
		case SpendingAgent:
			k.Run, k.Agent = r.Run, r.Agent
		case SpendingModel:
			k.Model = r.Model
		}
		if groups[k] == nil {
			groups[k] = new(k)
		}
		groups[k].add(r)
	}
	rows = []Row{}
	for _, r := range groups {
		rows = append(rows, *r)
		total.add(*r)
	}
	slices.SortFunc(rows, func(a, b Row) int {
		return cmp.Or(cmp.Compare(a.Day, b.Day), cmp.Compare(b.CostUSD, a.CostUSD), cmp.Compare(a.Run, b.Run),
			cmp.Compare(a.Agent, b.Agent), cmp.Compare(a.Model, b.Model))
	})
	return rows, total
}

// Sum returns what the run has cost, with its running turns and what the run that it branched off from had cost.
func (s *Spending) Sum() float64 {
	_, total := GroupSpending(SpendingRun, s.Rows)
	if s.ForkedFrom != nil {
		total.CostUSD += s.ForkedFrom.CostUSD
	}
	return contract.RoundUSD(total.CostUSD + s.Live())
}

// Unknown reports whether the run has cost more than is known.
func (s *Spending) Unknown() bool {
	return slices.ContainsFunc(s.Rows, func(r Row) bool { return r.Unknown })
}

// This file compares the reports of several runs.

// Compared is one run of a comparison, in its JSON form.
type Compared struct {
	Run        string         `json:"run"`
	ForkedFrom *contract.Fork `json:"forked_from,omitempty"`
	Status     string         `json:"status"`
	Summary    string         `json:"summary"`
	Task       string         `json:"task"` // the last one
	Rehearsal  bool           `json:"rehearsal,omitempty"`
	Acceptance []Criterion    `json:"acceptance"`
	Checks     Tally          `json:"checks"`
	Changes    Changes        `json:"changes"`
	Decisions  int            `json:"decisions"`
	Open       int            `json:"open"`
	CostUSD    float64        `json:"cost_usd"`
	OwnCostUSD float64        `json:"own_cost_usd"` // without what the run that it branched off from had cost
	DurationMS int64          `json:"duration_ms"`

	report *Report
}

// Tally counts the checks of hand-off documents.
type Tally struct {
	Passed int `json:"passed"`
	Failed int `json:"failed"`
	Total  int `json:"total"`
}

// Compare returns what several runs have come to, in the same order.
func Compare(reports []*Report) []Compared {
	all := make([]Compared, len(reports))
	for i, r := range reports {
		all[i] = Compared{
			Run: r.Run, ForkedFrom: r.ForkedFrom, Status: r.Status, Summary: r.Summary, Rehearsal: r.Rehearsal,
			Acceptance: r.Acceptance, Changes: r.Changes, Decisions: len(r.Decisions), Open: len(r.Open), CostUSD: r.CostUSD,
			OwnCostUSD: r.CostUSD, DurationMS: r.DurationMS, report: r,
		}
		if n := len(r.Tasks); n > 0 {
			all[i].Task = r.Tasks[n-1]
		}
		if f := r.ForkedFrom; f != nil {
			all[i].OwnCostUSD = contract.RoundUSD(max(r.CostUSD-f.CostUSD, 0))
		}
		for _, c := range r.Checks {
			all[i].Checks.Total++
			switch c.Result {
			case "passed":
				all[i].Checks.Passed++
			case "failed":
				all[i].Checks.Failed++
			}
		}
	}
	return all
}

// WriteComparison writes runs side by side: a column for each.
func WriteComparison(out io.Writer, all []Compared) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	row := func(name string, cell func(c Compared) string) {
		line := []string{sanitize.Line(name, 60)}
		for _, c := range all {
			line = append(line, sanitize.Line(cell(c), 60))
		}
		fmt.Fprintln(w, strings.Join(line, "\t"))
	}
	row("", func(c Compared) string { return short(c.Run) })
	row("branched off", func(c Compared) string {
		if c.ForkedFrom == nil {
			return "–"
		}
		return fmt.Sprintf("%s, before decision %d", short(c.ForkedFrom.Run), c.ForkedFrom.At)
	})
	row("outcome", func(c Compared) string { return c.Status })
	row("summary", func(c Compared) string { return c.Summary })
	row("task", func(c Compared) string { return c.Task })
	for _, text := range rows(all, func(c Compared) (list []string) {
		for _, x := range c.Acceptance {
			list = append(list, x.Text)
		}
		return list
	}) {
		row("criterion: "+text, func(c Compared) string {
			i := slices.IndexFunc(c.Acceptance, func(x Criterion) bool { return x.Text == text })
			if i < 0 {
				return "–"
			}
			return c.Acceptance[i].Status
		})
	}
	row("checks", func(c Compared) string { return fmt.Sprintf("%d of %d passed", c.Checks.Passed, c.Checks.Total) })
	row("open points", func(c Compared) string { return fmt.Sprint(c.Open) })
	row("decisions", func(c Compared) string { return fmt.Sprint(c.Decisions) })
	row("cost", func(c Compared) string {
		text := c.report.usd(c.CostUSD)
		if c.ForkedFrom != nil {
			text += fmt.Sprintf(" (%s since)", c.report.usd(c.OwnCostUSD))
		}
		return text
	})
	row("time", func(c Compared) string { return c.report.lasted() })
	row("changed", func(c Compared) string { return c.report.changed() })
	for i, path := range rows(all, func(c Compared) (list []string) {
		for _, f := range c.Changes.Files {
			list = append(list, f.Path)
		}
		return list
	}) {
		if i == comparedFiles {
			row("  …", func(c Compared) string { return words.Count(c.Changes.Count, "file") })
			break
		}
		row("  "+path, func(c Compared) string {
			i := slices.IndexFunc(c.Changes.Files, func(f File) bool { return f.Path == path })
			if i < 0 {
				return "–"
			}
			f := c.Changes.Files[i]
			return fmt.Sprintf("%s +%d -%d", cmp.Or(f.Status, "changed"), f.Added, f.Deleted)
		})
	}
	return w.Flush()
}

// comparedFiles bounds the files that a comparison lists for a person.
const comparedFiles = 40

// rows returns what occurs in any run, in order.
func rows(all []Compared, of func(Compared) []string) (list []string) {
	for _, c := range all {
		for _, text := range of(c) {
			if !slices.Contains(list, text) {
				list = append(list, text)
			}
		}
	}
	return list
}
