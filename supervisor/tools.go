package supervisor

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/input"
	"github.com/arbiter-cli/arbiter/supervisor/runconfig"
	"github.com/arbiter-cli/arbiter/supervisor/verdict"
	"github.com/arbiter-cli/arbiter/supervisor/words"
)

// toolCalled carries out a call and answers it at once.
func (st *step) toolCalled(f input.ToolCalled) {
	a, ok := st.Agent(f.Params.ID)
	if !ok || a.Generation != f.Params.Generation || !a.Alive() {
		st.do(input.AnswerTool{Call: f.Call, Text: "You are being released.", IsError: true})
		return
	}
	if st.Halted {
		st.do(input.AnswerTool{Call: f.Call, Text: "The human stopped everything.", IsError: true})
		return
	}
	st.emit(a.ID, contract.ToolCall{Tool: f.Params.Tool, Input: f.Params.Input})
	if f.Params.Tool == "ask_predecessor" && May(SenderOf(&a, f.Params.Subagent), Tool(f.Params.Tool)) {
		st.askPredecessor(f, a)
		return
	}
	text, err := st.runTool(a, f.Params)
	if err != nil {
		st.do(input.AnswerTool{Call: f.Call, Text: err.Error(), IsError: true})
		return
	}
	st.do(input.AnswerTool{Call: f.Call, Text: text})
}

func (st *step) runTool(a Agent, p bridge.ToolCallParams) (string, error) {
	if !May(SenderOf(&a, p.Subagent), Tool(p.Tool)) {
		return "", MayNot(&a, p)
	}
	switch p.Tool {
	case "spawn_orchestrator":
		return ToolRun(p.Input, st.toolSpawn)
	case "release_orchestrator":
		return ToolRun(p.Input, st.toolRelease)
	case "set_plan":
		return ToolRun(p.Input, func(in SetPlanInput) (string, error) {
			steps, err := in.Plan(&st.Options)
			return st.toolPlan(st.Task.SameAgents(steps), err)
		})
	case "update_plan":
		return ToolRun(p.Input, func(in UpdatePlanInput) (string, error) {
			return st.toolPlan(in.Marked(st.Task.Plan, a.ID))
		})
	case "set_acceptance":
		return ToolRun(p.Input, func(in AcceptanceInput) (string, error) {
			err := st.Task.Acceptance.ArbiterSets(in.Given())
			if err != nil {
				return "", err
			}
			return "The acceptance criteria:\n" + st.Task.Acceptance.Text(), nil
		})
	case "status":
		return st.statusText(), nil
	case "report_progress":
		return ToolRun(p.Input, func(in ProgressInput) (string, error) {
			if strings.TrimSpace(in.Message) == "" {
				return "", fmt.Errorf("message is empty")
			}
			st.log(a.ID, verdict.KindProgress, in.Message)
			return "Noted in the work log. Go on.", nil
		})
	}
	return "", MayNot(&a, p)
}

// toolPlan sets the plan that a tool makes, unless the plan is refused.
func (st *step) toolPlan(steps []contract.Step, problem error) (string, error) {
	if problem != nil {
		return "", problem
	}
	st.setPlan(steps)
	text := "The plan:\n" + PlanText(steps)
	if all, _ := ForecastPlan(&st.Options, steps); all.From > 0 {
		text += "\nThe open steps will cost about " + all.Price() + ", by earlier runs here."
	}
	return text, nil
}

func (st *step) toolSpawn(in SpawnInput) (string, error) {
	if a, again := st.SpawnedBefore(in.Prompt, in.Mode); again {
		return fmt.Sprintf("{\"id\":%q,\"name\":%q}\nIt was summoned already, before your process ended, and has begun.",
			a.ID, a.Name), nil
	}
	if st.nothingWanted() {
		return "", errors.New("there is no task: the human reset it; ask them what is wanted, with ADDRESS_HUMAN")
	}
	if problem := st.spawnOrchestrator(SpawningRequest{
		Brief: in.Prompt, Mode: in.Mode, SuccessorOf: in.SuccessorOf, By: contract.Arbiter, Isolated: in.Isolated,
		Host: in.Host, FuseUSD: in.FuseUSD, Make: in.Make,
	}); problem != "" {
		if st.Ending == nil {
			st.exchange() // as with a verdict: it must not continue like that without an end
		}
		return "", fmt.Errorf("%s", problem)
	}
	a, _ := st.Last()
	answer, err := json.Marshal(map[string]string{"id": a.ID, "name": a.Name})
	if err != nil {
		return "", err
	}
	text := "\nIt is summoned and begins by itself. End your turn: with CONTINUE, you wait for its first message."
	if a.Fuse.USD > 0 {
		text += fmt.Sprintf(" It is parked when it has cost $%.4f.", a.Fuse.USD)
	}
	if a.Host != LifecycleHere {
		text += st.hostText(a.Host)
	}
	if st.Options.Workspace.Enabled() && a.Isolation == "" && st.LivingCount() > 1 {
		text += " It shares the directory with the others: with isolated an Orchestrator gets one of its own."
	}
	return string(answer) + text, nil
}

