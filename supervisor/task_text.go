package supervisor

import (
	"fmt"
	"strings"
	"time"

	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/decider"
	"github.com/arbiter-cli/arbiter/supervisor/machine"
	"github.com/arbiter-cli/arbiter/supervisor/words"
)

// ReachedText adds to the reason of an end what was achieved until then.
func (s *TaskState) ReachedText(why string) string {
	var b strings.Builder
	b.WriteString(why)
	if !strings.HasSuffix(why, ".") {
		b.WriteString(".")
	}
	if len(s.Plan) > 0 {
		done := 0
		for _, p := range s.Plan {
			if p.Status == contract.StepDone || p.Status == contract.StepSkipped {
				done++
			}
		}
		fmt.Fprintf(&b, " Reached: %d of %s of the plan.", done, words.Count(len(s.Plan), "step"))
		if i := s.StepAtHand(); i >= 0 {
			text := words.Head(words.FirstLine(s.Plan[i].Text), 200)
			fmt.Fprintf(&b, " At hand: %s.", strings.TrimSuffix(text, "."))
		}
	}
	if n := s.History.Len(); n > 0 {
		last := s.History.Last(1)[0]
		fmt.Fprintf(&b, " Executions: %d, the last by %s (%s, %s)", n, last.ID, last.Agent, last.Status)
		switch {
		case last.Status == decider.StatusFailure && last.Error != nil:
			fmt.Fprintf(&b, ": %s", words.Head(words.FirstLine(last.Error.Message), 200))
		case last.Output != "":
			fmt.Fprintf(&b, ": %s", words.Head(words.FirstLine(last.Output), 300))
		}
		b.WriteString(".")
	}
	if b.Len() == len(why)+1 {
		return why
	}
	return b.String()
}

// Interrupted lists the work that is running now, and will not be finished.
func (s *TaskState) Interrupted(r *Roster, now time.Time) []string {
	var list []string
	for i := range r.Agents {
		if text := s.InterruptedOf(r, r.Agents[i], now); text != "" {
			list = append(list, text)
		}
	}
	return list
}

// InterruptedOf returns the interrupted work of one agent; empty: none.
func (s *TaskState) InterruptedOf(r *Roster, a *Agent, now time.Time) string {
	if a.Role != RoleOrchestrator || !MidTurn(a) {
		return ""
	}
	text := a.Name + " (" + a.ID + ")"
	if a.ToolCall != nil {
		text += " was at " + a.ToolCall.Tool
		if a.ToolCall.What != "" {
			text += " `" + a.ToolCall.What + "`"
		}
		if a.ToolCall.Cut {
			text += " when its process ended"
		} else {
			text += fmt.Sprintf(" for %s", now.Sub(a.ToolCall.Since).Round(time.Second))
		}
	} else {
		text += " was in the middle of a turn"
	}
	if n := s.StepOf(r, a.ID); n > 0 {
		text += fmt.Sprintf(", step %d of the plan: %s", n, words.Head(words.FirstLine(s.Plan[n-1].Text), 200))
	}
	if a.Work != nil && len(a.Work.Files) > 0 {
		text += fmt.Sprintf("; files written in this execution: %d", len(a.Work.Files))
	}
	return text
}

// BreachText says which limit of the task was reached; maxFailures is the limit of failures in a row.
func (s *TaskState) BreachText(maxFailures int) string {
	if s.Phase == machine.Complete {
		return words.Count(s.Iterations, "Orchestrator") +
			" summoned for this task, which is the limit (--max-iterations)"
	}
	why := words.Count(s.Failures, "execution") + " in a row failed"
	if s.Failures < maxFailures {
		why = words.Count(s.TotalFailures, "execution") +
			" of this task failed, which is the limit (--max-total-failures)"
	}
	if s.LastError != nil {
		why += "; the last: " + words.Head(s.LastError.Message, 300)
	}
	return why
}
