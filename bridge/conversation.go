package bridge

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os/exec"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sourcegraph/jsonrpc2"

	"github.com/arbiter-cli/arbiter/bridge/crashpoint"
)

// conversation is the state of one client: what initialize agreed on, and its agents.
type conversation struct {
	launcher  Launcher
	version   string
	p         *peer
	agents    *registry
	collector EvidenceCollector
	machine   Machine // may be nil
	inquiries *inquiries
	// onHost are requests to the machine. They are served even after `shutdown`: directories can be removed
	// when no agent works there any more.
	onHost  *inquiries
	now     func() time.Duration
	renewed func(time.Duration)
	expired chan struct{}         // closed when the lease is over
	lease   atomic.Pointer[lease] // nil while there is none
	leased  sync.WaitGroup        // of the goroutine that renews it

	// initialize sets these; no other request is served before.
	owner   Owner
	spec    ClaudeSpec
	passEnv map[string]string // of a remote bridge

	mu    sync.Mutex
	phase phase
}

type phase int

const (
	fresh       phase = iota
	detecting         // an initialize is being served
	initialized       // one succeeded
)

// capabilities are the methods that a client may call and that this bridge serves.
func (c *conversation) capabilities() (names []string) {
	for _, m := range methodKinds {
		if m.from != "bridge" && c.unsupported(m.name) == nil {
			names = append(names, m.name)
		}
	}
	return names
}

// unsupported refuses a method that this bridge does not serve.
func (c *conversation) unsupported(method string) error {
	switch method {
	case MethodResolve, MethodInventory, MethodPrepareWork, MethodCommitWork, MethodRemoveWork:
		if c.lease.Load() == nil {
			return rpcErrorf(CodeUnsupported, "only a remote bridge has "+method)
		}
	}
	return nil
}

func newConversation(s *Server, rwc io.ReadWriteCloser) *conversation {
	c := &conversation{launcher: s.launcher, version: s.opts.Version, collector: s.opts.Evidence,
		machine: s.opts.Machine, now: s.opts.Now, renewed: s.opts.Renewed, expired: make(chan struct{}),
		inquiries: newInquiries(), onHost: newInquiries()}
	methods := map[string]handlerFunc{
		MethodInitialize: method(c.initialize),
		MethodSpawn:      method(c.spawn),
		MethodKill:       method(c.kill),
		MethodCheck:      method(c.check),
		MethodInspect:    method(c.inspect),
		MethodQuery:      method(c.query),
		MethodSandbox:    method(c.sandbox),
		MethodShutdown:   method(c.shutdown),
		MethodMessage: onAgent(c, func(ctx context.Context, a Agent, p MessageParams) (Empty, error) {
			crashpoint.Here("bridge.message")
			err := a.Message(ctx, p)
			crashpoint.Here("bridge.messaged")
			return Empty{}, err
		}),
		MethodInterrupt: onAgent(c, func(ctx context.Context, a Agent, _ InterruptParams) (InterruptResult, error) {
			return a.Interrupt(ctx)
		}),
		MethodContext: onAgent(c, func(ctx context.Context, a Agent, _ ContextParams) (ContextResult, error) {
			return a.Context(ctx)
		}),
		MethodAsk: onAgent(c, func(ctx context.Context, a Agent, p AskParams) (AskResult, error) {
			answer, err := a.Ask(ctx, p.Question)
			return AskResult{Answer: answer}, err
		}),
		MethodConfigure: onAgent(c, func(ctx context.Context, a Agent, p ConfigureParams) (Empty, error) {
			return Empty{}, a.Configure(ctx, p)
		}),
		MethodProbe: onSession(c, func(ctx context.Context, s Session, _ ProbeParams) (r ProbeResult, err error) {
			if a, ok := s.(Agent); ok { // a session that a human uses is not monitored
				r = a.Probe(ctx)
			}
			return r, nil
		}),
		MethodPTYOpen: method(c.openPTY),
		MethodPTYWrite: onTerminal(c, func(ctx context.Context, t Terminal, p PTYWriteParams) error {
			return t.Write(ctx, p.Data)
		}),
		MethodPTYResize: onTerminal(c, func(_ context.Context, t Terminal, p PTYResizeParams) error {
			return t.Resize(p.Cols, p.Rows)
		}),
		MethodPTYClose: method(func(ctx context.Context, p PTYCloseParams) (Empty, error) {
			return c.kill(ctx, KillParams{AgentRef: p.AgentRef})
		}),

		MethodResolve: onMachine(c, MethodResolve,
			func(m Machine, ctx context.Context, p ResolveParams) (ResolveResult, error) {
				return ResolveResult{Paths: m.Resolve(ctx, p.Paths)}, ctx.Err()
			}),
		MethodInventory:   onMachine(c, MethodInventory, Machine.Inventory),
		MethodPrepareWork: onMachine(c, MethodPrepareWork, Machine.PrepareWork),
		MethodCommitWork:  onMachine(c, MethodCommitWork, Machine.CommitWork),
		MethodRemoveWork:  onMachine(c, MethodRemoveWork, Machine.RemoveWork),
	}
	for name, serve := range methods {
		if name != MethodInitialize {
			methods[name] = c.afterInitialize(name, serve)
		}
	}
	c.p = newPeer(rwc, s.opts.Logger, peerOptions{methods: methods, halfOpen: true, writeTimeout: s.opts.WriteTimeout})
	c.p.valid = func() error { return c.lease.Load().check() }
	c.agents = newRegistry(s.launcher, c.p, s.opts.Logger, c.inquiries)
	return c
}

