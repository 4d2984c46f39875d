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

// EndStrays ends what runs of the store that are over have left behind, and says what, or
// nothing. It is done at each start, and where somebody wants a run gone: without the run
// their owner would be unknown.
func EndStrays(store *journal.Store) (told string) {
	total, runs := 0, 0
	for _, n := range proctree.SweepStrays(OverIn(store)) {
		total += n
		runs++
	}
	if total == 0 {
		return ""
	}
	return fmt.Sprintf("ended what %s had left behind: %s", words.Count(runs, "earlier run"),
		words.Count(total, "process"))
}

// OverIn reports which runs of a store no process plays: not here, and not in the place that the
// store, or this run of it, was copied from, whose processes bear the same marks.
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
		list, err := store.List()
		return err == nil && slices.ContainsFunc(list, func(i journal.Info) bool { // a run of Arbiter has it
			return i.Live && cmp.Or(i.Workspace, i.CWD) == dir
		})
	}
}

// ReportStrays does so for a command.
func ReportStrays(stderr io.Writer, store *journal.Store) {
	if told := EndStrays(store); told != "" {
		fmt.Fprintln(stderr, "arbiter: "+told)
	}
}
