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
	"github.com/arbiter-cli/arbiter/bridge/crashpoint"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/decider"
	"github.com/arbiter-cli/arbiter/supervisor/policy"
)

// Port is what the loop needs of a bridge. *bridge.Client is one.
type Port interface {
	Spawn(ctx context.Context, p bridge.SpawnParams) (bridge.SpawnResult, error)
	Message(ctx context.Context, p bridge.MessageParams) error
	Interrupt(ctx context.Context, a bridge.AgentRef) (bridge.InterruptResult, error)
	Kill(ctx context.Context, p bridge.KillParams) error
	Ask(ctx context.Context, p bridge.AskParams) (bridge.AskResult, error)
	Configure(ctx context.Context, p bridge.ConfigureParams) error
	Probe(ctx context.Context, a bridge.AgentRef) (bridge.ProbeResult, error)
	Check(ctx context.Context, p bridge.CheckParams) (bridge.CheckResult, error)
	Survey(ctx context.Context, p bridge.SurveyParams) (bridge.SurveyResult, error)
	PTYOpen(ctx context.Context, p bridge.PTYOpenParams) (bridge.PTYOpenResult, error)
	PTYClose(ctx context.Context, a bridge.AgentRef) error
	Shutdown(ctx context.Context, p bridge.ShutdownParams) (bridge.ShutdownResult, error)
}

// Sink receives every event of the run, in order, on the loop's goroutine. It
// must not block: a face that is slow queues for itself.
type Sink func(at time.Time, e contract.Event)

// Opener starts a bridge in place of one that is gone. Swept is how many processes
// that one had left behind.
type Opener func(ctx context.Context) (port Port, claude bridge.ClaudeInfo, swept int, failed *BridgeFailed)

// Loop owns the state of a run. One goroutine, that of [Loop.Run], folds inputs
// into it; everybody else puts inputs in and reads snapshots.
//
// What a fact leads to is done when the journal holds it on disk, and not before:
// what was done can then always be told from what was recorded.
type Loop struct {
	decider decider.Decider // nil: the Arbiter's session decides

	policy policy.Policy
	rules  *policy.Compiled // of policy
	kept   map[string]bool  // actions that are always allowed here
	sink   Sink
	log    *slog.Logger
	open   Opener // nil: a bridge that is gone ends the run
	drop   func() // ends the present bridge, so that it is lost
	setup  Setup  // of sessions in terminals; may be nil

	inbox  chan Input
	urgent chan Input    // what does not wait behind the others
	done   chan struct{} // closed when Run returns
	state  atomic.Pointer[State]
	dirty  chan struct{} // capacity 1: the state is another one than before
	clock  clock
	books  books

	// What follows belongs to the loop's goroutine.
	port   Port
	next   atomic.Pointer[Port] // opened, and not told to the state yet
	lanes  map[string]*lane
	starts map[string]chan struct{} // of agents: closed when the bridge has answered the last one
	timers map[string]*alarm
	exit   contract.Exit
	over   bool

	workers sync.WaitGroup
	broken  chan *Fault // capacity 1: a worker's panic
	waiting waiting
	told    toldCalls
	grants  Grants // nil: nothing is kept for later runs
	fault   *Fault

	strangers map[string]bool // that a human was told of

	redact func(string) string // nil: nothing is masked
	pieces pieces

	gate      Gate // nil: nothing of the workspace is looked at
	keepTrust func(ctx context.Context, hash string) error
}

// Fault is a panic of ours, for the crash report.
type Fault struct {
	Panic string
	Stack []byte
}

// Fault returns the panic that ended [Loop.Run], or nil. Call it after Run.
func (l *Loop) Fault() *Fault { return l.fault }

// inboxSize lets a burst of events pass without a switch of goroutines each.
// When it is full the bridge's reader waits, which is the back-pressure wanted.
const inboxSize = 256

// NewLoop makes a loop that has not begun. The port may be nil until [Loop.Run].
func NewLoop(p policy.Policy, sink Sink, log *slog.Logger) *Loop {
	l := &Loop{
		policy: p, rules: p.Compile(), sink: sink, log: log,
		inbox: make(chan Input, inboxSize), urgent: make(chan Input, 1), done: make(chan struct{}), dirty: make(chan struct{}, 1),
		lanes: map[string]*lane{}, starts: map[string]chan struct{}{}, timers: map[string]*alarm{},
	}
	l.broken = make(chan *Fault, 1)
	l.waiting.init()
	l.clock.init()
	l.books.init()
	l.state.Store(&State{})
	return l
}

