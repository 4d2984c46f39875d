package supervisor

import (
	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/input"
	"github.com/arbiter-cli/arbiter/supervisor/machine"
	"github.com/arbiter-cli/arbiter/supervisor/verdict"
)

// end ends the run: it closes what is open and stops the agents. When they have ended, `result` is emitted.
// From now on takeEnding handles the inputs.
func (st *step) end(status, summary string, exit contract.Exit, by machine.Trigger) {
	st.endWith(Ending{Status: status, Summary: summary, Exit: exit}, by)
}

func (st *step) endWith(e Ending, by machine.Trigger) {
	if st.Ending != nil {
		return
	}
	o := triggerData{ending: &e}
	if by == machine.Decision {
		o.ruling.Decision = verdict.Complete
	}
	if e.Status == contract.StatusCancelled || e.Status == contract.StatusInterrupted {
		e.InterruptedWork = st.Task.Interrupted(&st.Roster, st.at)
	}
	if !st.fire(by, o) {
		e.Was = st.Task.Phase
		st.wind(e)
	}
}

// limitReached ends the run at one of its limits.
func (st *step) limitReached(summary string) {
	summary = st.Rulings.WithFallback(st.Task.ReachedText(summary))
	st.end(contract.StatusLimit, summary, contract.ExitLimit, machine.LimitReached)
}

// giveUp ends the run after a failure.
func (st *step) giveUp(c bridge.Category, summary string) {
	st.endWith(failed(c, summary), machine.GiveUp)
}

// failed returns the end of a run by a failure; the category decides the exit code.
func failed(c bridge.Category, summary string) Ending {
	exit := contract.ExitFailed
	if IsEnvironmental(c) {
		exit = contract.ExitEnvironment
	}
	return Ending{Status: contract.StatusFailed, Summary: summary, Exit: exit}
}

// signalled ends the run on a signal of the operating system, or on request.
func (st *step) signalled(f input.Signal) {
	st.endWith(endBy(f), machine.Cancel)
	if f.Fast {
		st.do(input.Shutdown{Fast: true})
	}
}

// endBy returns the end of a run by a signal.
func endBy(f input.Signal) Ending {
	exit := contract.ExitTerminated // HUP, too: another process has ended the run
	if f.Signal == "INT" {
		exit = contract.ExitInterrupted
	}
	how := "stopped by SIG" + f.Signal
	if f.ByClient {
		how = "stopped on request"
	}
	return Ending{Status: contract.StatusInterrupted, Summary: how, Exit: exit}
}

// timeIsOver ends the run at its time limit, but not while a human has a session.
func (st *step) timeIsOver() {
	if st.AnyTakenOver() {
		// The limit is checked again when the session is given back, and by this timer, however the session
		// ends.
		st.do(input.SetTimer{Key: timeoutKey, After: takenGrace})
		return
	}
	st.limitReached("the time limit of " + st.Options.Timeout.String() + " was reached")
}
