package supervisor

import (
	"cmp"
	"slices"

	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/input"
)

// merged takes the result of a merge: the document's checks run again on the merged files, or its author merges.
func (st *step) merged(f input.Merged) {
	o, ok := st.Handoff.Merges.Merged(&st.out, f)
	if f.Status == input.StatusMerged {
		var before []string // whose files it began with
		for a, ok := st.Agent(o.Agent); ok && a.Predecessor != ""; a, ok = st.Agent(a.Predecessor) {
			before = append(before, a.Predecessor)
		}
		st.Changes.Merged(o.Agent, before, f.Files, !st.Options.Workspace.Isolated())
	}
	if !ok {
		return
	}
	h := st.Handoff.Edit(o.Document)
	switch {
	case h == nil: // the document is no longer needed
	case o.Back != "":
		st.removeDocuments("", func(h *Handover) bool { return h.Serial == o.Document })
		if a, _ := st.Agent(o.Agent); a.Alive() {
			st.executing()
			st.address(contract.Supervisor, o.Agent, o.Back, false)
		} else { // its successor, or the Arbiter, merges
			o.Back, o.Why = "", "its work conflicts with that of others, and it is gone: have a successor merge it"
			h.Merged = &o
			st.handedOver(*h)
		}
		st.advanceNext(o.Agent)
	default:
		h.Merged = &o
		if o.Merged {
			h.Receipts, h.Earlier = nil, false // the receipts of the merged files count
		}
		st.goOnWith(*h) // its checks run once more, with the same time limit as the first time
	}
}

// snapshotTaken reports what a snapshot showed. Agents that changed the same files get a message if they work;
// the Arbiter reads about the overlap in its work log.
func (st *step) snapshotTaken(f input.SnapshotTaken) {
	var turn input.ChangeTurn
	if q := st.Changes.Queue; len(q) > 0 && q[0].Request == f.Serial {
		turn = q[0]
	}
	o := st.Changes.Recorded(&st.out, st.Options.Workspace, f)
	if turn.Agent != "" && slices.ContainsFunc(f.Paths, func(p string) bool {
		changed, _ := st.Changes.ChangedBy(p, turn.Agent)
		return changed
	}) {
		st.moved(turn.Agent)
		RecordedFor(st.Edit(turn.Agent), &st.Changes, cmp.Or(turn.Top, st.Options.Workspace.Root), f.Paths)
	}
	if st.Ending != nil {
		if o.Final {
			st.finish()
		}
		return
	}
	if o.Judge {
		st.judgeTree(o.Tree)
	}
	st.repeatRecorded()
	st.reportOverlaps(o.Overlaps)
}
