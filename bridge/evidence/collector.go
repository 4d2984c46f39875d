package evidence

import (
	"context"
	"fmt"
	"sync/atomic"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/transcript"
)

// maxChecks is how many checks run at a time: they are builds and tests, and the agents build and test at
// the same time.
const maxChecks = 2

// Collector implements [bridge.EvidenceCollector] on this machine. Its host process should have
// called proctree.BecomeSubreaper, as for agents. It is safe for concurrent use.
type Collector struct {
	shell string
	git   string        // a name to look up on PATH, or a path
	slots chan struct{} // holds one value for each check that runs
	count atomic.Int64  // of commands, for their marks
}

var _ bridge.EvidenceCollector = (*Collector)(nil)

// New returns a collector.
//
// Checks are run by bash, like the commands of agents: the author has tried the line in bash, and the
// permission rules parse it by bash's grammar. If /bin/sh is another shell, it could run different words
// than those that were judged.
func New() *Collector {
	return &Collector{shell: "bash", git: "git", slots: make(chan struct{}, maxChecks)}
}

// Inspect implements [bridge.EvidenceCollector]. It fails only when ctx ends.
func (w *Collector) Inspect(ctx context.Context, p bridge.InspectParams) (bridge.InspectResult, error) {
	r := bridge.InspectResult{Texts: []string{}, Files: []string{}, Commands: []bridge.RanCommand{}}
	switch {
	case p.Mark:
		r.Mark, r.Problems = w.mark(ctx, p)
	case p.Since != nil:
		r.Changes, r.Problems = w.since(ctx, p)
	default:
		r.Problems = readPast(ctx, p, &r)
		git, problems := w.gitState(ctx, p)
		r.Git, r.Problems = git, append(r.Problems, problems...)
	}
	if err := ctx.Err(); err != nil {
		return bridge.InspectResult{}, err
	}
	return r, nil
}

// readPast adds what the session's transcript contains to r.
func readPast(ctx context.Context, p bridge.InspectParams, r *bridge.InspectResult) (problems []string) {
	path, ok := transcriptOf(p)
	if !ok {
		return []string{"transcript: this session has none"}
	}
	d, err := transcript.ReadDigest(ctx, path, transcript.DigestLimits{})
	problems = d.Problems
	if err != nil {
		problems = append(problems, fmt.Sprintf("transcript: %v", err))
	}
	r.Texts, r.Files = append(r.Texts, d.Texts...), append(r.Files, d.Files...)
	for _, c := range d.Commands {
		r.Commands = append(r.Commands,
			bridge.RanCommand{Command: c.Command, Outcome: string(c.Outcome), Subagent: c.Subagent})
	}
	return problems
}
