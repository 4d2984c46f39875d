package supervisor

// This part of the package charges the cost of agents to a run, and enforces the limits.
//
// An [Account] reports what the run has spent and what it may spend: for the whole run, for all runs of a day, for an
// Orchestrator. A [CostContext] charges turns and notifies the Arbiter when a limit is nearly or completely spent; it
// also enforces a mode's limits of turns and time.
//
// Package budget keeps the sums and the usage windows. Package supervisor decides when a run ends at a limit, and
// asks the human.
//
// Events: turn, cost, budget of an agent. Effects: Interrupt for turns that the remaining budget does not cover.

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/effect"
	"github.com/arbiter-cli/arbiter/supervisor/runconfig"
)

// The choices when a cost limit is reached.
const (
	ChooseRaise  = "raise"
	ChooseFinish = "finish"
)

// Account is what a run has spent, and what it may spend.
type Account struct {
	Options *runconfig.Options
	Roster  *Roster
	Budget  *BudgetState
}

// Limits are the limits of the run, as its budget uses them.
func (a Account) Limits() BudgetLimits {
	return BudgetLimits{RunUSD: a.Options.MaxCostUSD, DayUSD: a.Options.MaxCostPerDay,
		ReservePct: a.Options.QuotaReserve, Simulated: a.Options.Rehearsal}
}

// Spent returns what the run has cost, including running turns.
func (a Account) Spent() float64 { return a.Roster.SpentWith(a.Budget.CostUSD) }

// Used returns what the run has used, including running turns.
func (a Account) Used() bridge.Usage {
	all := a.Budget.Usage
	for _, agent := range a.Roster.Agents {
		all = BudgetSum(all, agent.Live.Usage)
	}
	return all
}

// Reached returns a cost limit that all agents share and that is reached, and whether there is one.
func (a Account) Reached() (BudgetLimit, bool) { return a.Budget.Reached(a.Limits(), a.Spent()) }

// Remaining is how many turns may run at once.
func (a Account) Remaining() int { return a.Budget.Remaining(a.Limits(), a.Spent()) }

// Holds reports whether messages are held back because of a usage window's reserve or a cost limit.
func (a Account) Holds() bool {
	_, spent := a.Reached()
	return spent || a.Budget.Holds()
}

// NoNewSubagent says why no agent may start another subagent; empty: it may. Running turns continue to their
// end without new ones.
func (a Account) NoNewSubagent() string {
	if l, spent := a.Reached(); spent {
		return l.Text() + " No further subagent starts: end your turn"
	}
	if a.Budget.Holds() {
		return a.Budget.ReserveText(a.Options.QuotaReserve) + ": no further subagent starts; end your turn"
	}
	return ""
}

// spentLimits are the cost limits that all agents share and that are reached.
func (a Account) spentLimits() (list []BudgetLimit) {
	for _, l := range a.Budget.Shared(a.Limits(), a.Spent()) {
		if l.Level() == LevelLimit {
			list = append(list, l)
		}
	}
	return list
}

// Question asks what to do about the cost limits that are reached.
func (a Account) Question() string {
	var spent, raise []string
	for _, l := range a.spentLimits() {
		spent = append(spent, l.Text())
		raise = append(raise, fmt.Sprintf("$%.2f (%s)", l.Raised(), l.Flag()))
	}
	return strings.Join(spent, " ") + " Nothing is sent until you choose: " + ChooseRaise + " the limit to " +
		strings.Join(raise, " and ") + ", or " + ChooseFinish + ": the run ends, and can be resumed."
}

// ReachedText says which cost limit ended a run.
func ReachedText(l BudgetLimit) string {
	what := "the cost reached"
	if l.Scope == contract.ScopeDay {
		what = "the cost of all runs of this day reached"
	}
	return fmt.Sprintf("%s %s of $%.4f: raise %s to go on", what, l.SpentText(), l.LimitUSD, l.Flag())
}

