package supervisor

import (
	"fmt"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/conversation"
	"github.com/arbiter-cli/arbiter/supervisor/effect"
	"github.com/arbiter-cli/arbiter/supervisor/lifecycle"
	"github.com/arbiter-cli/arbiter/supervisor/roster"
)

// limitWork sets the time limit of an Orchestrator's mode.
func (st *step) limitWork(id string) {
	a, _ := st.Agent(id)
	if mode, ok := st.ModeNamed(a.Mode); ok && mode.Limits.Timeout > 0 {
		st.do(effect.SetTimer{Key: workLimitKey(a.AgentRef), After: mode.Limits.Timeout})
	}
}

// countTurn counts a turn of an Orchestrator against the limits of its mode.
func (st *step) countTurn(id string) {
	a := st.Edit(id)
	if a.Role != roster.RoleOrchestrator {
		return
	}
	a.Turns++
	mode, ok := st.ModeNamed(a.Mode)
	if !ok || a.ReachedLimit != "" {
		return
	}
	if why := lifecycle.ReachedLimit(a, mode.Limits); why != "" {
		st.outOfLimits(id, why)
	}
}

// outOfLimits has an Orchestrator hand off because a limit of its mode is reached.
func (st *step) outOfLimits(id, why string) {
	a := st.Edit(id)
	a.ReachedLimit = why
	st.log(contract.Supervisor, conversation.KindNotice, fmt.Sprintf("%s (%s) has reached a limit of its mode: %s. "+
		"It is told to hand off.", a.Name, id, why))
}

// workLimitRang ends the time of an Orchestrator's mode: its turn is stopped, and the next
// one is about nothing but its hand-off.
func (st *step) workLimitRang(id string) {
	a, ok := st.Agent(id)
	if !ok || !a.Alive() || a.Takeover != nil || a.ReachedLimit != "" || a.Standing == roster.Finished ||
		a.Standing == roster.HandedOff {
		return
	}
	mode, _ := st.ModeNamed(a.Mode)
	st.outOfLimits(id, fmt.Sprintf("its time of %s is over", mode.Limits.Timeout))
	if a.Status == roster.Busy {
		st.do(effect.Interrupt{Agent: a.AgentRef})
	}
}

// Spent returns what the run has cost, the turns under way included.
func (s *State) Spent() float64 {
	usd := s.CostUSD
	for _, a := range s.Agents {
		usd += a.Live.CostUSD
	}
	return usd
}

// Used returns what the run has used, the turns under way included.
func (s *State) Used() bridge.Usage {
	all := s.Usage
	for _, a := range s.Agents {
		all = plus(all, a.Live.Usage)
	}
	return all
}

func plus(a, b bridge.Usage) bridge.Usage {
	return bridge.Usage{Input: a.Input + b.Input, Output: a.Output + b.Output, CacheRead: a.CacheRead + b.CacheRead,
		CacheCreation: a.CacheCreation + b.CacheCreation}
}

// bookLive charges what the turn of a process had cost that ended without telling it.
func (st *step) bookLive(a *roster.Agent) {
	live := a.Live
	a.Live = bridge.Spent{}
	a.CostUSD += live.CostUSD
	st.charge(live.Usage, live.CostUSD)
}

// charge adds to what the run has used.
func (st *step) charge(u bridge.Usage, costUSD float64) {
	st.CostUSD += costUSD
	st.Usage = plus(st.Usage, u)
}

// bill charges what a turn that ended has cost.
func (st *step) bill(a *roster.Agent, t bridge.Turn) {
	a.Live = bridge.Spent{}
	a.CostUSD += t.CostUSD
	st.charge(t.Usage, t.CostUSD)
}
