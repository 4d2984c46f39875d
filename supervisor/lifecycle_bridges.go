package supervisor

// This part of the package tracks the processes of a run: the bridge on each host, and the agents behind
// them.
//
// [LifecycleState] is this part of the run's state. It records which bridge is up, counts failures, and replaces a lost
// bridge by the policy of package restart. Its methods change it and collect effects.
//
// Pure functions judge the processes of agents: what a failure means and what a person can do about it, whether a
// process shows activity and keeps its limits, how full its context is, and which work of an ended process is
// unfinished. They map observations to findings. Package supervisor acts on a finding: it restarts, parks,
// interrupts or notifies.
//
// Events: restart of a bridge. Effects: OpenBridge, DropBridge.

import (
	"slices"
	"time"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/effect"
	"github.com/arbiter-cli/arbiter/supervisor/runconfig"
	"github.com/arbiter-cli/arbiter/supervisor/words"
)

// LifecycleHere names the host that Arbiter itself runs on, in the state and in inputs. People write [runconfig.Here].
const LifecycleHere = ""

// Bridge is what the run knows about the bridge on one host.
type Bridge struct {
	Host         string `json:",omitempty"`
	Claude       bridge.ClaudeInfo
	Up           bool // a bridge is running
	Gone         bool // the bridge that is being started is lost already
	Unanswered   int  // probes in a row that it did not answer
	UnansweredAt time.Time

	Dir    string       `json:",omitempty"` // where agents on another host work, an absolute path there
	Status BridgeStatus `json:",omitempty"` // of another host; empty: no agent was placed there yet
	Reason string       `json:",omitempty"` // why it is not up
	// Until is when everything that an earlier bridge started on another host has ended. No bridge is started
	// there before.
	Until  time.Time `json:",omitzero"`
	Parked bool      `json:",omitempty"` // it is not retried before a human asks for it

	TrustHash string `json:",omitempty"` // of settings on another host that the human trusts in addition to the workspace's
	Untrusted bool   `json:",omitempty"` // agents on another host start without the workspace's settings
}

// BridgeStatus is the state of another host, as event `host` names it.
type BridgeStatus string

// The statuses of hosts.
const (
	StatusUp BridgeStatus = contract.HostUp
	// no bridge is being started: nothing needs the host, or it is parked
	StatusDown    BridgeStatus = contract.HostDown
	StatusLost    BridgeStatus = contract.HostLost    // its agents are down, and another bridge follows
	StatusWaiting BridgeStatus = contract.HostWaiting // a bridge is being started, which may take as long as a queue takes
)

// Start begins the first process run of Arbiter, with a bridge on this host only.
func (s *LifecycleState) Start(claude bridge.ClaudeInfo) {
	s.Bridges = []Bridge{{Claude: claude, Up: true}}
}

// Resume begins another process run of Arbiter, with the bridge of this host. What an earlier process started
// on other hosts may continue until a lease that begins now is over, except on hosts that were fenced. Parked
// hosts are retried.
func (s *LifecycleState) Resume(claude bridge.ClaudeInfo, now time.Time, lease time.Duration, fenced []string) {
	before := s.Bridges
	s.Start(claude)
	for _, b := range before {
		if b.Host != LifecycleHere && b.Status != "" && b.Status != StatusDown {
			b := Bridge{Host: b.Host, Dir: b.Dir, Status: StatusDown}
			if !slices.Contains(fenced, b.Host) {
				b.Until = now.Add(lease + leaseGrace)
			}
			s.Bridges = append(s.Bridges, b)
		}
	}
}

// MayStillRun lists the other hosts on which something may still run that an earlier process run of Arbiter
// started.
func (s *LifecycleState) MayStillRun() (hosts []string) {
	for _, b := range s.Bridges {
		if b.Host != LifecycleHere && b.Status != "" && b.Status != StatusDown {
			hosts = append(hosts, b.Host)
		}
	}
	return hosts
}

// leaseGrace is the time that a bridge may need to end everything once its lease is over.
const leaseGrace = 5 * time.Second

// Bridge returns what is known about the bridge on a host; if nothing is known, only its name is set.
func (s *LifecycleState) Bridge(host string) Bridge {
	i := slices.IndexFunc(s.Bridges, func(b Bridge) bool { return b.Host == host })
	if i < 0 {
		return Bridge{Host: host}
	}
	return s.Bridges[i]
}

