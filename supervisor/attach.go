package supervisor

// This part of the package gives the session of an agent to a human's terminal, and takes it back.
//
// attach stops the agent's own process, records the state of its session and of the repository, and opens the terminal.
// When the human gives the session back (detach), leaves the terminal, or loses it, what was done there is read and
// reported to the Arbiter, and the agent's process is started again on the session. The stages of a takeover are in
// takeover.go.

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/input"
	"github.com/arbiter-cli/arbiter/supervisor/runconfig"
)

// AttachClass is the class of a process that is ended so that the human can have its session in a terminal. It is not
// a failure, and restarts are not counted for it.
const AttachClass runconfig.RestartClass = "takeover"

// attach gives an agent's session to the human: it stops the agent's process normally, and opens the terminal
// when the process has ended.
func (st *step) attach(ref, id string) {
	a := st.Edit(id)
	if why := st.attachRefusal(a, id); why != "" {
		st.out.Reject(ref, "%s", why)
		return
	}
	st.out.Accept(ref, "taking over "+id+": its process is being stopped")
	a.Takeover = &Takeover{Since: st.at, Channel: cmp.Or(st.channel, input.ChannelStdin), Stage: TakeoverStopping}
	st.emit(id, contract.Takeover{State: StateBegan})
	st.relaunch(id, AttachClass, "the human takes its session over")
}

// attachRefusal says why an agent's session cannot be taken over now; empty: it can.
func (s *State) attachRefusal(a *Agent, id string) string {
	switch {
	case a == nil, a.Status == AgentEnded, a.Status == AgentStopping:
		return fmt.Sprintf("there is no living agent %q; alive: %s", id, s.AddresseesText())
	case a.Takeover != nil:
		return fmt.Sprintf("the session of %s was taken over already, at %s by %s; one person has it at a time: "+
			"detach %s first",
			id, a.Takeover.Since.UTC().Format("15:04:05 MST"), a.Takeover.Channel, id)
	case a.Make != "":
		return fmt.Sprintf("%s is of make %s, whose sessions cannot be opened in a terminal here: send it a message instead",
			id, a.Make)
	case a.Status == AgentParked:
		return id + " is parked, and has no process: choose retry first"
	case s.Halted:
		return "everything is halted: continue first"
	case s.Lifecycle.AwaitsTrust(a.Host):
		return "no process starts before you have reviewed what changed in the workspace: choose " +
			strings.Join(s.Lifecycle.TrustQuestion.Choices(), ", ")
	case !s.Lifecycle.IsUp(a.Host):
		return "there is no bridge at the moment: try again"
	case a.Role == RoleArbiter && s.Renewal.Stage == RenewalGiven:
		return id + " is being renewed: try again when its successor is there"
	case a.Status != AgentReady && a.Status != AgentBusy:
		return fmt.Sprintf("%s is %s: try again when it is ready", id, a.Status)
	case !a.HasHistory || a.NewSession:
		return id + " has said nothing yet: there is no session to take over"
	}
	return ""
}

// stoppedForTakeover continues when the supervised process has ended, as requested.
func (st *step) stoppedForTakeover(a *Agent) {
	a.Status, a.Since, a.CurrentTool, a.ToolCall, a.Watch = AgentDown, st.at, "", nil, AgentWatch{}
	switch {
	case a.Takeover == nil:
		st.restart(a.ID)
	case a.Takeover.Why != "":
		st.endTakeover(a, StateEnded, a.Takeover.Why)
	case st.Halted:
		st.endTakeover(a, StateFailed, TakeoverHalted)
	case a.NewSession || !a.HasHistory:
		st.endTakeover(a, StateFailed, "its session ended: another follows")
	default:
		a.Status = InHand
		st.Handoff.DocumentSerial++
		t := a.editTakeover()
		t.Stage, t.Serial = TakeoverInspecting, st.Handoff.DocumentSerial
		st.inspect(a, t.Serial, bridge.InspectParams{Mark: true})
	}
}

// takeoverInspected handles an inspection before or after a takeover, and reports whether the inspection was for a
// takeover.
func (st *step) takeoverInspected(f input.Inspected) bool {
	for i := range st.Agents {
		if t := st.Agents[i].Takeover; t == nil || t.Serial != f.Serial {
			continue
		}
		a := st.Edit(st.Agents[i].ID)
		if a.Status != InHand {
			return true
		}
		switch a.Takeover.Stage {
		case TakeoverInspecting:
			st.openTerminal(a, f)
		case TakeoverReading:
			st.reportTakeover(a, f)
		}
		return true
	}
	return false
}

