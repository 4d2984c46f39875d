package supervisor

import (
	"strings"

	"cmp"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/conversation"
	"github.com/arbiter-cli/arbiter/supervisor/effect"
	"github.com/arbiter-cli/arbiter/supervisor/input"
	"github.com/arbiter-cli/arbiter/supervisor/lifecycle"
	"github.com/arbiter-cli/arbiter/supervisor/roster"
	"github.com/arbiter-cli/arbiter/supervisor/takeover"
)

// detach gives it back.
func (st *step) detach(ref, id string) {
	a := st.Edit(id)
	if a == nil || a.Takeover == nil {
		st.out.Reject(ref, "%s is not taken over: there is nothing to give back", id)
		return
	}
	st.out.Accept(ref, "giving back "+id)
	st.closeTakeover(a, takeover.GivenBack)
}

// closeTakeover ends a takeover, whatever its stage.
func (st *step) closeTakeover(a *roster.Agent, why string) {
	t, next := a.Takeover.Close(why)
	a.SetTakeover(t)
	switch next {
	case takeover.Wait:
	case takeover.Over:
		st.endTakeover(a.ID, takeover.StateEnded, t.Why)
	case takeover.CloseTerminal:
		st.do(effect.ClosePTY{Agent: a.AgentRef})
	}
}

// endTakeover ends a takeover in which nothing was done, and starts the agent again.
func (st *step) endTakeover(id, state, reason string) {
	a := st.Edit(id)
	release := a.Takeover.Release
	st.resumeLimit(a)
	a.Takeover, a.Status, a.Since, a.Watch = nil, roster.Down, st.at, roster.Watch{}
	st.emit(id, contract.Takeover{State: state, Reason: reason})
	st.goOnAfterTakeover(id, release)
}

// goOnAfterTakeover goes on after a takeover.
func (st *step) goOnAfterTakeover(id, release string) {
	if release != "" {
		st.release(id, release, false)
	} else {
		st.restartProcess(id)
	}
	st.Lifecycle.Waking, st.Lifecycle.ReturnedAgent = true, id // the Arbiter may have waited for just that
	if t := st.Options.Timeout; t > 0 && st.Ending == nil && !st.AnyTakenOver() && st.elapsed() >= t {
		st.timeIsOver() // it had waited for that
	}
}

// terminalEnded: the terminal's process is gone, of its own accord or because somebody closed it.
func (st *step) terminalEnded(a *roster.Agent, e bridge.Exit) {
	program := ""
	if e.Code != 0 {
		program = lifecycle.ExitText(e)
	}
	a.SetTakeover(a.Takeover.Left(program))
	st.inspectTakeover(a)
}

// inspectTakeover has it read what was done.
func (st *step) inspectTakeover(a *roster.Agent) {
	st.Handoff.DocumentSerial++
	a.SetTakeover(a.Takeover.Read(st.Handoff.DocumentSerial))
	st.inspectFor(a, bridge.InspectParams{Since: a.Takeover.Mark})
}

// takeoverRead ends a takeover: the Arbiter receives a digest of what was done, and the agent's process is
// started again on its session.
func (st *step) takeoverRead(id string, f input.Inspected) {
	a := st.Edit(id)
	t := *a.Takeover
	d := t.Digest(a.Name, id, st.at, f.Result, f.Failed)
	a.Takeover, a.Status, a.Since, a.Watch = nil, roster.Down, st.at, roster.Watch{}
	a.ReturnNotice = strings.TrimPrefix(a.ReturnNotice+"\n"+d.Notice, "\n")
	st.emit(id, contract.Takeover{
		State: takeover.StateEnded, Reason: t.Why, Words: d.Changes.Words, Files: d.Changes.Files, Digest: d.Text(),
	})
	st.resumeLimit(a)
	switch {
	case d.Idle && a.Role == roster.RoleArbiter:
	case d.Idle: // no reason to wake the Arbiter
		st.Conversation.AddEntry(conversation.Entry{
			ID: st.mail().NewID(), From: contract.Supervisor, Kind: conversation.KindNotice, At: st.at, Quiet: true,
			Text: d.Finding,
		})
	default:
		m := conversation.Mail{From: contract.Supervisor, To: contract.Arbiter, Kind: conversation.KindNotice,
			Text: d.Finding}
		if d.Quotes != "" {
			m.Attached = []conversation.Attached{{Title: "quoted from the session of " + id, From: id,
				Kind: "transcript", Text: d.Quotes}}
		}
		st.mail().Post(m)
	}
	st.goOnAfterTakeover(id, t.Release)
}

