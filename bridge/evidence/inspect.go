package evidence

import (
	"context"
	"fmt"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/transcript"
)

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
