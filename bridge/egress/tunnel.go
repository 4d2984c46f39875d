package egress

import (
	"bufio"
	"bytes"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// tunnel answers a CONNECT and joins the two connections. Both are closed when it returns.
func (p *Proxy) tunnel(in buffered, out net.Conn, t target) {
	defer in.Close()
	if _, err := io.WriteString(in, "HTTP/1.1 200 Connection established\r\n\r\n"); err != nil {
		out.Close()
		return
	}
	p.join(&greeting{buffered: in, p: p, t: t}, out)
}

// greeting is the client's side of a tunnel. Its first bytes are checked when they come: until then, the server may
// speak, as in many protocols it does first.
type greeting struct {
	buffered
	p       *Proxy
	t       target
	checked bool
}

var errOther = errors.New("the tunnel is for another server")

func (g *greeting) Read(b []byte) (int, error) {
	if !g.checked {
		first, err := g.in.Peek(1)
		if err != nil {
			return 0, err
		}
		if !g.named(first[0]) {
			g.p.asked.report(g.t, "a tunnel to "+g.t.String()+" was for another server: it was closed")
			return 0, errOther
		}
		g.checked = true
	}
	return g.in.Read(b)
}

// named reports whether what begins with a byte is TLS for the tunnel's host, or no TLS and not meant to be.
func (g *greeting) named(first byte) bool {
	if first != 0x16 { // a handshake
		return g.t.port != 443
	}
	_ = g.SetReadDeadline(time.Now().Add(headerTimeout))
	var read bytes.Buffer
	name, greeted := "", errors.New("greeted")
	_ = tls.Server(listening{g.Conn, io.TeeReader(g.in, &read)}, &tls.Config{
		GetConfigForClient: func(hello *tls.ClientHelloInfo) (*tls.Config, error) {
			name = hello.ServerName
			return nil, greeted
		},
	}).Handshake() // it always fails
	g.in = bufio.NewReader(io.MultiReader(&read, g.in))
	_, isAddr := address(g.t.host)
	return strings.EqualFold(strings.TrimSuffix(name, "."), g.t.host) || name == "" && isAddr
}

// listening is a connection that says nothing.
type listening struct {
	net.Conn
	io.Reader
}

func (l listening) Read(p []byte) (int, error) { return l.Reader.Read(p) }

func (listening) Write(p []byte) (int, error) { return len(p), nil }

func (listening) Close() error { return nil }

// join copies in both directions until both have ended, or nothing was copied for a while. It closes both.
func (p *Proxy) join(in, out net.Conn) {
	defer p.own(out)()
	var last atomic.Int64 // when something was copied
	last.Store(time.Now().UnixNano())
	var other sync.WaitGroup
	other.Go(func() { stream(out, in, &last) })
	stream(in, out, &last)
	other.Wait()
	in.Close()
	out.Close()
}

// stream copies one direction, and ends it when its source does. After an error, or when both directions were
// silent for too long, it ends both.
func stream(to, from net.Conn, last *atomic.Int64) {
	buf := make([]byte, 32<<10)
	for {
		_ = from.SetReadDeadline(time.Now().Add(idleTimeout))
		n, err := from.Read(buf)
		if n > 0 {
			last.Store(time.Now().UnixNano())
			_ = to.SetWriteDeadline(time.Now().Add(idleTimeout))
			if _, werr := to.Write(buf[:n]); werr != nil {
				err = werr
			}
		}
		switch {
		case err == nil:
		case errors.Is(err, os.ErrDeadlineExceeded) && time.Since(time.Unix(0, last.Load())) < idleTimeout:
		case errors.Is(err, io.EOF):
			_ = closeWrite(to)
			return
		default:
			from.Close()
			to.Close()
			return
		}
	}
}

// closeWrite ends one direction of a connection, or the connection if that is not possible.
func closeWrite(c net.Conn) error {
	if half, ok := c.(interface{ CloseWrite() error }); ok {
		return half.CloseWrite()
	}
	return c.Close()
}