// ofAgent is what an agent may cost, in dollars; 0: no limit.
func (a Account) ofAgent(agent *Agent) float64 {
	if agent.Role != RoleOrchestrator {
		return 0
	}
	mode, _ := a.Options.ModeNamed(agent.Mode)
	limit, own := a.Options.MaxCostPerAgent, mode.Limits.MaxCostUSD
	if limit <= 0 || own > 0 && own < limit {
		return own
	}
	return limit
}

// ChargeLost charges what the turn of a process had cost that ended without reporting it.
func (a Account) ChargeLost(agent *Agent) {
	live := agent.Live
	agent.Live = bridge.Spent{}
	agent.CostUSD += live.CostUSD
	a.Budget.Charge(live.Usage, live.CostUSD)
}

// charge charges what a turn that ended has cost.
func (a Account) charge(agent *Agent, t bridge.Turn) {
	a.observe(agent, t.CostUSD)
	agent.Live = bridge.Spent{}
	agent.CostUSD += t.CostUSD
	a.Budget.Charge(t.Usage, t.CostUSD)
}

// observe records what the running turn of an agent has cost so far.
func (a Account) observe(agent *Agent, usd float64) {
	if agent.Role == RoleOrchestrator {
		a.Budget.Observe(usd - agent.Live.CostUSD)
	}
}

// CostContext is what a step uses to charge agents and to report their limits. It is created for one use within a
// step, which owns everything that it points to.
type CostContext struct {
	Account
	Mail *DeliveryContext
}

// TurnEnded charges a turn that ended.
func (c *CostContext) TurnEnded(a *Agent, t bridge.Turn) {
	c.charge(a, t)
	var models []contract.ModelCost
	for _, m := range t.Models {
		m.CostUSD = contract.RoundUSD(m.CostUSD)
		models = append(models, contract.ModelCost(m))
	}
	c.Mail.Out.Emit(a.ID, contract.Turn{Usage: t.Usage, CostUSD: t.CostUSD, Models: models, Outcome: t.Outcome,
		MessageIDs: c.Mail.Conversation.PublicIDs(t.MessageIDs)})
}

// Spends records what a running turn has cost so far. All agents share the limit of the run.
func (c *CostContext) Spends(id string, b bridge.Spent) {
	a := c.Roster.Edit(id)
	if len(a.Turn) == 0 {
		return // the end of its turn has reported it
	}
	c.observe(a, b.CostUSD)
	a.Live = b
	c.Mail.Out.Emit(id, contract.Cost{CostUSD: b.CostUSD, Usage: b.Usage, RunCostUSD: c.Spent()})
	c.ReportLevels(id)
}

// ReportLevels reports when an agent, or all agents together, have reached a level of a limit. The Arbiter reads
// it with its next message: so it knows before an agent stops, and does not spawn an Orchestrator that the run
// cannot pay for.
func (c *CostContext) ReportLevels(id string) {
	a := c.Roster.Edit(id)
	limit := c.ofAgent(a)
	if level := BudgetLevel(a.Spent(), limit); level != a.Level {
		if a.Level = level; level != "" {
			c.Mail.Out.Emit(id, contract.Budget{Scope: contract.ScopeAgent, SpentUSD: a.Spent(), LimitUSD: limit,
				Level: level, Rehearsal: c.Options.Rehearsal})
		}
		if level == BudgetLevelWarn {
			c.log(fmt.Sprintf("%s (%s) has cost $%.4f of the $%.4f that it may cost. It is told to hand off when they "+
				"are spent.", a.Name, id, a.Spent(), limit))
		}
	}
	c.ReportSharedLevels()
}

// ReportSharedLevels reports when a limit of the run, or of the day, is nearly or completely spent.
func (c *CostContext) ReportSharedLevels() {
	for _, l := range c.Budget.ReportLevels(c.Mail.Out, c.Limits(), c.Spent()) {
		if len(c.Roster.Agents) > 0 {
			c.log(l.Text() + " Bring the task to an end, or to a point where another run can go on: no further " +
				"Orchestrator starts, and at 100 % nothing more is sent.")
		}
	}
}

