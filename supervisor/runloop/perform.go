package runloop

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"runtime/debug"
	"time"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/bridge/crashpoint"
	"github.com/arbiter-cli/arbiter/supervisor"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/input"
)

// How effects are carried out: what each one does, on which goroutine, and the timers.

// perform carries out an effect. What may take time runs on a worker that Run waits for; its outcome comes back
// as an input.
func (l *Loop) perform(ctx context.Context, ports ports, at time.Time, e input.Effect) {
	port := func(agent string) Port { return ports.on(l.hostOf(agent)) }
	inOrder := func(a bridge.AgentRef, deadline time.Duration, f func(context.Context, Port)) {
		to := port(a.ID)
		l.lane(a.ID).push(l, timed(ctx, deadline, func(ctx context.Context) { f(ctx, to) }))
	}
	switch e := e.(type) {
	case input.Emit:
		crashpoint.Here("loop.emit")
		if _, accepted := e.Event.Body.(contract.Accepted); accepted {
			crashpoint.Here("loop.accept")
		}
		l.sink(at, e.Event)
	case input.Spawn:
		deadline := spawnDeadline
		if e.Place.Agent != "" {
			deadline += placeDeadline
		}
		l.start(ctx, e.Params.ID, deadline, func(ctx context.Context) { l.spawn(ctx, port(e.Params.ID), e) })
	case input.Send:
		inOrder(e.Params.AgentRef, sendDeadline, func(ctx context.Context, to Port) { l.send(ctx, to, e) })
	case input.Interrupt:
		inOrder(e.Agent, sendDeadline, func(ctx context.Context, to Port) {
			if _, err := to.Interrupt(ctx, e.Agent); err != nil {
				l.log.Warn("interrupt", "agent", e.Agent.ID, "error", err)
			}
		})
	case input.Kill:
		l.end(ctx, e.Agent, func(ctx context.Context) error {
			crashpoint.Here("loop.kill")
			return port(e.Agent.ID).Kill(ctx, bridge.KillParams{AgentRef: e.Agent, Now: e.Now})
		})
	case input.Decide:
		l.workUntilCancelled(ctx, fmt.Sprintf("decision %d", e.Question.Serial),
			func(ctx context.Context) { l.decide(ctx, input.Decided(e.Question)) })
	case input.Note:
		// Recorded after the input that caused it, in order; nothing waits for it.
		l.lane(noteLane).push(l, func() {
			crashpoint.Here("loop.note")
			l.Put(input.Decided(e.Decision))
		})
	case input.Probe:
		l.work(timed(ctx, probeDeadline, func(ctx context.Context) { l.probe(ctx, port(e.Agent.ID), e.Agent) }))
	case input.RunCheck:
		l.workUntilCancelled(ctx, e.Request, func(ctx context.Context) { l.check(ctx, ports.on(e.Host), e) })
	case input.Drop:
		for name, p := range l.cancellables {
			if e.Request == "" || e.Request == name {
				p.drop()
			}
		}
	case input.ChangeRecord:
		l.work(timed(ctx, snapshotDeadline, func(ctx context.Context) { l.recordFiles(ctx, e) }))
	case input.Revert:
		l.work(timed(ctx, snapshotDeadline, func(ctx context.Context) { l.revert(ctx, e) }))
	case input.IsolationMerge:
		l.work(timed(ctx, mergeDeadline, func(ctx context.Context) { l.merge(ctx, e) }))
	case input.Inspect:
		l.work(timed(ctx, inspectDeadline, func(ctx context.Context) { l.inspect(ctx, ports.on(e.Host), e) }))
	case input.Configure:
		// The reminders that its driver has to give. An agent that is ending needs none.
		inOrder(e.Params.AgentRef, sendDeadline, func(ctx context.Context, to Port) {
			if err := to.Configure(ctx, e.Params); err != nil && !errors.Is(err, bridge.ErrClosed) {
				l.log.Info("configure", "agent", e.Params.ID, "error", err)
			}
		})
	case input.SetModel:
		inOrder(e.Agent, modelDeadline, func(ctx context.Context, to Port) { l.setModel(ctx, to, e) })
	case input.PinTrust:
		l.work(func() { l.pin(ctx, e.Host, e.Hash) })
	case input.KeepWindow:
		l.lane(noteLane).push(l, func() { l.keepWindow(e) })
	case input.DropBridge:
		if l.Drop != nil {
			l.work(func() { l.Drop(e.Host) })
		}
	case input.OpenBridge:
		l.work(func() { l.openBridge(ctx, e.Host) })
	case input.AskAgent:
		l.work(timed(ctx, supervisor.AskTimeout, func(ctx context.Context) { l.askAgent(ctx, port(e.Agent.ID), e) }))
	case input.AnswerTool:
		crashpoint.Here("loop.tool.answer")
		l.tools.answer(e.Call, bridge.ToolCallResult{Text: e.Text, IsError: e.IsError})
	case input.PermissionRespond:
		crashpoint.Here("loop.permission.answer")
		l.permissions.answer(e.Request, e.Result)
	case input.Reconsider:
		l.work(l.reconsider)
	case input.GiveRules:
		for _, a := range l.Snapshot().Agents {
			if e.Agent != (bridge.AgentRef{}) && e.Agent != a.AgentRef || !a.Up() || a.Status == supervisor.AgentStarting {
				continue // an agent that starts gets them when it is up
			}
			inOrder(a.AgentRef, sendDeadline, func(ctx context.Context, to Port) { l.giveRules(ctx, to, a.AgentRef) })
		}
	case input.Remember:
		l.lane(noteLane).push(l, func() { l.remember(e) })
	case input.SetTimer:
		l.setTimer(e)
	case input.OpenPTY:
		l.start(ctx, e.Params.ID, spawnDeadline, func(ctx context.Context) { l.openPTY(ctx, port(e.Params.ID), e.Params) })
	case input.ClosePTY:
		l.end(ctx, e.Agent, func(ctx context.Context) error { return port(e.Agent.ID).PTYClose(ctx, e.Agent) })
	case input.Shutdown:
		l.work(timed(ctx, shutdownDeadline, func(ctx context.Context) { l.shutdown(ctx, ports, e.Fast) }))
	case input.Finish:
		crashpoint.Here("loop.finish")
		l.exit, l.over = e.Exit, true
	default:
		panic(fmt.Sprintf("runloop: unknown effect %T", e))
	}
}

