package input

// This part of the package keeps the permission requests of a run that wait for a human, and the human's
// grants.
//
// A request is open while an agent's process waits for its answer. When that process ended with an earlier
// process of the run, the request becomes unclaimed. It is open again, under the same id, if its agent asks for
// the same action again. A human may answer it meanwhile; the answer is kept for that case.
//
// [PermissionState] is this part of the run's state; its methods change it and collect effects. Package policy judges a
// call by mode and rules; the result comes in as a [PermissionFinding]. In any doubt, a call is denied.
//
// Events: permission_request when a request opens, permission when one is answered.

import (
	"slices"
	"time"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/effect"
)

// PermissionState is the permission part of a run. It is a value: slices are cloned before they are written.
type PermissionState struct {
	Open      []PermissionRequest `json:",omitempty"` // they wait for a human, oldest first
	Unclaimed []PermissionRequest `json:",omitempty"` // of agents' processes that ended with an earlier process of the run
	Answered  []PermissionAnswer  `json:",omitempty"` // a human's answers to unclaimed requests
	// Changes counts how often mode, rules or grants were changed. What was found with an older count may be
	// wrong now.
	Changes       int
	Reconsidering int      `json:",omitempty"` // [Reconsider] effects that have not ended
	Actions       []string `json:",omitempty"` // keys of actions that the human allowed for the whole run
	Rules         []string `json:",omitempty"` // rules that the human allowed for the whole run
	Denied        []string `json:",omitempty"` // keys of actions that the human denied for the whole run
}

// PermissionAnswer is a human's answer that waits until its request is made again.
type PermissionAnswer struct {
	Agent    string
	Action   string // Request.Key
	Behavior string
	Message  string
}

// PermissionHuman says whether a human can answer, and how long a request waits for the answer.
type PermissionHuman struct {
	Present bool
	Wait    time.Duration
}

type (
	// PermissionRespond answers a waiting process.
	PermissionRespond struct {
		Request string // Params.Request
		Result  bridge.PermissionResult
	}
	// Reconsider checks the open requests against the present mode, rules and grants. It ends with
	// [PermissionState.Reconsidered].
	Reconsider struct{}
	// GiveRules gives the present mode and rules to the CLIs of all agents that run, or of one.
	GiveRules struct{ Agent bridge.AgentRef }
	// Remember keeps what the human always allows in the workspace.
	Remember struct{ Grant Grant }
)

// Effect implements [effect.Effect].
func (PermissionRespond) Effect() {}

// Effect implements [effect.Effect].
func (Reconsider) Effect() {}

// Effect implements [effect.Effect].
func (GiveRules) Effect() {}

// Effect implements [effect.Effect].
func (Remember) Effect() {}

// TimerPrefix begins the key of the timer that denies a request without an answer; the request's id follows.
const TimerPrefix = "permit/"

// Find returns the request with that id, if it is open or unclaimed.
func (s *PermissionState) Find(id string) (PermissionRequest, bool) {
	for _, list := range [][]PermissionRequest{s.Open, s.Unclaimed} {
		for _, r := range list {
			if r.ID == id {
				return r, true
			}
		}
	}
	return PermissionRequest{}, false
}

// All returns the requests that are open, and then those that are unclaimed.
func (s *PermissionState) All() []PermissionRequest { return slices.Concat(s.Open, s.Unclaimed) }

// Awaits reports whether a request of an agent waits for the human.
func (s *PermissionState) Awaits(agent string) bool {
	return slices.ContainsFunc(s.Open, func(r PermissionRequest) bool { return r.Params.ID == agent })
}

