package supervisor

// This part of the package charges the cost of agents to a run, and enforces the limits.
//
// There are limits for the whole run, for all runs of a day, and for an Orchestrator. The Arbiter is notified when one
// is nearly or completely spent. A mode's limits of turns and time are enforced here, too. The sums and the usage
// windows are in budget.go; spending.go ends a run at a limit, or asks the human.

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/input"
	"github.com/arbiter-cli/arbiter/supervisor/words"
)

// The choices when a cost limit is reached.
const (
	ChooseRaise  = "raise"
	ChooseFinish = "finish"
)

// LimitQuestion is the id of the question about a cost limit that is reached.
const LimitQuestion = "limit"

// Spent returns what the run has cost, including running turns.
func (s *State) Spent() float64 {
	usd := s.Budget.CostUSD
	for _, a := range s.Agents {
		usd += a.Live.CostUSD
	}
	return usd
}

// CostUnknown reports whether the run has cost more than is known.
func (s *State) CostUnknown() bool {
	return slices.ContainsFunc(s.Agents, func(a *Agent) bool { return a.CostUnknown })
}

// Used returns what the run has used, including running turns.
func (s *State) Used() bridge.Usage {
	all := s.Budget.Usage
	for _, agent := range s.Agents {
		all = all.Plus(agent.Live.Usage)
	}
	return all
}

// spentLimits are the cost limits that all agents share and that are reached.
func (s *State) spentLimits() (list []BudgetLimit) {
	for _, limit := range s.Budget.Shared(&s.Options, s.Spent()) {
		if limit.Level() == LevelLimit {
			list = append(list, limit)
		}
	}
	return list
}

// turnsLeft is how many turns may run at once. What is left must be enough for what all of them but one may
// cost before they report again. So the less is left, the fewer turns may run, and the last turn may continue
// to its end whatever it costs: together the turns exceed a limit by at most that one turn. Once a limit is
// spent, none may run.
func (s *State) turnsLeft() int {
	room, step := math.MaxInt, s.Budget.StepUSD
	if step <= 0 {
		step = dearest
	}
	for _, limit := range s.Budget.Shared(&s.Options, s.Spent()) {
		left := limit.LimitUSD - limit.SpentUSD
		switch {
		case limit.LimitUSD <= 0:
		case left <= 0:
			return 0
		case left/step < maxTurns:
			room = min(room, int(math.Ceil(left/step)))
		}
	}
	return room
}

// budgetHolds reports whether messages are held back because of a usage window's reserve or a cost limit.
func (s *State) budgetHolds() bool {
	return len(s.spentLimits()) > 0 || s.Budget.Holds()
}

// NoNewSubagent says why no agent may start another subagent; empty: it may. Running turns continue to their
// end without new ones.
func (s *State) NoNewSubagent() string {
	if spent := s.spentLimits(); len(spent) > 0 {
		return spent[0].Text() + " No further subagent starts: end your turn"
	}
	if s.Budget.Holds() {
		return s.Budget.ReserveText(s.Options.QuotaReserve) + ": no further subagent starts; end your turn"
	}
	return ""
}

// LimitText asks what to do about the cost limits that are reached.
func (s *State) LimitText() string {
	var spent, raise []string
	for _, l := range s.spentLimits() {
		spent = append(spent, l.Text())
		raise = append(raise, fmt.Sprintf("$%.2f (%s)", l.Raised(), l.Flag()))
	}
	return strings.Join(spent, " ") + " Nothing is sent until you choose: " + ChooseRaise + " the limit to " +
		strings.Join(raise, " and ") + ", or " + ChooseFinish + ": the run ends, and can be resumed."
}

// LimitOptions are the choices when a cost limit is reached; nil: the run asks no human.
func (s *State) LimitOptions() []string {
	if s.Budget.AskedAt.IsZero() || s.Ending != nil {
		return nil
	}
	return []string{ChooseRaise, ChooseFinish}
}

// ReachedText says which cost limit ended a run.
func ReachedText(l BudgetLimit) string {
	what := "the cost reached"
	if l.Scope == contract.ScopeDay {
		what = "the cost of all runs of this day reached"
	}
	return fmt.Sprintf("%s %s of $%.4f: raise %s to go on", what, l.SpentText(), l.LimitUSD, l.Flag())
}

// costLimitOf is what an agent may cost, in dollars; 0: no limit.
func (s *State) costLimitOf(agent *Agent) float64 {
	if agent.Role != RoleOrchestrator {
		return 0
	}
	mode, _ := s.Options.ModeNamed(agent.Mode)
	limit, own := s.Options.MaxCostPerAgent, mode.Limits.MaxCostUSD
	if limit <= 0 || own > 0 && own < limit {
		return own
	}
	return limit
}

