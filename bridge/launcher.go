package bridge

import (
	"context"
	"time"
)

// Deadlines that hold unless a request says otherwise.
const (
	DefaultStartTimeout = 45 * time.Second
	DefaultToolTimeout  = 60 * time.Second
	// JudgeTimeout is how long a tool call waits for the rules.
	JudgeTimeout = 20 * time.Second
	// ProbeTimeout is how long a probe waits for the agent itself to answer. A
	// healthy CLI does within milliseconds, also in mid-turn.
	ProbeTimeout = 5 * time.Second
	// ToolResultCap bounds the text of a tool_result event, in bytes.
	ToolResultCap = 16 << 10
)

// Owner names the run and the bridge that a process belongs to: all that a bridge starts is
// marked with both, since several bridges of a run can be on one machine.
type Owner struct {
	Run    string
	Bridge string // empty: the run's only one
}

// Launcher starts agents for a [Server]. Its failures are *RPCError where a
// client can act on them.
type Launcher interface {
	// Detect resolves the CLI and finds out its version.
	Detect(ctx context.Context, spec ClaudeSpec) (ClaudeInfo, error)
	// Launch starts an agent and returns when it is ready for a message. Events
	// go to host from then on and may come before it returns. After an error
	// nothing of the agent is left and no event follows. The end of ctx during the
	// start cancels it; once Launch has returned the agent runs by Stop alone.
	Launch(ctx context.Context, of Owner, claude ClaudeSpec, p SpawnParams, host Host) (Agent, error)
	// Sweep kills every process of its owner that outlived its agent and returns
	// how many there were. It is called when all agents have ended.
	Sweep(of Owner) int
}

// Host is what an agent may call. It is safe for concurrent use.
type Host interface {
	// Emit hands an event on, in order for one agent. It may block while the
	// client does not read (back-pressure), never for good.
	Emit(Event)
	// ToolCall, Permission and Judge ask the client and return within ctx, Judge within
	// JudgeTimeout. Beside an error they return what to tell the model: a tool's
	// failure, a deny.
	ToolCall(ctx context.Context, p ToolCallParams) (ToolCallResult, error)
	Permission(ctx context.Context, p PermissionParams) (PermissionResult, error)
	Judge(ctx context.Context, p JudgeParams) (JudgeResult, error)
}

// Agent is one live Claude session. Methods are safe for concurrent use.
type Agent interface {
	Info() SpawnResult
	// Message returns when the line is written to the CLI, not when it is delivered.
	Message(ctx context.Context, p MessageParams) error
	Interrupt(ctx context.Context) (InterruptResult, error)
	Context(ctx context.Context) (ContextResult, error)
	Ask(ctx context.Context, question string) (string, error)
	Configure(ctx context.Context, p ConfigureParams) error
	// Probe looks for signs of life. It takes ProbeTimeout at most and does not
	// fail: what cannot be found out is zero.
	Probe(ctx context.Context) ProbeResult
	// Stop ends the agent and waits until nothing of it is left; now skips the
	// orderly part. It may be called again, also to shorten an orderly stop. A
	// deadline of ctx that leaves no time for the orderly part shortens it, so
	// that TERM is sent at once; when ctx ends, Stop returns and KILL has been sent.
	Stop(ctx context.Context, now bool) error
	// Done is closed after the agent's `done` event was emitted. Nothing may be
	// emitted after that event.
	Done() <-chan struct{}
}
