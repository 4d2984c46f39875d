package supervisor

import (
	"fmt"
	"strings"
	"time"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/restart"
)

// AgentTakeover follows an agent's session in the hands of a human.
type AgentTakeover struct {
	Taken        *Taken `json:",omitempty"` // a human has its session, or is about to
	ReturnNotice string `json:",omitempty"` // told with the next message: a human had its session
}

// Taken is a takeover: a human has, or is about to have, an agent's session in a
// terminal. The agent has one process at a time: its own until TakenStopping is over, the
// terminal's from TakenOpening to TakenClosing, none between.
type Taken struct {
	Since   time.Time
	Channel string // by which it was asked for
	Stage   TakenStage
	Serial  int                 // of the survey that is awaited
	Mark    *bridge.InspectMark // how things stood when it began
	Why     string              // it ends, or ended
	Release string              // why the agent is let go once it is given back
	Trouble []string            // what could not be noted when it began
}

// TakenStage is how far a takeover has got.
type TakenStage string

// The stages of a takeover.
const (
	TakenStopping TakenStage = "stopping" // the supervised process is being ended
	TakenLooking  TakenStage = "looking"  // how things stand is noted
	TakenOpening  TakenStage = "opening"  // the terminal is being opened
	TakenOpen     TakenStage = "open"
	TakenClosing  TakenStage = "closing" // the terminal's process is being ended
	TakenReading  TakenStage = "reading" // what was done is read
)

// classTakeover is why an agent's process is ended for the human's terminal. It is no
// failure, and restarts are not counted for it.
const classTakeover restart.Class = "takeover"

// States of the takeover event.
const (
	takeoverBegan  = "began"
	takeoverOpen   = "open"
	takeoverEnded  = "ended"
	takeoverFailed = "failed"
)

// Size of a terminal until somebody looks at it.
const (
	takenCols = 80
	takenRows = 24
)

// takenGrace is how often a run whose time is over looks whether a human still has a session.
const takenGrace = time.Minute

const givenBack = "the human gave it back"

// process says whether the terminal's process is there, or may be.
func (t *Taken) process() bool {
	return t.Stage == TakenOpening || t.Stage == TakenOpen || t.Stage == TakenClosing
}

// anyTaken says whether a human has somebody's session.
func (s *State) anyTaken() bool { return s.takenNames() != "" }

// takenNames lists whose sessions a human has.
func (s *State) takenNames() string {
	var names []string
	for _, a := range s.Agents {
		if a.Taken != nil {
			names = append(names, a.ID)
		}
	}
	return strings.Join(names, ", ")
}

// attach hands an agent's session to the human: its process is stopped in order, and the
// terminal is opened when it is gone.
func (st *step) attach(ref, id string) {
	a := st.edit(id)
	if why := st.mayNotTake(a, id); why != "" {
		st.reject(ref, "%s", why)
		return
	}
	st.accept(ref, "taking over "+id+": its process is being stopped")
	a.Taken = &Taken{Since: st.at, Channel: orDefault(st.channel, ChannelStdin), Stage: TakenStopping}
	st.emit(id, contract.Takeover{State: takeoverBegan})
	st.relaunch(id, classTakeover, "the human takes its session over")
}

// mayNotTake says why an agent's session cannot be taken over now; empty: it can.
func (st *step) mayNotTake(a *Agent, id string) string {
	switch {
	case a == nil, a.Status == Ended, a.Status == Stopping:
		return fmt.Sprintf("there is no living agent %q; alive: %s", id, st.everyone())
	case a.Taken != nil:
		return fmt.Sprintf("the session of %s was taken over already, at %s by %s; one person has it at a time: detach %s first",
			id, a.Taken.Since.UTC().Format("15:04:05 MST"), a.Taken.Channel, id)
	case a.Status == Parked:
		return id + " is parked, and has no process: choose retry first"
	case st.Halted:
		return "everything is halted: continue first"
	case st.TrustQuestion != nil:
		return "no process is started before you have looked at what changed in the workspace: choose " + strings.Join(st.trustOptions(), ", ")
	case !st.BridgeUp:
		return "there is no bridge at the moment: try again"
	case a.Role == RoleArbiter && st.RenewalStage == renewalGiven:
		return id + " is being renewed: try again when its successor is there"
	case a.Status != Ready && a.Status != Busy:
		return fmt.Sprintf("%s is %s: try again when it is ready", id, a.Status)
	case !a.HasHistory || a.NewSession:
		return id + " has said nothing yet: there is no session to take over"
	}
	return ""
}

