package main

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

// follower writes the events of a live run to out, over several connections if need be.
type follower struct {
	out, errs io.Writer
	since     int64  // as in [control.SubscribeParams]
	last      string // the last line that was written
	failed    error  // of out
}

// follow subscribes and writes until the run has ended, the connection has, out fails, or ctx ends. The end is nil
// unless the run has told it.
func (f *follower) follow(ctx context.Context, l *connection) (*control.RunEnded, error) {
	over := make(chan *control.RunEnded, 1) // what ended it: the run, or out
	err := l.Subscribe(ctx, control.SubscribeParams{Since: f.next()}, func(part any) {
		if f.failed != nil {
			return
		}
		switch part := part.(type) {
		case control.Events:
			f.write(part)
		case control.RunEnded:
			over <- &part
		}
		if f.failed != nil {
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
	case end := <-over: // told just before the connection ended
		return end, nil
	default:
		return nil, nil
	}
}

// next is the event to go on behind.
func (f *follower) next() int64 {
	var line struct {
		Seq int64 `json:"seq"`
	}
	if f.last == "" || json.Unmarshal([]byte(f.last), &line) != nil {
		return f.since
	}
	return line.Seq
}

func (f *follower) write(events control.Events) {
	if events.Skipped > 0 {
		fmt.Fprintf(f.errs, "arbiter: %d events are left out here: they are not kept any more\n", events.Skipped)
	}
	var b bytes.Buffer
	for _, line := range events.Lines {
		b.WriteString(line)
		b.WriteByte('\n')
		f.last = line
	}
	_, f.failed = f.out.Write(b.Bytes())
}

// again connects to the same process of the run once more.
func (l *connection) again(c *cli.Context) error {
	next, err := connect(c, l.info.Run, nil)
	if err == nil && next.status.PID != l.status.PID {
		next.Close()
		err = command.Environmentf("another process has taken it up")
	}
	if err != nil {
		run := command.ShortID(l.info.Run)
		return command.Environmentf("the connection to run %s was lost (%v): arbiter replay %s prints its events",
			run, err, run)
	}
	l.Close()
	*l = *next
	return nil
}
