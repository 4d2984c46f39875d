package runstore

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"

	"github.com/urfave/cli/v2"

	"github.com/arbiter-cli/arbiter/bridge/control"
	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/command"
)

// Follower writes the events of a live run to Out, across several connections if needed.
type Follower struct {
	Out, Errs io.Writer
	Since     int64  // as in [control.SubscribeParams]
	last      string // the last line written
	Failed    error  // write error of Out
}

// Follow subscribes and writes until the run has ended, the connection is lost, Out fails, or ctx ends. The result
// is nil unless the run has reported its end.
func (f *Follower) Follow(ctx context.Context, l *Connection) (*control.RunEnded, error) {
	over := make(chan *control.RunEnded, 1) // receives when the run ended or Out failed
	err := l.Subscribe(ctx, control.SubscribeParams{Since: f.next()}, func(part any) {
		if f.Failed != nil {
			return
		}
		switch part := part.(type) {
		case control.Events:
			f.write(part)
		case control.RunEnded:
			over <- &part
		}
		if f.Failed != nil {
			over <- nil
		}
	})
	if err != nil {
		return nil, err
	}
	select {
	case end := <-over:
		return end, nil
	case <-l.Done():
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	select {
	case end := <-over: // received just before the connection ended
		return end, nil
	default:
		return nil, nil
	}
}

// next returns the number of the event after which to continue.
func (f *Follower) next() int64 {
	var line struct {
		Seq int64 `json:"seq"`
	}
	if f.last == "" || json.Unmarshal([]byte(f.last), &line) != nil {
		return f.Since
	}
	return line.Seq
}

func (f *Follower) write(events control.Events) {
	if events.Skipped > 0 {
		fmt.Fprintf(f.Errs, "arbiter: %d events are left out here: they are no longer stored\n", events.Skipped)
	}
	var b bytes.Buffer
	for _, line := range events.Lines {
		b.WriteString(line)
		b.WriteByte('\n')
		f.last = line
	}
	_, f.Failed = f.Out.Write(b.Bytes())
}

// Reconnect connects again to the same process of the run.
func (l *Connection) Reconnect(c *cli.Context) error {
	next, err := Connect(c, l.Info.Run, nil)
	if err == nil && next.First.PID != l.First.PID {
		next.Close()
		err = command.Environmentf("another process has resumed it")
	}
	if err != nil {
		run := command.ShortID(l.Info.Run)
		return command.Environmentf("the connection to run %s was lost (%v): arbiter replay %s prints its events",
			run, err, run)
	}
	l.Close()
	*l = *next
	return nil
}
