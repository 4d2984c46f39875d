package evidence

import (
	"log/slog"
	"sync/atomic"

	"github.com/arbiter-cli/arbiter/bridge"
)

// maxChecks is how many checks run at a time: they are builds and tests, and the agents build and test at
// the same time.
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
// Checks are run by bash, like the commands of agents: the author has tried the line in bash, and the
// permission rules parse it by bash's grammar. If /bin/sh is another shell, it could run different words
// than those that were judged.
func New(log *slog.Logger) *Collector {
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	return &Collector{log: log, shell: "bash", git: "git", slots: make(chan struct{}, maxChecks)}
}
