package lifecycle

import (
	"slices"
	"time"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/effect"
	"github.com/arbiter-cli/arbiter/supervisor/restart"
	"github.com/arbiter-cli/arbiter/supervisor/words"
)

// Here names the host that arbiter itself runs on. People write it `here`.
const Here = ""

// Bridge is what the run knows of the bridge on one host.
type Bridge struct {
	Host         string `json:",omitempty"`
	Claude       bridge.ClaudeInfo
	Up           bool // there is one to speak to
	Gone         bool // the one on its way is lost already
	Unanswered   int  // probes in a row that it did not answer
	UnansweredAt time.Time
}

// Start begins a process run of arbiter, with the bridge of this host and none elsewhere.
func (s *State) Start(claude bridge.ClaudeInfo) { s.Bridges = []Bridge{{Claude: claude, Up: true}} }

// Bridge returns what is known of the bridge on a host; zero but for its name: nothing.
func (s *State) Bridge(host string) Bridge {
	i := slices.IndexFunc(s.Bridges, func(b Bridge) bool { return b.Host == host })
	if i < 0 {
		return Bridge{Host: host}
	}
	return s.Bridges[i]
}

// IsUp reports whether there is a bridge on a host to speak to.
func (s *State) IsUp(host string) bool { return s.Bridge(host).Up }

// Claude returns the CLI that agents on this host are started with.
func (s *State) Claude() bridge.ClaudeInfo { return s.Bridge(Here).Claude }

// edit returns the writable record of a host, which is added if it is new.
func (s *State) edit(host string) *Bridge {
	s.Bridges = slices.Clone(s.Bridges)
	i := slices.IndexFunc(s.Bridges, func(b Bridge) bool { return b.Host == host })
	if i < 0 {
		i = len(s.Bridges)
		s.Bridges = append(s.Bridges, Bridge{Host: host})
	}
	return &s.Bridges[i]
}

// Lost takes the end of the bridge on a host. It reports false for one whose start was not told yet.
func (s *State) Lost(host string) bool {
	b := s.edit(host)
	if !b.Up {
		b.Gone = true
		return false
	}
	b.Up = false
	return true
}

// Back takes the start of another bridge on a host. It reports false if that one is lost already.
func (s *State) Back(host string, claude bridge.ClaudeInfo) bool {
	b := s.edit(host)
	if b.Gone {
		b.Gone = false
		return false
	}
	b.Up, b.Claude = true, claude
	return true
}

// Due opens another bridge on a host unless there is one. Effects: OpenBridge.
func (s *State) Due(c *effect.Collector, host string) {
	if !s.IsUp(host) {
		c.Do(effect.OpenBridge{Host: host})
	}
}

// reopenPause is before another bridge follows one that was ended on purpose.
const reopenPause = time.Second

// Reopen has another bridge follow one that a halt ended: that is no failure. Effects: SetTimer.
func (s *State) Reopen(c *effect.Collector, host string) {
	c.Do(effect.SetTimer{Key: TimerKey(host), After: reopenPause})
}

// Retry has another bridge follow one that was lost or could not be started, if the restart policy says so. Emits:
// restart. Effects: SetTimer.
func (s *State) Retry(c *effect.Collector, host string, p restart.Policy, seed, reason string) restart.Decision {
	d := s.Decide(p, restart.Exit{Agent: processOf(host), Class: restart.Crash, At: c.Now, Reason: reason, Seed: seed})
	if d.Starts() {
		c.Emit(contract.Supervisor, contract.Restart{Attempt: d.Attempt, DelayMS: d.Delay.Milliseconds(),
			Reason: "the bridge " + d.Reason})
		c.Do(effect.SetTimer{Key: TimerKey(host), After: max(d.Delay, time.Millisecond)})
	}
	return d
}

// mute is how many probes in a row a bridge does not answer that counts as hung. It answers one within milliseconds,
// whatever its agents do, and every probe has waited for it.
const mute = 3

// Unanswered counts a probe that the bridge of a host did not answer, and ends a bridge that is mute. Agents are probed
// every so often, and those that are probed together wait together. Emits: notice. Effects: DropBridge.
func (s *State) Unanswered(c *effect.Collector, host string, every time.Duration) {
	if c.Now.Sub(s.Bridge(host).UnansweredAt) < every {
		return
	}
	b := s.edit(host)
	b.UnansweredAt = c.Now
	if b.Unanswered++; b.Unanswered < mute || !b.Up {
		return
	}
	b.Unanswered = 0
	c.Emit(contract.Supervisor, contract.Notice{
		Text: "the bridge does not answer; it is ended, and another takes its place",
	})
	c.Do(effect.DropBridge{Host: host})
}

// Answered notes that the bridge of a host has answered a probe.
func (s *State) Answered(host string) {
	if s.Bridge(host).Unanswered > 0 {
		s.edit(host).Unanswered = 0
	}
}

// TellSwept tells of processes that a lost bridge had left and that were ended. Emits: notice.
func TellSwept(c *effect.Collector, n int) {
	if n > 0 {
		c.Emit(contract.Supervisor, contract.Notice{Text: "ended what the lost bridge left behind: " +
			words.Count(n, "process")})
	}
}

// theBridge names the bridge of this host in the history of restarts; those of other hosts add theirs.
const theBridge = "bridge"

// processOf names the bridge of a host in the history of restarts.
func processOf(host string) string {
	if host == Here {
		return theBridge
	}
	return theBridge + "/" + host
}
