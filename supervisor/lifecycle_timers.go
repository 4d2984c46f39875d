package supervisor

import "strings"

// LifecycleTimerPrefix begins the keys of timers for starts of processes: of agents, and of bridges.
const LifecycleTimerPrefix = "restart/"

// LifecycleTimerKey is the key of the timer that opens another bridge on a host.
func LifecycleTimerKey(host string) string { return LifecycleTimerPrefix + processOf(host) }

// TimerHost returns the host whose bridge a timer is for, by its key without the prefix; false: it is for an agent's
// process.
func TimerHost(of string) (host string, ok bool) {
	if of == theBridge {
		return LifecycleHere, true
	}
	return strings.CutPrefix(of, theBridge+"/")
}
