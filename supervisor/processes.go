package supervisor

import (
	"slices"
	"time"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/effect"
	"github.com/arbiter-cli/arbiter/supervisor/restart"
	"github.com/arbiter-cli/arbiter/supervisor/roster"
	"github.com/arbiter-cli/arbiter/supervisor/runconfig"
	"github.com/arbiter-cli/arbiter/supervisor/takeover"
)

// addAgent adds an agent and has its process started.
func (st *step) addAgent(a roster.Agent, prompt string) {
	a.Status, a.Since = roster.Starting, st.at
	a.SessionID = st.mail().SessionID(a.ID, a.Generation)
	st.Roster.Add(&a)
	st.emit(a.ID, contract.Spawn{
		Name: a.Name, Mode: a.Mode, Prompt: prompt, SessionID: a.SessionID,
		Generation: a.Generation, SuccessorOf: a.Predecessor, Host: a.Host,
	})
	if w := st.Options.Workspace; w.Enabled() && a.Role == roster.RoleOrchestrator && a.Isolation == "" {
		st.emit(a.ID, contract.Workspace{Dir: st.Options.CWD, Base: w.Base, Isolation: runconfig.IsolationShared})
	}
	if st.Halted || !st.Lifecycle.MayStart(a.Host) { // it starts with the others
		e := st.Edit(a.ID)
		e.Status, e.NewSession = roster.Down, true
		st.wantHost(a.Host)
		return
	}
	st.do(effect.Spawn{
		Params: bridge.SpawnParams{AgentRef: a.AgentRef, Config: st.Configuration().Config(&a)}, Place: st.Dirs().Place(a.ID),
	})
}

// relaunch ends an agent's process in order to start another in its place.
func (st *step) relaunch(id string, class restart.Class, reason string) {
	a := st.Edit(id)
	if a == nil || !a.Up() {
		return
	}
	a.Status, a.Since, a.RestartClass, a.RestartCause, a.Backoff = roster.Restarting, st.at, class, reason, nil
	st.Permission.TurnOver(&st.out, id)
	st.do(effect.Kill{Agent: a.AgentRef, Now: class == restart.Hung})
}

// release ends an agent in order.
func (st *step) release(id, reason string, now bool) {
	a := st.Edit(id)
	if a == nil || !a.Alive() || st.keepsTakeover(a, reason) {
		return
	}
	st.Question.Recovery.Overcome(&st.Roster, id)
	st.Task.Abandon(st.Edit(id), st.at)
	st.Task.DropTasks(id)
	a = st.Edit(id)
	down := a.Status == roster.Down || a.Status == roster.InHand && !a.Takeover.HasProcess()
	st.dropTakeover(a, reason)
	a.Status, a.Since, a.EndReason, a.Dismissed = roster.Stopping, st.at, reason, true
	if down {
		a.Status = roster.Ended // there is no process to end
	}
	if slices.Contains(st.Handoff.SuccessorQueue, id) {
		// Its document stays: the next one summoned still receives it.
		a.Standing = roster.HandedOff
	}
	st.Permission.TurnOver(&st.out, id)
	st.mail().Drop(id)
	if down { // its process has ended, and no other follows
		st.emit(id, contract.Done{SessionID: a.SessionID, Reason: reason})
	} else {
		st.do(effect.Kill{Agent: a.AgentRef, Now: now})
	}
}

// releasePredecessor lets the old one go once its successor has spoken for
// itself: until then it can be asked.
func (st *step) releasePredecessor(id string) {
	a, _ := st.Agent(id)
	if old, ok := st.Agent(a.Predecessor); ok && old.Alive() && old.Standing == roster.HandedOff {
		st.release(old.ID, "succeeded by "+id, false)
	}
}

// keepsTakeover reports whether a takeover keeps an agent from being let go for now: what the
// human has nobody else ends.
func (st *step) keepsTakeover(a *roster.Agent, reason string) bool {
	if a.Takeover == nil || st.ordered {
		return false
	}
	a.SetTakeover(a.Takeover.ReleaseAfter(reason))
	return true
}

// dropTakeover ends the takeover of an agent that is let go.
func (st *step) dropTakeover(a *roster.Agent, reason string) {
	if a.Takeover == nil {
		return
	}
	a.Takeover = nil
	st.emit(a.ID, contract.Takeover{State: takeover.StateEnded, Reason: reason})
}

// stopWorkers lets every Orchestrator go.
func (st *step) stopWorkers() {
	for i := range st.Agents {
		if a := *st.Agents[i]; a.Role == roster.RoleOrchestrator && a.Alive() {
			st.release(a.ID, "reset by the human", false)
		}
	}
}

// backOff notes the wait of an agent.
func (st *step) backOff(a *roster.Agent, c bridge.Category, attempt int, delay time.Duration) {
	a.Backoff = &roster.Backoff{Category: c, Attempt: attempt, Until: st.at.Add(delay)}
}
