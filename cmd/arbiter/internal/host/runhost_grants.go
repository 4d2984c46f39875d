package host

import (
	"github.com/arbiter-cli/arbiter/supervisor/runloop"
	"github.com/arbiter-cli/arbiter/supervisor/trust"
)

// keptGrants has the permanent grants of the human for the workspace of a run. The zero value keeps none: a
// rehearsal's workspace is removed with the rehearsal.
type keptGrants struct{ store *trust.GrantStore }

// use gives a loop the stored grants of a workspace, and stores new ones. If the store cannot be opened, the human
// is informed, and the run continues and asks.
func (k *keptGrants) use(loop *runloop.Loop, stateDir, workspace string, notices *notice) {
	store, err := trust.OpenGrants(stateDir, workspace)
	if err != nil {
		notices.add("the grants of this workspace cannot be read, and new ones are not saved: %v", err)
		return
	}
	k.store = store
	kept, problems, err := store.Load()
	if err != nil {
		notices.add("the grants of this workspace cannot be read: %v", err)
	}
	for _, p := range problems {
		notices.add("a grant of this workspace is not trusted (%s)", p)
	}
	if err := loop.Grants(store, kept); err != nil {
		notices.add("%v", err)
	}
}

func (k *keptGrants) close() {
	if k.store != nil {
		_ = k.store.Close() // it was only read
	}
}
