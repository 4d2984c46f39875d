package lifecycle

import (
	"slices"
	"time"

	"github.com/arbiter-cli/arbiter/supervisor/restart"
)

// State is the lifecycle part of a run. It is a value: slices are cloned before they are written.
type State struct {
	Bridges  []Bridge        // one per host; that of [Here] first
	Restarts restart.History // of agents and of bridges
	Crashes  int             // processes that ended unasked
	Waking   bool            // agents come back; then see that the talk goes on
	// ReturnedAgent is the agent whose session a human gave back meanwhile.
	ReturnedAgent string         `json:",omitempty"`
	TrustQuestion *TrustQuestion `json:",omitempty"` // what keeps agents from being started
}

// TrustQuestion is a workspace that waits for the human to look at it. No agent is started meanwhile, or none on the
// host that it is about.
type TrustQuestion struct {
	Host string `json:",omitempty"` // whose directories are asked about; [Here]: the workspace itself
	Hash string // of what is there now; empty: it cannot be told
	At   time.Time
}

// Decide asks the restart policy about the end of a process, and keeps the answer in the history.
func (s *State) Decide(p restart.Policy, e restart.Exit) restart.Decision {
	d := restart.Decide(p, s.Restarts, e, e.At)
	s.Restarts = slices.Clone(s.Restarts).Add(p, d.Entry(e, e.At), e.At)
	return d
}

// AwaitsTrust reports whether no agent may be started on a host before the human has answered a question about trust.
func (s *State) AwaitsTrust(host string) bool {
	q := s.TrustQuestion
	return q != nil && (q.Host == Here || q.Host == host)
}

// MayStart reports whether the process of an agent on a host may be started.
func (s *State) MayStart(host string) bool { return !s.AwaitsTrust(host) && s.IsUp(host) }

// Trust pins what agents on another host bring along as what the human trusts there, for this process run.
func (s *State) Trust(host, hash string) { s.edit(host).TrustHash = hash }

// Distrust has agents on another host start without the workspace's settings, for this process run.
func (s *State) Distrust(host string) { s.edit(host).Untrusted = true }

// Untrusted lists the other hosts where agents start without the workspace's settings.
func (s *State) Untrusted() (hosts []string) {
	for _, b := range s.Bridges {
		if b.Untrusted {
			hosts = append(hosts, b.Host)
		}
	}
	return hosts
}