func (l *Loop) work(f func()) {
	l.workers.Go(func() {
		defer l.catch()
		f()
	})
}

// cancellable is work that can be cancelled.
type cancellable struct {
	ctx  context.Context
	drop context.CancelFunc
}

// workUntilCancelled lets a worker run f until it is cancelled by name, and forgets those that have ended.
func (l *Loop) workUntilCancelled(ctx context.Context, name string, f func(context.Context)) {
	maps.DeleteFunc(l.cancellables, func(_ string, p cancellable) bool { return p.ctx.Err() != nil })
	ctx, cancel := context.WithCancel(ctx)
	l.cancellables[name] = cancellable{ctx, cancel}
	l.work(func() {
		defer cancel()
		f(ctx)
	})
}

// timed returns f with a deadline that starts when f is called.
func timed(ctx context.Context, deadline time.Duration, f func(context.Context)) func() {
	return func() {
		ctx, cancel := context.WithTimeout(ctx, deadline)
		defer cancel()
		f(ctx)
	}
}

// catch passes a worker's panic to the loop. One is enough to end the run.
func (l *Loop) catch() {
	if p := recover(); p != nil {
		select {
		case l.broken <- faultOf(p):
		default:
		}
	}
}

// faultOf returns the Fault of a panic that was just recovered.
func faultOf(p any) *Fault { return &Fault{Panic: fmt.Sprint(p), Stack: debug.Stack()} }

// bug ends the run after a panic of Arbiter.
func (l *Loop) bug(f *Fault) contract.Exit {
	l.fault = f
	l.log.Error("panic", "panic", f.Panic, "stack", string(f.Stack))
	l.report(contract.Supervisor, contract.Error{
		Category: bridge.CatInternal, Message: "bug in arbiter: " + f.Panic, RecoveryOptions: []string{},
	})
	return contract.ExitBug
}

// alarm is the timer of a key. The number distinguishes the settings of the key.
type alarm struct {
	setting uint64
	*time.Timer
}

func (l *Loop) setTimer(e input.SetTimer) {
	if t, ok := l.timers[e.Key]; ok {
		t.Stop()
		delete(l.timers, e.Key)
	}
	if e.After > 0 {
		l.settings++
		n := l.settings
		l.timers[e.Key] = alarm{n, time.AfterFunc(e.After, func() { l.Put(input.Timer{Key: e.Key, Setting: n}) })}
	}
}

// stale reports whether a ring comes from a timer that was stopped, or set anew, after it had rung. If the ring
// is not stale, it forgets the timer.
func (l *Loop) stale(f input.Body) bool {
	r, ok := f.(input.Timer)
	if !ok || r.Setting == 0 {
		return false
	}
	if l.timers[r.Key].setting != r.Setting {
		return true
	}
	delete(l.timers, r.Key)
	return false
}

func (l *Loop) stopTimers() {
	for _, t := range l.timers {
		t.Stop()
	}
}
