package claude

import (
	"context"
	"fmt"
	"sync"
	"syscall"
	"time"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/bridge/proctree"
)

// The steps of the stop ladder. The end of input alone does not stop the CLI: it may continue for minutes,
// with every permission failing.
const (
	interruptGrace = 2 * time.Second        // for the running turn's result
	inputGrace     = 3 * time.Second        // after the end of input; idle takes 0.1 s
	termGrace      = 2 * time.Second        // after TERM; takes 0.2 s
	hurryGrace     = 500 * time.Millisecond // after TERM, when the end is urgent
	quickStopTime  = 900 * time.Millisecond // upper bound of a quick ladder, kill included
	killTimeout    = 5 * time.Second        // until no process is left
	silentGrace    = 500 * time.Millisecond // for the exit after stdout has ended, or stdin was closed
	tailGrace      = 300 * time.Millisecond // after the end, for each read of the rest in the pipes
	drainGrace     = time.Minute            // for all reads, a slow client included
)

// Stop implements bridge.Agent.
func (a *agent) Stop(ctx context.Context, now bool) error {
	a.closing.Do(func() { a.turns.close("the agent is being stopped") })
	if err := a.ask(ctx, a.child, now); err != nil {
		return fmt.Errorf("stop agent %s: %w", a.ref.ID, err)
	}
	return nil
}

// superviseProcess waits for the end of the process, ends it when requested, and then reports the end. It
// alone emits done.
func (a *agent) superviseProcess(drains *sync.WaitGroup, pipes *pipes) {
	expected := false
	select {
	case <-a.child.Done():
	case <-a.stopping:
		expected = true
		a.stopInSteps()
	case <-a.foreign:
	case <-a.silent:
		a.awaitExitAfterClose("output")
	case <-a.in.lost:
		a.awaitExitAfterClose("input")
	}
	swept := a.kill()
	a.release()
	reportPlanted(a.planted(), a.emit)

	a.cancel() // of requests being answered, and of our tools
	a.in.close()
	a.calls.end()
	a.asks.end()
	a.prober.end()
	if a.tools != nil {
		a.tools.end()
	}
	pipes.stdout.expire(drainGrace)
	pipes.stderr.expire(drainGrace)
	drains.Wait()
	pipes.close()

	<-a.launchDone
	if lost := a.turns.lose(); len(lost) > 0 {
		turn := bridge.Turn{MessageIDs: lost, Outcome: bridge.TurnLost, Category: bridge.CatCrash,
			Error: fmt.Sprintf("the process ended in mid-turn (%s)", a.child.State())}
		if isClosed(a.foreign) {
			turn.Category, turn.Error = bridge.CatProtocol, errForeign.Error()
		}
		a.reader.calls.closeTurn(&turn) // the reader has ended
		reported := a.reader.spending.reported
		turn.CostUSD, turn.Usage = reported.CostUSD, reported.Usage
		a.emit(turn)
	}
	a.emit(bridge.Done{SessionID: a.cfg.SessionID, Exit: a.exit(expected, swept)})
	close(a.done)
}

// awaitExitAfterClose gives a process that closed a pipe time to exit, and reports an error if it does not: an agent
// needs both pipes.
func (a *agent) awaitExitAfterClose(pipe string) {
	if !ended(a.child, silentGrace, nil) {
		a.emit(bridge.Error{Category: bridge.CatProtocol, Message: "the CLI closed its " + pipe + " and went on"})
	}
}

// stopInSteps ends the process: in order, or quickly once hurry is closed.
func (a *agent) stopInSteps() {
	a.child.Remember() // before it is asked to end: its orphans are then known
	if a.turns.busy() && !a.hurried() {
		a.interruptTurn()
	}
	if !a.hurried() {
		a.in.close()
		if ended(a.child, inputGrace, a.hurry) {
			return
		}
	}
	terminate(a.child, syscall.SIGTERM)
	if !a.hurried() && ended(a.child, termGrace, a.hurry) {
		return
	}
	if a.hurried() {
		ended(a.child, hurryGrace, nil)
	}
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
		case <-a.hurry:
		case <-a.child.Done():
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

// kill ends all remaining processes of the agent and returns how many there were besides the CLI itself.
func (a *agent) kill() (others int) {
	ctx, cancel := context.WithTimeout(context.Background(), killTimeout)
	defer cancel()
	n, err := a.child.Kill(ctx)
	if err != nil {
		a.emit(bridge.Error{Category: bridge.CatInternal, Message: fmt.Sprintf("processes are left over: %v", err)})
	}
	<-a.child.Done() // KILL was sent: the kernel ends it
	return n
}

func (a *agent) exit(expected bool, swept int) bridge.Exit {
	e := exitOf(a.child, expected, swept)
	e.Stderr = a.stderr.tail()
	return e
}

// exitOf describes the exit of a child that has ended.
func exitOf(child *proctree.Child, expected bool, swept int) bridge.Exit {
	e := bridge.Exit{Expected: expected, Swept: swept}
	state := child.State()
	e.Code = state.ExitCode()
	if ws, ok := state.Sys().(syscall.WaitStatus); ok && ws.Signaled() {
		e.Signal = ws.Signal().String()
	}
	// the CLI itself exits with the codes of these two signals, too
	if sig := e.Code - monitorSignal; child.Confines() && sig > 0 && sig != int(syscall.SIGINT) &&
		sig != int(syscall.SIGTERM) {
		e.Code, e.Signal = -1, syscall.Signal(sig).String()
	}
	return e
}
