package supervisor

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/effect"
	"github.com/arbiter-cli/arbiter/supervisor/input"
)

// halt stops every agent at once, and holds everything until `continue`. An agent that was working then
// continues its own session, and is told that its turn was cut off.
func (st *step) halt(ref string) {
	st.Halts++
	st.allMoved()
	if st.Halted {
		st.out.Accept(ref, "halted already; continue starts the agents again")
		return
	}
	n := st.holdAll()
	st.out.Accept(ref, fmt.Sprintf("halted: %d stopped; continue starts them again", n))
	st.emit(contract.Human, contract.Halted{By: cmp.Or(st.channel, input.ChannelStdin)})
}

// holdAll ends every process, and returns how many there were.
func (st *step) holdAll() int {
	st.Halted, st.Paused = true, true
	st.loseAllChecks()              // their checks are run again
	st.Rulings.DeciderRequest = nil // and the decider is asked again
	st.do(effect.Drop{})
	st.Permission.DenyAll(&st.out, contract.ByHalt, "the human stopped everything")
	n := 0
	for i := range st.Agents {
		a := st.Edit(st.Agents[i].ID)
		switch {
		case a.Status == InHand:
			n += st.haltTakeover(a)
		case a.Up():
			a.Status, a.Since = AgentRestarting, st.at
			a.RestartClass, a.RestartCause = ClassHalt, "the human stopped everything"
			fallthrough
		case a.Status == AgentStopping, a.Status == AgentRestarting:
			st.do(effect.Kill{Agent: a.AgentRef, Now: true})
			n++
		}
	}
	return n
}

// lostByHalt handles the loss of a bridge that was ended in order to stop everything. The command itself may
// come later, or may have been refused.
func (st *step) lostByHalt() {
	if !st.Halted {
		st.holdAll()
		st.emit(contract.Human, contract.Halted{})
	}
}

// carryOn lets messages be sent again, and starts what was halted.
func (st *step) carryOn(ref string) {
	text := "the thread continues"
	if options := st.LimitOptions(); options != nil {
		text += ", but a limit of costs is spent: choose " + strings.Join(options, " or ")
	}
	st.out.Accept(ref, text)
	st.Paused = false
	st.Budget.LiftReserve(&st.out, st.Options.QuotaReserve)
	if !st.Halted {
		return
	}
	st.Halted = false
	for i := range st.Agents {
		st.restart(st.Agents[i].ID) // if its process is down
	}
	st.goOn()
}