// IsUp reports whether a bridge is running on a host.
func (s *LifecycleState) IsUp(host string) bool { return s.Bridge(host).Up }

// Claude returns the CLI that agents on this host are started with.
func (s *LifecycleState) Claude() bridge.ClaudeInfo { return s.Bridge(LifecycleHere).Claude }

// edit returns the writable record of a host, which is added if it is new.
func (s *LifecycleState) edit(host string) *Bridge {
	s.Bridges = slices.Clone(s.Bridges)
	i := slices.IndexFunc(s.Bridges, func(b Bridge) bool { return b.Host == host })
	if i < 0 {
		i = len(s.Bridges)
		s.Bridges = append(s.Bridges, Bridge{Host: host})
	}
	return &s.Bridges[i]
}

// report records the status of another host, and reports a change. Emits: host.
func (b *Bridge) report(c *effect.Collector, status BridgeStatus, reason string) {
	if b.Host == LifecycleHere || b.Status == status && b.Reason == reason {
		return
	}
	b.Status, b.Reason = status, reason
	c.Emit(contract.Supervisor, contract.Host{Name: b.Host, Status: string(status), Reason: reason})
}

// Want starts a bridge on a host where an agent has to run, unless there is one or one is being started. Emits:
// host. Effects: OpenBridge, SetTimer.
func (s *LifecycleState) Want(c *effect.Collector, host string) {
	b := s.Bridge(host)
	if host == LifecycleHere || b.Up || b.Parked || b.Status != "" && b.Status != StatusDown {
		return // the bridge of this host is always replaced
	}
	if left := b.Until.Sub(c.Now); left > 0 {
		s.edit(host).report(c, StatusWaiting, stillRuns)
		c.Do(effect.SetTimer{Key: LifecycleTimerKey(host), After: left})
		return
	}
	s.Due(c, host)
}

// stillRuns is the reason why a host is not opened at once.
const stillRuns = "what ran there before may not have ended yet"

// Due opens another bridge on a host unless there is one. Emits: host. Effects: OpenBridge.
func (s *LifecycleState) Due(c *effect.Collector, host string) {
	if b := s.Bridge(host); b.Up || b.Parked {
		return
	}
	s.edit(host).report(c, StatusWaiting, "it is being started")
	c.Do(effect.OpenBridge{Host: host})
}

// Lost handles the end of the bridge on a host; until is [Bridge.Until]. It reports false if the start of that
// bridge was not reported yet. Emits: host.
func (s *LifecycleState) Lost(c *effect.Collector, host, reason string, until time.Time) bool {
	b := s.edit(host)
	b.Until = until
	if !b.Up {
		b.Gone = true
		return false
	}
	b.Up = false
	b.report(c, StatusLost, reason)
	return true
}

// Back handles the start of another bridge on a host. It reports false if that bridge is lost already. Emits:
// host.
func (s *LifecycleState) Back(c *effect.Collector, host string, claude bridge.ClaudeInfo, dir string) bool {
	b := s.edit(host)
	if b.Gone {
		b.Gone = false
		return false
	}
	b.Up, b.Claude, b.Dir, b.Until, b.Unanswered = true, claude, dir, time.Time{}, 0
	b.report(c, StatusUp, "")
	return true
}

// reopenPause is how long to wait before another bridge follows one that was ended on purpose.
const reopenPause = time.Second

// Reopen starts another bridge after a halt ended the last one: that is not a failure. Effects: SetTimer.
func (s *LifecycleState) Reopen(c *effect.Collector, host string) {
	after := max(reopenPause, s.Bridge(host).Until.Sub(c.Now))
	c.Do(effect.SetTimer{Key: LifecycleTimerKey(host), After: after})
}