// Restore sets the state a run is taken up with. Call it before [Loop.Run].
func (l *Loop) Restore(s State) { l.state.Store(&s) }

// OnBridgeLost sets how a bridge is replaced, and how one that does not answer is
// ended. Call it before [Loop.Run].
func (l *Loop) OnBridgeLost(open Opener, drop func()) { l.open, l.drop = open, drop }

// Put hands an input in. It reports false when the run is over.
func (l *Loop) Put(f Fact) bool {
	select {
	case <-l.done:
		return false
	default:
	}
	inbox, f := l.inbox, l.masked(l.vet(f))
	switch f := f.(type) {
	case Signalled, OutputLost:
		// They have to end a run, too, whose journal waits for a disk.
		inbox = l.urgent
	case Commanded:
		if _, halt := f.Command.Body.(contract.Halt); halt {
			inbox = l.urgent // nor does it wait behind what agents tell
		}
	}
	select {
	case inbox <- Input{At: l.clock.now(), Fact: f}:
		return true
	case <-l.done:
		return false
	}
}

// Snapshot returns the present state. It must not be changed.
func (l *Loop) Snapshot() *State { return l.state.Load() }

// Changed has a value when there is another snapshot than before. It is a hint for one
// listener, and never holds the loop.
func (l *Loop) Changed() <-chan struct{} { return l.dirty }

// publish makes a state the present one.
func (l *Loop) publish(s *State) {
	l.state.Store(s)
	select {
	case l.dirty <- struct{}{}:
	default:
	}
}

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
			exit = l.bug(faultOf(p))
		}
	}()
	l.fold(ctx, Input{At: l.clock.now(), Fact: first})
	for !l.over {
		inbox := l.inbox
		if len(l.books.undone) >= maxUndone {
			inbox = nil // the disk is slow: the bridge's reader waits
		}
		select {
		case in := <-l.urgent: // before all that waits: what it leads to is no surprise then
			l.fold(ctx, in)
			continue
		default:
		}
		select {
		case in := <-inbox:
			if slept := l.clock.slept(); slept > 0 {
				l.fold(ctx, Input{At: l.clock.now(), Fact: Woke{Slept: slept}})
			}
			l.fold(ctx, in)
		case in := <-l.urgent:
			l.fold(ctx, in)
		case f := <-l.broken:
			return l.bug(f)
		case <-l.books.wake:
			l.settle(ctx)
		}
	}
	return l.exit
}

