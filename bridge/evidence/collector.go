package evidence

import (
	"log/slog"
	"sync/atomic"

	"github.com/arbiter-cli/arbiter/bridge"
)

// maxChecks is how many checks run at a time: they are builds and tests, beside
// agents that build and test, too.
const maxChecks = 2

// Collector implements [bridge.EvidenceCollector] on this machine. Its host process should have
// called proctree.BecomeSubreaper, as for agents. It is safe for concurrent use.
type Collector struct {
	log   *slog.Logger
	shell string
	git   string        // a name to look up on PATH, or a path
	slots chan struct{} // holds one value for each check that runs
	count atomic.Int64  // of commands, for their marks
}

var _ bridge.EvidenceCollector = (*Collector)(nil)

// New returns a collector. log may be nil.
//
// Checks are run by bash, as the commands of agents are: the author has tried the line there, and
// the permission rules read it by that grammar. Where /bin/sh is another shell, it would run
// other words than were judged.
func New(log *slog.Logger) *Collector {
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	return &Collector{log: log, shell: "bash", git: "git", slots: make(chan struct{}, maxChecks)}
}
