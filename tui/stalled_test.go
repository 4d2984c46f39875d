package tui

import (
	"testing"
	"time"

	"github.com/arbiter-cli/arbiter/internal/testkit"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/input"
	"github.com/arbiter-cli/arbiter/supervisor/runconfig"
)

// TestOverloadIsNotShownAsIdle: an agent that waits for an overloaded API is shown as waiting, with the reason
// and the remaining time, whether the CLI retries or the supervisor; and no longer after a successful
// retry.
func TestOverloadIsNotShownAsIdle(t *testing.T) {
	play(t, 100, 30, nil, func(s *scene) {
		s.Type("Weave\n")
		s.does(func(p *fakeRun) {
			p.does("arbiter", bridge.Retry{Attempt: 3, DelayMS: 36_000, Status: 529, Reason: "overloaded"})
		})
		s.Expect("API overloaded", "again in 0:36, attempt 3", "API overloaded, again in 0:36")
		s.ExpectNot("ponders", "Weighing", "Listening", "Choosing")
		s.Advance(10 * time.Second)
		s.Expect("again in 0:27, attempt 3", "API overloaded, again in 0:27")
		s.Advance(time.Minute)
		s.Expect("API overloaded, trying again")
		s.does(func(p *fakeRun) { p.full("arbiter", 31_000) })
		s.Expect("ponders")
		s.ExpectNot("API overloaded")
		s.does(func(p *fakeRun) {
			p.does("arbiter", bridge.Turn{MessageIDs: p.agent("arbiter").Turn, Outcome: bridge.TurnFailed,
				Category: bridge.CatOverloaded, Error: "API Error: 529"})
		})
		s.Expect("API overloaded", "API overloaded, again in 0:")
		s.ExpectNot("listens", "Weighing", "Listening", "Choosing")
		s.Type("Go on\n") // sent at once
		s.Settle()
		s.Expect("ponders")
		s.ExpectNot("API overloaded, again")
	})
}

// TestOneOfManyIsOverloaded: working agents are not hidden behind one that waits for the API.
func TestOneOfManyIsOverloaded(t *testing.T) {
	play(t, 100, 30, nil, func(s *scene) {
		s.startWork()
		s.does(func(p *fakeRun) {
			p.endTurn("orch-2", reports("status", "I read on.", false))
			p.does("orch-1", bridge.Retry{Attempt: 1, DelayMS: 5_000, Status: 429, Reason: "rate_limit"})
		})
		s.Expect("rate limited", "again in 0:05")
		s.ExpectNot("rate limited, again in")
	})
}

// TestTrustCheckIsNotShownAsBusy: a run that waits for the human to check the workspace is shown as such.
func TestTrustCheckIsNotShownAsBusy(t *testing.T) {
	testkit.WithoutRace(t)
	trusted := func(_ *Options, h *fakeHost) {
		h.options = func(o *runconfig.Options) { o.Trusted, o.TrustHash = true, "h1" }
	}
	play(t, 100, 30, trusted, func(s *scene) {
		s.startWork()
		s.does(func(p *fakeRun) {
			p.does("orch-1", bridge.Done{})
			s.Advance(time.Minute)
			p.do(input.Timer{Key: "restart/orch-1/1"})
			p.do(input.NotSpawned{Agent: p.agent("orch-1").AgentRef, Category: bridge.CatTrust,
				Message: "the workspace has changed since it was trusted: changed: hook", Trust: "h2"})
		})
		s.Expect("needs your trust", "Blocked: the workspace has changed", "Waits for you")
		s.ExpectNot("returns", "Weaving")
		if m := s.frontend.root.moment(); len(m.Awaited) == 0 {
			t.Errorf("the user is not notified: %+v", m)
		}
		s.does(func(p *fakeRun) {
			p.do(input.Command{Command: contract.Command{Ref: "r", Body: contract.Choose{Option: "without"}},
				Channel: input.ChannelScreen})
		})
		s.ExpectNot("needs your trust", "Blocked")
	})
}
