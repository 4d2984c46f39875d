package supervisor

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/arbiter-cli/arbiter/supervisor/runconfig"
	"github.com/arbiter-cli/arbiter/supervisor/words"
)

// ToolStatus is what the tool `status` reports.
type ToolStatus struct {
	Options      *runconfig.Options
	Roster       *Roster
	Task         *TaskState
	WorkLog      int     // entries that wait
	Exchanges    int     // messages between agents since the human's last message
	Spent        float64 // US dollars
	Unled        bool    // the rules decide in the Arbiter's place
	Decider      string  // the state of the present decision; follows the decider's name
	HumanPresent bool
}

// Text is the answer of the tool.
func (s ToolStatus) Text() string {
	var b strings.Builder
	fmt.Fprintf(&b, "state: %s\n", s.Task.Phase)
	list, others := s.Roster.Shown()
	b.WriteString(OthersText(others))
	for _, a := range append([]*Agent{s.Roster.Agents[0]}, list...) {
		fmt.Fprintf(&b, "%s (%s)", a.ID, a.Name)
		if a.Mode != "" {
			fmt.Fprintf(&b, " as %s", a.Mode)
		}
		fmt.Fprintf(&b, ": process %s", a.Status)
		if a.Role == RoleOrchestrator {
			fmt.Fprintf(&b, ", %s", a.Standing)
		}
		if a.Context.Window > 0 {
			fmt.Fprintf(&b, ", context %.1f%% of %d tokens", a.Context.Pct, a.Context.Window)
			if a.Context.TurnsLeft > 0 {
				fmt.Fprintf(&b, " (about %d turns left)", a.Context.TurnsLeft)
			}
		}
		if a.Compactions > 0 {
			fmt.Fprintf(&b, ", compacted %d times", a.Compactions)
		}
		if a.CurrentTool != "" {
			fmt.Fprintf(&b, ", at %s", a.CurrentTool)
		}
		b.WriteString("\n")
	}
	fmt.Fprintf(&b, "plan:\n%s", PlanText(s.Task.Plan))
	fmt.Fprintf(&b, "\nwork log entries waiting: %d\n", s.WorkLog)
	fmt.Fprintf(&b, "orchestrators summoned: %d of %d; living %d of %d; exchanges without a human: %d of %d; cost: $%.4f",
		s.Task.Iterations, s.Options.MaxIterations, s.Roster.LivingCount(), s.Options.MaxOrchestrators, s.Exchanges,
		s.Options.MaxExchanges, s.Spent)
	if s.Options.MaxCostUSD > 0 {
		fmt.Fprintf(&b, " of $%.4f", s.Options.MaxCostUSD)
	}
	b.WriteString("\n")
	b.WriteString(s.taskText())
	if !s.HumanPresent {
		b.WriteString("no human is present\n")
	}
	return b.String()
}

// taskText is what `status` reports about the task as the machine sees it.
func (s ToolStatus) taskText() string {
	most := func(n int) string {
		if n == 0 {
			return ""
		}
		return fmt.Sprintf(" of %d", n)
	}
	text := fmt.Sprintf("executions: %d; failures in a row: %d%s; in all: %d%s\ndecider: %s", s.Task.History.Len(),
		s.Task.Failures, most(s.Options.MaxFailures), s.Task.TotalFailures, most(s.Options.FailureLimit(s.Unled)),
		cmp.Or(s.Options.Decider, runconfig.DeciderSession))
	text += s.Decider
	if f := s.Task.LastError; f != nil {
		text += fmt.Sprintf("\nlast error, of a %s: %s", f.Agent, words.Head(words.FirstLine(f.Message), 300))
	}
	return text + "\n"
}