// CountTurn counts a turn of an Orchestrator against the limits of its mode.
func (c *CostContext) CountTurn(id string) {
	a := c.Roster.Edit(id)
	if a.Role != RoleOrchestrator {
		return
	}
	a.Turns++
	if a.ReachedLimit != "" {
		return
	}
	mode, _ := c.Options.ModeNamed(a.Mode) // an Orchestrator without a mode has no such limits
	why := ReachedLimit(a, mode.Limits)
	if limit := c.Options.MaxCostPerAgent; why == "" && BudgetLevel(a.CostUSD, limit) == LevelLimit {
		why = fmt.Sprintf("it has cost $%.4f of the $%.4f of an Orchestrator (--max-cost-per-agent)", a.CostUSD, limit)
	}
	if why != "" {
		c.limitAgent(a, why)
	}
}

// limitAgent makes an Orchestrator hand off because a limit is reached.
func (c *CostContext) limitAgent(a *Agent, why string) {
	a.ReachedLimit = why
	c.log(fmt.Sprintf("%s (%s) has reached a limit: %s. It is told to hand off.", a.Name, a.ID, why))
}

// WorkTimeOver ends the time of an Orchestrator's mode: its turn is stopped, and the next one is only for its
// hand-off.
func (c *CostContext) WorkTimeOver(id string) {
	a, ok := c.Roster.Agent(id)
	if !ok || !a.Alive() || a.Takeover != nil || a.ReachedLimit != "" || a.Standing == AgentFinished ||
		a.Standing == HandedOff {
		return
	}
	mode, _ := c.Options.ModeNamed(a.Mode)
	c.limitAgent(c.Roster.Edit(id), fmt.Sprintf("its time of %s is over", mode.Limits.Timeout))
	if a.Status == AgentBusy {
		c.Mail.Out.Do(effect.Interrupt{Agent: a.AgentRef})
	}
}

// ResumeStopped makes an agent resume a turn that was stopped because little was left of a limit.
func (c *CostContext) ResumeStopped(id string) {
	c.Mail.Notify(id, KindRetry, "Your turn was stopped, because too little was left of the limit of costs "+
		"for several turns at once. Take up the last message again where you left it.")
}

// Raise raises the cost limits that are reached, and names them.
func (c *CostContext) Raise() string {
	var raised []string
	for _, l := range c.spentLimits() {
		to := l.Raised()
		switch l.Scope {
		case contract.ScopeWholeRun:
			c.Options.MaxCostUSD = to
		case contract.ScopeDay:
			c.Options.MaxCostPerDay = to
		}
		c.ReportSharedLevels()
		raised = append(raised, fmt.Sprintf("%s $%.2f", l.Flag(), to))
	}
	return strings.Join(raised, " and ")
}

func (c *CostContext) log(text string) { c.Mail.Log(contract.Supervisor, KindNotice, text) }

// StopTurns stops the turns for which too little is left, starting with those that have cost least. Their
// agents resume them when more turns may run.
func (a Account) StopTurns(out *effect.Collector) {
	var running []*Agent
	for _, agent := range a.Roster.Agents {
		if agent.Status == AgentBusy && !agent.Stopped {
			running = append(running, agent)
		}
	}
	room := max(a.Remaining(), 1)
	if len(running) <= room {
		return
	}
	slices.SortStableFunc(running, func(a, b *Agent) int { return cmp.Compare(b.Live.CostUSD, a.Live.CostUSD) })
	var names []string
	for _, agent := range running[room:] {
		names = append(names, agent.ID)
		a.Roster.Edit(agent.ID).Stopped = true
		out.Do(effect.Interrupt{Agent: agent.AgentRef})
	}
	out.Emit(contract.Supervisor, contract.Notice{Text: fmt.Sprintf("too little is left of the cost limit for %d "+
		"concurrent turns: the turn of %s is stopped, and continues when there is room", len(running),
		strings.Join(names, ", "))})
}

// GoOn closes the question about a cost limit that is no longer reached.
func (a Account) GoOn(out *effect.Collector) {
	if !a.Budget.AskedAt.IsZero() {
		a.Budget.AskedAt = time.Time{}
		out.Emit(contract.Supervisor, contract.Notice{Text: "the run continues: its cost limit is no longer reached"})
	}
}
