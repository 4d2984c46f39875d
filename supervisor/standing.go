package supervisor

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/arbiter-cli/arbiter/supervisor/agents"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/conversation"
	"github.com/arbiter-cli/arbiter/supervisor/decision"
	"github.com/arbiter-cli/arbiter/supervisor/machine"
	"github.com/arbiter-cli/arbiter/supervisor/roster"
	"github.com/arbiter-cli/arbiter/supervisor/runconfig"
	"github.com/arbiter-cli/arbiter/supervisor/verdict"
)

// awaitsRuling reports whether a `done` or `handoff` lies unread before the Arbiter.
func (s *State) awaitsRuling() bool {
	for i := range s.Conversation.Mail {
		if m := &s.Conversation.Mail[i]; m.To == contract.Arbiter &&
			(m.Kind == verdict.KindDone || m.Kind == verdict.KindHandoff) {
			return true
		}
	}
	return s.Handoff.IsDue()
}

// awaitsArbiter reports whether a `done` or `handoff` is with the Arbiter, unread or at hand.
func (s *State) awaitsArbiter() bool {
	return s.awaitsRuling() || slices.ContainsFunc(s.Conversation.InTurn, func(m conversation.Mail) bool { return m.To == contract.Arbiter && conversation.IsDocument(m.Kind) })
}

// awaitsHuman reports whether a human who is there has yet to answer the Arbiter. Nobody else
// settles what they were asked.
func (s *State) awaitsHuman() bool {
	return s.Question != nil && s.Question.Arbiter && s.HumanPresent
}

// Completed reports whether the run came to its end: it can be resumed, and then
// waits for another task.
func (s *State) Completed() bool {
	return s.Task.Phase == machine.Complete && s.Ending != nil && s.Ending.Status == contract.StatusComplete
}

// asksOther reports whether another than the Arbiter's session decides at the points.
func (s *State) asksOther() bool {
	return s.Options.Decider != "" && s.Options.Decider != runconfig.DeciderSession && !s.DeciderYielded
}

// failedBefore is who waits for what the Arbiter was to rule on its failure; empty: nobody.
func (s *State) failedBefore() string {
	if p := s.ArbiterRequest; p != nil && p.Point == decision.PointSelect {
		if a, ok := s.Agent(p.About); ok && a.Alive() && a.Standing == roster.Waiting {
			return a.ID
		}
	}
	return ""
}

// pendingFor reports whether a message waits to be sent to the agent, in its present
// incarnation.
func (s *State) pendingFor(id string) bool {
	return slices.ContainsFunc(s.Conversation.Mail, func(m conversation.Mail) bool {
		return m.To == id && !m.Sent && !(id == contract.Arbiter && s.renewing(m.Kind))
	})
}

// renewing reports whether a message of this kind waits for the Arbiter's successor.
func (s *State) renewing(kind string) bool {
	switch s.RenewalStage {
	case renewalAsked:
		return kind != conversation.KindRenewal && kind != conversation.KindCorrection && kind != conversation.KindRetry
	case renewalGiven:
		return true
	}
	return false
}

// displayName is how a party is called in prose.
func (s *State) displayName(id string) string {
	switch id {
	case contract.Arbiter:
		return "the Arbiter"
	case contract.Human:
		return "the human"
	case contract.Supervisor:
		return "the supervisor"
	}
	if a, ok := s.Agent(id); ok {
		return a.Name
	}
	return id
}

// nothingText stands for an empty text in what a model reads.
const nothingText = "(nothing)"

// The modes that an Orchestrator can be summoned under, in this run.

// Modes are the agents of this run.
func (s *State) Modes() []agents.Agent { return s.Options.AvailableModes() }

// ModeNamed finds one of them.
func (s *State) ModeNamed(name string) (agents.Agent, bool) {
	return agents.Lookup(s.Options.AvailableModes(), name)
}

// modeNames lists their names.
func (s *State) modeNames() []string {
	return agents.Names(s.Options.AvailableModes())
}

// anyTakenOver reports whether a human has somebody's session.
func (s *State) anyTakenOver() bool { return s.takenOver() != "" }

// takenOver lists whose sessions a human has.
func (s *State) takenOver() string {
	var names []string
	for _, a := range s.Agents {
		if a.Takeover != nil {
			names = append(names, a.ID)
		}
	}
	return strings.Join(names, ", ")
}

// failedChecks are the checks and criteria that kept a COMPLETE from taking effect, as deciders are shown them.
func (s *State) failedChecks() []decision.Check {
	list := s.Handoff.FailedChecks()
	for _, r := range s.Task.Acceptance.Failing() {
		check := verdict.Check{Command: r.Command, Expect: "acceptance criterion: " + r.Text}
		why := cmp.Or(r.Why, fmt.Sprintf("exit code %d", r.Exit))
		list = append(list, decision.Ran(check, verdict.Receipt{Result: verdict.CheckFailed, Output: r.Output,
			Why: why}))
	}
	return list
}

// every is the distance of looks in this run.
func (s *State) every() time.Duration {
	if every := s.Options.WatchEvery; every > 0 {
		return every
	}
	return runconfig.DefaultWatchEvery
}

// scaled stretches a time that is meant for the usual distance of looks.
func (s *State) scaled(d time.Duration) time.Duration {
	return time.Duration(float64(d) * (float64(s.every()) / float64(runconfig.DefaultWatchEvery)))
}

// maxTotalFailures is the limit of failures in all; 0: none.
func (s *State) maxTotalFailures() int {
	o := &s.Options
	if o.MaxTotalFailures == 0 && (s.FallbackReason != "" || o.Decider == runconfig.DeciderRules) {
		return unledFailures * o.MaxFailures
	}
	return o.MaxTotalFailures
}

// unledFailures is how many times --max-failures a task may fail in all where nothing but
// rules leads it: successes between the failures forgive those in a row, and rules know no
// weariness.
const unledFailures = 4
