package main

// distrust is what the run learns about its workspace. A rehearsal has one of its own.
func (r *runtimeRun) distrust() string {
	if r.choices.Rehearse || r.choices.Options.Trusted {
		return ""
	}
	return r.choices.Trusting.Distrust()
}