// chargeLost charges what the turn of a process had cost that ended without reporting it.
func (st *step) chargeLost(agent *Agent) {
	st.Budget.Charge(agent.Live.Usage, agent.Live.CostUSD)
	agent.Charge(agent.Live.CostUSD)
}

// observe records what the running turn of an agent has cost so far.
func (st *step) observe(agent *Agent, usd float64) {
	if agent.Role == RoleOrchestrator {
		st.Budget.StepUSD = max(st.Budget.StepUSD, usd-agent.Live.CostUSD)
	}
}

// chargeTurn charges a turn that ended.
func (st *step) chargeTurn(a *Agent, t bridge.Turn) {
	st.observe(a, t.CostUSD)
	a.Charge(t.CostUSD)
	a.CostUnknown = a.CostUnknown || t.CostUnknown
	st.Budget.Charge(t.Usage, t.CostUSD)
	var models []contract.ModelCost
	for _, m := range t.Models {
		m.CostUSD = contract.RoundUSD(m.CostUSD)
		models = append(models, contract.ModelCost(m))
	}
	st.emit(a.ID, contract.Turn{Usage: t.Usage, CostUSD: t.CostUSD, Unknown: t.CostUnknown, Models: models,
		Outcome: t.Outcome, MessageIDs: st.Conversation.PublicIDs(t.MessageIDs)})
}

// spends records what a running turn has cost so far. All agents share the limit of the run.
func (st *step) spends(a *Agent, b bridge.Spent) {
	if len(a.Turn) == 0 {
		return // the end of its turn has reported it
	}
	st.observe(a, b.CostUSD)
	a.Live = b
	st.emit(a.ID, contract.Cost{CostUSD: b.CostUSD, Usage: b.Usage, RunCostUSD: st.Spent()})
	if st.Ending == nil {
		st.reportCostLevels(a)
	}
}

// reportCostLevels reports when an agent, or all agents together, have reached a level of a limit. The Arbiter reads
// it with its next message: so it knows before an agent stops, and does not spawn an Orchestrator that the run
// cannot pay for.
func (st *step) reportCostLevels(a *Agent) {
	limit := BudgetLimit{contract.ScopeAgent, a.Spent(), st.costLimitOf(a), st.Options.Rehearsal}
	if limit.report(&st.out, a.ID, &a.Level) {
		st.logNotice(fmt.Sprintf("%s (%s) has cost $%.4f of the $%.4f that it may cost. When that is spent, it "+
			"has to hand off.", a.Name, a.ID, limit.SpentUSD, limit.LimitUSD))
	}
	st.reportFuse(a)
	st.reportSharedLevels()
}

// renewFuse gives an Orchestrator whose fuse has blown another like it: a human has it go on.
func (st *step) renewFuse(a *Agent) {
	if a.Fuse.Level == LevelLimit {
		a.ReachedLimit, a.HandoffDemands = "", 0
		a.Fuse = AgentFuse{USD: a.Fuse.USD, From: a.Spent(), Nth: 1}
		st.emitFuse(a, contract.FuseSet)
	}
}

// emitFuse reports the fuse of an Orchestrator, if it has one.
func (st *step) emitFuse(a *Agent, status string) {
	if a.Fuse.USD > 0 {
		st.emit(a.ID, contract.Fuse{USD: a.Fuse.USD, Spent: a.FuseSpent(), Status: status,
			Rehearsal: st.Options.Rehearsal})
	}
}

// reportFuse reports how far the fuse of an Orchestrator is spent. At 80 % it must hand off, also in the middle
// of its turn. Who is at 100 % is parked by keepFuses.
func (st *step) reportFuse(a *Agent) {
	level := BudgetLevel(a.FuseSpent(), a.Fuse.USD)
	if level == a.Fuse.Level || a.Fuse.Level == LevelLimit {
		return
	}
	if a.Fuse.Level = level; level == LevelLimit {
		st.emitFuse(a, contract.FuseBlown)
		return
	}
	st.emitFuse(a, contract.FuseWarn)
	why := fmt.Sprintf("it has spent $%.4f of its fuse of $%.4f, and is parked when all of it is spent", a.FuseSpent(),
		a.Fuse.USD)
	if a.ReachedLimit == "" {
		st.limitAgent(a, why)
	}
	st.steer(a, a.HandoffDemand())
}

