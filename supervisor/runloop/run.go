package runloop

import (
	"context"
	"fmt"
	"log/slog"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/bridge/crashpoint"
	"github.com/arbiter-cli/arbiter/supervisor"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/input"
)

// Run applies inputs, beginning with first, until the run is over, and returns its exit code. All goroutines it
// started have ended by then. A panic of Arbiter becomes an `error` event and ExitBug; the bridge then stops
// the agents.
func (l *Loop) Run(ctx context.Context, port Port, first input.Body) (exit contract.Exit) {
	l.ports = ports{supervisor.LifecycleHere: port}
	ctx, cancel := context.WithCancel(ctx)
	defer l.workers.Wait()
	defer l.stopTimers()
	defer close(l.done)
	defer cancel()
	defer func() {
		if p := recover(); p != nil {
			exit = l.bug(faultOf(p))
		}
	}()
	l.applyInput(ctx, input.Input{At: l.clock.Now(), Body: first})
	for !l.over {
		inbox, commands := l.inbox, l.commands
		if len(l.outbox.pending) >= maxPending {
			inbox, commands = nil, nil // the disk is slow: the bridge's reader waits
		}
		if e := l.state.Load().Ending; e != nil && e.Said {
			commands = nil // nothing would answer them
		}
		select {
		case in := <-l.urgent: // urgent inputs come first, so that what they cause is expected
			l.applyInput(ctx, in)
			continue
		default:
		}
		select {
		case in := <-inbox:
			l.applyAwake(ctx, in)
		case in := <-commands:
			l.applyAwake(ctx, in)
		case in := <-l.urgent:
			l.applyInput(ctx, in)
		case f := <-l.broken:
			return l.bug(f)
		case <-l.outbox.wake:
			l.runDurableEffects(ctx)
			if text := l.outbox.deleted.Swap(nil); text != nil {
				l.applyInput(ctx, input.Input{At: l.clock.Now(), Body: input.OutputLost{Message: *text}})
			}
		}
	}
	l.snapshot(true)
	return l.exit
}

// applyAwake applies an input after the sleep before it.
func (l *Loop) applyAwake(ctx context.Context, in input.Input) {
	if slept := l.clock.Slept(); slept > 0 {
		l.applyInput(ctx, input.Input{At: l.clock.Now(), Body: input.WokeFromSleep{Slept: slept}})
	}
	l.applyInput(ctx, in)
}

// applyInput applies one input. Its effects wait until it is on disk.
func (l *Loop) applyInput(ctx context.Context, in input.Input) {
	if l.refuse(ctx, in) || l.stale(in.Body) || l.unknown(in) {
		return
	}
	l.note(in.Body)
	in.At = l.clock.Order(in.At)
	in.Body = l.state.Load().ExactInput(in.Body)
	state, effects := supervisor.Next(l.state.Load(), in)
	if back, ok := in.Body.(input.BridgeBack); ok {
		if port, opened := l.next.LoadAndDelete(back.Host); opened {
			l.ports = l.ports.with(back.Host, port.(Port))
		}
	}
	crashpoint.Here("loop.apply")
	in.From = l.state.Load().Origin(in.Body) // as it was before the input
	seq, unrecorded := l.record(ctx, in, effects)
	if c, ok := in.Body.(input.Command); ok && unrecorded != nil {
		l.reject(c, unrecorded.Error())
	} else {
		var items []supervisor.LogItem
		if input.Recorded(in.Body) { // pieces of text are sent at once, and not recorded
			items = l.Recorder(l.state.Load(), supervisor.Replayed{Input: in, Effects: effects}, state)
		}
		l.publish(state)
		waiting := supervisor.Waiting{At: in.At, Input: seq, Items: items}
		l.outbox.await(pendingInput{Waiting: waiting, ports: l.ports, effects: effects})
		l.snapshot(false)
	}
	l.runDurableEffects(ctx)
	if unrecorded != nil && l.outbox.closed {
		l.applyInput(ctx, input.Input{At: in.At, Body: input.JournalFull{Message: unrecorded.Error()}})
	}
}

// note writes to the log what no frontend receives.
func (l *Loop) note(f input.Body) {
	switch f := f.(type) {
	case input.AgentEvent:
		switch b := f.Event.Body.(type) {
		case bridge.Stderr:
			l.log.Warn("stderr", "agent", f.Event.ID, "text", b.Text)
		case bridge.Unknown:
			l.log.Info("unknown event", "agent", f.Event.ID, "event", b.Name)
		case bridge.Delta:
		default:
			if !l.log.Enabled(context.Background(), slog.LevelDebug) {
				return // formatting the type's name costs more than applying some events
			}
			l.log.Debug("event", "agent", f.Event.ID, "generation", f.Event.Generation, "type", fmt.Sprintf("%T", b))
		}
	case input.NotSent:
		l.log.Warn("not sent", "agent", f.Agent.ID, "message", f.MessageID, "error", f.Message)
	default:
		l.log.Debug("input", "type", f.InputName())
	}
}
