package supervisor

import "time"

// The choices about a workspace that is not trusted, besides cancel.
const (
	ChooseTrust   = "trust"
	ChooseWithout = "without"
)

// TrustQuestion is the question whether the human trusts a workspace. Meanwhile no agent is started; if it is
// about another host, none on that host.
type TrustQuestion struct {
	Host string `json:",omitempty"` // whose directories are asked about; [LifecycleHere]: the workspace itself
	Hash string // of what is there now; empty: it cannot be determined
	At   time.Time
}

// Choices are the possible answers; nil: there is no question.
func (q *TrustQuestion) Choices() []string {
	switch {
	case q == nil:
		return nil
	case q.Hash == "":
		return []string{ChooseWithout, "cancel"}
	}
	return []string{ChooseTrust, ChooseWithout, "cancel"}
}

// AwaitsTrust reports whether no agent may be started on a host until the human has answered a question about
// trust.
func (s *LifecycleState) AwaitsTrust(host string) bool {
	q := s.TrustQuestion
	return q != nil && (q.Host == LifecycleHere || q.Host == host)
}

// Trust records that the human trusts the files that agents on another host load there, for this process run.
func (s *LifecycleState) Trust(host, hash string) { s.edit(host).TrustHash = hash }

// Distrust makes agents on another host start without the workspace's settings, for this process run.
func (s *LifecycleState) Distrust(host string) { s.edit(host).Untrusted = true }

// Untrusted lists the other hosts where agents start without the workspace's settings.
func (s *LifecycleState) Untrusted() (hosts []string) {
	for _, b := range s.Bridges {
		if b.Untrusted {
			hosts = append(hosts, b.Host)
		}
	}
	return hosts
}
