package runhost

import (
	"github.com/arbiter-cli/arbiter/supervisor/grants"
	"github.com/arbiter-cli/arbiter/supervisor/runloop"
)

// keptGrants is what the human always allows in the workspace of a run. The zero value keeps nothing: a rehearsal's
// workspace is gone with the rehearsal.
type keptGrants struct{ store *grants.Store }

// use has a loop hold to what is kept for a workspace, and keep what is added to it. Without the store, which the human
// hears of, a run continues, and asks.
func (k *keptGrants) use(loop *runloop.Loop, stateDir, workspace string, said *notice) {
	store, err := grants.Open(stateDir, workspace)
	if err != nil {
		said.add("what you always allow in this workspace cannot be read, and nothing is added to it: %v", err)
		return
	}
	k.store = store
	kept, problems, err := store.Load()
	if err != nil {
		said.add("what you always allow in this workspace cannot be read: %v", err)
	}
	for _, p := range problems {
		said.add("an entry of what you always allow in this workspace is not trusted (%s)", p)
	}
	if err := loop.Grants(store, kept); err != nil {
		said.add("%v", err)
	}
}

func (k *keptGrants) close() {
	if k.store != nil {
		_ = k.store.Close() // a directory that was read
	}
}
