package supervisor

import (
	"fmt"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/supervisor/budget"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/conversation"
	"github.com/arbiter-cli/arbiter/supervisor/effect"
	"github.com/arbiter-cli/arbiter/supervisor/lifecycle"
	"github.com/arbiter-cli/arbiter/supervisor/roster"
)

// countTurn counts a turn of an Orchestrator against the limits of its mode.
func (st *step) countTurn(id string) {
	a := st.Edit(id)
	if a.Role != roster.RoleOrchestrator {
		return
	}
	a.Turns++
	if a.ReachedLimit != "" {
		return
	}
	mode, _ := st.Options.ModeNamed(a.Mode) // one without a mode has no limits of it
	why := lifecycle.ReachedLimit(a, mode.Limits)
	if limit := st.Options.MaxCostPerAgent; why == "" && budget.Level(a.CostUSD, limit) == budget.LevelLimit {
		why = fmt.Sprintf("it has cost $%.4f of the $%.4f of an Orchestrator (--max-cost-per-agent)", a.CostUSD, limit)
	}
	if why != "" {
		st.outOfLimits(id, why)
	}
}

// costLimit is what an agent may cost, in dollars; 0: there is no limit.
func (s *State) costLimit(a *roster.Agent) float64 {
	if a.Role != roster.RoleOrchestrator {
		return 0
	}
	mode, _ := s.Options.ModeNamed(a.Mode)
	limit, own := s.Options.MaxCostPerAgent, mode.Limits.MaxCostUSD
	if limit <= 0 || own > 0 && own < limit {
		return own
	}
	return limit
}

// tellLevels tells when an agent, or all together, have spent so much of a limit that it matters. The Arbiter reads of
// it with its next message: it is told before an agent stops, and summons nobody it cannot pay.
func (st *step) tellLevels(id string) {
	a := st.Edit(id)
	limit := st.costLimit(a)
	if level := budget.Level(a.Spent(), limit); level != a.Level {
		if a.Level = level; level != "" {
			st.emit(id, contract.Budget{Scope: contract.ScopeAgent, SpentUSD: a.Spent(), LimitUSD: limit, Level: level,
				Rehearsal: st.Options.Rehearsal})
		}
		if level == budget.LevelWarn {
			st.mail().Log(contract.Supervisor, conversation.KindNotice, fmt.Sprintf("%s (%s) has cost $%.4f of the $%.4f "+
				"that it may cost. It is told to hand off when they are spent.", a.Name, id, a.Spent(), limit))
		}
	}
	st.tellSharedLevels()
}

// limits are the limits of the run, as its budget is judged by.
func (s *State) limits() budget.Limits {
	o := &s.Options
	return budget.Limits{RunUSD: o.MaxCostUSD, DayUSD: o.MaxCostPerDay, ReservePct: o.QuotaReserve,
		Simulated: o.Rehearsal}
}

// tellSharedLevels tells when a limit of the run, or of the day, is nearly or all spent.
func (st *step) tellSharedLevels() {
	for _, l := range st.Budget.TellLevels(&st.out, st.limits(), st.Spent()) {
		if len(st.Agents) > 0 {
			st.mail().Log(contract.Supervisor, conversation.KindNotice, l.Text()+" Bring the task to an end, or to a point "+
				"where another run can go on: no further Orchestrator starts, and at 100 % nothing more is sent.")
		}
	}
}

// spentLimits are the limits of costs that all agents share and have spent.
func (s *State) spentLimits() (list []budget.Limit) {
	for _, l := range s.Budget.Shared(s.limits(), s.Spent()) {
		if l.Level() == budget.LevelLimit {
			list = append(list, l)
		}
	}
	return list
}

// budgetHolds reports whether nothing is sent, because of a usage window's reserve or a limit of costs.
func (s *State) budgetHolds() bool {
	_, spent := s.Budget.Reached(s.limits(), s.Spent())
	return spent || s.Budget.Holds()
}

// NoNewSubagent says why no agent may start another subagent; empty: it may. Running turns go on to their end without.
func (s *State) NoNewSubagent() string {
	if l, spent := s.Budget.Reached(s.limits(), s.Spent()); spent {
		return l.Text() + " No further subagent starts: end your turn"
	}
	if s.Budget.Holds() {
		return s.Budget.ReserveText(s.Options.QuotaReserve) + ": no further subagent starts; end your turn"
	}
	return ""
}

// resetIsTooFar reports whether the run waits for a reset, and may not wait so long.
func (st *step) resetIsTooFar() bool { return st.Budget.ResetIsTooFar(st.at, st.Options.MaxWait) }

// anyBusy reports whether a turn runs.
func (s *State) anyBusy() bool { return s.busyCount() > 0 }

// busyCount counts the turns that run.
func (s *State) busyCount() (n int) {
	for _, a := range s.Agents {
		if a.Status == roster.Busy {
			n++
		}
	}
	return n
}

// outOfLimits has an Orchestrator hand off because a limit is reached.
func (st *step) outOfLimits(id, why string) {
	a := st.Edit(id)
	a.ReachedLimit = why
	st.mail().Log(contract.Supervisor, conversation.KindNotice, fmt.Sprintf("%s (%s) has reached a limit: %s. "+
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
	mode, _ := st.Options.ModeNamed(a.Mode)
	st.outOfLimits(id, fmt.Sprintf("its time of %s is over", mode.Limits.Timeout))
	if a.Status == roster.Busy {
		st.do(effect.Interrupt{Agent: a.AgentRef})
	}
}

// Spent returns what the run has cost, the turns under way included.
func (s *State) Spent() float64 { return s.Roster.SpentWith(s.Budget.CostUSD) }

// Used returns what the run has used, the turns under way included.
func (s *State) Used() bridge.Usage {
	all := s.Budget.Usage
	for _, a := range s.Agents {
		all = budget.Sum(all, a.Live.Usage)
	}
	return all
}

// chargeEndedTurn charges what the turn of a process had cost that ended without telling it.
func (st *step) chargeEndedTurn(a *roster.Agent) {
	live := a.Live
	a.Live = bridge.Spent{}
	a.CostUSD += live.CostUSD
	st.Budget.Charge(live.Usage, live.CostUSD)
}

// observe takes in that the turn of an agent has cost so much by now.
func (st *step) observe(a *roster.Agent, usd float64) {
	if a.Role == roster.RoleOrchestrator {
		st.Budget.Observe(usd - a.Live.CostUSD)
	}
}

// bill charges what a turn that ended has cost.
func (st *step) bill(a *roster.Agent, t bridge.Turn) {
	st.observe(a, t.CostUSD)
	a.Live = bridge.Spent{}
	a.CostUSD += t.CostUSD
	st.Budget.Charge(t.Usage, t.CostUSD)
}

// modelCosts are what a turn has cost by model.
func modelCosts(t bridge.Turn) (list []contract.ModelCost) {
	for _, m := range t.Models {
		m.CostUSD = contract.RoundUSD(m.CostUSD)
		list = append(list, contract.ModelCost(m))
	}
	return list
}
