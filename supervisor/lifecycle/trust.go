package lifecycle

import "time"

// What can be chosen about a workspace that is not trusted, besides cancel.
const (
	ChooseTrust   = "trust"
	ChooseWithout = "without"
)

// TrustQuestion is a workspace that waits for the human to look at it. No agent is started meanwhile, or none on the
// host that it is about.
type TrustQuestion struct {
	Host string `json:",omitempty"` // whose directories are asked about; [Here]: the workspace itself
	Hash string // of what is there now; empty: it cannot be told
	At   time.Time
}

// Choices are what can be chosen; nil: there is no question.
func (q *TrustQuestion) Choices() []string {
	switch {
	case q == nil:
		return nil
	case q.Hash == "":
		return []string{ChooseWithout, "cancel"}
	}
	return []string{ChooseTrust, ChooseWithout, "cancel"}
}

// AwaitsTrust reports whether no agent may be started on a host before the human has answered a question about trust.
func (s *State) AwaitsTrust(host string) bool {
	q := s.TrustQuestion
	return q != nil && (q.Host == Here || q.Host == host)
}

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