// Asked answers a request according to a finding, or makes it wait for the human. changes is the State.Changes
// that the finding was made with.
func (s *PermissionState) Asked(
	c *effect.Collector,
	r PermissionRequest,
	f PermissionFinding,
	changes int,
	h PermissionHuman,
) {
	if slices.Contains(s.Denied, r.Key()) {
		f = PermissionFinding{Behavior: bridge.Deny, By: contract.Human, Reason: "the human denied it for this run"}
	}
	if f.Behavior != bridge.Ask {
		if earlier, waited := s.unclaim(r.Params.ID, r.Key()); waited {
			r.ID = earlier.ID // frontends that show the earlier request must get the answer
		}
	}
	switch {
	case f.Behavior == bridge.Allow:
		answer(c, r, ruling{PermissionFinding: f})
	case f.Behavior != bridge.Ask:
		f.Behavior = bridge.Deny
		answer(c, r, ruling{PermissionFinding: f, message: Denial(f.Reason)})
	case slices.Contains(s.Actions, r.Key()):
		answer(
			c,
			r,
			ruling{PermissionFinding: PermissionFinding{Behavior: bridge.Allow, By: contract.Human}, scope: contract.ScopeRun},
		)
	case s.claim(c, r, h.Wait):
		if changes != s.Changes {
			s.reconsider(c)
		}
	case s.known(r.ID):
		Deny(c, r, contract.ByNobody, "another request goes by the same name")
	case !h.Present && changes == s.Changes:
		Deny(c, r, contract.ByNobody, "no human is present to allow it")
	default:
		s.open(c, r, h.Wait)
		if changes != s.Changes {
			s.reconsider(c) // the rules that require asking may have changed meanwhile
		}
	}
}

func (s *PermissionState) known(id string) bool {
	_, ok := s.Find(id)
	return ok
}

// open makes a request wait for the human.
func (s *PermissionState) open(c *effect.Collector, r PermissionRequest, wait time.Duration) {
	s.Open = append(slices.Clone(s.Open), r)
	c.Emit(r.Params.ID, r.Event())
	c.Do(effect.SetTimer{Key: TimerPrefix + r.ID, After: wait})
}

// Decided closes an unclaimed request whose action was decided without a new request.
func (s *PermissionState) Decided(c *effect.Collector, agent, action string, f PermissionFinding) {
	if r, waited := s.unclaim(agent, action); waited {
		report(c, r, ruling{PermissionFinding: f})
	}
}

// unclaim removes an agent's unclaimed request for an action.
func (s *PermissionState) unclaim(agent, action string) (PermissionRequest, bool) {
	i := slices.IndexFunc(s.Unclaimed, func(r PermissionRequest) bool { return r.Params.ID == agent && r.Key() == action })
	if i < 0 {
		return PermissionRequest{}, false
	}
	r := s.Unclaimed[i]
	s.Unclaimed = slices.Delete(slices.Clone(s.Unclaimed), i, i+1)
	return r, true
}

// claim handles a request that an earlier process of the agent had made already: it is opened again under the
// earlier id, or gets the answer that was given since. It reports whether it did.
func (s *PermissionState) claim(c *effect.Collector, r PermissionRequest, wait time.Duration) bool {
	key := r.Key()
	if earlier, waited := s.unclaim(r.Params.ID, key); waited {
		r.ID = earlier.ID
		s.open(c, r, wait)
		return true
	}
	for i, a := range s.Answered {
		if a.Agent == r.Params.ID && a.Action == key {
			s.Answered = slices.Delete(slices.Clone(s.Answered), i, i+1)
			f := PermissionFinding{Behavior: a.Behavior, By: contract.Human}
			answer(c, r, ruling{PermissionFinding: f, message: a.Message})
			return true
		}
	}
	return false
}

// take removes an open request and stops its timer.
func (s *PermissionState) take(c *effect.Collector, id string) (PermissionRequest, bool) {
	i := slices.IndexFunc(s.Open, func(r PermissionRequest) bool { return r.ID == id })
	if i < 0 {
		return PermissionRequest{}, false
	}
	r := s.Open[i]
	s.Open = slices.Delete(slices.Clone(s.Open), i, i+1)
	c.StopTimer(TimerPrefix + id)
	return r, true
}
