package supervisor

import (
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/effect"
	"github.com/arbiter-cli/arbiter/supervisor/input"
	"github.com/arbiter-cli/arbiter/supervisor/isolation"
	"github.com/arbiter-cli/arbiter/supervisor/roster"
	"github.com/arbiter-cli/arbiter/supervisor/runconfig"
)

// The work of agents that have directories of their own.

// placed notes the directory that an agent got.
func (st *step) placed(a *roster.Agent, own runconfig.Worktree) {
	if own.Branch == "" || a.Own == own {
		return
	}
	a.Own = own
	st.emit(a.ID, contract.Workspace{
		Dir: st.Dirs().Own(a.ID), Branch: own.Branch, Base: own.Base, Isolation: own.Isolation,
	})
}

// merged takes what came of a merge: the document's checks run again on the merged files, or its author merges.
func (st *step) merged(f input.Merged) {
	o, ok := st.Handoff.Merges.Merged(&st.out, isolation.Merged(f))
	if f.Status == isolation.StatusMerged {
		st.Changes.Merged(o.Agent, f.Files, !st.Options.Workspace.Isolated())
	}
	if !ok {
		return
	}
	h := st.Handoff.Edit(o.Document)
	switch {
	case h == nil: // it is not wanted any more
	case o.Back != "":
		st.Handoff.Remove(o.Document)
		st.out.StopTimer(handoverKey(o.Document))
		a, _ := st.Agent(o.Agent)
		if !a.Alive() { // its successor, or the Arbiter, merges
			o.Back, o.Why = "", "its work conflicts with that of others, and it is gone: have a successor merge it"
			h.Merged = &o
			st.handedOver(*h)
			return
		}
		st.executing()
		st.address(contract.Supervisor, o.Agent, o.Back, false)
	default:
		h.Merged = &o
		if o.Merged {
			h.Receipts = nil // those of the merged files count
		}
		patience := h.Patience()
		if st.advance(o.Document) { // its checks run once more, and have as long as the first time
			st.do(effect.SetTimer{Key: handoverKey(o.Document), After: patience})
		}
	}
}
