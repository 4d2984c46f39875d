package report

// This file compares the reports of several runs.

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/arbiter-cli/arbiter/sanitize"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/words"
)

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
	row("", func(c Compared) string { return c.Run[:min(len(c.Run), 8)] })
	row("branched off", func(c Compared) string {
		if c.ForkedFrom == nil {
			return "–"
		}
		return fmt.Sprintf("%s, before decision %d", c.ForkedFrom.Run[:min(len(c.ForkedFrom.Run), 8)], c.ForkedFrom.At)
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