// openTerminal opens the terminal, now that the state before it is recorded.
func (st *step) openTerminal(a *Agent, f input.Inspected) {
	t := a.editTakeover()
	t.Mark, t.Trouble, t.Stage = f.Result.Mark, f.Result.Problems, TakeoverOpening
	if f.Failed != "" || t.Mark == nil { // the human gets the session all the same; the digest says so
		t.Mark = &bridge.InspectMark{AtMS: st.at.UnixMilli(), Partial: true}
		t.Trouble = append(slices.Clip(t.Trouble),
			cmp.Or(f.Failed, "the first state of the files could not be recorded"))
	}
	a.Generation++
	config := TerminalConfig(st.agentConfig(a), st.trusts(a.Host) || st.Options.Rehearsal)
	st.do(input.OpenPTY{Params: bridge.PTYOpenParams{AgentRef: a.AgentRef, Config: config, Cols: TakeoverCols,
		Rows: TakeoverRows}})
}

// terminalOpened handles a terminal that was opened, or could not be opened.
func (st *step) terminalOpened(f input.PTYOpened) {
	a := st.Edit(f.Agent.ID)
	switch {
	case a == nil || a.Generation != f.Agent.Generation:
		return
	case a.Status == AgentStopping && f.Failed != "":
		st.left(a) // the agent was released meanwhile, and nothing follows
	case a.Status != InHand || a.Takeover == nil || !a.Takeover.HasProcess():
		return
	case f.Failed != "" && a.Takeover.Why != "":
		st.endTakeover(a, StateEnded, a.Takeover.Why)
	case f.Failed != "":
		st.endTakeover(a, StateFailed, f.Failed)
	case a.Takeover.Stage == TakeoverOpening: // one that is being closed already stays so
		a.editTakeover().Stage = TakeoverOpen
		a.LastAnswered = "" // the human may take back what was said
		st.emit(a.ID, contract.Takeover{State: StateOpen})
	}
}

// detach gives a session back to its agent.
func (st *step) detach(ref, id string) {
	a := st.Edit(id)
	if a == nil || a.Takeover == nil {
		st.out.Reject(ref, "%s is not taken over: there is nothing to give back", id)
		return
	}
	st.out.Accept(ref, "giving back "+id)
	st.closeTakeover(a, GivenBack)
}

// closeTakeover ends a takeover, whatever its stage. The first reason is kept.
func (st *step) closeTakeover(a *Agent, why string) {
	t := a.editTakeover()
	t.Why = cmp.Or(t.Why, why)
	switch t.Stage {
	case TakeoverStopping, TakeoverReading: // its end follows
	case TakeoverInspecting: // there was no terminal yet
		st.endTakeover(a, StateEnded, t.Why)
	default: // even if that was tried already
		t.Stage = TakeoverClosing
		st.do(input.ClosePTY{Agent: a.AgentRef})
	}
}

// endTakeover ends a takeover in which nothing was done, and starts the agent again.
func (st *step) endTakeover(a *Agent, state, reason string) {
	release := a.Takeover.Release
	st.resumeLimit(a)
	a.Takeover, a.Status, a.Since, a.Watch = nil, AgentDown, st.at, AgentWatch{}
	st.emit(a.ID, contract.Takeover{State: state, Reason: reason})
	st.afterTakeover(a, release)
}

// afterTakeover continues after a takeover.
func (st *step) afterTakeover(a *Agent, release string) {
	if release != "" {
		st.release(a.ID, release, false)
	} else {
		st.restart(a.ID)
	}
	st.Lifecycle.Waking, st.Lifecycle.ReturnedAgent = true, a.ID // the Arbiter may have waited for this session
	if t := st.Options.Timeout; t > 0 && st.Ending == nil && !st.AnyTakenOver() && st.elapsed() >= t {
		st.timeIsOver() // the end of the run had waited for the session
	}
}

// inspectTakeover requests an inspection of what was done.
func (st *step) inspectTakeover(a *Agent) {
	st.Handoff.DocumentSerial++
	t := a.editTakeover()
	t.Stage, t.Serial = TakeoverReading, st.Handoff.DocumentSerial
	st.inspect(a, t.Serial, bridge.InspectParams{Since: t.Mark})
}

