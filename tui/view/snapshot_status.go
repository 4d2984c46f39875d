package view

import (
	"fmt"
	"time"

	"github.com/arbiter-cli/arbiter/supervisor"
	"github.com/arbiter-cli/arbiter/supervisor/machine"
	"github.com/arbiter-cli/arbiter/supervisor/runconfig"
	"github.com/arbiter-cli/arbiter/tui/render"
)

// phaseWords are the oracle's words for the states of the task machine.
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

// PhaseWord returns the oracle's word for a state of the task machine.
func PhaseWord(p machine.State) string { return phaseWords[p].word }

// SnapshotStatus returns the status line of a run.
func SnapshotStatus(s *supervisor.State, now time.Time) StatusData {
	p, used := phaseWords[s.Task.Phase], s.Used()
	d := StatusData{
		Word: p.word, Tone: p.tone, CostUSD: s.Spent(), Simulated: s.Options.Rehearsal,
		Tokens:   used.Input + used.Output + used.CacheRead + used.CacheCreation,
		Elapsed:  elapsedSnapshot(s, now),
		Restarts: s.Lifecycle.Crashes, Warnings: warnings(&s.Options), Decider: deciderWord(s.Options.Decider),
	}
	if s.Rulings.FallbackReason != "" && s.Ending == nil {
		d.Fallback = "The rules decide"
	}
	switch {
	case s.Ending != nil && !s.Ending.Said:
		d.Word, d.Tone = "Ending", render.Warn
	case s.Halted:
		d.Word, d.Tone = "Halted", render.Bad
	case s.Lifecycle.AwaitsTrust(supervisor.LifecycleHere):
		d.Word, d.Tone = "Blocked: the workspace has changed", render.Warn
	case s.Paused:
		d.Word, d.Tone = "Paused", render.Warn
	case s.Budget.Holds():
		d.Word = "Held for the plan's reserve, until " + s.Budget.HeldUntil.In(now.Location()).Format("Mon 15:04")
		d.Tone = render.Warn
	case s.LimitOptions() != nil:
		d.Word, d.Tone = "Held: the limit of costs is spent", render.Warn
	case s.Conversation.Held:
		d.Word, d.Tone = "Held", render.Warn
	default:
		if b := Stalled(s); b != nil {
			d.Word, d.Tone = b.Trouble()+", "+countdown(b, now), render.Warn
		}
	}
	d.Quota, d.Scarce = quotaWord(s, now)
	d.Awaited, d.Human, d.Waiting = awaited(s, now)
	if d.Human {
		d.Words = len(Inbox(s))
	}
	return d
}

// quotaWord describes how much of the fullest usage window is used; scarce reports that it is nearly used
// up.
func quotaWord(s *supervisor.State, now time.Time) (word string, scarce bool) {
	w, ok := s.Budget.Fullest(now)
	if !ok {
		return "", false
	}
	word, scarce = fmt.Sprintf("plan %.0f %%", w.UsedPct), w.UsedPct >= supervisor.WarnPct
	if left, ok := w.Forecast(); ok && scarce {
		word += ", " + fmt.Sprintf("%d min left", int(left.Minutes()))
	}
	return word, scarce
}

// deciderWord names who decides, if not the Arbiter.
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
	return "decides: " + SlashWord(decider)
}

// elapsedSnapshot returns how long the run has been active, in all its processes.
func elapsedSnapshot(s *supervisor.State, now time.Time) time.Duration {
	if s.Budget.Runtime.ProcessBegan.IsZero() {
		return 0
	}
	end := now
	if s.Ending != nil && s.Ending.Said {
		end = s.Budget.Runtime.LastAt
	}
	return s.Budget.Runtime.Elapsed(end)
}

// warnings returns the warnings that must always be visible.
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

// AllowAll is the permission mode that never asks.
const AllowAll = "allow-all"

// Confinement summarizes the restrictions of a run's agents: what they may do, what confines them, and
// whether files of the workspace are loaded.
func Confinement(o *runconfig.Options, g *render.Glyphs) render.Line {
	sep := render.Span{Text: " " + g.Separator + " ", Role: render.Dim}
	mode := render.Span{Text: SlashWord(o.Permissions), Role: render.Dim}
	if o.Permissions == AllowAll {
		mode.Role = render.Danger
	}
	confined := render.Span{Text: "sandbox", Role: render.Dim}
	if o.Sandbox == nil {
		confined = render.Span{Text: "no sandbox", Role: render.Dim}
		if o.Permissions == AllowAll || o.SandboxReason != "" {
			confined.Role = render.Warn
		}
	}
	trusted := render.Span{Text: "trusted", Role: render.Dim}
	if !o.Trusted {
		trusted.Text = "not trusted"
	}
	if mode.Text == "" {
		return render.Line{confined, sep, trusted}
	}
	return render.Line{mode, sep, confined, sep, trusted}
}
