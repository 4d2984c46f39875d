package tui

import (
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/arbiter-cli/arbiter/sanitize"
	"github.com/arbiter-cli/arbiter/supervisor"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/machine"
	"github.com/arbiter-cli/arbiter/supervisor/roster"
	"github.com/arbiter-cli/arbiter/supervisor/runconfig"
	"github.com/arbiter-cli/arbiter/tui/eventview"
	"github.com/arbiter-cli/arbiter/tui/pages"
	"github.com/arbiter-cli/arbiter/tui/render"
	"github.com/arbiter-cli/arbiter/tui/slash"
)

// This file projects a snapshot onto what the pages show. It is the edge at which
// everything a State holds of others' words is made fit for a screen.

// rosterRows lists the agents: the Arbiter, those who live, and the last few who do not.
func rosterRows(s *supervisor.State, now time.Time) []pages.Agent {
	const past = 2
	gone := 0
	for i := range s.Agents {
		if slash.Over(s.Agents[i]) {
			gone++
		}
	}
	var list []pages.Agent
	for i := range s.Agents {
		a := s.Agents[i]
		if slash.Over(a) {
			if gone--; gone >= past {
				continue
			}
		}
		list = append(list, agentLine(s, a, now))
	}
	return list
}

func agentLine(s *supervisor.State, a *roster.Agent, now time.Time) pages.Agent {
	text, tone := stateWord(a)
	since := a.Since
	switch {
	case a.Takeover != nil:
		text, tone = inHand(a.Takeover)
		since = a.Takeover.Since
	case s.Halted && (a.Status == roster.Down || a.Status == roster.Restarting):
		text, tone = "halted", render.Bad
	case s.TrustQuestion != nil && a.Status == roster.Down:
		text, tone = "needs your trust", render.Alert
	}
	stall := a.Waiting()
	if a.Takeover != nil || s.Halted || s.TrustQuestion != nil || s.Ending != nil {
		stall = nil
	}
	line := pages.Agent{
		ID: a.ID, Name: slash.Word(a.Name), Mode: slash.Word(a.Mode), State: text, Tone: tone, Busy: a.Status == roster.Busy && stall == nil,
		Known: a.Context.Window > 0 && a.Context.Tokens > 0, Tokens: a.Context.Tokens, Window: a.Context.Window, Pct: a.Context.Pct, Level: a.WarnedLevel,
		Age: max(now.Sub(since), 0), Past: slash.Over(a) || a.Status == roster.Ended,
	}
	switch {
	case stall != nil:
		line.Doing = fmt.Sprintf("%s, attempt %d", countdown(stall, now), stall.Attempt)
		if word := stall.Trouble(); word != "" {
			line.State, line.Tone = word, render.Warn
		}
	case a.Status == roster.Busy:
		line.Doing = eventview.ToolName(a.CurrentTool)
	}
	for i := range s.Permission.Open {
		if s.Permission.Open[i].Params.ID == a.ID {
			line.Bell, line.State, line.Tone = true, "asks leave", render.Alert
			line.Age = max(now.Sub(s.Permission.Open[i].At), 0)
		}
	}
	if s.Question != nil && a.Role == roster.RoleArbiter {
		line.Bell, line.State, line.Tone = true, "asks you", render.Alert
		line.Age = max(now.Sub(s.Question.At), 0)
	}
	if a.Role == roster.RoleArbiter && s.FallbackReason != "" && s.Ending == nil && !line.Bell {
		line.State, line.Tone = "rules no more", render.Warn
		line.Doing = sanitize.Line(s.FallbackReason, 200)
	}
	if a.Role == roster.RoleArbiter && a.Status == roster.Parked {
		line.Bell = true
	}
	return line
}

// stateWord says how an agent stands, in a word or two.
func stateWord(a *roster.Agent) (string, render.Role) {
	switch a.Status {
	case roster.Starting:
		return "wakes", render.Dim
	case roster.Down:
		return "returns", render.Warn
	case roster.Restarting:
		return "starts anew", render.Warn
	case roster.Parked:
		return "parked", render.Bad
	case roster.Busy:
		if a.Role == roster.RoleArbiter {
			return "ponders", render.Active
		}
		return "weaves", render.Active
	case roster.Stopping:
		return "departs", render.Dim
	case roster.Ended:
		switch a.Standing {
		case roster.Finished:
			return "done, gone", render.Dim
		case roster.HandedOff:
			return "handed on, gone", render.Dim
		}
		return "gone", render.Dim
	}
	if a.Role == roster.RoleArbiter {
		return "listens", render.Dim
	}
	switch a.Standing {
	case roster.Finished:
		return "done", render.Good
	case roster.HandedOff:
		return "handed on", render.Dim
	case roster.Waiting:
		return "awaits a word", render.Pending
	}
	return "listens", render.Dim
}

// steps are steps of a plan, or of an agent's own list, as the pages show them.
func steps(s *supervisor.State, plan []contract.Step) []pages.Step {
	var list []pages.Step
	for _, p := range plan {
		step := pages.Step{Text: beginning(p.Text, mostOfStep), Status: p.Status, Mode: slash.Word(p.Mode)}
		if p.Agent != "" {
			step.Agent = slash.Name(s, p.Agent)
		}
		list = append(list, step)
	}
	return list
}

// What is shown of texts that may be of any length: they are wrapped for each picture.
const (
	mostOfStep = 4 << 10
	mostOfTask = 32 << 10
)

// beginning is as much of a text as may be shown, fit for that.
func beginning(text string, most int) string {
	if len(text) <= most {
		return sanitize.Text(text)
	}
	for most > 0 && !utf8.RuneStart(text[most]) {
		most--
	}
	return sanitize.Text(text[:most]) + "…"
}

