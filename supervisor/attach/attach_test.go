package attach

import (
	"strings"
	"testing"
	"time"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/effect"
	"github.com/arbiter-cli/arbiter/supervisor/input"
	"github.com/arbiter-cli/arbiter/supervisor/lifecycle"
	"github.com/arbiter-cli/arbiter/supervisor/parttest"
	"github.com/arbiter-cli/arbiter/supervisor/roster"
	"github.com/arbiter-cli/arbiter/supervisor/runconfig"
	"github.com/arbiter-cli/arbiter/supervisor/takeover"
)

// working is a run with an Orchestrator that has answered.
func working() (*Context, *roster.Agent) {
	c := &Context{Context: parttest.Run(runconfig.Options{})}
	a := parttest.Orchestrator(c.Context)
	a.HasHistory, a.SessionID = true, "s"
	return c, a
}

// handed is such a run in which the human has the Orchestrator's session in a terminal.
func handed(t *testing.T) (*Context, *roster.Agent) {
	t.Helper()
	c, a := working()
	c.Attach("r", a.ID)
	c.Stopped(a.ID)
	c.Inspected(input.Inspected{Serial: a.Takeover.Serial,
		Result: bridge.InspectResult{Mark: &bridge.InspectMark{Transcript: 7}}})
	c.TerminalOpened(input.PTYOpened{Agent: a.AgentRef})
	if a.Status != roster.InHand || a.Takeover.Stage != takeover.Open {
		t.Fatalf("it is %s: %+v", a.Status, a.Takeover)
	}
	return c, a
}

// states are those of the takeover events so far.
func states(c *Context) string {
	var list []string
	for _, e := range parttest.Emitted[contract.Takeover](c.Context) {
		list = append(list, e.State)
	}
	return strings.Join(list, " ")
}

// TestHandedAndBack: a session goes to the human and comes back, and the agent's process is started again on
// it.
func TestHandedAndBack(t *testing.T) {
	c, a := handed(t)
	if ptys := parttest.Did[effect.OpenPTY](c.Context); len(ptys) != 1 || ptys[0].Params.AgentRef != a.AgentRef {
		t.Errorf("opened %+v", ptys)
	}
	c.Detach("r", a.ID)
	if closed := parttest.Did[effect.ClosePTY](c.Context); len(closed) != 1 {
		t.Errorf("closed %+v", closed)
	}
	c.TerminalEnded(a, bridge.Exit{})
	c.Inspected(input.Inspected{Serial: a.Takeover.Serial, Result: bridge.InspectResult{
		Changes: &bridge.Changes{Words: 1, Typed: []string{"use the other loom"}}}})
	if a.Takeover != nil || a.Status != roster.Starting || !strings.Contains(a.ReturnNotice, "1 message") {
		t.Errorf("it is %s: %+v, told %q", a.Status, a.Takeover, a.ReturnNotice)
	}
	if got := states(c); got != "began open ended" || c.Lifecycle.ReturnedAgent != a.ID {
		t.Errorf("states %q, returned %q", got, c.Lifecycle.ReturnedAgent)
	}
}

// TestRefusals: an agent that cannot be taken over stays unchanged.
func TestRefusals(t *testing.T) {
	for want, change := range map[string]func(*Context, *roster.Agent){
		"no living agent":      func(_ *Context, a *roster.Agent) { a.Status = roster.Ended },
		"taken over already":   func(_ *Context, a *roster.Agent) { a.SetTakeover(takeover.Begin(time.Time{}, "stdin")) },
		"is parked":            func(_ *Context, a *roster.Agent) { a.Status = roster.Parked },
		"everything is halted": func(c *Context, _ *roster.Agent) { c.Halted = true },
		"there is no bridge":   func(c *Context, a *roster.Agent) { c.Lifecycle.Lost(c.Out, a.Host, "", time.Time{}) },
		"try again when":       func(_ *Context, a *roster.Agent) { a.Status = roster.Starting },
		"has said nothing":     func(_ *Context, a *roster.Agent) { a.HasHistory = false },
	} {
		c, a := working()
		change(c, a)
		before := *a
		c.Attach("r", a.ID)
		rejected := parttest.Emitted[contract.Rejected](c.Context)
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
	c.LoseTerminals("elsewhere")
	if a.Takeover.Stage != takeover.Open {
		t.Errorf("with the bridge of another host: %s", a.Takeover.Stage)
	}
	c.LoseTerminals(lifecycle.Here)
	surveys := len(parttest.Did[effect.Inspect](c.Context))
	c.Reread(func(*roster.Agent) bool { return true }, "the bridge was lost")
	if n := len(parttest.Did[effect.Inspect](c.Context)); n != surveys+1 || a.Takeover.Stage != takeover.Reading ||
		a.Takeover.Why != takeover.BridgeLost {
		t.Errorf("%d surveys more, %+v", n-surveys, a.Takeover)
	}
}

// TestHalt: a halt ends a terminal at once.
func TestHalt(t *testing.T) {
	c, a := handed(t)
	if n := c.Halt(a); n != 1 {
		t.Errorf("ended %d processes", n)
	}
	kills := parttest.Did[effect.Kill](c.Context)
	if last := kills[len(kills)-1]; !last.Now || last.Agent != a.AgentRef || a.Takeover.Why != takeover.Halted {
		t.Errorf("killed %+v, %+v", kills, a.Takeover)
	}
}