// What else ends a takeover than the human whose it is: a lost bridge, another life, a halt,
// a release, a session that ended.

// loseTakeovers: the bridge is gone, and with it every terminal.
func (st *step) loseTakeovers(host string) {
	for i := range st.Agents {
		if st.Agents[i].Takeover == nil || st.Agents[i].Host != host {
			continue
		}
		a := st.Edit(st.Agents[i].ID)
		t, read := a.Takeover.Lose()
		if a.Status == roster.Stopping || !read {
			release := a.Takeover.Release
			st.resumeLimit(a)
			a.Takeover = nil
			st.emit(a.ID, contract.Takeover{State: takeover.StateFailed, Reason: takeover.BridgeLost})
			if a.Status == roster.InHand {
				a.Status, a.Since = roster.Down, st.at
			}
			if release != "" {
				st.release(a.ID, release, false)
			}
			continue
		}
		a.SetTakeover(t)
	}
}

// rereadTakeovers takes up, with another bridge or in another life, the end of takeovers
// that the last one saw begin.
func (st *step) rereadTakeovers(of func(*roster.Agent) bool, why string) {
	for i := range st.Agents {
		if st.Agents[i].Takeover == nil || !of(st.Agents[i]) {
			continue
		}
		a := st.Edit(st.Agents[i].ID)
		switch {
		case a.Status != roster.Down && a.Status != roster.InHand:
			a.Takeover = nil
		case a.Takeover.Mark == nil:
			release := a.Takeover.Release
			a.Takeover, a.Status = nil, roster.Down
			st.emit(a.ID, contract.Takeover{State: takeover.StateFailed, Reason: why})
			if release != "" {
				st.release(a.ID, release, false)
			}
		default:
			a.Status, a.Since = roster.InHand, st.at
			t := *a.Takeover
			t.Why = cmp.Or(t.Why, why)
			a.SetTakeover(t)
			st.inspectTakeover(a)
		}
	}
}

// haltTakeover closes a terminal at once, and says how many processes that ends.
func (st *step) haltTakeover(a *roster.Agent) int {
	switch {
	case a.Takeover == nil:
		return 0
	case a.Takeover.HasProcess():
		t, _ := a.Takeover.Close(takeover.Halted)
		a.SetTakeover(t)
		st.do(effect.Kill{Agent: a.AgentRef, Now: true})
		return 1
	case a.Takeover.Stage == takeover.Inspecting:
		st.endTakeover(a.ID, takeover.StateFailed, takeover.Halted)
	}
	return 0
}

// failTakeover ends the takeover of an agent whose session came to an end of its own.
func (st *step) failTakeover(a *roster.Agent, why string) {
	if a.Takeover == nil {
		return
	}
	a.Takeover = nil
	st.emit(a.ID, contract.Takeover{State: takeover.StateFailed, Reason: why})
}

// resumeLimit gives one its time again that a human had: its end was not heeded meanwhile.
func (st *step) resumeLimit(a *roster.Agent) {
	if a.Role == roster.RoleOrchestrator && a.Alive() {
		st.limitWork(a.ID)
	}
}

// inspectFor has the session and the repository looked at.
func (st *step) inspectFor(a *roster.Agent, p bridge.InspectParams) {
	dir := st.Dirs().Of(a.ID)
	p.SessionID, p.CWD, p.Env, p.Sandbox = a.SessionID, dir, st.Options.Env, st.Dirs().Sandbox(dir)
	st.do(effect.Survey{Serial: a.Takeover.Serial, Host: a.Host, Params: p})
}
