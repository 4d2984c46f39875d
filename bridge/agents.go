package bridge

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"
)

const (
	// defaultGrace is the time that `shutdown` gives agents to stop in order: a little more than the stop
	// ladder of an agent takes (interrupt, end of input, TERM).
	defaultGrace = 10 * time.Second
	shutdownHard = 2 * time.Second
	// killTimeout bounds one kill; the stop ladder takes far less.
	killTimeout = 30 * time.Second
	// sweepTimeout bounds a launcher's sweep, which signals processes and reaps
	// them, and so takes milliseconds.
	sweepTimeout = 150 * time.Millisecond
)

// registry holds all incarnations of a conversation's agents. It has no goroutine: an incarnation is over
// when its `done` was emitted.
type registry struct {
	launcher Launcher
	p        *peer
	log      *slog.Logger
	others   *inquiries // end with the agents

	mu      sync.Mutex
	latest  map[string]*incarnation // by id; an entry is never removed, so that its generation stays known
	owner   Owner                   // empty before initialize
	closing bool
}

func newRegistry(l Launcher, p *peer, log *slog.Logger, others *inquiries) *registry {
	return &registry{launcher: l, p: p, log: log, others: others, latest: map[string]*incarnation{}}
}

// begin sets the owner whose processes sweep may kill.
func (r *registry) begin(of Owner) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.owner = of
}

// claim registers a new incarnation, which the caller then starts. If two callers claim one id at the same
// time, one succeeds. Two processes on one session would write to one transcript, so a session in use
// cannot be claimed either.
func (r *registry) claim(ref AgentRef, session string) (*incarnation, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closing {
		return nil, errShuttingDown()
	}
	if last := r.latest[ref.ID]; last != nil {
		if !last.ended() {
			return nil, rpcErrorf(CodeAgentExists,
				fmt.Sprintf("%s lives, in generation %d", ref.ID, last.ref.Generation))
		}
		if ref.Generation <= last.ref.Generation {
			return nil, rpcErrorf(CodeStale, fmt.Sprintf("generation %d of %s is not new: the next one must be greater",
				last.ref.Generation, ref.ID))
		}
	}
	for id, other := range r.latest {
		switch {
		case other.ended():
			r.latest[id] = other.remembered()
		case other.session == session:
			return nil, rpcErrorf(CodeAgentExists, fmt.Sprintf("session %.100s is in use by %s", session, other.ref))
		}
	}
	inc := newIncarnation(ref, session, r.p, r.log)
	r.latest[ref.ID] = inc
	return inc, nil
}

// find returns the incarnation that ref names if it has not ended.
func (r *registry) find(ref AgentRef) (*incarnation, error) {
	r.mu.Lock()
	inc := r.latest[ref.ID]
	r.mu.Unlock()
	switch {
	case inc == nil:
		return nil, rpcErrorf(CodeUnknownAgent, fmt.Sprintf("there is no agent %.100q", ref.ID))
	case inc.ref.Generation != ref.Generation:
		return nil, rpcErrorf(CodeStale, fmt.Sprintf("%s is in generation %d, not %d", ref.ID, inc.ref.Generation,
			ref.Generation))
	case inc.ended():
		return nil, inc.endedError()
	}
	return inc, nil
}

// live closes the registry for claims and returns the incarnations that have not ended.
func (r *registry) live() (incs []*incarnation, of Owner) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.closing = true
	for _, inc := range r.latest {
		if !inc.ended() {
			incs = append(incs, inc)
		}
	}
	slices.SortFunc(incs, func(a, b *incarnation) int { return strings.Compare(a.ref.ID, b.ref.ID) })
	return incs, r.owner
}

// stopAll ends all agents: in order within grace, then forcibly within hard. Checks are ended at once. Then
// it sweeps the processes that escaped. Two calls may run at the same time, when the connection ends during
// a shutdown; the shorter grace then applies.
func (r *registry) stopAll(grace, hard time.Duration) ShutdownResult {
	all, of := r.live()
	begun := time.Now()
	r.others.end()
	left := r.stopEach(all, grace, false)
	checks := r.others.wait(max(endFlush, grace-time.Since(begun))) // what is swept later has escaped
	swept := 0
	if len(left) > 0 {
		killed := make(chan []*incarnation)
		go func() { killed <- r.stopEach(left, hard, true) }()
		swept = r.sweep(of) // an escaped process may keep an agent from ending
		left = <-killed
	}
	swept += r.sweep(of)
	if len(checks) > 0 { // the sweep has ended the processes they waited for
		checks = r.others.wait(max(endFlush, grace+hard-time.Since(begun)))
	}
	result := ShutdownResult{Stopped: len(all) - len(left), Swept: swept}
	for _, inc := range left {
		result.Unstopped = append(result.Unstopped, inc.ref.String())
	}
	result.Unstopped = append(result.Unstopped, checks...)
	return result
}

// stopEach stops the agents concurrently and returns those that have not ended after d. If an agent ignores
// its context, its goroutine outlives the call, and left names the agent.
func (r *registry) stopEach(incs []*incarnation, d time.Duration, now bool) (left []*incarnation) {
	ctx, cancel := context.WithTimeout(context.Background(), d)
	defer cancel()
	var stops sync.WaitGroup
	for _, inc := range incs {
		stops.Go(func() {
			if err := inc.stop(ctx, now); err != nil {
				r.log.Warn("an agent did not stop yet", "agent", inc.ref.String(), "now", now, "err", err)
			}
		})
	}
	within(d, stops.Wait)
	for _, inc := range incs {
		if !inc.ended() {
			left = append(left, inc)
		}
	}
	return left
}

