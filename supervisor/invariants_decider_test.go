package supervisor

import (
	"encoding/json"
	"math/rand/v2"

	"github.com/arbiter-cli/arbiter/supervisor/decider"
	"github.com/arbiter-cli/arbiter/supervisor/input"
)

// randomDecision is an answer to the open question, or a late or wrong one.
func randomDecision(r *rand.Rand, s *State) input.Body {
	f := input.Decided{Number: s.Rulings.Decisions + 1, Point: decider.PointSelect, Input: json.RawMessage(`{}`)}
	if s.Rulings.DeciderRequest != nil {
		f.Serial, f.Point, f.About = s.Rulings.DeciderRequest.Serial, s.Rulings.DeciderRequest.Point, s.Rulings.DeciderRequest.About
	}
	list := []decider.Decision{
		{Decision: "SELECT_MODE", Mode: "developer"}, {Decision: "SELECT_MODE", Mode: "wizard"}, {Decision: "CONTINUE"}, {Decision: "RETRY"},
		{Decision: "COMPLETE", Summary: "s"}, {Decision: "SLEEP"}, {},
	}
	f.Decision = list[r.IntN(len(list))]
	f.Decision.Reason, f.Decision.Source = "r", []decider.Source{decider.ByModel, decider.ByRules, decider.ByFallback, decider.ByCache}[r.IntN(4)]
	switch r.IntN(10) {
	case 0:
		f.Failed = "m"
	case 1:
		f.Deferred = true
	case 2:
		f.Serial += r.IntN(3) - 1
	}
	return f
}
