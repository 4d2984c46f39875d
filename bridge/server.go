package bridge

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"time"
)

// The end of a connection takes at most two seconds, until no process may run: the process at the other end
// may have been killed. These are its parts.
const (
	endGrace = time.Second            // orderly stops; then KILL and sweep
	endHard  = 400 * time.Millisecond // for KILL to take effect
	endFlush = 100 * time.Millisecond // for the last events to be read
)

// ServerOptions are the options of a server; all but Evidence may be zero.
type ServerOptions struct {
	Version string       // the program's version, reported by initialize
	Logger  *slog.Logger // nil discards
	// WriteTimeout is how long the client may read nothing before the connection
	// is given up; 0 means DefaultWriteTimeout.
	WriteTimeout time.Duration
	// Evidence serves `check` and `survey`.
	Evidence EvidenceCollector
	// Machine is the host of a remote bridge; nil refuses to be remote.
	Machine Machine
	// Now is the clock of leases; nil means [BootTime]. It must include the time in suspend.
	Now func() time.Duration
	// Renewed is called with each new end of the lease, by that clock. It must not block. May be nil.
	Renewed func(until time.Duration)
}

// Server serves the protocol over the agents of a [Launcher].
type Server struct {
	launcher Launcher
	opts     ServerOptions
}

// NewServer returns a server. Each call of Serve is a conversation with agents of its own.
func NewServer(l Launcher, opts ServerOptions) *Server {
	if opts.Logger == nil {
		opts.Logger = slog.New(slog.DiscardHandler)
	}
	if opts.Now == nil {
		opts.Now = BootTime
	}
	return &Server{launcher: l, opts: opts}
}

// UnstoppedError names the agents and checks that still ran when Serve gave up waiting.
type UnstoppedError struct{ Names []string }

func (e *UnstoppedError) Error() string { return "did not stop: " + strings.Join(e.Names, ", ") }

// Serve serves one client until its end of rwc is closed, nothing can be written to it, or ctx ends. Then
// it stops all agents and closes rwc. It returns within two seconds: nil if the client closed and
// everything stopped, otherwise the reason, with an *UnstoppedError for what did not stop.
func (s *Server) Serve(ctx context.Context, rwc io.ReadWriteCloser) error {
	c := newConversation(s, rwc)
	p := c.p
	p.s.start()
	var cause error
	select {
	case <-ctx.Done():
		cause = context.Cause(ctx)
	case <-c.expired:
		cause = errLeaseOver
	case <-p.s.reading.Done():
		if cause = p.s.readErr; cause == io.EOF {
			cause = nil
		}
	case <-p.s.failed:
		cause = p.s.cause
	}
	if cause != nil {
		cause = fmt.Errorf("serve bridge: %w", cause)
	}
	return errors.Join(cause, c.end())
}

// end stops everything, in this order: new requests, the agents, the requests being served, the remaining
// output, the pipe.
func (c *conversation) end() error {
	begun := time.Now()
	c.p.refuseNew()
	c.onHost.end() // and the ticks of the lease
	report := c.agents.stopAll(endGrace, endHard)
	report.Unstopped = append(report.Unstopped, c.onHost.wait(max(endFlush, endGrace-time.Since(begun)))...)
	// Requests that end soon are still answered: this serves an `initialize` piped into the bridge by hand,
	// whose writer has closed its end by now.
	within(max(0, endGrace-time.Since(begun)), c.p.serving.Wait)
	c.p.s.out.drain(endFlush)
	c.p.close(io.EOF)
	within(endFlush, c.leased.Wait)
	if !within(endFlush, c.p.serving.Wait) {
		report.Unstopped = append(report.Unstopped, "a request")
	}
	if len(report.Unstopped) > 0 {
		return &UnstoppedError{report.Unstopped}
	}
	return nil
}
