package bridge

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"
)

// startSlack is added to an agent's start timeout before the server itself ends a start: the launcher
// enforces the timeout; this is for a launcher that hangs.
const startSlack = 5 * time.Second

// Why a start is cancelled, apart from its caller giving up.
var (
	errStopped  = errors.New("stopped while it was starting")
	errNotReady = errors.New("not ready in time")
)

// incarnation is one process of one agent, from the claim of its id on.
type incarnation struct {
	ref       AgentRef
	session   string
	host      *host
	ctx       context.Context // of the start
	cancel    context.CancelCauseFunc
	startDone chan struct{} // closed when the start is over
	agent     Session       // nil when it failed; read after startDone

	agentless bool // it is over, and only its name is kept
}

func newIncarnation(ref AgentRef, session string, p *peer, log *slog.Logger) *incarnation {
	inc := &incarnation{ref: ref, session: session, host: &host{ref: ref, p: p, log: log}, startDone: make(chan struct{})}
	inc.ctx, inc.cancel = context.WithCancelCause(context.Background())
	return inc
}

// start launches the agent. The end of ctx, stop and the timeout cancel it; if the agent became ready
// nevertheless, it is ended before start returns.
func (i *incarnation) start(ctx context.Context, timeout time.Duration,
	launch func(context.Context) (Session, error)) (Session, error) {
	defer func() {
		if i.agent == nil {
			i.host.close()
		}
		close(i.startDone)
	}()
	release := context.AfterFunc(ctx, func() { i.cancel(context.Cause(ctx)) })
	defer release()
	timer := time.AfterFunc(timeout+startSlack, func() { i.cancel(errNotReady) })
	defer timer.Stop()

	agent, err := launch(i.ctx)
	if err == nil && agent == nil {
		err = errors.New("the launcher returned no agent")
	}
	if err == nil && i.ctx.Err() != nil {
		stopCtx, done := context.WithTimeout(context.Background(), killTimeout)
		defer done()
		if err = agent.Stop(stopCtx, true); err != nil {
			i.agent = agent // it still runs: stopAll tries again and reports it
		}
		err = i.ctx.Err()
	}
	if err != nil {
		return nil, i.startError(err)
	}
	i.agent = agent
	return agent, nil
}

func (i *incarnation) startError(err error) error {
	switch cause := context.Cause(i.ctx); {
	case cause == nil:
	case errors.Is(cause, errStopped):
		return rpcErrorf(CodeEnded, fmt.Sprintf("%s was %v", i.ref, cause))
	case errors.Is(cause, errNotReady):
		return &RPCError{Code: CodeClaude, Category: CatStart, Message: fmt.Sprintf("%s was %v", i.ref, cause)}
	default:
		return fmt.Errorf("start %s: %w", i.ref, cause)
	}
	var typed *RPCError
	if errors.As(err, &typed) {
		return err
	}
	return &RPCError{Code: CodeClaude, Category: CatStart, Message: fmt.Sprintf("start %s: %v", i.ref, err)}
}

// ready waits until the agent has started.
func (i *incarnation) ready(ctx context.Context) (Session, error) {
	select {
	case <-i.startDone:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	if i.agent == nil {
		return nil, i.endedError()
	}
	return i.agent, nil
}

// stop ends the incarnation, even while it is starting, and returns when its `done` has been queued for the
// client, or ctx has ended.
func (i *incarnation) stop(ctx context.Context, now bool) error {
	select {
	case <-i.startDone:
	default:
		i.cancel(errStopped)
	}
	agent, err := i.ready(ctx)
	if err != nil {
		if ctx.Err() != nil {
			return fmt.Errorf("stop %s: its start does not end: %w", i.ref, ctx.Err())
		}
		return nil // it never started
	}
	if err = agent.Stop(ctx, now); err == nil {
		select {
		case <-agent.Done():
		case <-ctx.Done():
			err = ctx.Err()
		}
	}
	if err != nil && !i.ended() {
		return fmt.Errorf("stop %s: %w", i.ref, err)
	}
	return nil
}

// ended reports whether the incarnation is over: its `done` was emitted, so that a client that has seen it
// may claim the id at once, or its start has failed.
func (i *incarnation) ended() bool {
	if i.host.isClosed() {
		return true
	}
	select {
	case <-i.startDone:
	default:
		return false
	}
	if i.agent == nil {
		return true
	}
	select {
	case <-i.agent.Done():
		return true
	default:
		return false
	}
}

// remembered returns the little that is needed of an ended incarnation. Its agent, with all its records and
// buffers, is released: a run may have thousands.
func (i *incarnation) remembered() *incarnation {
	if i.agentless {
		return i
	}
	r := &incarnation{ref: i.ref, host: &host{ref: i.ref, p: i.host.p, log: i.host.log, closed: true},
		startDone: make(chan struct{}), agentless: true}
	close(r.startDone)
	return r
}

func (i *incarnation) endedError() error {
	return rpcErrorf(CodeEnded, i.ref.String()+" has ended")
}

// explain converts an error of an agent's method for the wire: most plain errors occur because the agent has
// just ended.
func (i *incarnation) explain(err error) error {
	var typed *RPCError
	if !errors.As(err, &typed) && i.ended() {
		return i.endedError()
	}
	return err
}
