package host

import (
	"context"
	"fmt"
	"time"

	"github.com/arbiter-cli/arbiter/bridge/crashpoint"
	"github.com/arbiter-cli/arbiter/bridge/proctree"
	"github.com/arbiter-cli/arbiter/supervisor"
)

// lastStep is one step of the shutdown, with its time limit.
type lastStep struct {
	name   string
	within time.Duration
	do     func(ctx context.Context) error
}

// leftBehind is the step that kills what is left of a run. It is tried twice: a busy machine may take longer than a
// step has to end processes that are killed already.
const leftBehind = "processes left behind"

// shutdown runs the steps after the end of the loop, in this order. Before, the loop has made the bridge end every
// agent: interrupt and 2 s for the end of the turn, end of input and 3 s, TERM and 2 s, KILL and a sweep. A second
// signal shortens that to TERM and half a second. After a third signal nothing is waited for, and the bridge ends
// on its own.
//
// If a step exceeds its time, it is reported and abandoned, and the next one starts.
func (r *hostedRun) shutdown(s *supervisor.State) (unfinished []string) {
	run := r.choices.Options.Run
	steps := []lastStep{
		{"the bridge", 5 * time.Second, func(context.Context) error { return r.bridges.close() }},
		{leftBehind, 6 * time.Second, func(context.Context) error {
			// A killed bridge could not sweep.
			if n := proctree.Sweep(run, ""); n > 0 {
				r.diagnostics.log.Warn("swept", "processes", n)
			}
			if left := proctree.Survivors(run); len(left) > 0 {
				return fmt.Errorf("still alive: %v", left)
			}
			return nil
		}},
		{"the clients' requests", 5 * time.Second, func(context.Context) error {
			r.frontends.input.Wait()
			return nil
		}},
		{"the memory of the workspace", 5 * time.Second, func(context.Context) error { return r.memory().remember(s) }},
		{"the journal", 10 * time.Second, func(ctx context.Context) error { return r.storage.finish(ctx, s) }},
		{"the crash reports", 5 * time.Second, func(context.Context) error { r.diagnostics.reporter.Close(); return nil }},
	}
	for _, step := range steps {
		crashpoint.Here("shutdown.step")
		if err := step.run(); err != nil {
			r.diagnostics.log.Warn("shutdown", "step", step.name, "error", err)
			unfinished = append(unfinished, fmt.Sprintf("%s: %v", step.name, err))
		}
	}
	return unfinished
}

func (l lastStep) run() error {
	err := l.once()
	if err != nil && l.name == leftBehind {
		err = l.once()
	}
	return err
}

func (l lastStep) once() error {
	ctx, cancel := context.WithTimeout(context.Background(), l.within)
	defer cancel()
	done := make(chan error, 1)
	go func() { done <- l.do(ctx) }() // abandoned only if the process is ending anyway
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
		select {
		case err := <-done:
			return err
		case <-time.After(100 * time.Millisecond): // for a step that respects ctx
			return fmt.Errorf("not done within %s", l.within)
		}
	}
}
