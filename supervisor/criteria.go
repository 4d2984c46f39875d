package supervisor

import (
	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/supervisor/acceptance"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
)

// Acceptance criteria: who sets them, and how a COMPLETE is judged by them. They are judged after the checks of the
// hand-off documents were repeated, on the tree of a snapshot that is taken for it.

// acceptFromOptions sets the criteria that the run is started with.
func (st *step) acceptFromOptions() {
	for _, command := range st.Options.Accept {
		err := st.Task.Acceptance.HumanAdds(acceptance.Given{Command: command}, acceptance.FromFlag)
		if err != nil { // the flags were checked; a run of another version may have had other bounds
			st.emit(contract.Supervisor, contract.Notice{Text: "an acceptance criterion is left out: " + err.Error()})
		}
	}
}

// criterionChecked takes what came of the command of the next criterion.
func (st *step) criterionChecked(r bridge.CheckResult, failed string) {
	pending := st.Task.Acceptance.Pending()
	if len(pending) == 0 {
		return
	}
	switch {
	case failed != "":
	case r.TimedOut:
		failed = "out of time"
	case r.Signal != "":
		failed = "ended by signal " + r.Signal
	}
	st.Task.Acceptance.Finish(pending[0], acceptance.Finding{
		Exit: r.Exit, SHA256: r.SHA256, Output: r.Output, Tree: pending[0].Tree, Failed: failed,
	})
}