// fold applies one input. What it leads to waits until it is on disk.
func (l *Loop) fold(ctx context.Context, in Input) {
	if l.refuse(ctx, in) || l.stale(in.Fact) || l.unknown(in.Fact) {
		return
	}
	l.note(in.Fact)
	in.At = l.clock.order(in.At)
	in.Fact = l.state.Load().exactly(in.Fact)
	state, effects := Apply(*l.state.Load(), in)
	if _, ok := in.Fact.(BridgeBack); ok {
		l.port = *l.next.Load()
	}
	crashpoint.Here("loop.apply")
	unrecorded := l.record(ctx, in)
	if c, ok := in.Fact.(Commanded); ok && unrecorded != nil {
		l.reject(c, unrecorded.Error())
	} else {
		l.publish(&state)
		l.books.await(in.At, l.port, effects)
	}
	l.settle(ctx)
	if unrecorded != nil && l.books.closed {
		l.fold(ctx, Input{At: in.At, Fact: JournalFull{Message: unrecorded.Error()}})
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
func (l *Loop) perform(ctx context.Context, port Port, at time.Time, e Effect) {
	switch e := e.(type) {
	case Emit:
		crashpoint.Here("loop.emit")
		if _, accepted := e.Event.Body.(contract.Accepted); accepted {
			crashpoint.Here("loop.accept")
		}
		l.sink(at, e.Event)
	case Spawn:
		answered := l.startOf(e.Params.ID)
		l.work(func() {
			defer close(answered)
			l.spawn(ctx, port, e.Params)
		})
	case Send:
		l.lane(e.Params.ID).push(l, func() { l.send(ctx, port, e.Params) })
	case Interrupt:
		l.lane(e.Agent.ID).push(l, func() { l.interrupt(ctx, port, e.Agent) })
	case Kill:
		answered := l.starts[e.Agent.ID]
		l.work(func() { l.kill(ctx, port, e, answered) })
	case Decide:
		l.work(func() { l.decide(ctx, e.Question) })
	case Note:
		// Recorded as it is, behind what it follows from, in order; nobody waits for it.
		l.lane(noteLane).push(l, func() {
			crashpoint.Here("loop.note")
			l.Put(e.Decision)
		})
	case Probe:
		l.work(func() { l.probe(ctx, port, e.Agent) })
	case RunCheck:
		l.work(func() { l.check(ctx, port, e) })
	case Survey:
		l.work(func() { l.survey(ctx, port, e) })
	case Configure:
		l.lane(e.Params.ID).push(l, func() { l.configure(ctx, port, e.Params) })
	case SetModel:
		l.lane(e.Agent.ID).push(l, func() { l.setModel(ctx, port, e) })
	case PinTrust:
		l.work(func() { l.pin(ctx, e.Hash) })
	case DropBridge:
		if l.drop != nil {
			l.work(l.drop)
		}
	case OpenBridge:
		l.work(func() { l.openBridge(ctx) })
	case AskAgent:
		l.work(func() { l.askAgent(ctx, port, e) })
	case AnswerTool:
		crashpoint.Here("loop.tool.answer")
		l.waiting.answerTool(e.Call, bridge.ToolCallResult{Text: e.Text, IsError: e.IsError})
	case AnswerPermission:
		crashpoint.Here("loop.permission.answer")
		l.waiting.answerPermission(e.Request, e.Result)
	case Remember:
		l.lane(noteLane).push(l, func() { l.remember(e) })
	case SetTimer:
		l.setTimer(e)
	case OpenPTY:
		answered := l.startOf(e.Params.ID)
		l.work(func() {
			defer close(answered)
			l.openPTY(ctx, port, e.Params)
		})
	case ClosePTY:
		answered := l.starts[e.Agent.ID]
		l.work(func() { l.closePTY(ctx, port, e.Agent, answered) })
	case Shutdown:
		l.work(func() { l.shutdown(ctx, port, e.Fast) })
	case Finish:
		crashpoint.Here("loop.finish")
		l.exit, l.over = e.Exit, true
	default:
		panic(fmt.Sprintf("supervisor: unknown effect %T", e))
	}
}

func (l *Loop) work(f func()) {
	l.workers.Add(1)
	go func() {
		defer l.workers.Done()
		defer l.catch()
		f()
	}()
}

// catch makes a worker's panic the loop's. One is enough to end the run.
func (l *Loop) catch() {
	if p := recover(); p != nil {
		select {
		case l.broken <- faultOf(p):
		default:
		}
	}
}

// faultOf is a panic that was just recovered.
func faultOf(p any) *Fault { return &Fault{Panic: fmt.Sprint(p), Stack: debug.Stack()} }

// bug ends the run over a panic of ours.
func (l *Loop) bug(f *Fault) contract.Exit {
	l.fault = f
	l.log.Error("panic", "panic", f.Panic, "stack", string(f.Stack))
	l.sink(l.clock.now(), contract.Event{ID: contract.Supervisor, Body: contract.Error{
		Category: bridge.CatInternal, Message: "a fault of arbiter: " + f.Panic, RecoveryOptions: []string{},
	}})
	return contract.ExitBug
}

// alarm is one setting of a timer's key.
type alarm struct{ *time.Timer }

func (l *Loop) setTimer(e SetTimer) {
	if t := l.timers[e.Key]; t != nil {
		t.Stop()
		delete(l.timers, e.Key)
	}
	if e.After > 0 {
		t := &alarm{}
		l.timers[e.Key] = t
		t.Timer = time.AfterFunc(e.After, func() { l.Put(Rang{Key: e.Key, by: t}) })
	}
}

// stale says whether a ring is one of a timer that was stopped, or set anew, after it
// had rung. One that is not is over with.
func (l *Loop) stale(f Fact) bool {
	r, ok := f.(Rang)
	if !ok || r.by == nil {
		return false
	}
	if l.timers[r.Key] != r.by {
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
