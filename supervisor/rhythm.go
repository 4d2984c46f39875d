package supervisor

// This file watches for work that repeats itself and costs money: reports and questions without a changed file, one
// tool call that fails again and again, retries. A pause grows first; then the supervisor tells the agent, then the
// Arbiter, then the human. docs/troubleshooting.md has the numbers.

import (
	"fmt"
	"time"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/input"
	"github.com/arbiter-cli/arbiter/supervisor/verdict"
	"github.com/arbiter-cli/arbiter/supervisor/words"
)

const (
	// pauseAfter is how many messages in a row an Orchestrator may send without a changed file before the next
	// "Continue." waits: firstPause, then twice as long each time, at most longestPause.
	pauseAfter   = 2
	firstPause   = 5 * time.Second
	longestPause = 5 * time.Minute
	// stalledForArbiter is the message in a row without a changed file from which on the Arbiter decides.
	stalledForArbiter = 6
	// stalledForHuman is the one at which the run asks a human, again after as many more.
	stalledForHuman = 12

	// emptyForArbiter is the number of documents in a row without a changed file after which the Arbiter reads a
	// notice. Half as many agents may well read and change nothing: a planner, reviewers, testers.
	emptyForArbiter = 6
	// emptyForHuman is the one at which the run asks a human. Without one, it ends at twice that.
	emptyForHuman = 12

	// failsForAgent is how often in a row the same call of a tool fails before its agent gets a message; the Arbiter
	// gets one after failsForArbiter, and failsStopped stop the turn.
	failsForAgent   = 5
	failsForArbiter = 10
	failsStopped    = 20

	// refusedStopped is how many subagents a turn may ask for in vain, since one has started, before it is stopped.
	refusedStopped = 50

	// questionsInRow is the question to the human in a row with whose answer the Arbiter is reminded to ask less.
	questionsInRow = 5
)

// RhythmPrefix begins the key of the timer after which an Orchestrator continues; the agent and its generation follow.
const RhythmPrefix = "rhythm/"

// moved records that an agent has changed a file, or was given something else to do. What one agent changes is progress
// of the task.
func (st *step) moved(id string) {
	for _, id := range []string{id, contract.Arbiter} {
		if a, ok := st.Agent(id); ok && a.Stalled > 0 {
			st.Edit(id).Stalled = 0
		}
	}
}

// allMoved records that a human has said or stopped something.
func (st *step) allMoved() {
	for i := range st.Agents {
		st.moved(st.Agents[i].ID)
		if st.Agents[i].Fuse.Nth > 1 { // what goes on is the human's will
			st.Edit(st.Agents[i].ID).Fuse.Nth = 1
		}
	}
}

// stalls counts a message of an Orchestrator that hands nothing over. It returns what the Arbiter reads about it;
// empty: nothing yet.
func (st *step) stalls(a *Agent) string {
	if a.Stalled++; a.Stalled < stalledForArbiter {
		return ""
	}
	text := fmt.Sprintf("This is message %d in a row of %s (%s) without a changed file.", a.Stalled, a.Name, a.ID)
	if a.Stalled == stalledForArbiter {
		st.notice(a.ID, text+" The Arbiter judges whether the work advances.")
	}
	if a.Stalled%stalledForHuman == 0 && st.HumanPresent && st.Ending == nil {
		st.Conversation.Held = true
		st.ask(text + " Its last one is with the Arbiter. Write a message, and they continue.")
	}
	return text + " Judge whether the work advances: tell the Orchestrator another way, release it, or ask the human."
}

// handsOver counts a document of an Orchestrator. Who finishes, and is summoned or instructed again, may change nothing
// for ever: the count of the documents in a row is kept with the Arbiter. The files of this one are not known yet.
func (st *step) handsOver(a *Agent) {
	a.Stalled = 0
	if !st.seesChanges(a) {
		return
	}
	arbiter := st.Edit(contract.Arbiter)
	n := arbiter.Stalled
	arbiter.Stalled++
	text := fmt.Sprintf("The last %d documents came without a changed file.", n)
	switch {
	case n == 0:
	case n%emptyForHuman == 0 && st.HumanPresent:
		st.Conversation.Held = true
		st.ask(text + " Write a message, and the work continues.")
	case n == 2*emptyForHuman:
		st.limitReached("the last " + words.Count(n, "document") + " came without a changed file, and no human is " +
			"present to say whether the work advances: resume the run with a message")
	case n%emptyForArbiter == 0:
		st.logNotice(text + " Judge whether the work advances: have it done in another way, complete the task, or " +
			"ask the human.")
	}
}

