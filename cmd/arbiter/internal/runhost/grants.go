package runhost

import (
	"github.com/arbiter-cli/arbiter/supervisor/grants"
	"github.com/arbiter-cli/arbiter/supervisor/runloop"
)

// useGrants has a loop hold to what the human always allows in the workspace, and keep
// what is added to it. A rehearsal's workspace is gone with the rehearsal. Without the
// store a run continues, and asks.
func (r *runtimeRun) useGrants(loop *runloop.Loop) {
	if r.choices.Rehearse {
		return
	}
	store, err := grants.Open(r.choices.StateDir, r.choices.Options.CWD)
	if err != nil {
		r.tellOf("what you always allow in this workspace cannot be read, and nothing is added to it: %v", err)
		return
	}
	r.grants = store
	kept, problems, err := store.Load()
	if err != nil {
		r.tellOf("what you always allow in this workspace cannot be read: %v", err)
	}
	for _, p := range problems {
		r.tellOf("an entry of what you always allow in this workspace is not trusted (%s)", p)
	}
	if err := loop.Grants(store, kept); err != nil {
		r.tellOf("%v", err)
	}
}

// distrust is what the run learns about its workspace. A rehearsal has one of its own.
func (r *runtimeRun) distrust() string {
	if r.choices.Rehearse || r.choices.Options.Trusted {
		return ""
	}
	return r.choices.Trusting.Distrust()
}