func (c *conversation) afterInitialize(name string, serve handlerFunc) handlerFunc {
	return func(ctx context.Context, params json.RawMessage) (any, error) {
		c.mu.Lock()
		phase := c.phase
		c.mu.Unlock()
		if phase != initialized {
			return nil, rpcErrorf(CodeNotInitialized, "initialize comes first, and its answer is to be waited for")
		}
		if err := c.lease.Load().check(); err != nil {
			return nil, err
		}
		if err := c.unsupported(name); err != nil {
			return nil, err
		}
		return serve(ctx, params)
	}
}

func (c *conversation) initialize(ctx context.Context, p InitializeParams) (InitializeResult, error) {
	if p.ProtocolVersion != ProtocolVersion {
		return InitializeResult{}, p.versionError(c.version,
			fmt.Sprintf("the client uses protocol version %d, this bridge version %d", p.ProtocolVersion, ProtocolVersion))
	}
	if err := c.mayBeRemote(p); err != nil {
		return InitializeResult{}, err
	}
	if !c.advance(fresh, detecting) {
		return InitializeResult{}, rpcErrorf(jsonrpc2.CodeInvalidRequest, "initialize comes once")
	}
	done := false
	defer func() { // also after a panic: a client may try again with another CLI
		if !done {
			c.advance(detecting, fresh)
		}
	}()
	info, err := c.launcher.Detect(ctx, p.Claude)
	if err != nil {
		return InitializeResult{}, p.Remote.explain(detectError(err))
	}
	remote, err := c.beginRemote(ctx, p)
	if err != nil {
		return InitializeResult{}, err
	}
	c.owner, c.spec = p.owner(), p.Claude
	c.agents.begin(p.owner())
	done = c.advance(detecting, initialized)
	return InitializeResult{ProtocolVersion: ProtocolVersion, Version: c.version, Capabilities: c.capabilities(),
		Claude: info, Remote: remote}, nil
}

func (c *conversation) advance(from, to phase) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.phase != from {
		return false
	}
	c.phase = to
	return true
}

// detectError adds to a launcher's plain error a code on which the client can act.
func detectError(err error) error {
	var typed *RPCError
	if errors.As(err, &typed) || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	category := CatStart
	if errors.Is(err, exec.ErrNotFound) || errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrPermission) {
		category = CatClaudeMissing
	}
	return &RPCError{Code: CodeClaude, Category: category, Message: err.Error()}
}

func (c *conversation) spawn(ctx context.Context, p SpawnParams) (SpawnResult, error) {
	inc, err := c.agents.claim(p.AgentRef, p.Config.SessionID)
	if err != nil {
		return SpawnResult{}, err
	}
	crashpoint.Here("bridge.spawn")
	p.Config.Env = c.passed(p.Config.Env)
	agent, err := inc.start(ctx, p.Config.StartTimeout(), func(ctx context.Context) (Session, error) {
		return c.launcher.Launch(ctx, c.owner, c.spec, p, inc.host)
	})
	if err != nil {
		return SpawnResult{}, err
	}
	crashpoint.Here("bridge.spawned")
	return agent.Info(), nil
}

// kill continues if its caller gives up: a stop must not be left half done.
func (c *conversation) kill(ctx context.Context, p KillParams) (Empty, error) {
	inc, err := c.agents.find(p.AgentRef)
	if err != nil {
		return Empty{}, err
	}
	crashpoint.Here("bridge.kill")
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), killTimeout)
	defer cancel()
	return Empty{}, inc.stop(ctx, p.Now)
}

func (c *conversation) shutdown(_ context.Context, p ShutdownParams) (ShutdownResult, error) {
	return c.agents.stopAll(orDefault(p.GraceMS, defaultGrace), shutdownHard), nil
}

// onAgent makes a handler from a function on a running agent.
func onAgent[P interface{ ref() AgentRef }, R any](c *conversation,
	serve func(context.Context, Agent, P) (R, error)) handlerFunc {
	return onSession(c, func(ctx context.Context, s Session, p P) (r R, err error) {
		a, ok := s.(Agent)
		if !ok {
			return r, rpcErrorf(CodeRefused, "a human has the session in a terminal")
		}
		return serve(ctx, a, p)
	})
}

// onSession makes a handler from a function on a running session. A request for one that is still starting
// waits until it has started.
func onSession[P interface{ ref() AgentRef }, R any](c *conversation,
	serve func(context.Context, Session, P) (R, error)) handlerFunc {
	return method(func(ctx context.Context, p P) (R, error) {
		var none R
		inc, err := c.agents.find(p.ref())
		if err != nil {
			return none, err
		}
		session, err := inc.ready(ctx)
		if err != nil {
			return none, err
		}
		r, err := serve(ctx, session, p)
		if err != nil {
			return none, inc.explain(err)
		}
		return r, nil
	})
}