// letGoOn has an Orchestrator continue after a report, later and later while no file changes.
func (st *step) letGoOn(a *Agent) {
	m := Mail{From: contract.Supervisor, To: a.ID, Kind: KindContinue, Text: "Your report is in the work log. Continue."}
	if n := a.Stalled - pauseAfter; n > 0 {
		pause := min(firstPause<<min(n-1, 10), longestPause)
		m.Pauses = true
		st.do(input.SetTimer{Key: RhythmPrefix + RunOf(a.AgentRef), After: pause})
		st.notice(a.ID, fmt.Sprintf("%s has sent %s in a row without a changed file: it continues in %s.", a.Name,
			words.Count(a.Stalled, "message"), pause))
	}
	st.post(m)
}

// endPauses lets what was held back for the pause of an agent be sent; empty: of all.
func (st *step) endPauses(id string) {
	for i, m := range st.Conversation.Mail {
		if m.Pauses && (id == "" || m.To == id) {
			st.Conversation.EditMail()[i].Pauses = false
		}
	}
}

// toolEnded counts a call of a tool that fails again and again without another in between.
func (st *step) toolEnded(a *Agent, r bridge.ToolResult) {
	call := a.ToolCall.Tool + " " + a.ToolCall.What
	switch {
	case !r.IsError:
		a.Failing, a.Fails = "", 0
		return
	case a.Failing != call:
		a.Failing, a.Fails = call, 0
	}
	a.Fails++
	text := fmt.Sprintf("the same call failed %d times in a row: %s", a.Fails, words.Cite(words.FirstLine(call)))
	switch {
	case a.Fails == failsForAgent:
		st.steer(a, "Stop: "+text+". Do not repeat it. Find another way, or end the turn and say what you cannot do.")
	case a.Fails == failsForArbiter && a.Role == RoleOrchestrator:
		st.logNotice(a.Name + " (" + a.ID + "): " + text)
		st.notice(a.ID, a.Name+": "+text)
	case a.Fails == failsStopped && a.Status == AgentBusy:
		a.Fails = 0 // if it goes on like that, the messages and the stop come again
		st.notice(a.ID, a.Name+": "+text+"; its turn is stopped")
		st.do(input.Interrupt{Agent: a.AgentRef})
	}
}

// subagentRefused counts a call for a subagent that a limit refused. The refusal tells the model what to do instead; a
// turn that asks on and on is stopped, and the Arbiter decides.
func (st *step) subagentRefused(id string) {
	a := st.Edit(id)
	if a == nil || a.Status != AgentBusy {
		return
	}
	if a.RefusedSubagents++; a.RefusedSubagents != refusedStopped {
		return
	}
	text := fmt.Sprintf("%s (%s) asked for %s more than the limits allow; its turn is stopped", a.Name, a.ID,
		words.Count(a.RefusedSubagents, "subagent"))
	st.logNotice(text)
	st.notice(a.ID, text)
	st.do(input.Interrupt{Agent: a.AgentRef})
}

// triesAgain counts a RETRY as a failure of an Orchestrator that has only asked since it changed a file: the limits of
// failures count what is tried again.
func (st *step) triesAgain(v verdict.Arbiter) {
	a := st.Edit(v.To)
	if v.Decision != verdict.Retry || a == nil || a.Stalled < 2 || a.Work == nil || !a.Work.Completed.IsZero() {
		return
	}
	f := st.Task.AgentFailure(&st.Roster, a.ID, "", "it is tried again: "+v.Reason, st.at)
	st.Task.Fail(a, f, st.at)
}

// asksAgain counts questions to the human in a row, and reminds the Arbiter to ask them at once.
func (st *step) asksAgain(v verdict.Arbiter) {
	switch {
	case v.Decision == verdict.AddressHuman && !st.isReport(v):
		if st.Rulings.QuestionsInRow++; st.Rulings.QuestionsInRow == questionsInRow {
			st.logNotice(fmt.Sprintf("You have asked the human %d times in a row. Ask all that is left in one "+
				"message, or decide it yourself and say what you assumed.", st.Rulings.QuestionsInRow))
		}
	case v.Decision != verdict.Continue || v.To != "":
		st.Rulings.QuestionsInRow = 0
	}
}
