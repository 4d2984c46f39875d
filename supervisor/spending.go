package supervisor

import (
	"fmt"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/roster"
)

// SpendingState counts what the turns of a run that are over have used.
type SpendingState struct {
	Usage   bridge.Usage
	CostUSD float64
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
	return bridge.Usage{Input: a.Input + b.Input, Output: a.Output + b.Output, CacheRead: a.CacheRead + b.CacheRead, CacheCreation: a.CacheCreation + b.CacheCreation}
}

// spending takes what a running turn has cost so far. All agents share the limit of the run.
func (st *step) spending(id string, b bridge.Spent) {
	a := st.Edit(id)
	if len(a.Turn) == 0 {
		return // the end of its turn has told it
	}
	a.Live = b
	st.emit(id, contract.Cost{CostUSD: b.CostUSD, Usage: b.Usage, RunCostUSD: st.Spent()})
	st.checkBudget()
}

// checkBudget ends the run once it has cost what it may, and reports whether it did.
func (st *step) checkBudget() bool {
	limit, spent := st.Options.MaxCostUSD, st.Spent()
	if limit <= 0 || spent < limit {
		return false
	}
	st.limitReached(fmt.Sprintf("the cost reached $%.4f of $%.4f", spent, limit))
	return true
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

func (st *step) bill(a *roster.Agent, t bridge.Turn) {
	a.Live = bridge.Spent{}
	a.CostUSD += t.CostUSD
	st.charge(t.Usage, t.CostUSD)
}
