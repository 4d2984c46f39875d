package subcommands

import (
	"context"
	"errors"
	"fmt"

	"github.com/arbiter-cli/arbiter/bridge/control"
	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/command"
	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/runstore"
	"github.com/arbiter-cli/arbiter/sanitize"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
)

// Stopped is the output of stop --json.
type Stopped struct {
	Run    string `json:"run"`
	Exit   int    `json:"exit_code"`
	Text   string `json:"text"`
	Resume string `json:"resume,omitempty"` // the command that resumes the run
}

// printStopped prints how the run ended.
func (e liveEnv) printStopped(s Stopped, unfinished []string) {
	for _, what := range unfinished {
		fmt.Fprintln(e.Stderr, "arbiter: did not end in time: "+sanitize.Line(what, 500))
	}
	text := s.Text
	if s.Exit == int(contract.ExitComplete) {
		text = "complete"
	}
	fmt.Fprintf(e.Stderr, "Run %s has ended: %s\n", command.ShortID(s.Run), sanitize.Line(text, 1000))
	if s.Resume != "" {
		fmt.Fprintln(e.Stderr, "To resume: "+s.Resume)
	}
}

// endRun stops the run, and waits until its process has released it. The result is nil if the run did not report
// its end.
func endRun(l *runstore.Connection, ctx context.Context, now bool) (*control.RunEnded, error) {
	ended := make(chan *control.RunEnded, 1)
	err := l.Subscribe(ctx, control.SubscribeParams{Since: -1}, func(part any) {
		if end, ok := part.(control.RunEnded); ok {
			ended <- &end
		}
	})
	if err == nil {
		err = l.Stop(ctx, control.StopParams{Signal: "TERM", Fast: now})
	}
	var refused *control.Refusal
	if err != nil && !(errors.As(err, &refused) && refused.Message == runstore.ErrRunOver.Error()) {
		return nil, err
	}
	var end *control.RunEnded
	select {
	case end = <-ended:
	case <-l.Done():
		select {
		case end = <-ended: // received just before the connection ended
		default:
		}
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	return end, l.Store.AwaitEnd(ctx, l.Info.Run)
}
