package runstore

import (
	"cmp"
	"fmt"
	"io"
	"slices"

	"github.com/arbiter-cli/arbiter/bridge/proctree"
	"github.com/arbiter-cli/arbiter/supervisor/journal"
	"github.com/arbiter-cli/arbiter/supervisor/words"
)

// EndStrays ends leftover processes of finished runs of the store, and describes them; empty if there were none. It
// is called at each start, and before a run is removed: without the run, the owner of its processes would be
// unknown.
func EndStrays(store *journal.Store) (ended string) {
	total, runs := 0, 0
	for _, n := range proctree.SweepStrays(OverIn(store)) {
		total += n
		runs++
	}
	if total == 0 {
		return ""
	}
	return fmt.Sprintf("ended processes that %s had left behind: %s", words.Count(runs, "earlier run"),
		words.Count(total, "process"))
}

// OverIn returns a function that reports whether no process plays a run of a store. That includes processes in the
// place that the store, or its copy of the run, was copied from: they have the same marks.
func OverIn(store *journal.Store) func(run string) bool {
	return func(run string) bool {
		if !store.Over(run) {
			return false
		}
		info, err := store.Find(run)
		dir := cmp.Or(info.Workspace, info.CWD)
		if err != nil || dir == "" || !journal.WorkspaceHeld(dir) {
			return true
		}
		live, err := store.Live("")
		return err == nil && slices.ContainsFunc(live, func(i journal.Info) bool { // a run of this store has it
			return cmp.Or(i.Workspace, i.CWD) == dir
		})
	}
}

// ReportStrays calls EndStrays for a command, and prints the result.
func ReportStrays(stderr io.Writer, store *journal.Store) {
	if ended := EndStrays(store); ended != "" {
		fmt.Fprintln(stderr, "arbiter: "+ended)
	}
}