// tasks are the lists that agents keep for themselves.
func tasks(s *supervisor.State) []pages.Tasks {
	var list []pages.Tasks
	for _, t := range s.Task.AgentTasks {
		if len(t.Items) > 0 {
			list = append(list, pages.Tasks{Agent: slash.Name(s, t.Agent), Tone: render.Speaker(t.Agent), Items: steps(s, t.Items)})
		}
	}
	return list
}

// phaseWords are the oracle's words for the states of the machine.
var phaseWords = map[machine.State]struct {
	word string
	tone render.Role
}{
	machine.Idle:       {"Listening", render.StatusBarStrong},
	machine.Selecting:  {"Choosing", render.StatusBarStrong},
	machine.Executing:  {"Weaving", render.StatusBarStrong},
	machine.Evaluating: {"Weighing", render.StatusBarStrong},
	machine.Error:      {"Mending", render.Warn},
	machine.Complete:   {"It is done", render.Good},
	machine.Failed:     {"It failed", render.Bad},
	machine.Cancelled:  {"Stopped", render.Warn},
}

// status is the status line of a run.
func status(s *supervisor.State, now time.Time) pages.StatusData {
	p, used := phaseWords[s.Task.Phase], s.Used()
	d := pages.StatusData{
		Word: p.word, Tone: p.tone, CostUSD: s.Spent(),
		Tokens:   used.Input + used.Output + used.CacheRead + used.CacheCreation,
		Elapsed:  elapsed(s, now),
		Restarts: s.Crashes, Warnings: warnings(&s.Options), Decider: deciderWord(s.Options.Decider),
	}
	if s.FallbackReason != "" && s.Ending == nil {
		d.Fallback = "The rules decide"
	}
	switch {
	case s.Ending != nil && !s.Ending.Said:
		d.Word, d.Tone = "Ending", render.Warn
	case s.Halted:
		d.Word, d.Tone = "Halted", render.Bad
	case s.TrustQuestion != nil:
		d.Word, d.Tone = "Blocked: the workspace has changed", render.Warn
	case s.Paused:
		d.Word, d.Tone = "Paused", render.Warn
	case s.Conversation.Held:
		d.Word, d.Tone = "Held", render.Warn
	default:
		if b := stalled(s); b != nil {
			d.Word, d.Tone = b.Trouble()+", "+countdown(b, now), render.Warn
		}
	}
	d.Awaited, d.Human, d.Waiting = awaited(s, now)
	return d
}

// deciderWord says who decides, where it is not the Arbiter.
func deciderWord(decider string) string {
	switch decider {
	case "", runconfig.DeciderSession:
		return ""
	case runconfig.DeciderStateless:
		return "a model decides"
	case runconfig.DeciderHybrid:
		return "rules, else a model decide"
	case runconfig.DeciderRules:
		return "the rules decide"
	}
	return "decides: " + slash.Word(decider)
}

// elapsed is how long the run has been played, in all its lives.
func elapsed(s *supervisor.State, now time.Time) time.Duration {
	if s.ProcessBegan.IsZero() {
		return 0
	}
	end := now
	if s.Ending != nil && s.Ending.Said {
		end = s.LastAt
	}
	return s.EarlierRuntime + max(end.Sub(s.ProcessBegan), 0)
}

// warnings are what must be in sight all the time.
func warnings(o *runconfig.Options) []string {
	var list []string
	if o.Rehearsal {
		list = append(list, "REHEARSAL")
	}
	if o.Permissions == "allow-all" {
		list = append(list, "ALLOW ALL")
	}
	if o.Sandbox == nil && (o.Permissions == "allow-all" || o.SandboxReason != "") {
		list = append(list, "UNSANDBOXED")
	}
	return list
}

// awaited says for whom the run waits, and how long it has.
func awaited(s *supervisor.State, now time.Time) (who string, human bool, since time.Duration) {
	if over := s.Ending != nil; over {
		return "", false, 0
	}
	switch {
	case s.Halted:
		return "", false, 0
	case s.Question != nil:
		return "you", true, max(now.Sub(s.Question.At), 0)
	case len(s.Permission.Open) > 0:
		return "you", true, max(now.Sub(s.Permission.Open[0].At), 0)
	case s.TrustQuestion != nil:
		return "you", true, max(now.Sub(s.TrustQuestion.At), 0)
	}
	var busy []string
	var first time.Time
	for i := range s.Agents {
		a := s.Agents[i]
		if a.Status != roster.Busy && a.Status != roster.Starting && a.Status != roster.Down && a.Status != roster.Restarting {
			continue
		}
		if a.Role == roster.RoleArbiter && a.Status == roster.Starting && s.Task.Text == "" {
			continue
		}
		if b := a.Waiting(); b != nil && b.Trouble() != "" {
			continue
		}
		busy = append(busy, slash.Name(s, a.ID))
		if first.IsZero() || a.Since.Before(first) {
			first = a.Since
		}
	}
	switch len(busy) {
	case 0:
		return "", false, 0
	case 1, 2:
		who = strings.Join(busy, " and ")
	default:
		who = fmt.Sprintf("%s and %d more", busy[0], len(busy)-1)
	}
	return who, false, max(now.Sub(first), 0)
}

// lively reports whether something on the screen moves, and how soon it does again.
func lively(s *supervisor.State, still bool) time.Duration {
	if s == nil || s.Ending != nil && s.Ending.Said {
		return 0
	}
	if _, human, _ := awaited(s, time.Now()); human || still {
		return time.Second // times go on
	}
	for i := range s.Agents {
		if s.Agents[i].Status == roster.Busy {
			return motionFrame
		}
	}
	return time.Second
}

// motionFrame is the time between two frames of the quiet animation.
const motionFrame = 333 * time.Millisecond
