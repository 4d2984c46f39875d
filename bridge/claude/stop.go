package claude

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/bridge/driver"
)

// The steps of the stop ladder. The end of input alone does not stop the CLI: it may continue for minutes,
// with every permission failing.
const (
	interruptGrace = 2 * time.Second        // for the running turn's result
	silentGrace    = 500 * time.Millisecond // for the exit after stdout has ended, or stdin was closed
	drainGrace     = time.Minute            // for all reads, a slow client included
)

func (a *agent) Stop(ctx context.Context, now bool) error {
	a.closing.Do(func() { a.turns.close("the agent is being stopped") })
	if err := a.End(ctx, a.Child, now); err != nil {
		return fmt.Errorf("stop agent %s: %w", a.Ref.ID, err)
	}
	return nil
}

// superviseProcess waits for the end of the process, ends it when requested, and then reports the end. It
// alone emits done.
func (a *agent) superviseProcess(drains *sync.WaitGroup, pipes *driver.Pipes) {
	expected := false
	select {
	case <-a.Child.Done():
	case <-a.Stopping:
		expected = true
		a.stopInSteps()
	case <-a.foreign:
	case <-a.silent:
		a.awaitExitAfterClose("output")
	case <-a.in.lost:
		a.awaitExitAfterClose("input")
	}
	swept := a.Reap()

	a.Cancel() // of requests being answered, and of our tools
	a.in.close()
	a.calls.end()
	a.asks.end()
	a.prober.end()
	if a.tools != nil {
		a.tools.end()
	}
	pipes.Stdout.Expire(drainGrace)
	pipes.Stderr.Expire(drainGrace)
	drains.Wait()
	pipes.Close()

	<-a.LaunchDone
	if lost := a.turns.lose(); len(lost) > 0 {
		turn := bridge.Turn{MessageIDs: lost, Outcome: bridge.TurnLost, Category: bridge.CatCrash,
			Error: fmt.Sprintf("the process ended in mid-turn (%s)", a.Child.State())}
		if driver.IsClosed(a.foreign) {
			turn.Category, turn.Error = bridge.CatProtocol, errForeign.Error()
		}
		a.reader.closeUnended(&turn) // the reader has ended
		a.Emit(turn)
	}
	a.Over(a.Exit(expected, swept))
}

// awaitExitAfterClose gives a process that closed a pipe time to exit, and reports an error if it does not: an agent
// needs both pipes.
func (a *agent) awaitExitAfterClose(pipe string) {
	if !driver.Ended(a.Child, silentGrace, nil) {
		a.Emit(bridge.Error{Category: bridge.CatProtocol, Message: "the CLI closed its " + pipe + " and went on"})
	}
}

// stopInSteps ends the process: in order, or quickly once hurry is closed.
func (a *agent) stopInSteps() {
	a.Child.Remember() // before it is asked to end: its orphans are then known
	if a.turns.busy() && !a.Hurried() {
		a.interruptTurn()
	}
	a.InSteps(a.Child, a.in.close)
}

// interruptTurn stops the running turn and waits for its result.
func (a *agent) interruptTurn() {
	ctx, cancel := context.WithTimeout(context.Background(), interruptGrace)
	defer cancel()
	var watch sync.WaitGroup
	defer watch.Wait()
	defer cancel()
	watch.Go(func() {
		select {
		case <-a.Hurry:
		case <-a.Child.Done():
		case <-ctx.Done():
		}
		cancel()
	})
	if _, err := a.calls.do(ctx, interruptGrace, "interrupt", map[string]any{"cancel_queued": true}); err != nil {
		return // the next step does not need it
	}
	select {
	case <-a.turns.whenIdle():
	case <-ctx.Done():
	}
}
