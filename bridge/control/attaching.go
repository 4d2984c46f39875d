package control

import (
	"context"
	"errors"
	"io"
	"time"

	"github.com/sourcegraph/jsonrpc2"
)

const (
	// chunk is the number of bytes of output in one notification.
	chunk = 32 << 10
	// returning bounds how long it may take to give a session back.
	returning = 30 * time.Second
	// maxSide bounds a terminal, in cells.
	maxSide = 10_000
)

func badParams(text string) error {
	return &jsonrpc2.Error{Code: jsonrpc2.CodeInvalidParams, Message: text}
}

func (s Size) check() error {
	if s.Cols < 1 || s.Rows < 1 || s.Cols > maxSide || s.Rows > maxSide {
		return badParams("cols and rows must be between 1 and 10000")
	}
	return nil
}

// OpenError is the error of a [Service] for a session that it tried to open, and could not.
type OpenError struct{ Agent, Reason string }

func (e *OpenError) Error() string { return e.Agent + " cannot be attached to: " + e.Reason }

// attach opens an agent's session for this connection.
func (c *client) attach(p AttachParams) (*attached, error) {
	if p.Agent == "" {
		return nil, badParams("agent is missing")
	}
	if err := p.check(); err != nil {
		return nil, err
	}
	c.mu.Lock()
	busy := c.busy
	c.busy = true
	c.mu.Unlock()
	if busy {
		return nil, &jsonrpc2.Error{Code: CodeFailed, Message: "this connection has a session attached already"}
	}
	a, err := c.s.service.Attach(c.ctx, c.peer.String(), p, func(text string) {
		_ = c.conn.Notify(c.ctx, NotifyProgress, Progress{Text: text}) // if the connection has ended, ctx ends
	})
	c.mu.Lock()
	defer c.mu.Unlock()
	if err != nil {
		c.busy = false
		return nil, err
	}
	c.attached = a
	r := a.Result()
	r.V = Version
	return &attached{r, a}, nil
}

// copyOutput sends the output until it ends, and reports how it ended.
func (c *client) copyOutput(a Attachment) {
	buf := make([]byte, chunk)
	for {
		n, err := a.Take(c.ctx, buf)
		if err == nil {
			err = c.conn.Notify(c.ctx, NotifyPTY, Data{Data: buf[:n]})
		}
		if err == nil {
			continue
		}
		ended := c.detach(a)
		if errors.Is(err, errBehind) {
			ended.Reason, ended.Dropped = err.Error()+"; the session was given back", true
		} else if !errors.Is(err, io.EOF) && ended.Reason == "" {
			ended.Reason = err.Error()
		}
		_ = c.conn.Notify(context.Background(), NotifyEnded, ended) // the client may have gone
		return
	}
}

// opened returns what is attached.
func (c *client) opened() (Attachment, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.attached == nil {
		return nil, &jsonrpc2.Error{Code: CodeFailed, Message: "nothing is attached"}
	}
	return c.attached, nil
}

// leave gives back the attached session.
func (c *client) leave() {
	if a, err := c.opened(); err == nil {
		c.detach(a)
	}
}

// detach does not end with the connection: the session must be given back even if the connection has ended.
func (c *client) detach(a Attachment) Ended {
	ctx, cancel := context.WithTimeout(context.Background(), returning)
	defer cancel()
	ended := a.Detach(ctx)
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.attached == a {
		c.attached, c.busy = nil, false
	}
	return ended
}