// detach gives it back.
func (st *step) detach(ref, id string) {
	a := st.edit(id)
	if a == nil || a.Taken == nil {
		st.reject(ref, "%s is not taken over: there is nothing to give back", id)
		return
	}
	st.accept(ref, "giving back "+id)
	st.closeTaken(a, givenBack)
}

// retake returns a writable takeover. The old state's is shared with it.
func (a *Agent) retake() *Taken {
	t := *a.Taken
	a.Taken = &t
	return a.Taken
}

// closeTaken ends a takeover, whatever its stage.
func (st *step) closeTaken(a *Agent, why string) {
	t := a.retake()
	if t.Why == "" {
		t.Why = why
	}
	switch t.Stage {
	case TakenStopping, TakenReading:
		// Its end is on the way.
	case TakenLooking:
		st.endTakeover(a.ID, takeoverEnded, t.Why)
	default: // also where that was tried already
		t.Stage = TakenClosing
		st.do(ClosePTY{Agent: a.AgentRef})
	}
}

// endTakeover ends a takeover in which nothing was done, and starts the agent again.
func (st *step) endTakeover(id, state, reason string) {
	a := st.edit(id)
	release := a.Taken.Release
	st.resumeLimit(a)
	a.Taken, a.Status, a.Since, a.Watch = nil, Down, st.at, Watch{}
	st.emit(id, contract.Takeover{State: state, Reason: reason})
	st.returned(id, release)
}

// returned goes on after a takeover.
func (st *step) returned(id, release string) {
	if release != "" {
		st.release(id, release, false)
	} else {
		st.revive(id)
	}
	st.Waking, st.ReturnedAgent = true, id // the Arbiter may have waited for just that
	if t := st.Options.Timeout; t > 0 && st.Ending == nil && !st.anyTaken() && st.elapsed() >= t {
		st.timeIsOver() // it had waited for that
	}
}

// takenDown: the supervised process is gone, as was wanted.
func (st *step) takenDown(id string) {
	a := st.edit(id)
	a.Status, a.Since, a.CurrentTool, a.ToolCall, a.Watch = Down, st.at, "", nil, Watch{}
	switch {
	case a.Taken == nil:
		st.revive(id)
	case a.Taken.Why != "":
		st.endTakeover(id, takeoverEnded, a.Taken.Why)
	case st.Halted:
		st.endTakeover(id, takeoverFailed, "the human stopped everything")
	case a.NewSession || !a.HasHistory:
		st.endTakeover(id, takeoverFailed, "its session ended: another follows")
	default:
		a.Status = InHand
		t := a.retake()
		st.DocumentSerial++
		t.Stage, t.Serial = TakenLooking, st.DocumentSerial
		st.lookAt(a, bridge.InspectParams{Mark: true})
	}
}

// lookAt has the session and the repository looked at.
func (st *step) lookAt(a *Agent, p bridge.InspectParams) {
	p.SessionID, p.CWD, p.Env, p.Sandbox = a.SessionID, st.Options.CWD, st.Options.Env, st.Options.Sandbox
	st.do(Survey{Serial: a.Taken.Serial, Params: p})
}

