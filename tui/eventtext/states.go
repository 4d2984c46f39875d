package eventtext

import (
	"slices"
	"strings"
	"time"

	"github.com/arbiter-cli/arbiter/supervisor"
	"github.com/arbiter-cli/arbiter/supervisor/machine"
)

// phases are the words for the states of the task machine.
var phases = map[machine.State]string{
	"": "Starting", machine.Idle: "Idle", machine.Selecting: "Choosing", machine.Executing: "Working",
	machine.Evaluating: "Evaluating", machine.Error: "In trouble",
	machine.Complete: "Complete", machine.Failed: "Failed", machine.Cancelled: "Cancelled",
}

// Phase is the word for a state of the task machine.
func Phase(p machine.State) string { return FirstOf(phases[p], One(string(p), MaxName)) }

// phase is the same within a sentence.
func phase(p string) string { return strings.ToLower(Phase(machine.State(p))) }

// RunState says on every face what a run does.
func RunState(s *supervisor.State, now time.Time) string {
	switch {
	case s.WasInterrupted():
		return "Interrupted"
	case s.Ending != nil && !s.Ending.Said:
		return "Ending"
	case s.Halted:
		return "Halted"
	case s.Lifecycle.AwaitsTrust(supervisor.LifecycleHere):
		return "Blocked: the workspace has changed"
	case s.Paused:
		return "Paused"
	case s.Budget.Holds():
		return "Held for the plan's reserve, until " + s.Budget.HeldUntil.In(now.Location()).Format("Mon 15:04")
	case s.LimitOptions() != nil:
		return "Held: the limit of costs is spent"
	case s.Conversation.Held:
		return "Held"
	}
	return Phase(s.Task.Phase)
}

// AgentState says on every face what an agent does, in a word or two. waits is what waits for the human.
func AgentState(s *supervisor.State, a *supervisor.Agent, waits []supervisor.InboxItem) string {
	if s.Ending != nil {
		waits = nil
	}
	if slices.ContainsFunc(waits, func(i supervisor.InboxItem) bool { return i.Agent == a.ID && i.Request != nil }) {
		return "permission?"
	}
	if a.Role == supervisor.RoleArbiter && slices.ContainsFunc(waits, func(i supervisor.InboxItem) bool {
		return i.Kind == supervisor.InboxQuestion || i.Kind == supervisor.InboxAcceptance
	}) {
		return "asks you"
	}
	down := a.Status == supervisor.AgentDown
	switch {
	case s.WasInterrupted() && a.Alive():
		return "interrupted"
	case a.Takeover != nil:
		return inHand(a.Takeover)
	case s.Halted && (down || a.Status == supervisor.AgentRestarting):
		return "halted"
	case s.Lifecycle.AwaitsTrust(a.Host) && down:
		return "needs your trust"
	case down && !s.Lifecycle.IsUp(a.Host) && a.Host != supervisor.LifecycleHere:
		return hostWaits(s.Lifecycle.Bridge(a.Host))
	case a.Waits():
		return "waits for other starts"
	}
	return statusWord(a)
}

func hostWaits(b supervisor.Bridge) string {
	switch {
	case b.Parked:
		return "its host is not usable"
	case b.Status == supervisor.StatusLost:
		return "its host is lost"
	}
	return "waits for its host"
}

// statusWord is the word for the status of an agent's process, and for where its work stands while it waits.
func statusWord(a *supervisor.Agent) string {
	switch a.Status {
	case supervisor.AgentStarting:
		return "starts"
	case supervisor.AgentDown, supervisor.AgentRestarting:
		return "starts again"
	case supervisor.AgentParked:
		return "parked"
	case supervisor.AgentBusy:
		return "works"
	case supervisor.AgentStopping:
		return "ends"
	case supervisor.AgentEnded:
		return strings.TrimPrefix(standing(a, "")+", ended", ", ")
	}
	return standing(a, "waits")
}

func standing(a *supervisor.Agent, other string) string {
	if a.Role == supervisor.RoleArbiter {
		return other
	}
	switch a.Standing {
	case supervisor.AgentFinished:
		return "done"
	case supervisor.HandedOff:
		return "handed on"
	case supervisor.AgentWaiting:
		if other != "" {
			return "awaits a reply"
		}
	}
	return other
}

func inHand(t *supervisor.Takeover) string {
	switch t.Stage {
	case supervisor.TakeoverOpen:
		return "in your hands"
	case supervisor.TakeoverClosing, supervisor.TakeoverReading:
		return "is given back"
	}
	return "is being handed over"
}
