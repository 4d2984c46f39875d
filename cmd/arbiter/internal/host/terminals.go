package host

// This part of the package tracks which client has the session of an agent in a terminal: one client at a
// time.

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/bridge/control"
)

// Terminals tracks which client has which agent's session in a terminal: one at a time. It removes the output of
// terminals from the stream of events before the loop, and never blocks that stream.
type Terminals struct {
	mu    sync.Mutex
	holds map[string]*Claim // by agent
}

// Claim is one attachment, from before its terminal is open until after its end.
type Claim struct {
	who   string
	since time.Time
	term  string
	feed  *control.Feed

	mu     sync.Mutex
	size   control.Size
	ref    bridge.AgentRef // of the open terminal
	client *bridge.Client  // that has the terminal; nil before
}

// Claim reserves an agent for a client.
func (t *Terminals) Claim(agent, who string, size control.Size, term string) (*Claim, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if h := t.holds[agent]; h != nil {
		return nil, fmt.Errorf("%s is attached already: %s has it since %s", agent, h.who,
			h.since.Local().Format("15:04:05"))
	}
	if t.holds == nil {
		t.holds = map[string]*Claim{}
	}
	h := &Claim{who: who, since: time.Now(), term: term, size: size, feed: control.NewFeed(0)}
	t.holds[agent] = h
	return h, nil
}

// Release releases an agent.
func (t *Terminals) Release(agent string, h *Claim) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.holds[agent] == h {
		delete(t.holds, agent)
	}
}

func (t *Terminals) Of(agent string) *Claim {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.holds[agent]
}

// Holder returns the name of the client that has taken over an agent; empty: none.
func (t *Terminals) Holder(agent string) string {
	if h := t.Of(agent); h != nil {
		return h.who
	}
	return ""
}

// Tap returns the handler for a bridge: next, except for the output of terminals.
func (t *Terminals) Tap(next bridge.Handler) bridge.Handler { return tap{next, t} }

// tap passes the bridge's events to the loop, except the output of terminals.
type tap struct {
	bridge.Handler
	terminals *Terminals
}

// Event implements bridge.Handler.
func (e tap) Event(ev bridge.Event) {
	b, ok := ev.Body.(bridge.PTY)
	if !ok {
		e.Handler.Event(ev)
		return
	}
	if h := e.terminals.Of(ev.ID); h != nil {
		h.feed.Put(b.Data) // the reader of the feed disconnects a client that is too far behind
	}
}

// Size returns the size of the terminal that shows the session.
func (h *Claim) Size() control.Size {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.size
}

// Term returns the TERM of that terminal; it may be empty.
func (h *Claim) Term() string { return h.term }

// Take reads the output of the terminal.
func (h *Claim) Take(ctx context.Context, p []byte) (int, error) { return h.feed.Take(ctx, p) }

// Opened sets the open terminal for input, and reports a size that has changed since p.
func (h *Claim) Opened(ctx context.Context, c *bridge.Client, p bridge.PTYOpenParams) {
	h.mu.Lock()
	h.ref, h.client = p.AgentRef, c
	now := h.size
	h.mu.Unlock()
	if now.Cols != p.Cols || now.Rows != p.Rows {
		// it may have ended
		_ = c.PTYResize(ctx, bridge.PTYResizeParams{AgentRef: p.AgentRef, Cols: now.Cols, Rows: now.Rows})
	}
}

var errNotOpen = errors.New("the terminal is not open")

// typing is how long a terminal may accept no input before typing fails.
const typing = 10 * time.Second

func (h *Claim) Write(ctx context.Context, p []byte) error {
	h.mu.Lock()
	ref, client := h.ref, h.client
	h.mu.Unlock()
	if client == nil {
		return errNotOpen
	}
	ctx, cancel := context.WithTimeout(ctx, typing)
	defer cancel()
	for len(p) > 0 {
		n := min(len(p), bridge.MaxPTYWrite)
		if err := client.PTYWrite(ctx, bridge.PTYWriteParams{AgentRef: ref, Data: p[:n]}); err != nil {
			return err
		}
		p = p[n:]
	}
	return nil
}

func (h *Claim) Resize(ctx context.Context, s control.Size) error {
	h.mu.Lock()
	h.size = s
	ref, client := h.ref, h.client
	h.mu.Unlock()
	if client == nil {
		return nil // it will be opened with that size
	}
	ctx, cancel := context.WithTimeout(ctx, typing)
	defer cancel()
	return client.PTYResize(ctx, bridge.PTYResizeParams{AgentRef: ref, Cols: s.Cols, Rows: s.Rows})
}

// End ends the output in an orderly way.
func (h *Claim) End() { h.feed.End(io.EOF) }
