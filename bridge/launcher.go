package bridge

import (
	"context"
	"time"
)

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

// Owner names the run and the bridge to which a process belongs: all processes that a bridge starts are
// marked with both, since several bridges of a run can be on one machine.
type Owner struct {
	Run    string
	Bridge string // empty: the run's only one
}

// Launcher starts agents for a [Server]. Its errors are *RPCError if a client can act on them.
type Launcher interface {
	// Detect resolves the CLI and determines its version.
	Detect(ctx context.Context, spec ClaudeSpec) (ClaudeInfo, error)
	// Launch starts an agent and returns when it is ready for a message. Events go to host from then on and
	// may come before it returns. After an error no process of the agent is left and no event follows. The
	// end of ctx during the start cancels it; once Launch has returned, only Stop ends the agent.
	Launch(ctx context.Context, of Owner, claude ClaudeSpec, p SpawnParams, host Host) (Agent, error)
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

// Agent is one running Claude session. Methods are safe for concurrent use.
type Agent interface {
	Info() SpawnResult
	// Message returns when the line is written to the CLI, not when it is delivered.
	Message(ctx context.Context, p MessageParams) error
	Interrupt(ctx context.Context) (InterruptResult, error)
	Context(ctx context.Context) (ContextResult, error)
	Ask(ctx context.Context, question string) (string, error)
	Configure(ctx context.Context, p ConfigureParams) error
	// Probe looks for signs of life. It takes at most ProbeTimeout and does not fail: a value that cannot
	// be determined is zero.
	Probe(ctx context.Context) ProbeResult
	// Stop ends the agent and waits until no process of it is left; now skips the orderly part. It may be
	// called again, also to shorten an orderly stop. If the deadline of ctx leaves no time for the orderly
	// part, TERM is sent at once; when ctx ends, Stop has sent KILL and returns.
	Stop(ctx context.Context, now bool) error
	// Done is closed after the agent's `done` event was emitted. No event may be emitted after it.
	Done() <-chan struct{}
}
