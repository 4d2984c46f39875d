package supervisor

import (
	"strings"
	"testing"
	"time"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/effect"
	"github.com/arbiter-cli/arbiter/supervisor/input"
	"github.com/arbiter-cli/arbiter/supervisor/runconfig"
)

// workingAttach is a run with an Orchestrator that has answered.
func workingAttach() (*step, *Agent) {
	c := readyRun(runconfig.Options{})
	a := addOrchestrator(c)
	a.HasHistory, a.SessionID = true, "s"
	return c, a
}

// handed is such a run in which the human has the Orchestrator's session in a terminal.
func handed(t *testing.T) (*step, *Agent) {
	t.Helper()
	c, a := workingAttach()
	c.attach("r", a.ID)
	c.stoppedForTakeover(a)
	c.takeoverInspected(input.Inspected{Serial: a.Takeover.Serial,
		Result: bridge.InspectResult{Mark: &bridge.InspectMark{Transcript: 7}}})
	c.terminalOpened(input.PTYOpened{Agent: a.AgentRef})
	if a.Status != InHand || a.Takeover.Stage != TakeoverOpen {
		t.Fatalf("it is %s: %+v", a.Status, a.Takeover)
	}
	return c, a
}

// states are those of the takeover events so far.
func states(c *step) string {
	var list []string
	for _, e := range emitted[contract.Takeover](c) {
		list = append(list, e.State)
	}
	return strings.Join(list, " ")
}

// TestHandedAndBack: a session goes to the human and comes back, and the agent's process is started again on
// it.
func TestHandedAndBack(t *testing.T) {
	c, a := handed(t)
	if ptys := did[effect.OpenPTY](c); len(ptys) != 1 || ptys[0].Params.AgentRef != a.AgentRef {
		t.Errorf("opened %+v", ptys)
	}
	c.detach("r", a.ID)
	if closed := did[effect.ClosePTY](c); len(closed) != 1 {
		t.Errorf("closed %+v", closed)
	}
	c.terminalEnded(a, bridge.Exit{})
	c.takeoverInspected(input.Inspected{Serial: a.Takeover.Serial, Result: bridge.InspectResult{
		Changes: &bridge.Changes{Words: 1, Typed: []string{"use the other loom"}}}})
	if a.Takeover != nil || a.Status != AgentStarting || !strings.Contains(a.ReturnNotice, "1 message") {
		t.Errorf("it is %s: %+v, told %q", a.Status, a.Takeover, a.ReturnNotice)
	}
	if got := states(c); got != "began open ended" || c.Lifecycle.ReturnedAgent != a.ID {
		t.Errorf("states %q, returned %q", got, c.Lifecycle.ReturnedAgent)
	}
}

// TestRefusals: an agent that cannot be taken over stays unchanged.
func TestRefusals(t *testing.T) {
	for want, change := range map[string]func(*step, *Agent){
		"no living agent":      func(_ *step, a *Agent) { a.Status = AgentEnded },
		"taken over already":   func(_ *step, a *Agent) { a.SetTakeover(BeginTakeover(time.Time{}, "stdin")) },
		"is parked":            func(_ *step, a *Agent) { a.Status = AgentParked },
		"everything is halted": func(c *step, _ *Agent) { c.Halted = true },
		"there is no bridge":   func(c *step, a *Agent) { c.Lifecycle.Lost(&c.out, a.Host, "", time.Time{}) },
		"try again when":       func(_ *step, a *Agent) { a.Status = AgentStarting },
		"has said nothing":     func(_ *step, a *Agent) { a.HasHistory = false },
	} {
		c, a := workingAttach()
		change(c, a)
		before := *a
		c.attach("r", a.ID)
		rejected := emitted[contract.Rejected](c)
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
	c, a := handed(t)
	c.loseTerminals("elsewhere")
	if a.Takeover.Stage != TakeoverOpen {
		t.Errorf("with the bridge of another host: %s", a.Takeover.Stage)
	}
	c.loseTerminals(LifecycleHere)
	surveys := len(did[effect.Inspect](c))
	c.rereadTakeovers(func(*Agent) bool { return true }, "the bridge was lost")
	if n := len(did[effect.Inspect](c)); n != surveys+1 || a.Takeover.Stage != TakeoverReading ||
		a.Takeover.Why != BridgeLost {
		t.Errorf("%d surveys more, %+v", n-surveys, a.Takeover)
	}
}

// TestAttachHalt: a halt ends a terminal at once.
func TestAttachHalt(t *testing.T) {
	c, a := handed(t)
	if n := c.haltTakeover(a); n != 1 {
		t.Errorf("ended %d processes", n)
	}
	kills := did[effect.Kill](c)
	if last := kills[len(kills)-1]; !last.Now || last.Agent != a.AgentRef || a.Takeover.Why != TakeoverHalted {
		t.Errorf("killed %+v, %+v", kills, a.Takeover)
	}
}
