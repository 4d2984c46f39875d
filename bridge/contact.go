package bridge

import (
	"context"
	"fmt"
	"sync"
	"time"
)

// SilentError is the reason why a client gave up a remote bridge: the bridge no longer answered, or its
// ticks did not arrive.
type SilentError struct{ For time.Duration }

func (e *SilentError) Error() string {
	return fmt.Sprintf("the host was out of reach for %v", e.For.Round(time.Millisecond))
}

// contact is the client's end of a lease. A local bridge has none: it ends with its pipe.
type contact struct {
	now func() time.Duration // includes the time in suspend

	begun chan struct{} // closed when there is a lease
	once  sync.Once

	mu       sync.Mutex
	length   time.Duration // 0: there is no lease
	lastTick time.Duration // when the last tick was answered
	gone     bool          // ticks are no longer answered
	stopped  bool          // the bridge reported that all its processes have ended
}

// begin starts the client's side of the lease; the bridge has already begun its own.
func (c *contact) begin(length time.Duration) {
	c.mu.Lock()
	c.length, c.lastTick = length, c.now()
	c.mu.Unlock()
	c.once.Do(func() { close(c.begun) })
}

// tick answers a tick, which renews the lease, unless the client has given the bridge up or is about to:
// ticks that waited in the pipe while this process was stopped renew nothing.
func (c *contact) tick(context.Context, TickParams) (Empty, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.gone || c.length > 0 && c.now()-c.lastTick >= c.length/2 {
		return Empty{}, rpcErrorf(CodeShuttingDown, "the client has given this bridge up")
	}
	c.lastTick = c.now()
	return Empty{}, nil
}

// giveUp stops answering ticks.
func (c *contact) giveUp() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.gone = true
}

// silent gives the bridge up if no tick has come for half of the lease: the bridge sends four ticks per
// lease.
func (c *contact) silent() (since time.Duration, gaveUp bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	since = c.now() - c.lastTick
	if c.gone || c.length == 0 || since < c.length/2 {
		return 0, false
	}
	c.gone = true
	return since, true
}

// watch calls lost when the bridge has become silent. It returns then, or when done is closed.
func (c *contact) watch(done <-chan struct{}, lost func(error)) {
	select {
	case <-c.begun:
	case <-done:
		return
	}
	c.mu.Lock()
	length := c.length
	c.mu.Unlock()
	look := time.NewTicker(min(length/16, time.Second/4))
	defer look.Stop()
	for {
		if since, gaveUp := c.silent(); gaveUp {
			lost(&SilentError{since})
			return
		}
		select {
		case <-look.C:
		case <-done:
			return
		}
	}
}

// left returns the longest time until no process of the bridge runs.
func (c *contact) left() time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.length == 0 || c.stopped {
		return 0
	}
	return max(0, c.lastTick+c.length+LeaseGrace-c.now())
}

func (c *contact) leased() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.length > 0
}

func (c *contact) allStopped() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.stopped = true
}

// Stopped returns the time after which no process that this bridge has started can run, whatever the
// network does. certain reports that this is already so; then by is the present. While the bridge runs and
// its ticks are answered, the time moves on. A local bridge ends with its connection, so that the answer is
// certain when Done is closed.
func (c *Client) Stopped() (by time.Time, certain bool) {
	now := time.Now()
	left := c.contact.left()
	if left == 0 && !c.contact.leased() {
		select {
		case <-c.done:
		default:
			return now, false
		}
	}
	return now.Add(left), left == 0
}
