package input

import (
	"cmp"
	"slices"
	"time"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/effect"
)

// ruling is how a request was decided. The agent reads message.
type ruling struct {
	PermissionFinding
	scope   string
	message string
}

// Deny answers a request that was not opened, or that is removed already.
func Deny(c *effect.Collector, r PermissionRequest, by, reason string) {
	f := PermissionFinding{Behavior: bridge.Deny, By: by, Reason: reason}
	answer(c, r, ruling{PermissionFinding: f, message: Denial(reason)})
}

// answer reports a ruling to the frontends and to the waiting process.
func answer(c *effect.Collector, r PermissionRequest, d ruling) {
	report(c, r, d)
	c.Do(PermissionRespond{
		Request: r.Params.Request,
		Result:  bridge.PermissionResult{Behavior: d.Behavior, Message: d.message},
	})
}

// report reports a ruling to the frontends.
func report(c *effect.Collector, r PermissionRequest, d ruling) {
	c.Emit(r.Params.ID, contract.Permission{
		Request: r.ID, Behavior: d.Behavior, By: d.By, Tool: r.Params.Tool, Rule: d.Rule,
		Action: r.Key(), Scope: d.scope, Reason: d.Reason, Subagent: r.Params.Subagent,
	})
}

// Answer carries out a human's command: it answers an open request, or keeps the answer to an unclaimed one
// until the agent asks again. A command that fits no request, or not this one, is rejected. It reports whether
// it was accepted.
func (s *PermissionState) Answer(c *effect.Collector, ref string, given contract.Permit) bool {
	r, known := s.Find(given.Request)
	if !known {
		c.Reject(ref, "no permission request %q is open", given.Request)
		return false
	}
	if why := unfit(&r, given); why != "" {
		c.Reject(ref, "%s", why)
		return false
	}
	reason := cmp.Or(given.Message, "the human said no")
	denied := PermissionFinding{Behavior: bridge.Deny, By: contract.Human, Rule: given.Rule, Reason: reason}
	d := ruling{PermissionFinding: denied, message: Denial(reason)}
	if given.Scope == contract.ScopeRun {
		d.scope = given.Scope
	}
	if given.Behavior == bridge.Allow {
		d = ruling{
			PermissionFinding: PermissionFinding{Behavior: bridge.Allow, By: contract.Human, Rule: given.Rule},
			scope:             cmp.Or(given.Scope, contract.ScopeOnce),
		}
	}
	if _, open := s.take(c, given.Request); open {
		c.Accept(ref, "permission "+given.Request+": "+given.Behavior)
		answer(c, r, d)
	} else {
		c.Accept(ref, "permission "+given.Request+": "+given.Behavior+", when "+r.Params.ID+" asks again")
		s.keep(c, r, d)
	}
	if r.Check && d.Behavior == bridge.Allow && d.scope == contract.ScopeOnce {
		s.Actions = append(slices.Clip(s.Actions), r.Key()) // it is not asked for again, on whatever files
	}
	s.grant(c, &r, given)
	return true
}

// keep keeps a human's answer until the agent makes the request again.
func (s *PermissionState) keep(c *effect.Collector, r PermissionRequest, d ruling) {
	s.Unclaimed = slices.DeleteFunc(slices.Clone(s.Unclaimed), func(u PermissionRequest) bool { return u.ID == r.ID })
	s.Answered = append(slices.Clip(s.Answered), PermissionAnswer{
		Agent: r.Params.ID, Action: r.Key(), Behavior: d.Behavior, Message: d.message,
	})
	report(c, r, d)
}

// TimedOut denies a request that was not answered in time. The id is what follows [TimerPrefix] in the timer's key.
func (s *PermissionState) TimedOut(c *effect.Collector, id string, wait time.Duration) {
	if r, open := s.take(c, id); open {
		Deny(c, r, contract.ByTimeout, "nobody answered within "+wait.String())
	}
}

// Withdrawn closes a request whose process no longer waits: its turn was interrupted, or it has ended.
func (s *PermissionState) Withdrawn(c *effect.Collector, request string) {
	i := slices.IndexFunc(s.Open, func(r PermissionRequest) bool { return r.Params.Request == request })
	if i < 0 {
		return
	}
	r, ok := s.take(c, s.Open[i].ID)
	if !ok {
		return
	}
	c.Emit(r.Params.ID, contract.Permission{
		Request: r.ID, Behavior: bridge.Deny, By: contract.ByWithdrawn, Tool: r.Params.Tool, Action: r.Key(),
		Subagent: r.Params.Subagent,
	})
}

// TurnOver denies what an agent still waits for when its turn is over, and what its earlier process waited for:
// the agent did not ask again.
func (s *PermissionState) TurnOver(c *effect.Collector, agent string) {
	s.closeUnclaimed(c, agent, contract.ByWithdrawn, "it was not asked again")
	for _, r := range s.Open {
		if r.Params.ID == agent && !r.Check {
			s.take(c, r.ID)
			Deny(c, r, contract.ByWithdrawn, "the turn is over")
		}
	}
}

// CheckOver denies the request to run a check that is over, or whose result is no longer needed.
func (s *PermissionState) CheckOver(c *effect.Collector, request, why string) {
	for _, r := range s.Open {
		if request == "" || r.Params.Request != request {
			continue
		}
		s.take(c, r.ID)
		Deny(c, r, contract.ByWithdrawn, why)
	}
}

// DenyAll denies all open requests, and drops the unclaimed ones.
func (s *PermissionState) DenyAll(c *effect.Collector, by, reason string) {
	s.closeUnclaimed(c, "", by, reason)
	for _, r := range s.Open {
		c.StopTimer(TimerPrefix + r.ID)
		Deny(c, r, by, reason)
	}
	s.Open = nil
}

// Shutdown denies all open requests in a run that ends. It stops no timers: they end with the run.
func (s *PermissionState) Shutdown(c *effect.Collector, reason string) {
	s.closeUnclaimed(c, "", contract.ByShutdown, reason)
	for _, r := range s.Open {
		Deny(c, r, contract.ByShutdown, reason)
	}
	s.Open = nil
}

// Resume makes the requests that were open when the last process ended unclaimed, if their agents are
// restarted.
func (s *PermissionState) Resume(comesBack func(agent string) bool) {
	waited := s.All()
	s.Open, s.Unclaimed, s.Reconsidering = nil, nil, 0
	for _, r := range waited {
		if comesBack(r.Params.ID) {
			s.Unclaimed = append(s.Unclaimed, r)
		}
	}
}

// closeUnclaimed drops the unclaimed requests of an agent, or all. No process waits for an answer.
func (s *PermissionState) closeUnclaimed(c *effect.Collector, agent, by, reason string) {
	var left []PermissionRequest
	for _, r := range s.Unclaimed {
		if agent != "" && r.Params.ID != agent {
			left = append(left, r)
			continue
		}
		report(c, r, ruling{PermissionFinding: PermissionFinding{Behavior: bridge.Deny, By: by, Reason: reason}})
	}
	s.Unclaimed = left
}
