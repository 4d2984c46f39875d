package runhost

import (
	"time"

	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/command"
	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/settings"
	"github.com/arbiter-cli/arbiter/internal/memory"
	"github.com/arbiter-cli/arbiter/supervisor"
	"github.com/arbiter-cli/arbiter/supervisor/roster"
	"github.com/arbiter-cli/arbiter/supervisor/task"
)

// remembers reports whether the run reads and writes the memory of its workspace. A rehearsal has none.
func (r *runtimeRun) remembers() bool {
	return r.choices.Options.Memory != settings.MemoryOff && !r.choices.Rehearse
}

// recall reads what earlier runs in the workspace have learned. A run without memory continues.
func (r *runtimeRun) recall() {
	if !r.remembers() {
		return
	}
	store, err := memory.Open(r.choices.StateDir, r.choices.Place, r.mask)
	if err == nil {
		var m memory.Memory
		m, err = store.Load()
		r.choices.Options.Lessons = memory.Brief(m.Lessons)
		r.choices.Options.Performance = memory.Performance(m.Outcomes)
		_ = store.Close() // a directory that was read
	}
	if err != nil {
		r.tellOf("what earlier runs have learned cannot be read: %v", err)
	}
}

// remember keeps what the run has learned, and how its agents did.
func (r *runtimeRun) remember(s *supervisor.State) error {
	if !r.remembers() || s.Ending == nil || !s.Ending.Said || !s.Reached() {
		return nil
	}
	store, err := memory.Open(r.choices.StateDir, r.choices.Place, r.mask)
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
	var uses []memory.AgentUse
	for _, a := range s.Agents {
		if a.Role != roster.RoleOrchestrator {
			continue
		}
		use := memory.AgentUse{Mode: task.ModeOf(a), Restarts: a.Generation - 1, CostUSD: a.Spent()}
		if a.Standing == roster.HandedOff {
			use.Handoffs = 1
		}
		uses = append(uses, use)
	}
	return store.Record(memory.Outcome{
		Run: s.Options.Run, Date: now, Status: s.Ending.Status, CostUSD: s.Spent(),
		Agents: memory.Tally(s.Task.History.Counts(), uses),
	})
}
