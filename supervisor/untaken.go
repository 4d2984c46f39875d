package supervisor

import (
	"github.com/arbiter-cli/arbiter/supervisor/contract"
)

// What else ends a takeover than the human whose it is: a lost bridge, another life, a halt,
// a release, a session that ended.

// loseTaken: the bridge is gone, and with it every terminal.
func (st *step) loseTaken() {
	for i := range st.Agents {
		if st.Agents[i].Taken == nil {
			continue
		}
		a := st.edit(st.Agents[i].ID)
		if a.Status == Stopping || a.Taken.Mark == nil {
			release := a.Taken.Release
			st.resumeLimit(a)
			a.Taken = nil
			st.emit(a.ID, contract.Takeover{State: takeoverFailed, Reason: "the bridge was lost"})
			if a.Status == InHand {
				a.Status, a.Since = Down, st.at
			}
			if release != "" {
				st.release(a.ID, release, false)
			}
			continue
		}
		t := a.retake()
		t.Stage, t.Serial, t.Why = TakenReading, 0, orDefault(t.Why, "the bridge was lost")
	}
}

// rereadTaken takes up, with another bridge or in another life, the end of takeovers
// that the last one saw begin.
func (st *step) rereadTaken(why string) {
	for i := range st.Agents {
		if st.Agents[i].Taken == nil {
			continue
		}
		a := st.edit(st.Agents[i].ID)
		switch {
		case a.Status != Down && a.Status != InHand:
			a.Taken = nil
		case a.Taken.Mark == nil:
			release := a.Taken.Release
			a.Taken, a.Status = nil, Down
			st.emit(a.ID, contract.Takeover{State: takeoverFailed, Reason: why})
			if release != "" {
				st.release(a.ID, release, false)
			}
		default:
			a.Status, a.Since = InHand, st.at
			a.retake().Why = orDefault(a.Taken.Why, why)
			st.readTaken(a)
		}
	}
}

// haltTaken closes a terminal at once, and says how many processes that ends.
func (st *step) haltTaken(a *Agent) int {
	const why = "the human stopped everything"
	switch {
	case a.Taken == nil:
		return 0
	case a.Taken.process():
		t := a.retake()
		t.Stage, t.Why = TakenClosing, orDefault(t.Why, why)
		st.do(Kill{Agent: a.AgentRef, Now: true})
		return 1
	case a.Taken.Stage == TakenLooking:
		st.endTakeover(a.ID, takeoverFailed, why)
	}
	return 0
}

// keepTaken says whether a takeover keeps an agent from being let go for now: what the
// human has nobody else ends.
func (st *step) keepTaken(a *Agent, reason string) bool {
	if a.Taken == nil || st.ordered {
		return false
	}
	a.retake().Release = reason
	return true
}

// dropTaken ends the takeover of an agent that is let go.
func (st *step) dropTaken(a *Agent, reason string) {
	if a.Taken == nil {
		return
	}
	a.Taken = nil
	st.emit(a.ID, contract.Takeover{State: takeoverEnded, Reason: reason})
}

// failTaken ends the takeover of an agent whose session came to an end of its own.
func (st *step) failTaken(a *Agent, why string) {
	if a.Taken == nil {
		return
	}
	a.Taken = nil
	st.emit(a.ID, contract.Takeover{State: takeoverFailed, Reason: why})
}

// resumeLimit gives one its time again that a human had: its end was not heeded meanwhile.
func (st *step) resumeLimit(a *Agent) {
	if a.Role == RoleOrchestrator && a.Alive() {
		st.limitWork(a.ID)
	}
}