// reportTakeover ends a takeover: the Arbiter receives a digest of what was done, and the agent's process is
// started again on its session.
func (st *step) reportTakeover(a *Agent, f input.Inspected) {
	t := *a.Takeover
	d := t.Digest(a.Name, a.ID, st.at, f.Result, f.Failed)
	a.Takeover, a.Status, a.Since, a.Watch = nil, AgentDown, st.at, AgentWatch{}
	a.ReturnNotice = strings.TrimPrefix(a.ReturnNotice+"\n"+d.Notice, "\n")
	st.emit(a.ID, contract.Takeover{
		State: StateEnded, Reason: t.Why, Words: d.Changes.Words, Files: d.Changes.Files, Digest: d.Text(),
	})
	st.resumeLimit(a)
	switch {
	case d.Idle && a.Role == RoleArbiter:
	case d.Idle: // no reason to wake the Arbiter
		st.Conversation.AddEntry(ConversationEntry{
			ID: st.newID(), From: contract.Supervisor, Kind: KindNotice, At: st.at, Quiet: true,
			Text: d.Finding,
		})
	default:
		m := Mail{From: contract.Supervisor, To: contract.Arbiter, Kind: KindNotice,
			Text: d.Finding}
		if d.Quotes != "" {
			m.Attached = []EnvelopePart{{Title: "quoted from the session of " + a.ID, From: a.ID,
				Kind: "transcript", Text: d.Quotes}}
		}
		st.post(m)
	}
	st.afterTakeover(a, t.Release)
}

// haltTakeover closes a terminal at once, and returns how many processes that ends.
func (st *step) haltTakeover(a *Agent) int {
	switch {
	case a.Takeover == nil:
		return 0
	case a.Takeover.HasProcess():
		t := a.editTakeover()
		t.Why, t.Stage = cmp.Or(t.Why, TakeoverHalted), TakeoverClosing
		st.do(input.Kill{Agent: a.AgentRef, Now: true})
		return 1
	case a.Takeover.Stage == TakeoverInspecting:
		st.endTakeover(a, StateFailed, TakeoverHalted)
	}
	return 0
}

// resumeLimit starts an agent's time limit anew after a takeover: a limit that ended meanwhile was ignored.
func (st *step) resumeLimit(a *Agent) {
	if a.Role == RoleOrchestrator && a.Alive() {
		st.limitWork(a)
	}
}

// loseTerminals handles the loss of a bridge: every terminal ended with it.
func (st *step) loseTerminals(host string) {
	for i := range st.Agents {
		if st.Agents[i].Takeover == nil || st.Agents[i].Host != host {
			continue
		}
		a := st.Edit(st.Agents[i].ID)
		if a.Status == AgentStopping || a.Takeover.Mark == nil { // there is nothing to compare with
			st.resumeLimit(a)
			if a.Status == InHand {
				a.Status, a.Since = AgentDown, st.at
			}
			st.failTakeover(a, BridgeLost)
			continue
		}
		t := a.editTakeover() // the next bridge reads what was done
		t.Why, t.Stage, t.Serial = cmp.Or(t.Why, BridgeLost), TakeoverReading, 0
	}
}

// failTakeover ends a takeover whose session ended on its own, with no record of the state before it.
func (st *step) failTakeover(a *Agent, why string) {
	release := a.Takeover.Release
	if st.dropTakeover(a, StateFailed, why); release != "" {
		st.release(a.ID, release, false)
	}
}

// rereadTakeovers finishes, with another bridge or in another process, takeovers that the previous one began.
func (st *step) rereadTakeovers(of func(*Agent) bool, why string) {
	for i := range st.Agents {
		if st.Agents[i].Takeover == nil || !of(st.Agents[i]) {
			continue
		}
		a := st.Edit(st.Agents[i].ID)
		switch {
		case a.Status != AgentDown && a.Status != InHand:
			a.Takeover = nil
		case a.Takeover.Mark == nil:
			a.Status = AgentDown
			st.failTakeover(a, why)
		default:
			a.Status, a.Since = InHand, st.at
			t := a.editTakeover()
			t.Why = cmp.Or(t.Why, why)
			st.inspectTakeover(a)
		}
	}
}
