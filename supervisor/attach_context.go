package supervisor

// AttachContext is what a step uses to hand over sessions. It is created for one use within a step.
type AttachContext struct {
	*ProcessContext

	// TimeIsOver is set when a takeover ends in a run whose time limit has passed: the step ends the run.
	TimeIsOver bool
}
