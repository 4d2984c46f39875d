package supervisor

import (
	"context"
	"fmt"
	"log/slog"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/policy"
)

// Port is what the loop needs of a bridge. *bridge.Client is one.
type Port interface {
	Spawn(ctx context.Context, p bridge.SpawnParams) (bridge.SpawnResult, error)
	Message(ctx context.Context, p bridge.MessageParams) error
	Interrupt(ctx context.Context, a bridge.AgentRef) (bridge.InterruptResult, error)
	Kill(ctx context.Context, p bridge.KillParams) error
	Ask(ctx context.Context, p bridge.AskParams) (bridge.AskResult, error)
	Shutdown(ctx context.Context, p bridge.ShutdownParams) (bridge.ShutdownResult, error)
}

// Sink receives every event of the run, in order, on the loop's goroutine. It
// must not block: a face that is slow queues for itself.
type Sink func(at time.Time, e contract.Event)

// Loop owns the state of a run. One goroutine, that of [Loop.Run], folds inputs
// into it; everybody else puts inputs in and reads snapshots.
type Loop struct {
	port   Port
	policy policy.Policy
	sink   Sink
	log    *slog.Logger

	inbox chan Input
	done  chan struct{} // closed when Run returns
	state atomic.Pointer[State]

	// What follows belongs to the loop's goroutine.
	lanes  map[string]*lane
	timers map[string]*time.Timer
	exit   contract.Exit
	over   bool

	workers sync.WaitGroup
	waiting waiting
}

// inboxSize lets a burst of events pass without a switch of goroutines each.
// When it is full the bridge's reader waits, which is the back-pressure wanted.
const inboxSize = 256

// NewLoop makes a loop that has not begun. The port may be nil until [Loop.Run].
func NewLoop(p policy.Policy, sink Sink, log *slog.Logger) *Loop {
	l := &Loop{
		policy: p, sink: sink, log: log,
		inbox: make(chan Input, inboxSize), done: make(chan struct{}),
		lanes: map[string]*lane{}, timers: map[string]*time.Timer{},
	}
	l.waiting.init()
	l.state.Store(&State{})
	return l
}

// Put hands an input in. It reports false when the run is over.
func (l *Loop) Put(f Fact) bool {
	select {
	case <-l.done:
		return false
	default:
	}
	select {
	case l.inbox <- Input{At: time.Now(), Fact: f}:
		return true
	case <-l.done:
		return false
	}
}

// Snapshot returns the present state. It must not be changed.
func (l *Loop) Snapshot() *State { return l.state.Load() }

// Done is closed when the run is over.
func (l *Loop) Done() <-chan struct{} { return l.done }

// Run folds inputs, beginning with first, until the run is over, and returns
// its exit code. All goroutines it started have ended by then. A panic of ours
// becomes an `error` event and ExitBug; the bridge then stops the agents.
func (l *Loop) Run(ctx context.Context, port Port, first Fact) (exit contract.Exit) {
	l.port = port
	ctx, cancel := context.WithCancel(ctx)
	defer l.workers.Wait()
	defer l.stopTimers()
	defer close(l.done)
	defer cancel()
	defer func() {
		if p := recover(); p != nil {
			l.log.Error("panic", "panic", p, "stack", string(debug.Stack()))
			l.sink(time.Now(), contract.Event{ID: contract.Supervisor, Body: contract.Error{
				Category: bridge.CatInternal, Message: fmt.Sprintf("a fault of arbiter: %v", p), RecoveryOptions: []string{},
			}})
			exit = contract.ExitBug
		}
	}()
	l.fold(ctx, Input{At: time.Now(), Fact: first})
	for !l.over {
		l.fold(ctx, <-l.inbox)
	}
	return l.exit
}

func (l *Loop) fold(ctx context.Context, in Input) {
	l.note(in.Fact)
	state, effects := Apply(*l.state.Load(), in)
	l.state.Store(&state)
	for _, e := range effects {
		l.perform(ctx, in.At, e)
	}
}

// note writes to the log what no face is told.
func (l *Loop) note(f Fact) {
	switch f := f.(type) {
	case Happened:
		switch b := f.Event.Body.(type) {
		case bridge.Stderr:
			l.log.Warn("stderr", "agent", f.Event.ID, "text", b.Text)
		case bridge.Unknown:
			l.log.Info("unknown event", "agent", f.Event.ID, "event", b.Name)
		case bridge.Delta:
		default:
			l.log.Debug("event", "agent", f.Event.ID, "generation", f.Event.Generation, "type", fmt.Sprintf("%T", b))
		}
	case NotSent:
		l.log.Warn("not sent", "agent", f.Agent.ID, "message", f.MessageID, "error", f.Message)
	default:
		l.log.Debug("input", "type", fmt.Sprintf("%T", f))
	}
}

// perform carries an effect out. What may take time runs on a worker that Run
// waits for; its outcome comes back as an input.
func (l *Loop) perform(ctx context.Context, at time.Time, e Effect) {
	switch e := e.(type) {
	case Emit:
		l.sink(at, e.Event)
	case Spawn:
		l.work(func() { l.spawn(ctx, e.Params) })
	case Send:
		l.lane(e.Params.ID).push(l, func() { l.send(ctx, e.Params) })
	case Interrupt:
		l.lane(e.Agent.ID).push(l, func() { l.interrupt(ctx, e.Agent) })
	case Kill:
		l.work(func() { l.kill(ctx, e) })
	case AskAgent:
		l.work(func() { l.askAgent(ctx, e) })
	case AnswerTool:
		l.waiting.answerTool(e.Call, bridge.ToolCallResult{Text: e.Text, IsError: e.IsError})
	case AnswerPermission:
		l.waiting.answerPermission(e.Request, e.Result)
	case SetTimer:
		l.setTimer(e)
	case Shutdown:
		l.work(func() { l.shutdown(ctx, e.Fast) })
	case Finish:
		l.exit, l.over = e.Exit, true
	default:
		panic(fmt.Sprintf("supervisor: unknown effect %T", e))
	}
}

func (l *Loop) work(f func()) {
	l.workers.Add(1)
	go func() {
		defer l.workers.Done()
		f()
	}()
}

func (l *Loop) setTimer(e SetTimer) {
	if t := l.timers[e.Key]; t != nil {
		t.Stop()
		delete(l.timers, e.Key)
	}
	if e.After > 0 {
		l.timers[e.Key] = time.AfterFunc(e.After, func() { l.Put(Rang{Key: e.Key}) })
	}
}

func (l *Loop) stopTimers() {
	for _, t := range l.timers {
		t.Stop()
	}
}
