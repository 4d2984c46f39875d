package supervisor

import (
	"fmt"
	"slices"
	"time"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/conversation"
	"github.com/arbiter-cli/arbiter/supervisor/effect"
	"github.com/arbiter-cli/arbiter/supervisor/input"
	"github.com/arbiter-cli/arbiter/supervisor/restart"
	"github.com/arbiter-cli/arbiter/supervisor/roster"
	"github.com/arbiter-cli/arbiter/supervisor/words"
)

func (st *step) watch(a *roster.Agent, after time.Duration) {
	st.do(effect.SetTimer{Key: watchKey(a.AgentRef), After: after})
}

// probed looks at the signs of life. Only all of them together count: no output, no
// CPU, a still transcript, and no answer to a ping.
func (st *step) probed(f input.Probed) {
	a := st.Edit(f.Agent.ID)
	if a == nil || a.Generation != f.Agent.Generation || !a.Up() {
		return
	}
	st.watch(a, st.every())
	if f.Failed != "" {
		// The bridge is busy, mute or gone, which tells nothing of the agent.
		if f.Silent {
			st.bridgeMute()
		}
		return
	}
	st.UnansweredProbes = 0
	w := &a.Watch
	quiet := a.Status == roster.Busy && !w.At.IsZero() && !st.at.Before(w.Spared) && lifeless(w.Last, f.Result, st.at.Sub(w.At), st.scaled(silence))
	w.Last, w.At = f.Result, st.at
	if f.Result.Stopped && !w.Stopped {
		st.emit(a.ID, contract.Notice{Text: a.Name + " is stopped (SIGSTOP); it goes on when it gets SIGCONT"})
	}
	w.Stopped = f.Result.Stopped
	if !quiet || w.Stopped {
		w.Quiet, w.Hung = 0, false
		st.guard(a, f.Result)
		return
	}
	w.Quiet++
	if w.Quiet == 1 {
		st.emit(a.ID, contract.Notice{Text: fmt.Sprintf("%s gives no sign of life: no output for %s, no CPU, no answer",
			a.Name, (time.Duration(f.Result.SilentMS) * time.Millisecond).Round(time.Second))})
	}
	st.hung(a)
}

// hung decides about an agent without any sign of life. The Arbiter is told of an
// Orchestrator, and chooses.
func (st *step) hung(a *roster.Agent) {
	w := &a.Watch
	if a.Role == roster.RoleArbiter {
		if w.Quiet >= hungArbiter {
			st.relaunch(a.ID, restart.Hung, "no output, no CPU, no answer")
		}
		return
	}
	if w.Hung || w.Quiet < hungAfter {
		return
	}
	w.Hung = true
	st.tell(contract.Arbiter, conversation.KindNotice, fmt.Sprintf(
		"%s (%s) gives no sign of life: no output, no CPU, no answer. RETRY with to=%s starts its process again, on the same history; release_orchestrator ends it; CONTINUE waits on.",
		a.Name, a.ID, a.ID))
}

// lifeless compares two looks at a process.
func lifeless(before, now bridge.ProbeResult, between, silence time.Duration) bool {
	cpu := time.Duration(now.CPUMS-before.CPUMS) * time.Millisecond
	return !now.Answered &&
		time.Duration(now.SilentMS)*time.Millisecond >= silence &&
		now.TranscriptBytes == before.TranscriptBytes &&
		now.OutputBytes == before.OutputBytes &&
		cpu >= 0 && cpu < time.Duration(float64(between)*idleCPU)
}

// guard holds an agent's memory and output files against the limits.
func (st *step) guard(a *roster.Agent, r bridge.ProbeResult) {
	for _, x := range []struct {
		what      string
		is, limit int64
		path      string
	}{
		{"memory", r.RSSBytes, st.Options.MaxMemory, ""},
		{"task output", r.OutputBytes, st.Options.MaxOutput, r.OutputPath},
	} {
		switch {
		case x.limit <= 0 || float64(x.is) < warnShare*float64(x.limit):
			a.Watch.Warned = without(a.Watch.Warned, x.what)
		case x.is < x.limit:
			if !slices.Contains(a.Watch.Warned, x.what) {
				a.Watch.Warned = append(slices.Clip(a.Watch.Warned), x.what)
				st.emit(a.ID, contract.Notice{Text: fmt.Sprintf("%s uses %s of %s %s%s", a.Name, words.Size(x.is), words.Size(x.limit), x.what, inFile(x.path))})
			}
		default:
			reason := fmt.Sprintf("%s of %s, at most %s%s", words.Size(x.is), x.what, words.Size(x.limit), inFile(x.path))
			st.emit(a.ID, contract.Notice{Text: a.Name + " is started again: " + reason})
			st.relaunch(a.ID, restart.Resource, reason)
			return
		}
	}
}

func inFile(path string) string {
	if path == "" {
		return ""
	}
	return " (" + path + ")"
}

// woke begins the watch anew after the machine slept.
func (st *step) woke(f input.Woke) {
	st.ProcessBegan = st.ProcessBegan.Add(f.Slept) // sleep is no part of the run's life
	st.emit(contract.Supervisor, contract.Notice{Text: "the machine slept, or its clock was moved, for " + f.Slept.Round(time.Second).String() + "; agents get time to find their way back"})
	for i := range st.Agents {
		if !st.Agents[i].Up() {
			continue
		}
		a := st.Edit(st.Agents[i].ID)
		w := a.Watch
		a.Watch = roster.Watch{Stopped: w.Stopped, Warned: w.Warned, Spared: st.at.Add(wakeGrace)}
		st.watch(a, wakeGrace)
	}
	st.overslept(f.Slept)
}

const (
	// silence is what counts as no output. The CLI is silent for minutes while it
	// waits for the API (observed with CLI 2.1.329: 300 s and 360 s), so that
	// silence alone says nothing.
	silence = time.Minute
	// idleCPU is how much of one CPU a CLI uses that does nothing, and more
	// (observed with CLI 2.1.329: 0.4–0.7 %).
	idleCPU = 0.02
	// hungAfter looks without a sign of life, an agent counts as hung.
	hungAfter = 3
	// hungArbiter is the same for the Arbiter: nobody else can judge it, so it is
	// started again, and therefore later.
	hungArbiter = 8
	// wakeGrace is left alone after the machine slept: connections are dead, and
	// the CLI needs time to find out.
	wakeGrace = 5 * time.Minute
	// warnShare of a limit is where the resource guard warns.
	warnShare = 0.75
)
