package view

import (
	"slices"
	"strings"
	"time"

	"github.com/arbiter-cli/arbiter/supervisor"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
)

// SnapshotScene returns the agents as figures. rows are those of [AgentRows]; human is the figure of the person,
// who appears when an agent waits for one.
func SnapshotScene(s *supervisor.State, rows []PageAgent, human RitualKind, now time.Time) Scene {
	picture := Scene{Cloth: planProgress(s.Task.Plan)}
	asks := false
	for _, row := range rows {
		i := slices.IndexFunc(s.Agents, func(a *supervisor.Agent) bool { return a.ID == row.ID })
		if i < 0 {
			continue
		}
		a := s.Agents[i]
		f := Figure{ID: row.ID, Label: row.Name, Pose: pose(a, row), Age: max(now.Sub(a.Since), 0)}
		asks = asks || f.Pose == RitualAsks
		if a.Role == supervisor.RoleArbiter {
			picture.Arbiter = f
			continue
		}
		f.Label = f.Label[strings.LastIndex(f.Label, " ")+1:] // the number of an Orchestrator
		picture.Workers = append(picture.Workers, f)
	}
	if asks {
		picture.Humans = []RitualHuman{{Kind: human, Label: "you", At: 1}}
	}
	return picture
}

// pose returns the pose of an agent's figure.
func pose(a *supervisor.Agent, row PageAgent) Pose {
	switch {
	case row.Bell:
		return RitualAsks
	case row.Past:
		return RitualLeaves
	case a.Status == supervisor.AgentStarting || a.Status == supervisor.AgentRestarting ||
		a.Status == supervisor.AgentDown:
		return RitualWakes
	case a.Role == supervisor.RoleOrchestrator && (a.Standing == supervisor.HandedOff ||
		a.Standing == supervisor.AgentFinished):
		return RitualHands
	case row.Busy:
		return RitualWorks
	}
	return RitualWaits
}

// planProgress returns how much of a plan is done.
func planProgress(plan []contract.Step) float64 {
	done := 0
	for _, step := range plan {
		if step.Status == contract.StepDone || step.Status == contract.StepSkipped {
			done++
		}
	}
	return float64(done) / float64(max(len(plan), 1))
}