// reportSharedLevels reports when a limit of the run, or of the day, is nearly or completely spent.
func (st *step) reportSharedLevels() {
	for _, l := range st.Budget.ReportLevels(&st.out, &st.Options, st.Spent()) {
		if len(st.Agents) > 0 {
			st.logNotice(l.Text() + " Finish the task, or bring it to a point where another run can go on: no " +
				"further Orchestrator starts, and at 100 % no message is sent any more.")
		}
	}
}

// keepLimits makes an agent hand off that has reached a limit of its turns or its cost.
func (st *step) keepLimits(a *Agent) {
	if why := st.reachedLimit(a); why != "" && a.ReachedLimit == "" {
		st.limitAgent(a, why)
	}
}

// reachedLimit says which limit of its turns or its cost an agent has reached; empty: none.
func (s *State) reachedLimit(a *Agent) string {
	mode, _ := s.Options.ModeNamed(a.Mode) // an Orchestrator without a mode has no such limits
	other, ok := s.Options.MakeNamed(a.Make)
	switch own, each := mode.Limits, s.Options.MaxCostPerAgent; {
	case own.MaxTurns > 0 && a.Turns >= own.MaxTurns:
		return fmt.Sprintf("it has answered %s, the limit of a %s", words.Count(a.Turns, "message"), a.Mode)
	case BudgetLevel(a.CostUSD, own.MaxCostUSD) == LevelLimit:
		return fmt.Sprintf("it has cost $%.4f of the $%.4f of a %s", a.CostUSD, own.MaxCostUSD, a.Mode)
	case ok && a.Context.Window == 0 && a.Turns >= other.MaxTurns:
		return fmt.Sprintf("it has answered %s, and nobody knows how full its context is", words.Count(a.Turns, "message"))
	case a.Role == RoleOrchestrator && BudgetLevel(a.CostUSD, each) == LevelLimit:
		return fmt.Sprintf("it has cost $%.4f of the $%.4f of an Orchestrator (--max-cost-per-agent)", a.CostUSD, each)
	}
	return ""
}

// modeTime begins what is said of an agent whose mode gives it no more time.
const modeTime = "its time of "

// limitAgent makes an agent hand off because a limit is reached. An Orchestrator that has nothing to do now hands off
// when it is given something.
func (st *step) limitAgent(a *Agent, why string) {
	a.ReachedLimit = why
	if a.Role == RoleOrchestrator && !a.Engaged() {
		return
	}
	st.logNotice(fmt.Sprintf("%s (%s) has reached a limit: %s. It was told to hand off.", a.Name, a.ID, why))
}

// workTimeOver ends the time of an Orchestrator's mode: its turn is stopped, and the next one is only for its
// hand-off.
func (st *step) workTimeOver(id string) {
	a := st.Edit(id)
	if a == nil || a.Takeover != nil || a.ReachedLimit != "" {
		return
	}
	mode, _ := st.Options.ModeNamed(a.Mode)
	st.limitAgent(a, fmt.Sprintf(modeTime+"%s is over", mode.Limits.Timeout))
	if a.Engaged() && a.Status == AgentBusy {
		st.do(input.Interrupt{Agent: a.AgentRef})
	}
}

// raiseLimits raises the cost limits that are reached, and names them.
func (st *step) raiseLimits() string {
	var raised []string
	for _, l := range st.spentLimits() {
		to := l.Raised()
		switch l.Scope {
		case contract.ScopeWholeRun:
			st.Options.MaxCostUSD = to
		case contract.ScopeDay:
			st.Options.MaxCostPerDay = to
		}
		st.reportSharedLevels()
		raised = append(raised, fmt.Sprintf("%s $%.2f", l.Flag(), to))
	}
	return strings.Join(raised, " and ")
}

// stopTurns stops the turns for which too little is left, starting with those that have cost least. Their
// agents resume them when more turns may run.
func (st *step) stopTurns() {
	var running []*Agent
	for _, agent := range st.Agents {
		if agent.Status == AgentBusy && !agent.Stopped {
			running = append(running, agent)
		}
	}
	room := max(st.turnsLeft(), 1)
	if len(running) <= room {
		return
	}
	slices.SortStableFunc(running, func(a, b *Agent) int { return cmp.Compare(b.Live.CostUSD, a.Live.CostUSD) })
	var names []string
	for _, agent := range running[room:] {
		names = append(names, agent.ID)
		st.Edit(agent.ID).Stopped = true
		st.do(input.Interrupt{Agent: agent.AgentRef})
	}
	st.notice(contract.Supervisor, fmt.Sprintf("too little is left of the cost limit for %d concurrent turns: the "+
		"turn of %s is stopped, and continues when there is room", len(running), strings.Join(names, ", ")))
}
