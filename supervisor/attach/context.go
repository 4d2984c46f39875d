package attach

import "github.com/arbiter-cli/arbiter/supervisor/process"

// Context is what a step uses to hand over sessions. It is created for one use within a step.
type Context struct {
	*process.Context

	// TimeIsOver is set when a takeover ends in a run whose time limit has passed: the step ends the run.
	TimeIsOver bool
}
