package host

import (
	"time"

	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/command"
	"github.com/arbiter-cli/arbiter/internal/memory"
	"github.com/arbiter-cli/arbiter/supervisor"
	"github.com/arbiter-cli/arbiter/supervisor/runconfig"
)

// workspaceMemory is what the runs in a workspace have learned.
type workspaceMemory struct {
	stateDir, place string
	mask            func(string) string
	off             bool // nothing is read or written, as in a rehearsal
}

// recall reads what earlier runs have learned into the options of a run. If the caller gets an error, the run
// continues without memory.
func (w workspaceMemory) recall(o *runconfig.Options) error {
	if w.off {
		return nil
	}
	store, err := memory.Open(w.stateDir, w.place, w.mask)
	if err != nil {
		return err
	}
	defer store.Close() // it was only read
	m, err := store.Load()
	o.Lessons = memory.Brief(m.Lessons)
	o.Performance = memory.Performance(m.Outcomes)
	o.Expected = memory.Forecasts(m.Outcomes)
	return err
}

// remember stores what a run has learned, and how its agents did.
func (w workspaceMemory) remember(s *supervisor.State) error {
	if w.off || s.Ending == nil || !s.Ending.Said || !s.Reached() {
		return nil
	}
	store, err := memory.Open(w.stateDir, w.place, w.mask)
	if err != nil {
		return err
	}
	defer store.Close()
	now := time.Now()
	var lessons []memory.Lesson
	for _, l := range s.Task.Lessons {
		lessons = append(lessons, memory.Lesson{
			Text: l.Text, Evidence: l.Evidence, Run: command.ShortID(s.Options.Run), Date: now,
		})
	}
	if len(lessons) > 0 {
		if err := store.Learn(lessons); err != nil {
			return err
		}
	}
	if s.Options.ForkedFrom != nil {
		return nil // its executions are those of the other run, too
	}
	var uses []memory.AgentUse
	for _, a := range s.Agents {
		if a.Role != supervisor.RoleOrchestrator {
			continue
		}
		use := memory.AgentUse{Mode: supervisor.ModeOf(a), Restarts: a.Generation - 1, CostUSD: a.Spent()}
		if a.Standing == supervisor.HandedOff {
			use.Handoffs = 1
		}
		uses = append(uses, use)
	}
	return store.Record(memory.Outcome{
		Run: s.Options.Run, Date: now, Status: s.Ending.Status, CostUSD: s.Spent(),
		Agents: memory.Tally(s.Task.History.Counts(), uses),
	})
}
