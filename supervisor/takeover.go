package supervisor

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/effect"
	"github.com/arbiter-cli/arbiter/supervisor/input"
	"github.com/arbiter-cli/arbiter/supervisor/renewal"
	"github.com/arbiter-cli/arbiter/supervisor/restart"
	"github.com/arbiter-cli/arbiter/supervisor/roster"
	"github.com/arbiter-cli/arbiter/supervisor/takeover"
)

// classTakeover is why an agent's process is ended for the human's terminal. It is no
// failure, and restarts are not counted for it.
const classTakeover restart.Class = "takeover"

// attach hands an agent's session to the human: its process is stopped in order, and the
// terminal is opened when it is gone.
func (st *step) attach(ref, id string) {
	a := st.Edit(id)
	if why := st.cannotTakeOver(a, id); why != "" {
		st.out.Reject(ref, "%s", why)
		return
	}
	st.out.Accept(ref, "taking over "+id+": its process is being stopped")
	a.SetTakeover(takeover.Begin(st.at, cmp.Or(st.channel, input.ChannelStdin)))
	st.emit(id, contract.Takeover{State: takeover.StateBegan})
	st.relaunch(id, classTakeover, "the human takes its session over")
}

// cannotTakeOver says why an agent's session cannot be taken over now; empty: it can.
func (st *step) cannotTakeOver(a *roster.Agent, id string) string {
	switch {
	case a == nil, a.Status == roster.Ended, a.Status == roster.Stopping:
		return fmt.Sprintf("there is no living agent %q; alive: %s", id, st.AddresseesText())
	case a.Takeover != nil:
		return fmt.Sprintf("the session of %s was taken over already, at %s by %s; one person has it at a time: "+
			"detach %s first",
			id, a.Takeover.Since.UTC().Format("15:04:05 MST"), a.Takeover.Channel, id)
	case a.Status == roster.Parked:
		return id + " is parked, and has no process: choose retry first"
	case st.Halted:
		return "everything is halted: continue first"
	case st.Lifecycle.AwaitsTrust(a.Host):
		return "no process is started before you have looked at what changed in the workspace: choose " +
			strings.Join(st.TrustOptions(), ", ")
	case !st.Lifecycle.IsUp(a.Host):
		return "there is no bridge at the moment: try again"
	case a.Role == roster.RoleArbiter && st.Renewal.Stage == renewal.Given:
		return id + " is being renewed: try again when its successor is there"
	case a.Status != roster.Ready && a.Status != roster.Busy:
		return fmt.Sprintf("%s is %s: try again when it is ready", id, a.Status)
	case !a.HasHistory || a.NewSession:
		return id + " has said nothing yet: there is no session to take over"
	}
	return ""
}

// processEndedForTakeover: the supervised process is gone, as was wanted.
func (st *step) processEndedForTakeover(id string) {
	a := st.Edit(id)
	a.Status, a.Since, a.CurrentTool, a.ToolCall, a.Watch = roster.Down, st.at, "", nil, roster.Watch{}
	switch {
	case a.Takeover == nil:
		st.restartProcess(id)
	case a.Takeover.Why != "":
		st.endTakeover(id, takeover.StateEnded, a.Takeover.Why)
	case st.Halted:
		st.endTakeover(id, takeover.StateFailed, takeover.Halted)
	case a.NewSession || !a.HasHistory:
		st.endTakeover(id, takeover.StateFailed, "its session ended: another follows")
	default:
		a.Status = roster.InHand
		st.Handoff.DocumentSerial++
		a.SetTakeover(a.Takeover.Inspect(st.Handoff.DocumentSerial))
		st.inspectFor(a, bridge.InspectParams{Mark: true})
	}
}

// takeoverInspected takes what was seen before or after a takeover, and reports whether it was
// about one.
func (st *step) takeoverInspected(f input.Inspected) bool {
	for i := range st.Agents {
		if t := st.Agents[i].Takeover; t == nil || t.Serial != f.Serial {
			continue
		}
		a := st.Edit(st.Agents[i].ID)
		if a.Status != roster.InHand {
			return true
		}
		switch a.Takeover.Stage {
		case takeover.Inspecting:
			st.openTerminal(a, f)
		case takeover.Reading:
			st.takeoverRead(a.ID, f)
		}
		return true
	}
	return false
}

// openTerminal opens the terminal, now that how things stand is noted.
func (st *step) openTerminal(a *roster.Agent, f input.Inspected) {
	a.SetTakeover(a.Takeover.Opens(st.at, f.Result, f.Failed))
	a.Generation++
	config := takeover.TerminalConfig(st.Configuration().Config(a), st.trusts(a.Host) || st.Options.Rehearsal)
	st.do(effect.OpenPTY{Params: bridge.PTYOpenParams{AgentRef: a.AgentRef, Config: config, Cols: takeover.Cols,
		Rows: takeover.Rows}})
}

// ptyOpened: the terminal is there, or is not.
func (st *step) ptyOpened(f input.PTYOpened) {
	a := st.Edit(f.Agent.ID)
	switch {
	case a == nil || a.Generation != f.Agent.Generation:
		return
	case a.Status == roster.Stopping && f.Failed != "":
		a.Status, a.Since = roster.Ended, st.at // it was let go meanwhile, and nothing follows
		st.emit(a.ID, contract.Done{SessionID: a.SessionID, Reason: a.EndReason})
		st.mail().Drop(a.ID)
	case a.Status != roster.InHand || a.Takeover == nil || !a.Takeover.HasProcess():
		return
	case f.Failed != "" && a.Takeover.Why != "":
		st.endTakeover(a.ID, takeover.StateEnded, a.Takeover.Why)
	case f.Failed != "":
		st.endTakeover(a.ID, takeover.StateFailed, f.Failed)
	default:
		if t, awaited := a.Takeover.Opened(); awaited {
			a.SetTakeover(t)
			st.emit(a.ID, contract.Takeover{State: takeover.StateOpen})
		}
	}
}
