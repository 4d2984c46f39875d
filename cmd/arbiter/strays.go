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
func endStrays(store *journal.Store) (told string) {
	total, runs := 0, 0
	for _, n := range leash.SweepStrays(store.Over) {
		total += n
		runs++
	}
	if total == 0 {
		return ""
	}
	return fmt.Sprintf("ended what %s had left behind: %s", words.Count(runs, "earlier run"), words.Count(total, "process"))
}

// tellStrays does so for a command.
func (e env) tellStrays(store *journal.Store) {
	if told := endStrays(store); told != "" {
		fmt.Fprintln(e.stderr, "arbiter: "+told)
	}
}
