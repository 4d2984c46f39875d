package supervisor

import (
	"fmt"
	"math"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/input"
	"github.com/arbiter-cli/arbiter/supervisor/runconfig"
	"github.com/arbiter-cli/arbiter/supervisor/words"
)

// What happens when a bridge is lost, and how another one replaces it.

// bridgeLost handles a lost bridge: every agent of its host ended with it. Another bridge is started, and the
// agents are restarted.
func (st *step) bridgeLost(f input.BridgeLost) {
	if f.Halted && !f.HaltApplied && !st.Halted { // the command itself may come later, or may have been refused
		st.holdAll()
		st.emit(contract.Human, contract.Halted{})
	}
	if !st.Lifecycle.Lost(&st.out, f.Host, f.Message, f.Until) {
		return
	}
	if f.Halted {
		st.loseWhatRan(f.Host, string(ClassHalt))
		st.Lifecycle.Reopen(&st.out, f.Host)
		return
	}
	st.Lifecycle.Crashes++
	st.loseWhatRan(f.Host, string(bridge.CatCrash))
	st.openBridge(f.Host, f.Message)
}

// openBridge starts another bridge after a delay. Another host is tried again and again while a human is present,
// who can end that; else it is parked after a while. If the retries for this host are used up, the run ends.
func (st *step) openBridge(host, reason string) {
	if host != LifecycleHere && !st.needsHost(host) {
		st.Lifecycle.Leave(&st.out, host)
		return
	}
	policy := st.Options.RestartPolicy()
	if st.HumanPresent {
		policy.HostHorizon = math.MaxInt64
	}
	seed := fmt.Sprintf("%s/bridge/%d", st.Options.Run, st.Lifecycle.Crashes)
	d := st.Lifecycle.Retry(&st.out, host, policy, seed, reason)
	switch {
	case d.Starts():
		if host != LifecycleHere && d.Attempt == longLost {
			st.waitsForHost(host, "is out of reach ("+words.Cite(reason)+"). The connection is tried again with growing "+
				"pauses, and it goes on when the host is back. Wait")
		}
	case host != LifecycleHere:
		st.parkHost(host, Categories[runconfig.HostUnreachable], d.Reason)
	default:
		st.fail(contract.Supervisor, bridge.CatCrash, "the bridge is "+d.Reason, []string{"arbiter --resume"})
		st.giveUp(bridge.CatCrash, "the bridge is "+d.Reason)
	}
}

// longLost is the failed attempt, counted from 1, after which the Arbiter learns that a host is lost: about a quarter
// of a minute after the first. Shorter outages are over before an agent elsewhere could take over.
const longLost = 5

// bridgeBack handles a new bridge in place of a lost one. The agents are restarted behind it.
func (st *step) bridgeBack(f input.BridgeBack) {
	if st.Lifecycle.Bridge(f.Host).Parked {
		return // it has ended before its start was reported, and the host was given up for that
	}
	if !st.Lifecycle.Back(&st.out, f.Host, f.Claude, f.Dir, f.Cores) {
		if st.Halted {
			st.Lifecycle.Reopen(&st.out, f.Host)
			return
		}
		st.openBridge(f.Host, "it ended at once")
		return
	}
	if f.Host != LifecycleHere && !st.needsHost(f.Host) {
		st.Lifecycle.Dismiss(&st.out, f.Host)
		return
	}
	if f.Swept > 0 {
		st.notice(contract.Supervisor, "ended processes that the lost bridge left behind: "+words.Count(f.Swept,
			"process"))
	}
	onHost := func(a *Agent) bool { return a.Host == f.Host }
	st.rereadTakeovers(onHost, "the bridge was lost")
	st.restartWhere(onHost)
	st.loseChecksOn(f.Host) // documents whose work began while there was no bridge
	st.goOn(func(h *Handover) bool { return h.NextHost(&st.Roster) == f.Host })
}

// wantHostsOfWork opens the hosts whose work is awaited. Restarts of agents also open hosts, but the author may have
// ended.
func (st *step) wantHostsOfWork() {
	if len(st.Options.Hosts) == 0 || st.Halted {
		return
	}
	for _, host := range st.hostsOfWork() {
		st.Lifecycle.Want(&st.out, host)
	}
}

// bridgeFailed handles a bridge that could not be started.
func (st *step) bridgeFailed(f input.BridgeFailed) {
	b := st.Lifecycle.edit(f.Host)
	b.Opening, b.Gone = false, false
	switch {
	case f.Host != LifecycleHere && failures[f.Category].host:
		st.parkHost(f.Host, f.Category, f.Message)
	case f.Host == LifecycleHere && AffectsAllAgents(f.Category):
		st.fail(contract.Supervisor, f.Category, f.Message, RecoveryOptions(f.Category, RoleArbiter))
		st.giveUp(f.Category, f.Message)
	default:
		st.openBridge(f.Host, f.Message)
	}
}
