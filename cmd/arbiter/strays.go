package main

import (
	"fmt"

	"github.com/arbiter-cli/arbiter/bridge/leash"
	"github.com/arbiter-cli/arbiter/supervisor/journal"
	"github.com/arbiter-cli/arbiter/supervisor/words"
)

// endStrays ends what runs of the store that are over have left behind, and says what, or
// nothing. It is done at each start, and where somebody wants a run gone: without the run
// nobody would know whose they are.
func endStrays(store *journal.Store) (told string, err error) {
	list, err := store.List()
	if err != nil {
		return "", environmentf("state directory: %v", err)
	}
	free := map[string]bool{}
	for _, info := range list {
		free[info.Run] = !info.Live
	}
	total, runs := 0, 0
	for _, n := range leash.SweepStrays(func(run string) bool { return free[run] }) {
		total += n
		runs++
	}
	if total == 0 {
		return "", nil
	}
	return fmt.Sprintf("ended what %s had left behind: %s", words.Count(runs, "earlier run"), words.Count(total, "process")), nil
}

// tellStrays does so for a command, which goes on whether or not it could be done.
func (e env) tellStrays(store *journal.Store) {
	told, err := endStrays(store)
	if err != nil {
		told = err.Error()
	}
	if told != "" {
		fmt.Fprintln(e.stderr, "arbiter: "+told)
	}
}