func (r *registry) sweep(of Owner) (swept int) {
	if of.Run == "" {
		return 0
	}
	count := 0
	if !within(sweepTimeout, func() { count = r.launcher.Sweep(of) }) {
		r.log.Error("the sweep for escaped processes hangs", "run", of.Run)
		return 0
	}
	return count
}

// Deadlines that apply unless a request sets others.
const (
	DefaultStartTimeout = 45 * time.Second
	DefaultToolTimeout  = 60 * time.Second
	// JudgeTimeout is how long a tool call waits for the rules.
	JudgeTimeout = 20 * time.Second
	// ProbeTimeout is how long a probe waits for the agent itself to answer. A healthy CLI answers within
	// milliseconds, also in the middle of a turn.
	ProbeTimeout = 5 * time.Second
	// ToolResultCap bounds the text of a tool_result event, in bytes.
	ToolResultCap = 16 << 10
)

// StartTimeout is the time limit until the agent is ready.
func (c AgentConfig) StartTimeout() time.Duration {
	return orDefault(c.StartTimeoutMS, DefaultStartTimeout)
}

// Timeout is the time limit of one call.
func (s ToolSpec) Timeout() time.Duration { return orDefault(s.TimeoutMS, DefaultToolTimeout) }

// Limit is the time limit of the query.
func (p QueryParams) Limit() time.Duration { return orDefault(p.TimeoutMS, DefaultQueryTimeout) }

// Limit is the time limit of the check.
func (p CheckParams) Limit() time.Duration {
	return orDefault(p.TimeoutMS, DefaultCheckTimeoutMS*time.Millisecond)
}

func orDefault(ms int, usual time.Duration) time.Duration {
	if ms > 0 {
		return time.Duration(ms) * time.Millisecond
	}
	return usual
}

// Owner names the run and the bridge to which a process belongs: all processes that a bridge starts are
// marked with both, since several bridges of a run can be on one machine.
type Owner struct {
	Run    string
	Bridge string // empty: the run's only one
}

// Launcher starts the processes of a [Server]. Its errors are *RPCError if a client can act on them. It is safe for
// concurrent use.
type Launcher interface {
	// Detect resolves the CLI and determines its version.
	Detect(ctx context.Context, spec ClaudeSpec) (ClaudeInfo, error)
	// Launch starts an agent and returns when it is ready for a message. Events go to host from then on and
	// may come before it returns. After an error no process of the agent is left and no event follows. The
	// end of ctx during the start cancels it; once Launch has returned, only Stop ends the agent.
	Launch(ctx context.Context, of Owner, claude ClaudeSpec, p SpawnParams, host Host) (Agent, error)
	// OpenPTY starts a CLI on a session in a pseudo-terminal, for a human, under its owner's mark. Its output goes
	// to host as PTY events of at most PTYChunk bytes, and waits while the client does not read. Done is the last
	// event. After an error no process of it is left and no event follows. The end of ctx cancels only the start.
	OpenPTY(ctx context.Context, of Owner, claude ClaudeSpec, p PTYOpenParams, host Host) (Terminal, error)
	// Query starts a CLI for one prompt, under its owner's mark. When ctx ends, or the time limit of p is
	// over, all processes that it started are ended before Query returns; that takes at most a second.
	// Failures are *RPCError with a category. If the model finished without the output that the schema
	// requires, that is not a failure: Output is then absent.
	Query(ctx context.Context, of Owner, claude ClaudeSpec, p QueryParams) (QueryResult, error)
	// Sandbox runs a probe in a sandbox, under its owner's mark. One that is not available or
	// does not hold is a result and no error. Nothing of it is left when it returns.
	Sandbox(ctx context.Context, of Owner, p SandboxParams) (SandboxResult, error)
	// Sweep kills every process of its owner that outlived its agent and returns
	// how many there were. It is called when all agents have ended.
	Sweep(of Owner) int
}

// Host is the interface that an agent may call. It is safe for concurrent use.
type Host interface {
	// Emit passes an event on, in order for one agent. It may block while the client does not read
	// (back-pressure), but never forever.
	Emit(Event)
	// ToolCall, Permission and Judge ask the client and return within ctx, Judge within JudgeTimeout. With
	// an error they also return what the model should read: a tool's failure, a deny.
	ToolCall(ctx context.Context, p ToolCallParams) (ToolCallResult, error)
	Permission(ctx context.Context, p PermissionParams) (PermissionResult, error)
	Judge(ctx context.Context, p JudgeParams) (JudgeResult, error)
}

// Session is a running session: of an agent, or in a terminal.
type Session interface {
	Info() SpawnResult
	// Stop ends the process and waits until none of its own is left; now skips the orderly part. It may be
	// called again, also to shorten an orderly stop. If the deadline of ctx leaves no time for the orderly
	// part, TERM is sent at once; when ctx ends, Stop has sent KILL and returns.
	Stop(ctx context.Context, now bool) error
	// Done is closed after the session's `done` event was emitted. No event may be emitted after it.
	Done() <-chan struct{}
}

// Agent is one running Claude session. Methods are safe for concurrent use.
type Agent interface {
	Session
	// Message returns when the line is written to the CLI, not when it is delivered.
	Message(ctx context.Context, p MessageParams) error
	Interrupt(ctx context.Context) (InterruptResult, error)
	Context(ctx context.Context) (ContextResult, error)
	Ask(ctx context.Context, question string) (string, error)
	Configure(ctx context.Context, p ConfigureParams) error
	// Probe looks for signs of life. It takes at most ProbeTimeout and does not fail: a value that cannot
	// be determined is zero.
	Probe(ctx context.Context) ProbeResult
}
