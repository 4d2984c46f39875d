package runloop

import (
	"context"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/supervisor"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/decider"
	"github.com/arbiter-cli/arbiter/supervisor/input"
	"github.com/arbiter-cli/arbiter/supervisor/policy"
	"github.com/arbiter-cli/arbiter/supervisor/runconfig"
)

// Port is what the loop needs of a bridge. *bridge.Client implements it.
type Port interface {
	Spawn(ctx context.Context, p bridge.SpawnParams) (bridge.SpawnResult, error)
	Message(ctx context.Context, p bridge.MessageParams) error
	Interrupt(ctx context.Context, a bridge.AgentRef) (bridge.InterruptResult, error)
	Kill(ctx context.Context, p bridge.KillParams) error
	Ask(ctx context.Context, p bridge.AskParams) (bridge.AskResult, error)
	Configure(ctx context.Context, p bridge.ConfigureParams) error
	Probe(ctx context.Context, a bridge.AgentRef) (bridge.ProbeResult, error)
	Check(ctx context.Context, p bridge.CheckParams) (bridge.CheckResult, error)
	Inspect(ctx context.Context, p bridge.InspectParams) (bridge.InspectResult, error)
	PTYOpen(ctx context.Context, p bridge.PTYOpenParams) (bridge.PTYOpenResult, error)
	PTYClose(ctx context.Context, a bridge.AgentRef) error
	Shutdown(ctx context.Context, p bridge.ShutdownParams) (bridge.ShutdownResult, error)
}

// Sink receives every event of the run, in order, on the loop's goroutine. It must not block: a slow frontend
// has its own queue.
type Sink func(at time.Time, e contract.Event)

// Opened is a bridge that was started.
type Opened struct {
	Port   Port
	Claude bridge.ClaudeInfo
	Dir    string // on another host: where agents work, an absolute path there
	Cores  int    // of another host
	Swept  int    // processes that the previous bridge had left behind
}

// Opener starts a bridge on a host, in place of one that was lost or never existed. A worker calls it, and it
// may wait for as long as a queue takes; it returns when ctx ends. The caller fills in the host of failed.
type Opener func(ctx context.Context, host string) (Opened, *input.BridgeFailed)

// Loop owns the state of a run. One goroutine, that of [Loop.Run], applies inputs to it; all others put inputs
// in and read snapshots.
//
// The effects of an input are carried out only when the journal holds the input on disk: so everything that was
// done can be derived from what was recorded.
type Loop struct {
	hostHandler // serves the bridge of this host

	// The members down to the first blank line may be set before [Loop.Run].
	Journal  Journal                  // nil: nothing is recorded. It calls [Loop.Committed] and [Loop.Trouble]
	Recorder supervisor.EventRecorder // what the event log records of each step; set to the events
	Decider  decider.Decider          // for runs whose options say that the Arbiter's session does not decide
	Open     Opener                   // nil: the loss of a bridge ends the run
	Drop     func(host string)        // ends the present bridge of a host, which is then lost
	Terminal Setup                    // of sessions in terminals; may be nil
	Files    Files                    // nil: the run works without Git
	Images   Images                   // nil: messages have none
	// Refuses says why a running run must not get some options, for a reason outside the run. May be nil. The function
	// must be safe for concurrent use.
	Refuses func(runconfig.Options) error
	// Signalled is called at each signal, also before the run begins. May be nil.
	Signalled func(input.Signal)
	// Windows keeps for later runs how many tokens a model takes. May be nil.
	Windows func(model string, tokens int) error
	// Redact masks secrets in the output of agents, tools and processes; nil: nothing is masked. It is applied before
	// an input gets into the loop, so that neither the journal nor a frontend nor another agent ever gets them, and
	// after the rules have decided on the exact input, which the recorded input then identifies by its hash. Text of
	// the human is kept as typed: it has to be delivered. The function must be safe for concurrent use.
	Redact func(string) string
	// Gate may be nil: nothing of the workspace is looked at. KeepTrust records trust that the human gave during the
	// run.
	Gate      Gate
	KeepTrust func(ctx context.Context, host, hash string) error

	policy    policy.Policy   // directory, home and links, without rules: those are in the run's options
	kept      map[string]bool // actions that are always allowed here
	keptRules []policy.Rule   // what is always allowed here
	sink      Sink
	log       *slog.Logger

	inbox    chan input.Input
	commands chan input.Input // of clients; unbuffered: a client learns whether the run takes its command
	urgent   chan input.Input // inputs that do not wait behind the others
	done     chan struct{}    // closed when Run returns
	state    atomic.Pointer[supervisor.State]
	dirty    chan struct{} // capacity 1: the state has changed
	clock    *Clock
	outbox   outbox

	// What follows belongs to the loop's goroutine.
	ports        ports
	next         sync.Map // by host: a Port that was opened, and that the state does not know yet
	views        sync.Map // by host: the FileSystem of the last Port
	lanes        map[string]*lane
	starts       map[string]chan struct{} // by agent: closed when the bridge has answered the last start
	timers       map[string]alarm
	settings     uint64 // counts the settings of timers
	cancellables map[string]cancellable
	exit         contract.Exit
	over         bool

	workers sync.WaitGroup
	broken  chan *Fault // capacity 1: a worker's panic

	tools       requests[bridge.ToolCallResult]
	permissions requests[bridge.PermissionResult]
	calls       atomic.Uint64 // of tools
	inputs      sync.Map      // of permissions, by the request: json.RawMessage, as the tool would get it

	subagents Subagents
	readings  sync.Map // of contexts, by bridge.AgentRef: the last bridge.Context, which the loop may not have taken yet

	grants Grants // nil: nothing is kept for later runs
	fault  *Fault

	unknowns map[string]bool // agents that a human was notified of

	pieces Pieces
}

