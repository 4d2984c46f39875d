package supervisor

import (
	"fmt"
	"strings"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/supervisor/effect"
	"github.com/arbiter-cli/arbiter/supervisor/permission"
	"github.com/arbiter-cli/arbiter/supervisor/roster"
)

// rang does what a timer was set for. One about a process that is another by now, or about
// what is over, does nothing.
func (st *step) rang(key string) {
	if key == timeoutKey {
		st.timeIsOver()
		return
	}
	kind, of, _ := strings.Cut(key, "/")
	switch kind += "/"; kind {
	case permission.TimerPrefix:
		st.Permission.TimedOut(&st.out, of, st.Options.PermissionWait)
	case proofPrefix:
		st.proofOverdue(of)
	case handoverPrefix:
		st.handoverLate(of)
	case workLimitPrefix:
		st.workLimitRang(of)
	case restartPrefix:
		if of == theBridge {
			st.bridgeDue()
			return
		}
		fallthrough
	case watchPrefix, compactionBlockedPrefix, retryPrefix:
		for i := range st.Agents {
			if a := st.Agents[i]; processOf(a.AgentRef) == of {
				st.rangFor(kind, a)
				return
			}
		}
	}
}

// rangFor does what a timer of an agent's process was set for.
func (st *step) rangFor(kind string, a *roster.Agent) {
	switch kind {
	case watchPrefix:
		if a.Up() {
			st.do(effect.Probe{Agent: a.AgentRef})
		}
	case restartPrefix:
		st.Edit(a.ID).Backoff = nil
		st.revive(a.ID) // if it is down
	case compactionBlockedPrefix:
		st.interruptForContext(a)
	case retryPrefix:
		st.Edit(a.ID).Backoff = nil
		st.retryNow(a)
	}
}

// A timer's key says what it is for and whom or what it is about. It is recorded when it
// rings, so that these names stay as they are. What is about a process names its generation.
const (
	timeoutKey              = "timeout" // the time of the run
	proofPrefix             = "proof/"
	handoverPrefix          = "handover/"
	workLimitPrefix         = "work-limit/"
	watchPrefix             = "watch/"
	restartPrefix           = "restart/"
	compactionBlockedPrefix = "compaction-blocked/"
	retryPrefix             = "retry/"
)

func proofKey(wire string) string { return proofPrefix + wire }

func handoverKey(serial int) string { return fmt.Sprint(handoverPrefix, serial) }

func workLimitKey(a bridge.AgentRef) string { return workLimitPrefix + a.ID }

func watchKey(a bridge.AgentRef) string { return watchPrefix + processOf(a) }

func restartKey(a bridge.AgentRef) string { return restartPrefix + processOf(a) }

func compactionBlockedKey(a bridge.AgentRef) string { return compactionBlockedPrefix + processOf(a) }

func retryKey(a bridge.AgentRef) string { return retryPrefix + processOf(a) }

func processOf(a bridge.AgentRef) string { return fmt.Sprintf("%s/%d", a.ID, a.Generation) }
