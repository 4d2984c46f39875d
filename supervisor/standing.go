package supervisor

import (
	"slices"
	"time"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/decider"
	"github.com/arbiter-cli/arbiter/supervisor/input"
	"github.com/arbiter-cli/arbiter/supervisor/machine"
)

// awaitsHuman reports whether a human is present who has not answered the Arbiter yet. Only the human's answer
// closes the question.
func (s *State) awaitsHuman() bool {
	return s.Question.AwaitsAnswer() && s.HumanPresent
}

// OpenQuestion returns the question that the human has not answered, or nil.
func (s *State) OpenQuestion() *Question {
	if s.Ending != nil {
		return s.Ending.Question
	}
	return s.Question.Open
}

// QuestionParts lists the questions that wait for the human, oldest first. In a run that is over, these are the
// questions that a resume asks again.
func (s *State) QuestionParts() []QuestionPart { return s.OpenQuestion().List() }

// OpenRequests lists the permission requests that wait for the human, including those that their agents still
// have to repeat. In a run that is over, these are the requests that were open at its end.
func (s *State) OpenRequests() []input.PermissionRequest {
	if s.Ending != nil {
		return s.Ending.Requests
	}
	return s.Permission.All()
}

// ParkedOptions are the choices for a parked Arbiter.
func ParkedOptions() []string { return []string{"retry", "cancel"} }

// needsAnswer reports whether an Orchestrator waits for the human's answer. Until then it receives messages from the
// Arbiter only.
func (s *State) needsAnswer(id string) bool { return s.awaitsHuman() && s.Question.IsNeededBy(id) }

// Completed reports whether the run ended with COMPLETE. It can be resumed, and then waits for another task.
func (s *State) Completed() bool {
	return s.Task.Phase == machine.Complete && s.Ending != nil && s.Ending.Status == contract.StatusComplete
}

// pendingFor reports whether a message waits to be sent to the present generation of the agent.
func (s *State) pendingFor(id string) bool {
	return slices.ContainsFunc(s.Conversation.Mail, func(m Mail) bool {
		return m.To == id && !m.Sent && !(id == contract.Arbiter && s.Renewal.Withholds(m.Kind))
	})
}

// awaitsRuling reports whether a document is on its way to the Arbiter, or waits to be read by it.
func (s *State) awaitsRuling() bool { return s.Conversation.DocumentWaits() || s.Handoff.IsDue() }

// Configuration is the configuration that each agent's process starts with.
func (s *State) Configuration() ConfigRun {
	return ConfigRun{AgentDirs: s.Dirs(), Task: s.Task.Text, Plan: s.Task.Plan, Spent: s.Spent(),
		Untrusted: s.Lifecycle.Untrusted()}
}

// Dirs returns where the agents work.
func (s *State) Dirs() AgentDirs {
	return s.Lifecycle.Dirs(&s.Options, &s.Roster)
}

// whoAnswers reports whether a human can answer a permission request, and how long it waits.
func (s *State) whoAnswers() input.PermissionHuman {
	return input.PermissionHuman{Present: s.HumanPresent, Wait: s.Options.PermissionWait}
}

// ExactInput adds to an answer to a permission request the exact action that was approved, so that the record
// contains the action itself and not only a reference to it.
func (s *State) ExactInput(f input.Body) input.Body { return ExactPermission(&s.Permission, f) }

// RenewalBrief is the brief that a new Arbiter receives with its first message.
func (s *State) RenewalBrief(h Handover) string {
	return Brief(Legacy{
		Document: DocumentText(h.Document, h.Receipts, h.Why), Task: &s.Task, Roster: &s.Roster,
		Question: s.Question.Text(), Ledger: s.Rulings.LedgerText(), Talk: &s.Conversation,
	})
}

// standing is the present standing of the run, as decisions use it.
func (st *step) standing() RulingStanding { return st.standingAfter(st.elapsed()) }