// Retry starts another bridge after one was lost or could not be started, if the restart policy allows it.
// Emits: restart, host. Effects: SetTimer.
func (s *LifecycleState) Retry(
	c *effect.Collector,
	host string,
	p runconfig.RestartPolicy,
	seed, reason string,
) runconfig.RestartDecision {
	d := s.Decide(
		p,
		runconfig.RestartExit{Agent: processOf(host), Class: runconfig.RestartCrash, At: c.Now, Reason: reason, Seed: seed},
	)
	if !d.Starts() {
		return d
	}
	d.Delay = max(d.Delay, s.Bridge(host).Until.Sub(c.Now), time.Millisecond)
	of := "the bridge "
	if host != LifecycleHere {
		of = "host " + host + ": the bridge "
		s.edit(host).report(c, StatusLost, words.Head(reason, maxReason))
	}
	c.Emit(contract.Supervisor, contract.Restart{Attempt: d.Attempt, DelayMS: d.Delay.Milliseconds(),
		Reason: of + d.Reason})
	c.Do(effect.SetTimer{Key: LifecycleTimerKey(host), After: d.Delay})
	return d
}

// maxReason bounds, in bytes, what is reported about a host.
const maxReason = 1000

// Park stops retries for another host until a human asks for one. Emits: host.
func (s *LifecycleState) Park(c *effect.Collector, host, reason string) {
	b := s.edit(host)
	b.Up, b.Parked = false, true
	b.report(c, StatusDown, words.Head(reason, maxReason))
	c.StopTimer(LifecycleTimerKey(host))
}

// RetryOption is the recovery option of a parked host.
func RetryOption(host string) string { return "retry host " + host }

// Unpark retries a parked host. It reports false for one that is not parked. Emits: host. Effects: OpenBridge.
func (s *LifecycleState) Unpark(c *effect.Collector, host string) bool {
	if !s.Bridge(host).Parked {
		return false
	}
	s.edit(host).Parked = false
	s.Restarts = slices.DeleteFunc(slices.Clone(s.Restarts), func(a runconfig.RestartAttempt) bool {
		return a.Agent == processOf(host) // failures before the human's repair do not count
	})
	s.Want(c, host)
	return true
}

// Leave stops the start of a bridge on a host that nothing needs any more. Emits: host.
func (s *LifecycleState) Leave(c *effect.Collector, host string) {
	s.edit(host).report(c, StatusDown, "")
	c.StopTimer(LifecycleTimerKey(host))
}

// Parked lists the hosts that are parked.
func (s *LifecycleState) Parked() (hosts []string) {
	for _, b := range s.Bridges {
		if b.Parked {
			hosts = append(hosts, b.Host)
		}
	}
	return hosts
}

// mute is how many probes in a row a bridge must leave unanswered to count as hung. A bridge answers a probe
// within milliseconds, whatever its agents do, and every probe has waited for the answer.
const mute = 3

// Unanswered counts a probe that the bridge of a host did not answer, and ends a bridge that hangs. Agents are
// probed every so often; probes sent together count once. Emits: notice. Effects: DropBridge.
func (s *LifecycleState) Unanswered(c *effect.Collector, host string, every time.Duration) {
	if c.Now.Sub(s.Bridge(host).UnansweredAt) < every {
		return
	}
	b := s.edit(host)
	b.UnansweredAt = c.Now
	if b.Unanswered++; b.Unanswered < mute || !b.Up {
		return
	}
	b.Unanswered = 0
	of := "the bridge"
	if host != LifecycleHere {
		of += " of host " + host
	}
	c.Emit(contract.Supervisor, contract.Notice{Text: of + " does not answer; it is killed, and another is started"})
	c.Do(effect.DropBridge{Host: host})
}

// Answered records that the bridge of a host has answered a probe.
func (s *LifecycleState) Answered(host string) {
	if s.Bridge(host).Unanswered > 0 {
		s.edit(host).Unanswered = 0
	}
}

// ReportSwept reports processes that a lost bridge had left and that were ended. Emits: notice.
func ReportSwept(c *effect.Collector, n int) {
	if n > 0 {
		c.Emit(contract.Supervisor, contract.Notice{Text: "ended processes that the lost bridge left behind: " +
			words.Count(n, "process")})
	}
}

// theBridge names the bridge of this host in the history of restarts; names for other hosts also contain the
// host.
const theBridge = "bridge"

// processOf names the bridge of a host in the history of restarts.
func processOf(host string) string {
	if host == LifecycleHere {
		return theBridge
	}
	return theBridge + "/" + host
}
