package supervisor

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/decision"
	"github.com/arbiter-cli/arbiter/supervisor/effect"
	"github.com/arbiter-cli/arbiter/supervisor/lifecycle"
	"github.com/arbiter-cli/arbiter/supervisor/roster"
	"github.com/arbiter-cli/arbiter/supervisor/takeover"
	"github.com/arbiter-cli/arbiter/supervisor/words"
)

// wind closes what is open and stops the agents; finish follows when they are gone.
func (st *step) wind(e Ending) {
	e.Question, e.Requests = st.Question.Open, st.Permission.All()
	st.Ending = &e
	const stopped = "the run is being stopped; ask again when it is taken up"
	st.Permission.Shutdown(&st.out, stopped)
	st.Question.Open, st.Lifecycle.Waking, st.Rulings.DeciderRequest = nil, false, nil
	st.do(effect.SetTimer{Key: timeoutKey})
	for i := range st.Agents {
		a := st.Edit(st.Agents[i].ID)
		if a.Takeover != nil { // what was done is read when the run is taken up again
			st.emit(a.ID, contract.Takeover{State: takeover.StateEnded, Reason: "the run is being stopped"})
		}
		switch {
		case a.Status == roster.Down || a.Status == roster.Parked:
			a.Status, a.Since, a.EndReason = roster.Ended, st.at, e.Status
		case a.Alive():
			a.Status, a.Since, a.EndReason = roster.Stopping, st.at, e.Status
		}
	}
	st.do(effect.Shutdown{})
}

// withReached adds to the reason of an end what was reached until then.
func (st *step) withReached(why string) string {
	var b strings.Builder
	b.WriteString(why)
	if !strings.HasSuffix(why, ".") {
		b.WriteString(".")
	}
	if len(st.Task.Plan) > 0 {
		done := 0
		for _, p := range st.Task.Plan {
			if p.Status == contract.StepDone || p.Status == contract.StepSkipped {
				done++
			}
		}
		fmt.Fprintf(&b, " Reached: %d of %s of the plan.", done, words.Count(len(st.Task.Plan), "step"))
		if i := st.Task.StepAtHand(); i >= 0 {
			text := words.Head(words.FirstLine(st.Task.Plan[i].Text), 200)
			fmt.Fprintf(&b, " At hand: %s.", strings.TrimSuffix(text, "."))
		}
	}
	if n := st.Task.History.Len(); n > 0 {
		last := st.Task.History.Last(1)[0]
		fmt.Fprintf(&b, " Executions: %d, the last by %s (%s, %s)", n, last.ID, last.Agent, last.Status)
		switch {
		case last.Status == decision.StatusFailure && last.Error != nil:
			fmt.Fprintf(&b, ": %s", words.Head(words.FirstLine(last.Error.Message), 200))
		case last.Output != "":
			fmt.Fprintf(&b, ": %s", words.Head(words.FirstLine(last.Output), 300))
		}
		b.WriteString(".")
	}
	if b.Len() == len(why)+1 {
		return st.Rulings.WithFallback(why)
	}
	return st.Rulings.WithFallback(b.String())
}

// interruptedWork tells what is being done at this moment, and will not be finished.
func (st *step) interruptedWork() []string {
	var list []string
	for i := range st.Agents {
		if text := st.interruptedWorkOf(st.Agents[i]); text != "" {
			list = append(list, text)
		}
	}
	return list
}

// interruptedWorkOf tells it of one; empty: nothing.
func (st *step) interruptedWorkOf(a *roster.Agent) string {
	if a.Role != roster.RoleOrchestrator || !lifecycle.MidTurn(a) {
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
			text += fmt.Sprintf(" for %s", st.at.Sub(a.ToolCall.Since).Round(time.Second))
		}
	} else {
		text += " was in the middle of a turn"
	}
	if n := st.Task.StepOf(&st.Roster, a.ID); n > 0 {
		text += fmt.Sprintf(", step %d of the plan: %s", n, words.Head(words.FirstLine(st.Task.Plan[n-1].Text), 200))
	}
	if a.Work != nil && len(a.Work.Files) > 0 {
		text += fmt.Sprintf("; files written in this execution: %d", len(a.Work.Files))
	}
	return text
}

// finish says the result, which is the last line, and ends the loop.
func (st *step) finish() {
	if st.Ending.Said {
		return
	}
	ending := *st.Ending
	ending.Said = true
	st.Ending = &ending
	for i := range st.Agents {
		if a := st.Agents[i]; a.Status != roster.Ended {
			e := st.Edit(a.ID)
			e.Status = roster.Ended
			st.emit(e.ID, contract.Done{SessionID: e.SessionID, Reason: cmp.Or(e.EndReason, st.Ending.Status)})
		}
	}
	st.emit(contract.Supervisor, contract.Result{
		Status: st.Ending.Status, Summary: st.Ending.Summary,
		CostUSD: st.Spent(), Usage: st.Used(), Iterations: st.Task.Iterations,
		DurationMS: st.elapsed().Milliseconds(), Crashes: st.Lifecycle.Crashes,
		Session: st.Options.Run, Rehearsal: st.Options.Rehearsal, Checks: st.Handoff.ChecksRun(),
		Failing: st.Handoff.Failing(), HalfDone: st.Ending.HalfDone,
		Changes: st.Changes.Total, Acceptance: st.Task.AcceptanceEvents(),
	})
	st.do(effect.Finish{Exit: st.Ending.Exit})
}