func (s *State) standingAfter(elapsed time.Duration) RulingStanding {
	return RulingStanding{
		Options: &s.Options, Task: &s.Task, Roster: &s.Roster, Conversation: &s.Conversation, Handoff: &s.Handoff,
		Tokens:  BudgetTokens(s.Budget.Usage),
		CostUSD: s.Budget.CostUSD, Elapsed: elapsed,
	}
}

// Record is the present state of the task; the inputs of decisions are built from it.
func (s *State) Record() decider.DecisionRecord {
	return s.Rulings.Record(s.standingAfter(s.Budget.Runtime.Elapsed(s.Budget.Runtime.LastAt)))
}

// Senders determines who an input is from.
func (s *State) Senders() SenderRun {
	return SenderRun{Roster: &s.Roster, Handoff: &s.Handoff, Permission: &s.Permission}
}

// account returns the run's spending and its limit.
func (s *State) account() Account {
	return Account{Options: &s.Options, Roster: &s.Roster, Budget: &s.Budget}
}

// Spent returns what the run has cost, including running turns.
func (s *State) Spent() float64 { return s.account().Spent() }

// Used returns what the run has used, including running turns.
func (s *State) Used() bridge.Usage { return s.account().Used() }

// NoNewSubagent says why no agent may start another subagent; empty: it may. Running turns continue to their
// end without new ones.
func (s *State) NoNewSubagent() string { return s.account().NoNewSubagent() }

// budgetHolds reports whether messages are held back because of a usage window's reserve or a cost limit.
func (s *State) budgetHolds() bool { return s.account().Holds() }

// anyBusy reports whether a turn runs.
func (s *State) anyBusy() bool { return s.busyCount() > 0 }

// busyCount counts the turns that run.
func (s *State) busyCount() (n int) {
	for _, a := range s.Agents {
		if a.Status == AgentBusy {
			n++
		}
	}
	return n
}

// Contexts that packages of parts of the state need in a step.

// mail returns the context that delivers messages in this step. Use it for one call only: it is not updated.
func (st *step) mail() *DeliveryContext {
	return &DeliveryContext{RulingStanding: st.standing(), Rulings: &st.Rulings, Out: &st.out, Senders: st.Senders(),
		Closed: st.Ending != nil, QuestionOpen: st.Question.Open != nil}
}

// documents returns the context that processes documents in this step. Use it for one call only: it is not
// updated.
func (st *step) documents() *DocumentContext {
	return &DocumentContext{ProcessContext: st.processes(), Changes: &st.Changes}
}

// files returns the context that tracks the files of the run in this step. Use it for one call only: it is not
// updated.
func (st *step) files() *FileChangeContext {
	return &FileChangeContext{DeliveryContext: st.mail(), Changes: &st.Changes}
}

// ruleCheck returns the data that a ruling is checked against.
func (st *step) ruleCheck() RuleCheckRun {
	return RuleCheckRun{RulingStanding: st.standing(), Renewal: &st.Renewal, Question: &st.Question,
		AwaitsHuman: st.awaitsHuman(), Pending: st.pendingFor(contract.Arbiter)}
}

// costs returns the context that charges agents and reports limits in this step. Use it for one call only: it
// is not updated.
func (st *step) costs() *CostContext { return &CostContext{Account: st.account(), Mail: st.mail()} }

// processes returns the context that starts, stops and watches processes in this step. Use it for one call
// only: it is not updated.
func (st *step) processes() *ProcessContext {
	return &ProcessContext{
		DeliveryContext: st.mail(), Lifecycle: &st.Lifecycle, Permission: &st.Permission, Question: &st.Question,
		Renewal: &st.Renewal, Budget: &st.Budget, Halted: st.Halted, Ordered: st.ordered, Channel: st.channel,
	}
}

// attaching returns the context that gives sessions of agents to a human. Anything that may end a takeover goes
// through [step.takeover].
func (st *step) attaching() *AttachContext {
	return &AttachContext{ProcessContext: st.processes()}
}
