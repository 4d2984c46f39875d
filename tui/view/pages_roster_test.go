package view

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/arbiter-cli/arbiter/tui/render"
)

func rosterRows(t *testing.T, list []PageAgent, selected string, w, h int) ([]string, *PageRoster) {
	s := screenOf(t, w, h)
	defer s.Fini()
	l := lookPage(t, "dark", render.Unicode)
	l.Still = true
	r := NewRoster(l)
	r.SetRect(0, 0, w, h)
	r.Set(list)
	r.Select(selected)
	r.Draw(s)
	return strings.Split(strings.TrimSuffix(textPage(s), "\n"), "\n"), r
}

// From 40 columns on, one look shows each agent's name, state and context.
func TestRosterShowsEssentialColumns(t *testing.T) {
	for w := 40; w <= 200; w++ {
		rows, _ := rosterRows(t, pageAgents, "", w, len(pageAgents))
		works, meter := "Agent: wr", "72%"
		if w >= metered {
			meter = "━"
		}
		for i, want := range [][]string{{"Arbiter", "listens", "16%"}, {" I ", "handed on", "85%"},
			{" II ", works, "52s", "72%", meter}, {"?", " III ", "asks leave", "3%"}, {" IV ", "wakes", "–"}} {
			for _, part := range want {
				if !strings.Contains(rows[i], part) {
					t.Fatalf("%d columns: %q is missing in %q", w, part, rows[i])
				}
			}
		}
	}
}

func TestRosterIsAligned(t *testing.T) {
	for w := 40; w <= 200; w += 7 {
		rows, _ := rosterRows(t, pageAgents, "", w, len(pageAgents))
		column := -1
		for _, row := range rows[:4] {
			at := render.Width(row[:strings.Index(row, "%")])
			if column >= 0 && at != column {
				t.Fatalf("%d columns: the percentages are at %d and %d:\n%s", w, column, at, strings.Join(rows, "\n"))
			}
			column = at
		}
	}
}

// An agent's activity changes all the time: bars and figures stay where they are.
func TestRosterIsSteady(t *testing.T) {
	for w := 80; w <= 200; w += 7 {
		column := -1
		for _, doing := range []string{"", "Bash", "Look for names that break it", strings.Repeat("long ", 40)} {
			list := slices.Clone(pageAgents)
			for i := range list {
				list[i].Doing = ""
			}
			list[2].Doing = doing
			list[1].State, list[2].State = "listens", "weaves"
			list[3].State = "listens"
			rows, _ := rosterRows(t, list, "", w, len(list))
			at := render.Width(rows[2][:strings.Index(rows[2], "%")])
			if column >= 0 && at != column {
				t.Fatalf("%d columns: with %q the percentage is at %d, not at %d:\n%s", w, doing, at, column,
					strings.Join(rows, "\n"))
			}
			column = at
		}
	}
}

func TestRosterShowsImportantAgents(t *testing.T) {
	var many []PageAgent
	for i := range 12 {
		many = append(many, PageAgent{ID: fmt.Sprint("orch-", i), Name: fmt.Sprint("Orchestrator ", i), Past: i%3 == 1,
			Busy: i%3 == 2})
	}
	many[0].Name = "Arbiter"
	many[10].Bell = true
	rows, r := rosterRows(t, many, "orch-4", 60, 5)
	for _, want := range []string{"Arbiter", "Orchestrator 4", "Orchestrator 10", "Orchestrator 11", "and 8 more"} {
		if !slices.ContainsFunc(rows, func(row string) bool { return strings.Contains(row, want) }) {
			t.Errorf("%q is out of sight:\n%s", want, strings.Join(rows, "\n"))
		}
	}
	if id, ok := r.At(3, 1); !ok || id != "orch-4" {
		t.Errorf("the second row is %q, %v", id, ok)
	}
	if id, ok := r.At(3, 4); ok {
		t.Errorf("the last row is %q", id)
	}
	if _, ok := r.At(99, 0); ok {
		t.Error("somebody is outside of the roster")
	}
	if got := r.Rows(4); got != 4 {
		t.Errorf("it wants %d rows of 4", got)
	}
}

func TestRosterMoves(t *testing.T) {
	r := NewRoster(lookPage(t, "dark", render.Unicode))
	if _, ok := r.Move(1); ok {
		t.Error("somebody was found among nobody")
	}
	r.Set(pageAgents)
	for i, step := range []struct {
		by   int
		want string
	}{{1, "arbiter"}, {1, "orch-1"}, {9, "orch-4"}, {-1, "orch-3"}, {-9, "arbiter"}} {
		if got, _ := r.Move(step.by); got != step.want {
			t.Errorf("step %d: %q, want %q", i, got, step.want)
		}
	}
	r.Select("nobody")
	if _, ok := r.Selected(); ok {
		t.Error("somebody who is not there is marked")
	}
	if got, _ := r.Move(-1); got != "orch-4" {
		t.Errorf("up from nowhere is %q", got)
	}
}

func TestPlanStripKeepsTheCurrentInSight(t *testing.T) {
	for n := 1; n < 12; n++ {
		for current := range n {
			var list []PageStep
			for i := range n {
				status := "pending"
				if i < current {
					status = "done"
				}
				list = append(list, PageStep{Text: fmt.Sprintf("step-%d.", i), Status: status})
			}
			list[current].Status = "active"
			for h := 1; h < 9; h++ {
				s := screenOf(t, 30, h)
				p := NewPlanStrip(lookPage(t, "dark", render.Unicode))
				p.SetRect(0, 0, 30, h)
				p.Set(list, nil)
				p.Draw(s)
				got := textPage(s)
				if !strings.Contains(got, fmt.Sprintf("step-%d.", current)) {
					t.Fatalf("step %d of %d in %d rows:\n%s", current, n, h, got)
				}
				if want := min(n, h); strings.Count(got, "step-") != want {
					t.Fatalf("%d rows show not %d steps:\n%s", h, want, got)
				}
				s.Fini()
			}
		}
	}
	if done, current := count([]PageStep{{Status: "done"}, {Status: "failed"}}); done != 1 || current != 1 {
		t.Errorf("all over: %d, %d", done, current)
	}
}
