package orders

import (
	"strings"

	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/tui/composer"
)

// Of is the command for a run that a slash command stands for, if it is one.
func Of(c composer.Command) (contract.CommandBody, bool) {
	switch c.Name {
	case "note":
		return contract.Say{Text: c.Rest, Strength: contract.Note}, true
	case "steer":
		return contract.Say{Text: c.Rest, Strength: contract.Steer}, true
	case "stop":
		if c.Rest == "" {
			return contract.Interrupt{}, true
		}
		return contract.Say{Text: c.Rest, Strength: contract.Stop}, true
	case "to":
		return contract.Say{To: c.Arg(0), Text: c.Arg(1)}, true
	case "summon":
		return contract.ForceAgent{Mode: c.Arg(0)}, true
	case "interrupt":
		return contract.Interrupt{ID: c.Arg(0)}, true
	case "kill":
		return contract.Kill{ID: c.Arg(0)}, true
	case "pause":
		return contract.Pause{}, true
	case "continue":
		return contract.Continue{}, true
	case "skip":
		return contract.SkipStep{}, true
	case "retry":
		return contract.RetryLast{}, true
	case "reset":
		return contract.Reset{}, true
	case "choose":
		return contract.Choose{Option: c.Rest}, true
	case "model":
		return contract.Configure{Model: c.Arg(0), ID: c.Arg(1)}, true
	case "cancel":
		return contract.Cancel{}, true
	case "plan":
		return plan(c)
	}
	return nil, false
}

// plan is a new plan, one step a line.
func plan(c composer.Command) (contract.CommandBody, bool) {
	text, set := strings.CutPrefix(c.Rest, "set")
	if !set {
		return nil, false
	}
	steps := []contract.Step{}
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(strings.TrimLeft(strings.TrimSpace(line), "-*")); line != "" {
			steps = append(steps, contract.Step{Text: line, Status: contract.StepPending})
		}
	}
	return contract.SetPlan{Steps: steps}, true
}

// Permit answers a permission request: /allow, /allow run, /deny [TEXT].
func Permit(c composer.Command, request string) contract.Permit {
	p := contract.Permit{Request: request, Behavior: "allow"}
	switch {
	case c.Name == "deny":
		p.Behavior, p.Message = "deny", c.Rest
	case c.Arg(0) != "":
		p.Scope = contract.ScopeRun
	}
	return p
}
