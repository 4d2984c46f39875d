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
	hole   bool // no data goes through
	cut    bool // connections are reset, new ones too
	conns  map[net.Conn]bool
}

// NewRelay listens on loopback, and ends with the test.
func NewRelay(t testing.TB, target string) *Relay {
	t.Helper()
	r := &Relay{target: target, listener: Must(net.Listen("tcp", "127.0.0.1:0"))(t), conns: map[net.Conn]bool{}}
	r.change = sync.NewCond(&r.mu)
	r.wg.Go(func() {
		for {
			near, err := r.listener.Accept()
			if err != nil {
				return
			}
			r.wg.Go(func() { r.serve(near) })
		}
	})
	t.Cleanup(func() {
		_ = r.listener.Close()
		r.Cut()
		r.wg.Wait()
	})
	return r
}

// Addr returns the address on which it listens.
func (r *Relay) Addr() string { return r.listener.Addr().String() }

// Hole lets no data through any more, without an error: a network that swallows packets.
func (r *Relay) Hole() { r.set(true, false, false) }

// Cut breaks all connections, and each new one.
func (r *Relay) Cut() { r.set(false, true, true) }

// Reset breaks the existing connections. New ones are forwarded.
func (r *Relay) Reset() { r.set(false, false, true) }

// Restore ends a hole or a cut. Data that was held back in a hole is delivered, as if TCP had sent it again.
func (r *Relay) Restore() { r.set(false, false, false) }

// Holed reports whether no data goes through.
func (r *Relay) Holed() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.hole
}

func (r *Relay) set(hole, cut, reset bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.hole, r.cut = hole, cut
	for c := range r.conns {
		if reset {
			abort(c)
		}
	}
	r.change.Broadcast()
}

func abort(c net.Conn) {
	if tcp, ok := c.(*net.TCPConn); ok {
		_ = tcp.SetLinger(0)
	}
	_ = c.Close()
}

func (r *Relay) serve(near net.Conn) {
	defer r.add(near)()
	if !r.open(near) {
		return
	}
	far, err := net.Dial("tcp", r.target)
	if err != nil {
		abort(near)
		return
	}
	defer r.add(far)()
	var both sync.WaitGroup
	both.Go(func() { r.forward(near, far) })
	both.Go(func() { r.forward(far, near) })
	both.Wait()
}

// add registers a connection, or aborts it, and returns what forgets it.
func (r *Relay) add(c net.Conn) (drop func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.conns[c] = true; r.cut {
		abort(c)
	}
	return func() {
		_ = c.Close()
		r.mu.Lock()
		defer r.mu.Unlock()
		delete(r.conns, c)
	}
}

// open waits until data may go through; it returns false if connections are cut.
func (r *Relay) open(c net.Conn) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	for r.hole {
		r.change.Wait()
	}
	return !r.cut && r.conns[c]
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
