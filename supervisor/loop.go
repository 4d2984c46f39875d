package supervisor

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/bridge/crashpoint"
	"github.com/arbiter-cli/arbiter/supervisor/clock"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/decider"
	"github.com/arbiter-cli/arbiter/supervisor/mask"
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
	Survey(ctx context.Context, p bridge.InspectParams) (bridge.InspectResult, error)
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

	policy    policy.Policy // as the run began; from then on rules may be others
	rules     atomic.Pointer[policy.Compiled]
	kept      map[string]bool // actions that are always allowed here
	keptRules []policy.Rule   // what is always allowed here
	refuses   func(Options) error
	sink      Sink
	teller    Teller
	log       *slog.Logger
	open      Opener // nil: a bridge that is gone ends the run
	drop      func() // ends the present bridge, so that it is lost
	setup     Setup  // of sessions in terminals; may be nil

	inbox  chan Input
	urgent chan Input    // what does not wait behind the others
	done   chan struct{} // closed when Run returns
	state  atomic.Pointer[State]
	dirty  chan struct{} // capacity 1: the state is another one than before
	clock  *clock.Clock
	books  books

	// What follows belongs to the loop's goroutine.
	port    Port
	next    atomic.Pointer[Port] // opened, and not told to the state yet
	lanes   map[string]*lane
	starts  map[string]chan struct{} // of agents: closed when the bridge has answered the last one
	timers  map[string]*alarm
	pursued map[string]pursuit
	exit    contract.Exit
	over    bool

	workers sync.WaitGroup
	broken  chan *Fault // capacity 1: a worker's panic

	tools       requests[bridge.ToolCallResult]
	permissions requests[bridge.PermissionResult]
	calls       atomic.Uint64 // of tools
	inputs      sync.Map      // of permissions, by the request: json.RawMessage, as the tool would get it

	told   toldCalls
	grants Grants // nil: nothing is kept for later runs
	fault  *Fault

	strangers map[string]bool // that a human was told of

	redact func(string) string // nil: nothing is masked
	pieces mask.Pieces

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
		policy: p, sink: sink, teller: TellEvents, log: log,
		inbox: make(chan Input, inboxSize), urgent: make(chan Input, 1), done: make(chan struct{}), dirty: make(chan struct{}, 1),
		lanes: map[string]*lane{}, starts: map[string]chan struct{}{}, timers: map[string]*alarm{}, pursued: map[string]pursuit{}, clock: clock.New(),
	}
	l.rules.Store(p.Compile())
	l.broken = make(chan *Fault, 1)
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
	case inbox <- Input{At: l.clock.Now(), Fact: f}:
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
	l.fold(ctx, Input{At: l.clock.Now(), Fact: first})
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
			if slept := l.clock.Slept(); slept > 0 {
				l.fold(ctx, Input{At: l.clock.Now(), Fact: Woke{Slept: slept}})
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
	l.snapshot(true)
	return l.exit
}

// fold applies one input. What it leads to waits until it is on disk.
func (l *Loop) fold(ctx context.Context, in Input) {
	if l.refuse(ctx, in) || l.stale(in.Fact) || l.unknown(in.Fact) {
		return
	}
	l.note(in.Fact)
	in.At = l.clock.Order(in.At)
	in.Fact = l.state.Load().exactly(in.Fact)
	state, effects := Apply(*l.state.Load(), in)
	if _, ok := in.Fact.(BridgeBack); ok {
		l.port = *l.next.Load()
	}
	crashpoint.Here("loop.apply")
	in.From = l.state.Load().Origin(in.Fact) // as it was before the fact
	seq, unrecorded := l.record(ctx, in)
	if c, ok := in.Fact.(Commanded); ok && unrecorded != nil {
		l.reject(c, unrecorded.Error())
	} else {
		if old := l.state.Load(); ok && !sameRules(&old.Options, &state.Options) {
			l.rules.Store(l.rulesOf(&state.Options))
		}
		var told []Told
		if recorded(in.Fact) { // pieces of text are told as they come, and not kept
			told = l.teller(l.state.Load(), Replayed{Input: in, Effects: effects}, &state)
		}
		l.publish(&state)
		l.books.await(undone{at: in.At, input: seq, told: told, port: l.port, effects: effects})
		l.snapshot(false)
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
