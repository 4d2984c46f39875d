package input

import (
	"slices"

	"github.com/arbiter-cli/arbiter/supervisor/effect"
)

// maxReverts bounds the reverts that are requested and not done yet.
const maxReverts = 16

// Revert requests to revert one change of the run → Reverted. It can be repeated after a crash.
type Revert struct {
	Serial int
	Ref    string `json:",omitempty"` // of the command that requested it
	Path   string // relative to the top of the work tree
	Seen   string `json:",omitempty"` // object of the contents that it applies to; empty: any
	Hunk   string `json:",omitempty"` // "-12,3 +12,5"; empty: all of the file
}

// Effect implements [effect.Effect].
func (Revert) Effect() {}

// ChangeReverted is what happened to a [Revert].
type ChangeReverted struct {
	Serial  int
	Refused string `json:",omitempty"` // why nothing was changed
}

// AskRevert requests to revert a change, and reports whether one more was possible.
func (s *ChangeState) AskRevert(out *effect.Collector, r Revert) bool {
	if len(s.Reverts) >= maxReverts {
		return false
	}
	s.RevertSerial++
	r.Serial = s.RevertSerial
	s.Reverts = append(slices.Clip(s.Reverts), r)
	out.Do(r)
	return true
}

// Reverted handles the result of a revert. The file's last change then has no known agent. ok is false if
// nothing waits for the result.
func (s *ChangeState) Reverted(r ChangeReverted) (asked Revert, ok bool) {
	i := slices.IndexFunc(s.Reverts, func(a Revert) bool { return a.Serial == r.Serial })
	if i < 0 {
		return Revert{}, false
	}
	asked = s.Reverts[i]
	s.Reverts = slices.Delete(slices.Clone(s.Reverts), i, i+1)
	if r.Refused == "" {
		s.RevertsDone++
		s.Merged("", []string{asked.Path}, true)
	}
	return asked, true
}

// AgainReverts repeats the requests of a process that has ended.
func (s *ChangeState) AgainReverts(out *effect.Collector) {
	for _, r := range s.Reverts {
		out.Do(r)
	}
}
