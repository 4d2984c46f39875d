package evidence

import (
	"context"
	"fmt"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/transcript"
)

// Inspect implements [bridge.EvidenceCollector]. It fails only when ctx ends.
func (w *Collector) Inspect(ctx context.Context, p bridge.InspectParams) (bridge.InspectResult, error) {
	r := bridge.InspectResult{Said: []string{}, Files: []string{}, Commands: []bridge.RanCommand{}}
	switch {
	case p.Mark:
		r.Mark, r.Trouble = w.mark(ctx, p)
	case p.Since != nil:
		r.Changes, r.Trouble = w.since(ctx, p)
	default:
		r.Trouble = readPast(ctx, p, &r)
		git, trouble := w.gitState(ctx, p)
		r.Git, r.Trouble = git, append(r.Trouble, trouble...)
	}
	if err := ctx.Err(); err != nil {
		return bridge.InspectResult{}, err
	}
	return r, nil
}

// readPast adds what the session's transcript contains to r.
func readPast(ctx context.Context, p bridge.InspectParams, r *bridge.InspectResult) (trouble []string) {
	path, ok := transcriptOf(p)
	if !ok {
		return []string{"transcript: there is none of this session"}
	}
	d, err := transcript.ReadDigest(ctx, path, transcript.DigestLimits{})
	trouble = d.Trouble
	if err != nil {
		trouble = append(trouble, fmt.Sprintf("transcript: %v", err))
	}
	r.Said, r.Files = append(r.Said, d.Said...), append(r.Files, d.Files...)
	for _, c := range d.Commands {
		r.Commands = append(r.Commands,
			bridge.RanCommand{Command: c.Command, Outcome: string(c.Outcome), Subagent: c.Subagent})
	}
	return trouble
}
