package supervisor

import (
	"strings"
	"testing"
	"time"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/input"
	"github.com/arbiter-cli/arbiter/supervisor/runconfig"
)

// workingAttach is a run with an Orchestrator that has answered.
func workingAttach() (*step, *Agent) {
	st := readyRun(runconfig.Options{})
	a := addOrchestrator(st)
	a.HasHistory, a.SessionID = true, "s"
	return st, a
}

// handed is such a run in which the human has the Orchestrator's session in a terminal.
func handed(t *testing.T) (*step, *Agent) {
	t.Helper()
	st, a := workingAttach()
	st.attach("r", a.ID)
	st.stoppedForTakeover(a)
	st.takeoverInspected(input.Inspected{Serial: a.Takeover.Serial,
		Result: bridge.InspectResult{Mark: &bridge.InspectMark{Transcript: 7}}})
	st.terminalOpened(input.PTYOpened{Agent: a.AgentRef})
	if a.Status != InHand || a.Takeover.Stage != TakeoverOpen {
		t.Fatalf("it is %s: %+v", a.Status, a.Takeover)
	}
	return st, a
}

// states are those of the takeover events so far.
func states(st *step) string {
	var list []string
	for _, e := range emitted[contract.Takeover](st) {
		list = append(list, e.State)
	}
	return strings.Join(list, " ")
}

// TestHandedAndBack: a session goes to the human and comes back, and the agent's process is started again on
// it.
func TestHandedAndBack(t *testing.T) {
	st, a := handed(t)
	if ptys := did[input.OpenPTY](st); len(ptys) != 1 || ptys[0].Params.AgentRef != a.AgentRef {
		t.Errorf("opened %+v", ptys)
	}
	st.detach("r", a.ID)
	if closed := did[input.ClosePTY](st); len(closed) != 1 {
		t.Errorf("closed %+v", closed)
	}
	st.terminalEnded(a, bridge.Exit{})
	st.takeoverInspected(input.Inspected{Serial: a.Takeover.Serial, Result: bridge.InspectResult{
		Changes: &bridge.Changes{Words: 1, Typed: []string{"use the other loom"}}}})
	if a.Takeover != nil || a.Status != AgentStarting || !strings.Contains(a.ReturnNotice, "1 message") {
		t.Errorf("it is %s: %+v, told %q", a.Status, a.Takeover, a.ReturnNotice)
	}
	if got := states(st); got != "began open ended" || st.Lifecycle.ReturnedAgent != a.ID {
		t.Errorf("states %q, returned %q", got, st.Lifecycle.ReturnedAgent)
	}
}

// TestRefusals: an agent that cannot be taken over stays unchanged.
func TestRefusals(t *testing.T) {
	for want, change := range map[string]func(*step, *Agent){
		"no living agent": func(_ *step, a *Agent) { a.Status = AgentEnded },
		"taken over already": func(_ *step, a *Agent) {
			a.Takeover = &Takeover{Channel: "stdin", Stage: TakeoverStopping}
		},
		"is parked":            func(_ *step, a *Agent) { a.Status = AgentParked },
		"everything is halted": func(st *step, _ *Agent) { st.Halted = true },
		"there is no bridge":   func(st *step, a *Agent) { st.Lifecycle.Lost(&st.out, a.Host, "", time.Time{}) },
		"try again when":       func(_ *step, a *Agent) { a.Status = AgentStarting },
		"has said nothing":     func(_ *step, a *Agent) { a.HasHistory = false },
	} {
		st, a := workingAttach()
		change(st, a)
		before := *a
		st.attach("r", a.ID)
		rejected := emitted[contract.Rejected](st)
		if len(rejected) != 1 || !strings.Contains(rejected[0].Message, want) {
			t.Errorf("want %q: %+v", want, rejected)
		}
		if a.Status != before.Status || a.Takeover != before.Takeover {
			t.Errorf("%s: it is %s", want, a.Status)
		}
	}
}

// TestALostTerminal: what was done in a terminal that was lost with its bridge is read with the next bridge.
func TestALostTerminal(t *testing.T) {
	st, a := handed(t)
	st.loseTerminals("elsewhere")
	if a.Takeover.Stage != TakeoverOpen {
		t.Errorf("with the bridge of another host: %s", a.Takeover.Stage)
	}
	st.loseTerminals(LifecycleHere)
	surveys := len(did[input.Inspect](st))
	st.rereadTakeovers(func(*Agent) bool { return true }, "the bridge was lost")
	if n := len(did[input.Inspect](st)); n != surveys+1 || a.Takeover.Stage != TakeoverReading ||
		a.Takeover.Why != BridgeLost {
		t.Errorf("%d surveys more, %+v", n-surveys, a.Takeover)
	}
}

// TestAttachHalt: a halt ends a terminal at once.
func TestAttachHalt(t *testing.T) {
	st, a := handed(t)
	if n := st.haltTakeover(a); n != 1 {
		t.Errorf("ended %d processes", n)
	}
	kills := did[input.Kill](st)
	if last := kills[len(kills)-1]; !last.Now || last.Agent != a.AgentRef || a.Takeover.Why != TakeoverHalted {
		t.Errorf("killed %+v, %+v", kills, a.Takeover)
	}
}
