package main

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

// terminals knows who has which agent's session in a terminal: one at a time. It
// takes what the terminals show out of the stream of events, before the loop, and never
// holds that stream.
type terminals struct {
	mu    sync.Mutex
	holds map[string]*claim // by agent
}

// claim is one attachment, from before its terminal is open to after its end.
type claim struct {
	who   string
	since time.Time
	term  string
	feed  *control.Feed

	mu     sync.Mutex
	size   control.Size
	ref    bridge.AgentRef // of the open terminal
	client *bridge.Client  // that has it; nil before
}

// claim reserves an agent for somebody.
func (t *terminals) claim(agent, who string, size control.Size, term string) (*claim, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if h := t.holds[agent]; h != nil {
		return nil, fmt.Errorf("%s is attached already: %s has it since %s", agent, h.who,
			h.since.Local().Format("15:04:05"))
	}
	if t.holds == nil {
		t.holds = map[string]*claim{}
	}
	h := &claim{who: who, since: time.Now(), term: term, size: size, feed: control.NewFeed(0)}
	t.holds[agent] = h
	return h, nil
}

// release lets go of an agent.
func (t *terminals) release(agent string, h *claim) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.holds[agent] == h {
		delete(t.holds, agent)
	}
}

func (t *terminals) of(agent string) *claim {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.holds[agent]
}

// holder names who has an agent; empty: nobody.
func (t *terminals) holder(agent string) string {
	if h := t.of(agent); h != nil {
		return h.who
	}
	return ""
}

// terminalTap is what a bridge speaks to: the loop, but for what terminals show.
type terminalTap struct {
	bridge.Handler
	terminals *terminals
}

// Event implements bridge.Handler.
func (e terminalTap) Event(ev bridge.Event) {
	b, ok := ev.Body.(bridge.PTY)
	if !ok {
		e.Handler.Event(ev)
		return
	}
	if h := e.terminals.of(ev.ID); h != nil {
		h.feed.Put(b.Data) // the reader of the feed drops a client that is too far behind
	}
}

// opened notes what is written to, and reports a size that changed meanwhile.
func (h *claim) opened(ctx context.Context, c *bridge.Client, p bridge.PTYOpenParams) {
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

// typing bounds how long a terminal may take nothing of what is typed.
const typing = 10 * time.Second

func (h *claim) write(ctx context.Context, p []byte) error {
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

func (h *claim) resize(ctx context.Context, s control.Size) error {
	h.mu.Lock()
	h.size = s
	ref, client := h.ref, h.client
	h.mu.Unlock()
	if client == nil {
		return nil // it is opened with that size
	}
	ctx, cancel := context.WithTimeout(ctx, typing)
	defer cancel()
	return client.PTYResize(ctx, bridge.PTYResizeParams{AgentRef: ref, Cols: s.Cols, Rows: s.Rows})
}

// over ends what is shown, in order.
func (h *claim) over() { h.feed.End(io.EOF) }
