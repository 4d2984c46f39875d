package main

import (
	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/hooks"
	"github.com/arbiter-cli/arbiter/supervisor"
)

// openHooks serves `arbiter hook` for this run. Without a socket the sessions that
// persons open go unwarned, and the run goes on.
func (r *runtimeRun) openHooks() {
	var err error
	if r.hooks, err = serveHooks(r.book.Dir(), r.hookHouse(), r.log); err != nil {
		r.log.Warn("hooks", "error", err)
	}
}

func (r *runtimeRun) closeHooks() {
	if r.hooks == nil {
		return
	}
	if err := r.hooks.Close(); err != nil {
		r.log.Warn("hooks", "error", err)
	}
	r.hooks = nil
}

// hookHouse is the house of this run: hookHouseOf, with the tokens that it gave out.
func (r *runtimeRun) hookHouse() hookHouse {
	h := hookHouseOf(r.loop)
	h.Token = func(session, secret string) bool {
		a, ok := hookAgentOf(r.loop.Snapshot(), session)
		return ok && r.tokens.good(a.AgentRef, secret)
	}
	return h
}

// hookHouseOf has a run speak for itself: agents are found in its snapshots, and what
// came of an event goes into the loop as if a bridge had seen it.
func hookHouseOf(loop *supervisor.Loop) hookHouse {
	return hookHouse{
		Agent:   func(session string) (hookAgent, bool) { return hookAgentOf(loop.Snapshot(), session) },
		Tokens:  hookTokens,
		Written: hookWritten,
		Report: func(ref bridge.AgentRef, d hookDecision) {
			r := d.after.reading
			if d.news {
				loop.Event(bridge.Event{AgentRef: ref, Body: bridge.Context{Tokens: r.Tokens, Window: r.Window, Pct: r.Pct, Source: "transcript"}})
			}
			for _, e := range d.effects {
				if body := hookEvent(e, r); body != nil {
					loop.Event(bridge.Event{AgentRef: ref, Body: body})
				}
			}
		},
	}
}

// hookAgentOf finds whose session it is. An agent that was let go is nobody any more:
// who opens its session again is not to be told to hand off.
func hookAgentOf(s *supervisor.State, session string) (hookAgent, bool) {
	for i := range s.Agents {
		a := &s.Agents[i]
		if session == "" || a.SessionID != session || a.Status == supervisor.Ended || a.Status == supervisor.Stopping {
			continue
		}
		c := s.HookConfig(a)
		return hookAgent{
			AgentRef: a.AgentRef, Session: session, Window: a.Context.Window, Spent: c.Spent,
			Policy: hooks.Policy{Role: c.Role, Warn: c.Warn, Critical: c.Critical, Reminder: c.Reminder, KeepContext: c.KeepContext},
		}, true
	}
	return hookAgent{}, false
}

// hookEvent is the event that an effect is to the loop; nil for what another effect
// tells, too.
func hookEvent(e hooks.Effect, r hooks.Reading) bridge.EventBody {
	switch e := e.(type) {
	case hooks.Told:
		if !e.Again {
			return bridge.ContextWarning{Pct: e.Pct, Level: string(e.Level)}
		}
	case hooks.CompactionBlocked:
		if e.Count == 1 { // before every call of the model it is tried anew
			return bridge.Compact{Trigger: e.Trigger, Blocked: true, PreTokens: r.Tokens}
		}
	case hooks.Compacted:
		return bridge.Compact{Trigger: e.Trigger}
	case hooks.SubagentStarted:
		return bridge.SubagentStart{Description: e.Type, ToolUse: e.ID, Type: e.Type}
	case hooks.SubagentEnded:
		return bridge.SubagentStop{Description: e.Type, ToolUse: e.ID}
	}
	return nil
}
