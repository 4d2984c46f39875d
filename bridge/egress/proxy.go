package egress

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httputil"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"time"
)

// Options say where a proxy leads.
type Options struct {
	Rules    Rules
	Upstream Upstream
	// Ask decides about a host that is not listed; nil: it is refused. It is called once for each host and port; what
	// it allows, it allows as long as the proxy exists. why is what the caller reads if it is refused.
	Ask func(ctx context.Context, host string, port int) (allowed bool, why string)
	// Report is called with each host that is refused without Ask, once.
	Report func(host string, port int, why string)

	resolve func(ctx context.Context, host string) ([]netip.Addr, error)
	dial    dialer
}

type dialer func(ctx context.Context, network, address string) (net.Conn, error)

const (
	dialTimeout   = 30 * time.Second
	headerTimeout = 30 * time.Second
	acceptPause   = 100 * time.Millisecond
	idleTimeout   = 30 * time.Minute // of a connection over which nothing goes in either direction
	maxConns      = 256              // at a time: a process must not take all descriptors of its bridge
)

// Proxy serves one process tree.
type Proxy struct {
	o      Options
	ctx    context.Context
	cancel context.CancelFunc
	slots  chan struct{}
	server *http.Server
	plain  *httputil.ReverseProxy
	asked  asked
	wg     sync.WaitGroup

	mu     sync.Mutex
	closed bool
}

// New returns a proxy that serves nothing yet.
func New(o Options) *Proxy {
	if o.resolve == nil {
		o.resolve = func(ctx context.Context, host string) ([]netip.Addr, error) {
			return net.DefaultResolver.LookupNetIP(ctx, "ip", host)
		}
	}
	if o.dial == nil {
		o.dial = (&net.Dialer{Timeout: dialTimeout}).DialContext
	}
	p := &Proxy{o: o, slots: make(chan struct{}, maxConns)}
	p.ctx, p.cancel = context.WithCancel(context.Background())
	p.asked = asked{p: p, seen: map[target]*question{}, reported: map[target]bool{}}
	silent := slog.NewLogLogger(slog.DiscardHandler, slog.LevelDebug)
	p.server = &http.Server{Handler: http.HandlerFunc(p.serve), ReadHeaderTimeout: headerTimeout,
		IdleTimeout: headerTimeout, MaxHeaderBytes: 64 << 10, ErrorLog: silent,
		BaseContext: func(net.Listener) context.Context { return p.ctx }}
	p.plain = &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) {
		r.Out.Host = strings.TrimSuffix(r.Out.URL.Host, ":80")
	},
		ErrorHandler: func(w http.ResponseWriter, _ *http.Request, err error) { refuse(w, err) }, ErrorLog: silent,
		Transport: &http.Transport{DialContext: p.dialPlain, Proxy: p.plainUpstream, DisableCompression: true,
			IdleConnTimeout: headerTimeout, TLSHandshakeTimeout: dialTimeout, ResponseHeaderTimeout: idleTimeout}}
	return p
}

// Serve accepts HTTP requests on l until the proxy is closed.
func (p *Proxy) Serve(l net.Listener) {
	if !p.begin() {
		l.Close()
		return
	}
	defer p.wg.Done()
	_ = p.server.Serve(&limited{l, p}) // it ends when the proxy is closed
}

// Forward connects what l accepts to the address of this computer that has the same name outside.
func (p *Proxy) Forward(l net.Listener, to string) {
	defer l.Close()
	if !p.begin() {
		return
	}
	defer p.wg.Done()
	defer p.own(l)()
	from := &limited{l, p}
	for p.ctx.Err() == nil {
		conn, err := from.Accept()
		if err != nil {
			select { // without descriptors it fails for a while
			case <-p.ctx.Done():
			case <-time.After(acceptPause):
			}
			continue
		}
		p.wg.Go(func() {
			defer conn.Close()
			if out, err := p.o.dial(p.ctx, "tcp", to); err == nil {
				p.join(conn, out)
			}
		})
	}
}

// Close ends all connections and waits for the goroutines.
func (p *Proxy) Close() {
	p.cancel()
	p.mu.Lock()
	p.closed = true
	p.mu.Unlock()
	p.server.Close()
	p.wg.Wait()
	p.plain.Transport.(*http.Transport).CloseIdleConnections()
}

// begin announces a goroutine to wait for. It returns false after the end.
func (p *Proxy) begin() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.closed {
		p.wg.Add(1)
	}
	return !p.closed
}

// own has c closed at the end, unless disown is called before.
func (p *Proxy) own(c io.Closer) (disown func() bool) {
	return context.AfterFunc(p.ctx, func() { c.Close() })
}

// limited accepts connections while there are not too many, and closes them with the proxy.
type limited struct {
	net.Listener
	p *Proxy
}

// Accept waits for a connection, and for a slot.
func (l *limited) Accept() (net.Conn, error) {
	select {
	case l.p.slots <- struct{}{}:
	case <-l.p.ctx.Done():
		return nil, net.ErrClosed
	}
	conn, err := l.Listener.Accept()
	if err != nil {
		<-l.p.slots
		return nil, err
	}
	return &client{Conn: conn, slots: l.p.slots, disown: l.p.own(conn)}, nil
}

