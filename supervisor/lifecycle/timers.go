package lifecycle

import "strings"

// TimerPrefix begins the keys of timers for starts of processes: of agents, and of bridges.
const TimerPrefix = "restart/"

// TimerKey is the key of the timer that opens another bridge on a host.
func TimerKey(host string) string { return TimerPrefix + processOf(host) }

// TimerHost returns the host whose bridge a timer is for, by its key without the prefix; false: it is for an agent's
// process.
func TimerHost(of string) (host string, ok bool) {
	if of == theBridge {
		return Here, true
	}
	return strings.CutPrefix(of, theBridge+"/")
}
