package supervisor

import (
	"math/rand/v2"
	"testing"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/input"
)

// checkRequests: requests have different ids, because answers name them by id. A run that ends has no open
// request.
func checkRequests(t *testing.T, s *State) {
	t.Helper()
	seen := map[string]bool{}
	for _, p := range s.Permission.All() {
		if seen[p.ID] {
			t.Fatalf("two requests %s", p.ID)
		}
		seen[p.ID] = true
	}
	if len(s.Permission.Open) > 0 && !s.HumanPresent && s.Permission.Reconsidering == 0 {
		t.Fatalf("requests are open after the end: %v", seen)
	}
	if s.Ending != nil && len(seen) > 0 {
		t.Fatalf("requests are open in a run that ends: %v", seen)
	}
}

// checkAnswered: no request disappears without an answer. A process that resumes the run keeps those that it does not
// answer, because their agents ask again.
func checkAnswered(t *testing.T, before, after *State, f input.Body, out []input.Effect) {
	t.Helper()
	left := map[string]string{}
	for _, r := range before.Permission.All() {
		left[r.ID] = r.Params.Tool + " by " + r.Params.ID
	}
	for _, r := range after.Permission.All() {
		delete(left, r.ID)
	}
	for _, e := range out {
		if em, ok := e.(input.Emit); ok {
			if b, ok := em.Event.Body.(contract.Permission); ok {
				delete(left, b.Request)
			}
		}
	}
	if len(left) > 0 {
		t.Fatalf("%T dropped requests that nobody answered: %v", f, left)
	}
}

// requestInput is the end of a request without an answer of a human: it is withdrawn, or changed rules decide
// it.
func requestInput(r *rand.Rand, s *State) input.Body {
	if len(s.Permission.Open) == 0 || r.IntN(2) == 0 {
		return input.PermissionWithdrawn{Request: "p1"}
	}
	p := s.Permission.Open[r.IntN(len(s.Permission.Open))]
	settled := input.PermissionResolution{
		Request: p.ID, Asked: p.Params.Request, Behavior: []string{bridge.Allow, bridge.Deny}[r.IntN(2)], By: contract.ByRule,
	}
	return input.Reconsidered{Resolutions: []input.PermissionResolution{settled}[r.IntN(2):], Changes: s.Permission.Changes - r.IntN(2)}
}