// client is a connection from inside.
type client struct {
	net.Conn
	slots  <-chan struct{}
	disown func() bool
	once   sync.Once
}

// Close closes the connection and frees its slot.
func (c *client) Close() error {
	err := c.Conn.Close()
	c.once.Do(func() {
		c.disown()
		<-c.slots
	})
	return err
}

// CloseWrite ends one direction.
func (c *client) CloseWrite() error { return closeWrite(c.Conn) }

// target is where a request leads.
type target struct {
	host string
	port int
}

func (t target) String() string { return net.JoinHostPort(t.host, strconv.Itoa(t.port)) }

// targetOf reads a request's target from its URI; the port of a URI without one is usual.
func targetOf(u *url.URL, usual string) (t target, err error) {
	if u.User != nil {
		return t, errors.New("a name before the host")
	}
	if t.host, err = cleanHost(u.Hostname()); err != nil {
		return t, err
	}
	port := u.Port()
	if port == "" {
		port = usual
	}
	t.port, err = portOf(port)
	return t, err
}

// refusal is the reason of a 403.
type refusal string

func (r refusal) Error() string { return string(r) }

// refuse answers with the reason.
func refuse(w http.ResponseWriter, err error) {
	code, why := http.StatusBadGateway, refusal("")
	if errors.As(err, &why) {
		code = http.StatusForbidden
	}
	http.Error(w, "arbiter: "+err.Error(), code)
}

// serve serves one request.
func (p *Proxy) serve(w http.ResponseWriter, r *http.Request) {
	if !p.begin() {
		return
	}
	defer p.wg.Done()
	usual := "80"
	if r.Method == http.MethodConnect {
		usual = ""
	}
	t, err := targetOf(r.URL, usual)
	tunnel := r.Method == http.MethodConnect && r.URL.Path == "" && r.URL.RawQuery == ""
	if err != nil || !tunnel && r.URL.Scheme != "http" {
		http.Error(w, "arbiter: this is a proxy: use CONNECT HOST:PORT, or an absolute http:// URI", http.StatusBadRequest)
		return
	}
	if err := p.asked.admit(r.Context(), t); err != nil {
		refuse(w, err)
		return
	}
	if !tunnel {
		r.URL.Host = t.String() // what was checked is what is used
		p.plain.ServeHTTP(w, r)
		return
	}
	out, err := p.connect(r.Context(), t)
	if err != nil {
		refuse(w, err)
		return
	}
	hijacker, ok := w.(http.Hijacker)
	if !ok {
		out.Close()
		return
	}
	conn, rw, err := hijacker.Hijack()
	if err != nil {
		out.Close()
		return
	}
	p.tunnel(buffered{conn, rw.Reader}, out, t)
}

// connect opens the connection of a tunnel.
func (p *Proxy) connect(ctx context.Context, t target) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, dialTimeout)
	defer cancel()
	if at := p.o.Upstream.of(t, true); at != nil {
		return through(ctx, p.o.dial, at, t)
	}
	return p.reach(ctx, t)
}

func (p *Proxy) plainUpstream(r *http.Request) (*url.URL, error) {
	t, err := targetOf(r.URL, "80")
	if err != nil {
		return nil, err
	}
	return p.o.Upstream.of(t, false), nil
}

// dialPlain connects for a plain request: to its target, or to the user's proxy.
func (p *Proxy) dialPlain(ctx context.Context, _, at string) (net.Conn, error) {
	if up := p.o.Upstream.plain; up != nil && hostPort(up) == at {
		return p.o.dial(ctx, "tcp", at)
	}
	t, err := targetOf(&url.URL{Host: at}, "")
	if err != nil {
		return nil, err
	}
	return p.reach(ctx, t)
}

// reach resolves a target that was admitted, and connects to an address that may be reached.
func (p *Proxy) reach(ctx context.Context, t target) (net.Conn, error) {
	rule, _ := p.o.Rules.find(t)
	addrs := []netip.Addr{}
	if addr, ok := address(t.host); ok {
		addrs = append(addrs, addr)
	} else {
		found, err := p.o.resolve(ctx, t.host)
		if err != nil {
			return nil, err
		}
		addrs = found
	}
	err := fmt.Errorf("%s has no address", t.host)
	for _, addr := range addrs {
		addr = addr.Unmap()
		if _, named := p.o.Rules.find(target{addr.String(), t.port}); !named && !public(addr) && !rule.trusted &&
			!rule.loopback() {
			err = refusal(fmt.Sprintf("%s is at %s, which is not a public address; --allow-host %s allows it", t.host, addr,
				target{addr.String(), t.port}))
			p.asked.report(t, err.Error())
			continue
		}
		conn, derr := p.o.dial(ctx, "tcp", netip.AddrPortFrom(addr, uint16(t.port)).String())
		if derr == nil {
			return conn, nil
		}
		err = derr
	}
	return nil, err
}
