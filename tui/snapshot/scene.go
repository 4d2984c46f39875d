package snapshot

import (
	"slices"
	"strings"
	"time"

	"github.com/arbiter-cli/arbiter/supervisor"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/tui/pages"
	"github.com/arbiter-cli/arbiter/tui/ritual"
)

// Scene returns the agents as figures. rows are those of [AgentRows]; human is the figure of the person,
// who appears when an agent waits for one.
func Scene(s *supervisor.State, rows []pages.Agent, human ritual.Kind, now time.Time) ritual.Scene {
	picture := ritual.Scene{Cloth: planProgress(s.Task.Plan)}
	asks := false
	for _, row := range rows {
		i := slices.IndexFunc(s.Agents, func(a *supervisor.Agent) bool { return a.ID == row.ID })
		if i < 0 {
			continue
		}
		a := s.Agents[i]
		f := ritual.Figure{ID: row.ID, Label: row.Name, Pose: pose(a, row), Age: max(now.Sub(a.Since), 0)}
		asks = asks || f.Pose == ritual.Asks
		if a.Role == supervisor.RoleArbiter {
			picture.Arbiter = f
			continue
		}
		f.Label = f.Label[strings.LastIndex(f.Label, " ")+1:] // the number of an Orchestrator
		picture.Workers = append(picture.Workers, f)
	}
	if asks {
		picture.Humans = []ritual.Human{{Kind: human, Label: "you", At: 1}}
	}
	return picture
}

// pose returns the pose of an agent's figure.
func pose(a *supervisor.Agent, row pages.Agent) ritual.Pose {
	switch {
	case row.Bell:
		return ritual.Asks
	case row.Past:
		return ritual.Leaves
	case a.Status == supervisor.AgentStarting || a.Status == supervisor.AgentRestarting ||
		a.Status == supervisor.AgentDown:
		return ritual.Wakes
	case a.Role == supervisor.RoleOrchestrator && (a.Standing == supervisor.HandedOff ||
		a.Standing == supervisor.AgentFinished):
		return ritual.Hands
	case row.Busy:
		return ritual.Works
	}
	return ritual.Waits
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
