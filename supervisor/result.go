package supervisor

import (
	"cmp"
	"strings"
	"time"

	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/input"
	"github.com/arbiter-cli/arbiter/supervisor/verdict"
	"github.com/arbiter-cli/arbiter/supervisor/words"
)

// stopped is why the requests of a run that ends are denied.
const stopped = "the run is being stopped; ask again when it is resumed"

// wind closes what is open and stops the agents; finish follows when they have ended.
func (st *step) wind(e Ending) {
	st.Ending = &e
	st.Permission.Shutdown(&st.out, stopped)
	st.Lifecycle.Waking, st.Rulings.DeciderRequest = false, nil
	st.do(input.SetTimer{Key: timeoutKey})
	for i := range st.Agents {
		a := st.Edit(st.Agents[i].ID)
		if a.Takeover != nil { // what was done is read when the run is resumed
			st.emit(a.ID, contract.Takeover{State: StateEnded, Reason: "the run is being stopped"})
		}
		switch {
		case a.Leaving():
			a.Status = AgentStopping
		case a.Status == AgentDown || a.Status == AgentParked:
			a.Status, a.Since, a.EndReason = AgentEnded, st.at, e.Status
		case a.Alive():
			a.Status, a.Since, a.EndReason = AgentStopping, st.at, e.Status
		}
	}
	st.do(input.Shutdown{})
}

// finish reports the result, which is the last line, and ends the loop.
func (st *step) finish() {
	if st.Ending.Said {
		return
	}
	ending := *st.Ending
	ending.Said = true
	st.Ending = &ending
	for i := range st.Agents {
		if a := st.Agents[i]; a.Status != AgentEnded {
			e := st.Edit(a.ID)
			e.Status = AgentEnded
			st.chargeLost(e)
			st.emit(e.ID, contract.Done{SessionID: e.SessionID, Reason: cmp.Or(e.EndReason, st.Ending.Status)})
		}
	}
	st.settle() // nothing follows the result
	failing := st.Handoff.proofsThat(func(p *Proved) bool { return p.Receipt.Result == verdict.CheckFailed })
	summary, unknown := st.Ending.Summary, []string{}
	for _, a := range st.Agents {
		if a.CostUnknown {
			unknown = append(unknown, a.ID)
		}
	}
	if len(unknown) > 0 { // no face shows the sum as if it were all
		summary = strings.TrimPrefix(words.Sentence(summary)+" ", " ") + "The cost is not complete: what " +
			strings.Join(unknown, ", ") + " cost is not known."
	}
	st.emit(contract.Supervisor, contract.Result{
		Status: st.Ending.Status, Summary: summary,
		CostUSD: st.Spent(), Usage: st.Used(), Iterations: st.Task.Iterations,
		DurationMS: st.elapsed().Milliseconds(), Crashes: st.Lifecycle.Crashes,
		Session: st.Options.Run, Rehearsal: st.Options.Rehearsal, Checks: st.Handoff.ChecksRun(),
		Failing: failing, Open: st.Ending.Open, InterruptedWork: st.Ending.InterruptedWork,
		Changes: st.Changes.Total, Acceptance: st.Task.Acceptance.Events(),
	})
	st.do(input.Finish{Exit: st.Ending.Exit})
}

// lastSnapshotTimeout bounds how long the result waits for the last snapshot.
const (
	lastSnapshotTimeout = 20 * time.Second
	lastSnapshotKey     = "last-snapshot"
)

// lastSnapshot requests the last snapshot of the files. The result follows it, or a timer.
func (st *step) lastSnapshot() {
	if st.Ending.Said || st.Ending.Records {
		return
	}
	if !st.Changes.Finish(&st.out, st.Options.Workspace) {
		st.finish()
		return
	}
	ending := *st.Ending
	ending.Records = true
	st.Ending = &ending
	st.do(input.SetTimer{Key: lastSnapshotKey, After: lastSnapshotTimeout})
}