func (st *step) toolRelease(in ReleaseInput) (string, error) {
	var ids []string
	for i := range st.Agents {
		if a := st.Agents[i]; a.Role == RoleOrchestrator && a.Alive() && a.Takeover == nil &&
			(in.ID == "all" || in.ID == a.ID) {
			ids = append(ids, a.ID)
		}
	}
	if a, _ := st.Agent(in.ID); a.Takeover != nil {
		return "", fmt.Errorf("the human has the session of %s in a terminal: release it when it is given back", a.ID)
	}
	if len(ids) == 0 {
		return "", fmt.Errorf("no living Orchestrator %q; alive: %s", in.ID, st.LivingText())
	}
	answer := "Released: " + strings.Join(ids, ", ") + "."
	for _, id := range ids {
		a, _ := st.Agent(id)
		reason := cmp.Or(in.Reason, "released")
		st.release(id, reason, false)
		if a.Unfinished() {
			st.handOver(Handover{Agent: a.AgentRef, Kind: KindReleased, Why: "it was released: " +
				reason, Message: a.Name + " was released before its work was done."})
			answer += " " + id + " had not handed off: the supervisor's record of its work follows in the work log."
		}
	}
	return answer, nil
}

// statusText is the answer of the tool `status`.
func (s *State) statusText() string {
	var b strings.Builder
	fmt.Fprintf(&b, "state: %s\n", s.Task.Phase)
	list, others := s.Shown()
	b.WriteString(OthersText(others))
	for _, a := range append([]*Agent{s.Agents[0]}, list...) {
		fmt.Fprintf(&b, "%s (%s)", a.ID, a.Name)
		if a.Mode != "" {
			fmt.Fprintf(&b, " as %s", a.Mode)
		}
		if a.Make != "" {
			fmt.Fprintf(&b, " of make %s", a.Make)
		}
		fmt.Fprintf(&b, ": process %s", a.StatusText())
		if a.Role == RoleOrchestrator {
			fmt.Fprintf(&b, ", %s", a.Standing)
		}
		if a.Context.Window > 0 {
			fmt.Fprintf(&b, ", context %.1f%% of %d tokens", a.Context.Pct, a.Context.Window)
			if a.Context.TurnsLeft > 0 {
				fmt.Fprintf(&b, " (about %d turns left)", a.Context.TurnsLeft)
			}
		} else if a.Make != "" {
			b.WriteString(", context unknown")
		}
		if a.CostUnknown {
			b.WriteString(", cost unknown")
		}
		if a.Compactions > 0 {
			fmt.Fprintf(&b, ", compacted %d times", a.Compactions)
		}
		if a.CurrentTool != "" {
			fmt.Fprintf(&b, ", at %s", a.CurrentTool)
		}
		if a.Fuse.USD > 0 {
			fmt.Fprintf(&b, ", fuse $%.4f of $%.4f spent", a.FuseSpent(), a.Fuse.USD)
		}
		if n := len(a.Subagents); n > 0 {
			b.WriteString(", " + words.CountOf(n, s.Options.MaxSubagents, "subagent") + " at work")
		}
		b.WriteString("\n")
		if len(a.Lacks) > 0 {
			b.WriteString("  lacks: " + strings.Join(a.Lacks, "; ") + "\n")
		}
	}
	fmt.Fprintf(&b, "plan:\n%s", PlanText(s.Task.Plan))
	if criteria := s.Task.Acceptance.Text(); criteria != "" {
		b.WriteString("\nacceptance criteria:\n" + criteria)
	}
	fmt.Fprintf(&b, "\nwork log entries waiting: %d\n", len(s.Conversation.WorkLog))
	fmt.Fprintf(&b, "orchestrators summoned: %d of %d; living %d of %d; exchanges without a human: %d of %d; cost: $%.4f",
		s.Task.Iterations, s.Options.MaxIterations, s.LivingCount(), s.Options.MaxOrchestrators, s.Conversation.Exchanges,
		s.Options.MaxExchanges, s.Spent())
	if s.Options.MaxCostUSD > 0 {
		fmt.Fprintf(&b, " of $%.4f", s.Options.MaxCostUSD)
	}
	b.WriteString("; started " + words.CountOf(s.Budget.Subagents, s.Options.MaxSubagentsTotal, "subagent") + "\n")
	for _, x := range s.Options.Hosts {
		fmt.Fprintf(&b, "host %s: %d of %d slots free\n", x.Name, max(x.Slots-s.livingOn(x.Name), 0), x.Slots)
	}
	b.WriteString(s.taskText())
	if !s.HumanPresent {
		b.WriteString("no human is present\n")
	}
	return b.String()
}

// taskText is what `status` reports about the task as the machine sees it.
func (s *State) taskText() string {
	most := func(n int) string {
		if n == 0 {
			return ""
		}
		return fmt.Sprintf(" of %d", n)
	}
	text := fmt.Sprintf("executions: %d; failures in a row: %d%s; in all: %d%s\ndecider: %s", s.Task.History.Len(),
		s.Task.Failures, most(s.Options.MaxFailures), s.Task.TotalFailures,
		most(s.Options.FailureLimit(s.Rulings.FallbackReason != "")), cmp.Or(s.Options.Decider, runconfig.DeciderSession))
	text += s.Rulings.DeciderText()
	if f := s.Task.LastError; f != nil {
		text += fmt.Sprintf("\nlast error, of a %s: %s", f.Agent, words.Head(words.FirstLine(f.Message), 300))
	}
	return text + "\n"
}
