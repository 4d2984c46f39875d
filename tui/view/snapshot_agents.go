package view

// This part of the package converts the state of a run to what the pages of the screen show: rows of agents,
// steps of the plan, the status line, who is awaited. Its functions are pure, and sanitise all text of agents
// in the state.

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/arbiter-cli/arbiter/sanitize"
	"github.com/arbiter-cli/arbiter/supervisor"
	"github.com/arbiter-cli/arbiter/supervisor/words"
	"github.com/arbiter-cli/arbiter/tui/eventtext"
	"github.com/arbiter-cli/arbiter/tui/render"
)

// AgentRows lists the agents: the Arbiter, the running ones, and the last few that have ended. work returns
// what is known of an agent beyond the state.
func AgentRows(s *supervisor.State, work func(id string) Work, now time.Time) []PageAgent {
	const past = 2
	gone := 0
	for i := range s.Agents {
		if SlashOver(s.Agents[i]) {
			gone++
		}
	}
	var list []PageAgent
	waits := Inbox(s)
	for i := range s.Agents {
		a := s.Agents[i]
		if SlashOver(a) {
			if gone--; gone >= past {
				continue
			}
		}
		list = append(list, agentRow(s, a, work(a.ID), waits, now))
	}
	return list
}

// AgentRow returns the line of one agent.
func AgentRow(s *supervisor.State, a *supervisor.Agent, w Work, now time.Time) PageAgent {
	return agentRow(s, a, w, Inbox(s), now)
}

// hostWaits describes why an agent waits whose host is not up.
func hostWaits(b supervisor.Bridge) (text string, tone render.Role) {
	switch {
	case b.Parked:
		return "its host is not usable", render.Bad
	case b.Status == supervisor.StatusLost:
		return "its host is lost", render.Warn
	}
	return "waits for its host", render.Warn
}

func agentRow(
	s *supervisor.State,
	a *supervisor.Agent,
	w Work,
	waits []supervisor.InboxItem,
	now time.Time,
) PageAgent {
	text, tone := stateWord(a)
	since := a.Since
	switch {
	case a.Takeover != nil:
		text, tone = inHand(a.Takeover)
		since = a.Takeover.Since
	case s.Halted && (a.Status == supervisor.AgentDown || a.Status == supervisor.AgentRestarting):
		text, tone = "halted", render.Bad
	case s.Lifecycle.AwaitsTrust(a.Host) && a.Status == supervisor.AgentDown:
		text, tone = "needs your trust", render.Alert
	case a.Status == supervisor.AgentDown && !s.Lifecycle.IsUp(a.Host) && a.Host != supervisor.LifecycleHere:
		text, tone = hostWaits(s.Lifecycle.Bridge(a.Host))
	}
	stall := a.Waiting()
	if a.Takeover != nil || s.Halted || s.Lifecycle.AwaitsTrust(a.Host) || s.Ending != nil {
		stall = nil
	}
	line := PageAgent{
		ID: a.ID, Name: eventtext.OnHost(SlashWord(a.Name), a.Host), Mode: SlashWord(a.Mode), State: text, Tone: tone,
		Busy:  a.Status == supervisor.AgentBusy && stall == nil,
		Known: a.Context.Window > 0 && a.Context.Tokens > 0, Tokens: a.Context.Tokens, Window: a.Context.Window,
		Pct: a.Context.Pct, Level: a.WarnedLevel,
		Age: max(now.Sub(since), 0), Past: SlashOver(a) || a.Status == supervisor.AgentEnded,
		Subagents: subagents(a, w, now),
	}
	switch {
	case stall != nil:
		line.Doing, line.Age = fmt.Sprintf("%s, attempt %d", countdown(stall, now), stall.Attempt), 0
		if word := stall.Trouble(); word != "" {
			line.State, line.Tone = word, render.Warn
		}
	case a.Status == supervisor.AgentBusy:
		var at time.Time
		if line.Doing, at, line.Tail = doing(s, a, w, now); !at.IsZero() {
			line.Age = max(now.Sub(at), 0)
		}
		switch {
		case a.Watch.Hung:
			line.Tone = render.Bad
		case quiet(s, a, w, now):
			line.State, line.Tone = "quiet", render.Warn
		}
	}
	for _, i := range slices.Backward(waits) { // the oldest one overwrites the others
		asks := i.Kind == supervisor.InboxQuestion || i.Kind == supervisor.InboxAcceptance
		switch {
		case i.Kind == supervisor.InboxPermission && i.Agent == a.ID:
			line.State = "asks leave"
		case asks && a.Role == supervisor.RoleArbiter:
			line.State = "asks you"
		case i.Kind == supervisor.InboxRecovery && i.Agent == a.ID:
			line.Bell = true
			continue
		default:
			continue
		}
		line.Bell, line.Tone, line.Age = true, render.Alert, i.Age(now)
		line.Doing, line.Tail = asked(i, SnapshotRoot(s, a)), false
	}
	if a.Role == supervisor.RoleArbiter && s.Rulings.FallbackReason != "" && s.Ending == nil && !line.Bell {
		line.State, line.Tone = "rules no more", render.Warn
		line.Doing = sanitize.Line(s.Rulings.FallbackReason, 200)
	}
	return line
}

// asked describes on one line what the human is asked; for a permission request, the call.
func asked(i supervisor.InboxItem, root string) string {
	if r := i.Request; i.Kind == supervisor.InboxPermission && r != nil {
		summary := eventtext.Relative(root, eventtext.Summary(r.Tool, r.Input))
		return strings.TrimSpace(eventtext.ToolName(r.Tool) + " " + summary)
	}
	return eventtext.Plain(sanitize.Line(words.FirstLine(strings.TrimSpace(i.Text)), 400))
}

// stateWord describes the state of an agent, in a word or two.
func stateWord(a *supervisor.Agent) (string, render.Role) {
	switch a.Status {
	case supervisor.AgentStarting:
		return "wakes", render.Dim
	case supervisor.AgentDown:
		return "returns", render.Warn
	case supervisor.AgentRestarting:
		return "starts anew", render.Warn
	case supervisor.AgentParked:
		return "parked", render.Bad
	case supervisor.AgentBusy:
		if a.Role == supervisor.RoleArbiter {
			return "ponders", render.Active
		}
		return "weaves", render.Active
	case supervisor.AgentStopping:
		return "departs", render.Dim
	case supervisor.AgentEnded:
		switch a.Standing {
		case supervisor.AgentFinished:
			return "done, gone", render.Dim
		case supervisor.HandedOff:
			return "handed on, gone", render.Dim
		}
		return "gone", render.Dim
	}
	if a.Role == supervisor.RoleArbiter {
		return "listens", render.Dim
	}
	switch a.Standing {
	case supervisor.AgentFinished:
		return "done", render.Good
	case supervisor.HandedOff:
		return "handed on", render.Dim
	case supervisor.AgentWaiting:
		return "awaits a word", render.Pending
	}
	return "listens", render.Dim
}

// inHand describes the state of a session that a human has taken over.
func inHand(t *supervisor.Takeover) (string, render.Role) {
	switch t.Stage {
	case supervisor.TakeoverOpen:
		return "in your hands", render.Alert
	case supervisor.TakeoverClosing, supervisor.TakeoverReading:
		return "is given back", render.Warn
	}
	return "is being handed over", render.Warn
}