// Fault is a panic of Arbiter, for the crash report.
type Fault struct {
	Panic string
	Stack []byte
}

// Fault returns the panic that ended [Loop.Run], or nil. Call it after Run.
func (l *Loop) Fault() *Fault { return l.fault }

// inboxSize lets a burst of events pass without a switch of goroutines for each. When the inbox is full the
// bridge's reader waits, which is the intended back-pressure.
const inboxSize = 256

// NewLoop returns a loop that has not begun. p has no rules: they are in the run's options.
func NewLoop(p policy.Policy, sink Sink, log *slog.Logger) *Loop {
	l := &Loop{
		policy: p, sink: sink, Recorder: supervisor.RecordEvents, log: log,
		inbox: make(chan input.Input, inboxSize), commands: make(chan input.Input),
		urgent: make(chan input.Input, 1), done: make(chan struct{}), dirty: make(chan struct{}, 1),
		lanes: map[string]*lane{}, starts: map[string]chan struct{}{}, timers: map[string]alarm{},
		cancellables: map[string]cancellable{}, clock: StartClock(newNap()),
	}
	l.hostHandler = hostHandler{l, supervisor.LifecycleHere}
	l.broken = make(chan *Fault, 1)
	l.outbox.wake = make(chan struct{}, 1)
	l.state.Store(&supervisor.State{})
	return l
}

// Restore sets the state with which a run is resumed. Call it before [Loop.Run].
func (l *Loop) Restore(s supervisor.State) {
	l.state.Store(&s)
	l.subagents.Restore(s.Budget.Subagents, s.Budget.SubagentStarts)
}

// Put puts an input in. It reports false when the run is over, and for a client's command also once the run has its
// result.
func (l *Loop) Put(f input.Body) bool { return l.putFrom(supervisor.LifecycleHere, f) }

// putFrom puts in an input from the bridge of a host.
func (l *Loop) putFrom(host string, f input.Body) bool {
	inbox, f := l.inbox, l.masked(l.vet(f))
	switch f := f.(type) {
	case input.Signal, input.OutputLost:
		if s, ok := f.(input.Signal); ok && l.Signalled != nil {
			l.Signalled(s)
		}
		// These must be able to end a run even if its journal waits for a disk.
		inbox = l.urgent
	case input.Command:
		if f.Channel != input.ChannelStdin { // a halt that stands behind it on stdin must be read even if the loop hangs
			inbox = l.commands
		}
		if _, halt := f.Command.Body.(contract.Halt); halt {
			inbox = l.urgent // nor does it wait behind the events of agents
		}
	}
	return l.enter(context.Background(), inbox, host, f) == nil
}

// enter puts an input into one of the loop's channels, unless ctx ends before.
func (l *Loop) enter(ctx context.Context, inbox chan<- input.Input, host string, f input.Body) error {
	select {
	case <-l.done:
		return errOver
	default:
	}
	select {
	case inbox <- input.Input{At: l.clock.Now(), Body: f, From: input.Origin{Host: host}}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	case <-l.done:
		return errOver
	}
}

// Snapshot returns the present state. It must not be changed.
func (l *Loop) Snapshot() *supervisor.State { return l.state.Load() }

// Changed receives a value when there is a new snapshot. It is a hint for one listener, and never blocks the
// loop.
func (l *Loop) Changed() <-chan struct{} { return l.dirty }

// publish makes a state the present one.
func (l *Loop) publish(s *supervisor.State) {
	l.state.Store(s)
	select {
	case l.dirty <- struct{}{}:
	default:
	}
}

// Done is closed when the run is over.
func (l *Loop) Done() <-chan struct{} { return l.done }