// takenSurveyed takes what was seen before or after a takeover, and says whether it was
// about one.
func (st *step) takenSurveyed(f Surveyed) bool {
	for i := range st.Agents {
		if t := st.Agents[i].Taken; t == nil || t.Serial != f.Serial {
			continue
		}
		a := st.edit(st.Agents[i].ID)
		if a.Status != InHand {
			return true
		}
		switch a.Taken.Stage {
		case TakenLooking:
			st.openTaken(a, f)
		case TakenReading:
			st.handBack(a.ID, f)
		}
		return true
	}
	return false
}

// openTaken opens the terminal, now that how things stand is noted. That nothing could be
// noted keeps nobody from his session.
func (st *step) openTaken(a *Agent, f Surveyed) {
	t := a.retake()
	t.Mark, t.Trouble, t.Stage = f.Result.Mark, f.Result.Trouble, TakenOpening
	if f.Failed != "" || t.Mark == nil {
		t.Mark = &bridge.InspectMark{AtMS: st.at.UnixMilli(), Partial: true}
		t.Trouble = append(t.Trouble[:len(t.Trouble):len(t.Trouble)], orDefault(f.Failed, "how things stood at first could not be noted"))
	}
	a.Generation++
	st.do(OpenPTY{Params: bridge.PTYOpenParams{AgentRef: a.AgentRef, Config: st.terminalConfig(a), Cols: takenCols, Rows: takenRows}})
}

// terminalConfig is the agent's configuration, for the human's terminal.
func (s *State) terminalConfig(a *Agent) bridge.AgentConfig {
	c := s.config(a)
	c.Resume, c.Partial, c.JSONSchema, c.MCPTools, c.Hooks = true, false, nil, nil, nil
	c.AppendSystemPrompt += inHumanHands
	if s.Options.Trusted || s.Options.Rehearsal {
		// The CLI need not ask again whether the workspace is trusted (observed with CLI 2.1.329).
		env := map[string]string{"CLAUDE_CODE_SANDBOXED": "1"}
		for name, value := range c.Env {
			env[name] = value
		}
		c.Env = env
	}
	return c
}

const inHumanHands = "\n\nFor now the human has your session in a terminal and speaks to you directly, without an envelope. " +
	"Answer in plain words: no verdict is asked for, and the tools of mcp__arbiter are not at hand until the session is given back."

// ptyOpened: the terminal is there, or is not.
func (st *step) ptyOpened(f PTYOpened) {
	a := st.edit(f.Agent.ID)
	switch {
	case a == nil || a.Generation != f.Agent.Generation:
		return
	case a.Status == Stopping && f.Failed != "":
		a.Status, a.Since = Ended, st.at // it was let go meanwhile, and nothing follows
		st.emit(a.ID, contract.Done{SessionID: a.SessionID, Reason: a.EndReason})
		st.drop(a.ID)
	case a.Status != InHand || a.Taken == nil || !a.Taken.process():
		return
	case f.Failed != "" && a.Taken.Why != "":
		st.endTakeover(a.ID, takeoverEnded, a.Taken.Why)
	case f.Failed != "":
		st.endTakeover(a.ID, takeoverFailed, f.Failed)
	default:
		t := a.retake()
		if t.Stage == TakenOpening {
			t.Stage = TakenOpen
			st.emit(a.ID, contract.Takeover{State: takeoverOpen})
		}
	}
}

// takenOver: the terminal's process is gone, by itself or because somebody closed it.
func (st *step) takenOver(a *Agent, e bridge.Exit) {
	t := a.retake()
	if t.Why == "" {
		t.Why = "the human left it"
		if e.Code != 0 {
			t.Why = "the terminal's program ended: " + exitText(e)
		}
	}
	st.readTaken(a)
}

// readTaken has it read what was done.
func (st *step) readTaken(a *Agent) {
	t := a.retake()
	st.DocumentSerial++
	t.Stage, t.Serial = TakenReading, st.DocumentSerial
	st.lookAt(a, bridge.InspectParams{Since: t.Mark})
}
