package testkit

import (
	"net"
	"sync"
	"testing"
)

// Relay forwards TCP connections, and lets a test break them.
type Relay struct {
	target   string
	listener net.Listener
	wg       sync.WaitGroup

	mu     sync.Mutex
	change *sync.Cond
	closed bool
	hole   bool // no data goes through
	cut    bool // connections are reset, new ones too
	conns  map[net.Conn]bool
}

// NewRelay listens on loopback, and ends with the test.
func NewRelay(t testing.TB, target string) *Relay {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	r := &Relay{target: target, listener: l, conns: map[net.Conn]bool{}}
	r.change = sync.NewCond(&r.mu)
	r.wg.Go(r.accept)
	t.Cleanup(func() {
		r.mu.Lock()
		r.closed = true
		r.change.Broadcast()
		r.mu.Unlock()
		_ = l.Close()
		r.reset()
		r.wg.Wait()
	})
	return r
}

// Addr returns the address on which it listens.
func (r *Relay) Addr() string { return r.listener.Addr().String() }

func (r *Relay) set(change func()) {
	r.mu.Lock()
	change()
	r.change.Broadcast()
	r.mu.Unlock()
}

// Hole lets no data through any more, without an error: a network that swallows packets.
func (r *Relay) Hole() { r.set(func() { r.hole = true }) }

// Holed reports whether no data goes through.
func (r *Relay) Holed() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.hole
}

// Reset breaks the existing connections. New ones are forwarded.
func (r *Relay) Reset() { r.reset() }

// Cut breaks all connections, and each new one.
func (r *Relay) Cut() {
	r.set(func() { r.cut = true })
	r.reset()
}

// Restore ends a hole or a cut. Data that was held back in a hole is delivered, as if TCP had sent it again.
func (r *Relay) Restore() { r.set(func() { r.hole, r.cut = false, false }) }

// reset aborts all connections.
func (r *Relay) reset() {
	r.mu.Lock()
	defer r.mu.Unlock()
	for c := range r.conns {
		abort(c)
	}
	r.change.Broadcast()
}

func abort(c net.Conn) {
	if tcp, ok := c.(*net.TCPConn); ok {
		_ = tcp.SetLinger(0)
	}
	_ = c.Close()
}

func (r *Relay) accept() {
	for {
		near, err := r.listener.Accept()
		if err != nil {
			return
		}
		r.wg.Go(func() { r.serve(near) })
	}
}

func (r *Relay) serve(near net.Conn) {
	if !r.add(near) {
		return
	}
	defer r.drop(near)
	if !r.open(near) {
		return
	}
	far, err := net.Dial("tcp", r.target)
	if err != nil {
		abort(near)
		return
	}
	if !r.add(far) {
		return
	}
	defer r.drop(far)
	var both sync.WaitGroup
	both.Go(func() { r.forward(near, far) })
	both.Go(func() { r.forward(far, near) })
	both.Wait()
}

// add registers a connection, or aborts it.
func (r *Relay) add(c net.Conn) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.cut || r.closed {
		abort(c)
		return false
	}
	r.conns[c] = true
	return true
}

func (r *Relay) drop(c net.Conn) {
	_ = c.Close()
	r.set(func() { delete(r.conns, c) })
}

// open waits until data may go through; it returns false if it never will.
func (r *Relay) open(c net.Conn) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	for r.hole && !r.closed && !r.cut {
		r.change.Wait()
	}
	return !r.closed && r.conns[c]
}

func (r *Relay) forward(from, to net.Conn) {
	buf := make([]byte, 64<<10)
	for {
		n, err := from.Read(buf)
		if n > 0 {
			if !r.open(from) {
				return
			}
			if _, err := to.Write(buf[:n]); err != nil {
				abort(from)
				return
			}
		}
		if err != nil {
			if tcp, ok := to.(*net.TCPConn); ok && r.open(from) {
				_ = tcp.CloseWrite()
			}
			return
		}
	}
}
