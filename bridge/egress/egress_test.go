package egress

import (
	"bufio"
	"context"
	"encoding/hex"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/arbiter-cli/arbiter/internal/testkit"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// bed is a proxy whose names are made up, and whose connections all lead to one server.
type bed struct {
	*Proxy
	at       string
	dialed   atomic.Value // the last address
	resolved atomic.Value // the last name
	reports  chan string
}

// start serves a proxy; names maps names to addresses, and server answers at each of them.
func start(t *testing.T, o Options, names map[string]string, server string) *bed {
	t.Helper()
	b := &bed{reports: make(chan string, 100)}
	b.dialed.Store("")
	b.resolved.Store("")
	o.resolve = func(_ context.Context, host string) ([]netip.Addr, error) {
		b.resolved.Store(host)
		if addr, ok := names[host]; ok {
			return []netip.Addr{netip.MustParseAddr(addr)}, nil
		}
		return nil, &net.DNSError{Err: "no such host", Name: host, IsNotFound: true}
	}
	o.dial = func(ctx context.Context, network, addr string) (net.Conn, error) {
		b.dialed.Store(addr)
		return (&net.Dialer{}).DialContext(ctx, network, server)
	}
	o.Report = func(host string, _ int, why string) { b.reports <- host + ": " + why }
	b.Proxy = New(o)
	l := testkit.Must(net.Listen("tcp", "127.0.0.1:0"))(t)
	b.at = l.Addr().String()
	served := make(chan struct{})
	go func() {
		defer close(served)
		b.Serve(l)
	}()
	t.Cleanup(func() {
		b.Close()
		<-served
	})
	return b
}

// send writes bytes to the proxy and returns the first line and the rest of the answer.
func (b *bed) send(t *testing.T, text string) (status, body string) {
	t.Helper()
	conn := testkit.Must(net.Dial("tcp", b.at))(t)
	defer conn.Close()
	_ = conn.SetDeadline(time.Now().Add(time.Minute))
	testkit.Must(io.WriteString(conn, text))(t)
	in := bufio.NewReader(conn)
	r, err := http.ReadResponse(in, nil)
	if err != nil {
		return "closed", err.Error()
	}
	if strings.HasPrefix(text, "CONNECT") && r.StatusCode == http.StatusOK {
		return r.Status, ""
	}
	all, _ := io.ReadAll(r.Body)
	return r.Status, string(all)
}

func rules(t *testing.T, list ...string) (l Rules) {
	t.Helper()
	for _, text := range list {
		r := testkit.Must(ParseRule(text))(t)
		l = append(l, r)
	}
	return l
}

// echo answers with the request's Host and path.
func echo(t *testing.T) string {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprintf(w, "%s %s %q", r.Host, r.URL, r.Header.Get("Proxy-Authorization"))
	}))
	t.Cleanup(s.Close)
	return s.Listener.Addr().String()
}

// TestWhatIsLetThrough: each request by its status, and by whether its name was resolved and an address dialed.
func TestWhatIsLetThrough(t *testing.T) {
	names := map[string]string{"good.example": "93.184.216.34", "a.wide.example": "93.184.216.35",
		"inside.example": "10.1.2.3", "meta.example": "169.254.169.254", "here.example": "127.0.0.1",
		"six.example": "::1", "mapped.example": "::ffff:127.0.0.1", "nat.example": "64:ff9b::7f00:1",
		"known.example": "10.9.9.9", "evil.example": "93.184.216.66"}
	list := rules(t, "good.example", "*.wide.example", "inside.example", "meta.example", "here.example", "six.example",
		"mapped.example", "nat.example", "known.example", "10.9.9.9", "203.0.113.7", "odd.example:8443")
	b := start(t, Options{Rules: list}, names, echo(t))
	get := func(uri, host string) string {
		return "GET " + uri + " HTTP/1.1\r\nHost: " + host + "\r\nProxy-Authorization: secret\r\nConnection: close\r\n\r\n"
	}
	const good = "93.184.216.34:80"
	const post = "POST http://good.example/ HTTP/1.1\r\nHost: a\r\n"
	connect := func(at string) string { return "CONNECT " + at + " HTTP/1.1\r\nHost: " + at + "\r\n\r\n" }
	for name, c := range map[string]struct {
		request string
		status  string // its beginning
		body    string // a part
		dialed  string
		unnamed bool // no name was resolved
	}{
		"listed": {
			get("http://good.example/x", "good.example"), "200", `good.example /x ""`, good, false},
		"another Host":               {get("http://good.example/x", "evil.example"), "200", `good.example /x`, good, false},
		"below a domain":             {get("http://a.wide.example/", "a.wide.example"), "200", "", "93.184.216.35:80", false},
		"capitals and a dot":         {get("http://GOOD.example./x", "x"), "200", "good.example /x", good, false},
		"a tunnel":                   {connect("good.example:443"), "200", "", "93.184.216.34:443", false},
		"a listed address":           {connect("203.0.113.7:443"), "200", "", "203.0.113.7:443", true},
		"a name at a listed address": {connect("known.example:443"), "200", "", "10.9.9.9:443", false},

		"another name":           {get("http://evil.example/", "good.example"), "403", "host evil.example", "", true},
		"the domain itself":      {get("http://wide.example/", "x"), "403", "", "", true},
		"a longer name":          {connect("good.example.evil.example:443"), "403", "", "", true},
		"the end of a name":      {connect("evilwide.example:443"), "403", "", "", true},
		"another port":           {get("http://good.example:8080/", "x"), "403", "host good.example:8080", "", true},
		"a port that is not 443": {connect("good.example:22"), "403", "", "", true},
		"443 where 8443 is":      {connect("odd.example:443"), "403", "", "", true},
		"an address":             {connect("93.184.216.34:443"), "403", "", "", true},
		"loopback":               {connect("127.0.0.1:443"), "403", "", "", true},
		"loopback by name":       {connect("localhost:443"), "403", "", "", true},
		"metadata":               {get("http://169.254.169.254/latest", "x"), "403", "", "", true},
		"metadata by name":       {get("http://meta.example/x", "x"), "403", "--allow-host 169.254.169.254", "", false},
		"private by name":        {connect("inside.example:443"), "403", "--allow-host 10.1.2.3:443", "", false},
		"loopback by its name":   {connect("here.example:443"), "403", "", "", false},
		"IPv6 loopback":          {connect("six.example:443"), "403", "", "", false},
		"mapped":                 {connect("mapped.example:443"), "403", "", "", false},
		"embedded":               {connect("nat.example:443"), "403", "", "", false},

		"a name before the host":  {connect("good.example:443@evil.example:443"), "400", "", "", true},
		"a name in a URI":         {get("http://good.example:80@evil.example/", "x"), "400", "", "", true},
		"a tunnel without a port": {connect("good.example"), "400", "", "", true},
		"a tunnel with a path":    {connect("good.example:443/x"), "400", "", "", true},
		"a short address":         {connect("127.1:443"), "400", "", "", true},
		"a number as address":     {connect("2130706433:443"), "400", "", "", true},
		"a hexadecimal address":   {connect("0x7f000001:443"), "400", "", "", true},
		"a zone":                  {connect("[fe80::1%25lo]:443"), "400", "", "", true},
		"a relative URI":          {get("/x", "good.example"), "400", "", "", true},
		"https without a tunnel":  {get("https://good.example/", "good.example"), "400", "", "", true},
		"two Host fields":         {"GET http://good.example/ HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n", "400", "", "", true},
		"two lengths":             {post + "Content-Length: 1\r\nContent-Length: 2\r\n\r\nab", "400", "", "", true},
		"odd chunks":              {post + "Transfer-Encoding: x, chunked\r\n\r\n0\r\n\r\n", "501", "", "", true},
	} {
		b.plain.Transport.(*http.Transport).CloseIdleConnections()
		b.dialed.Store("")
		b.resolved.Store("")
		status, body := b.send(t, c.request)
		if !strings.HasPrefix(status, c.status) || !strings.Contains(body, c.body) || b.dialed.Load() != c.dialed ||
			(b.resolved.Load() == "") != c.unnamed {
			t.Errorf("%s: %s %q, dialed %q, resolved %q; want %s %q, %q, no name %v", name, status, body, b.dialed.Load(),
				b.resolved.Load(), c.status, c.body, c.dialed, c.unnamed)
		}
	}
	testkit.Check(t, len(b.reports) != 0, "nothing was reported")
}

// TestAsked: one question for each host and port, and only for what may be allowed; an allow is remembered.
func TestAsked(t *testing.T) {
	asked := make(chan string, 100)
	answers := map[string]bool{"yes.example": true, "no.example": false}
	o := Options{Ask: func(_ context.Context, host string, port int) (bool, string) {
		asked <- fmt.Sprint(host, ":", port)
		return answers[host], "no, says the human"
	}}
	b := start(t, o, map[string]string{"yes.example": "93.184.216.34"}, echo(t))
	for _, c := range []struct{ uri, status, asks string }{
		{"http://yes.example/", "200", "yes.example:80"}, {"http://yes.example/", "200", ""},
		{"http://yes.example:81/", "200", "yes.example:81"}, {"http://no.example/", "403", "no.example:80"},
		{"http://no.example/", "403", ""}, {"http://10.0.0.1/", "403", ""}, {"http://localhost:1/", "403", ""},
	} {
		status, body := b.send(t, "GET "+c.uri+" HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
		question := ""
		select {
		case question = <-asked:
		default:
		}
		testkit.Check(t, strings.HasPrefix(status, c.status) && question == c.asks, "%s: %s %s, asked %q; want %s, %q",
			c.uri, status, body, question, c.status, c.asks)
	}
}

// TestEndWhileAsked: the end of the proxy ends a connection that waits for an answer, and its question.
func TestEndWhileAsked(t *testing.T) {
	asking := make(chan struct{})
	b := start(t, Options{Ask: func(ctx context.Context, _ string, _ int) (bool, string) {
		close(asking)
		<-ctx.Done()
		return false, ""
	}}, nil, "")
	conn := testkit.Must(net.Dial("tcp", b.at))(t)
	defer conn.Close()
	fmt.Fprint(conn, "CONNECT a.example:443 HTTP/1.1\r\nHost: a\r\n\r\n")
	<-asking
	b.Close()
	rest, _ := io.ReadAll(conn)
	testkit.Check(t, !strings.Contains(string(rest), " 200 "), "it was let through: %s", rest)
}

// TestTunnel: a tunnel carries TLS for its own host, and nothing for another; one direction may end first, and the
// end of the proxy ends the rest.
func TestTunnel(t *testing.T) {
	s := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprint(w, "inside")
	}))
	defer s.Close()
	names := map[string]string{"example.com": "93.184.216.34", "other.example": "93.184.216.34"}
	b := start(t, Options{Rules: rules(t, "example.com", "other.example")}, names, s.Listener.Addr().String())
	client := s.Client() // it accepts the server as example.com
	transport := client.Transport.(*http.Transport)
	transport.Proxy = http.ProxyURL(&url.URL{Scheme: "http", Host: b.at})
	defer transport.CloseIdleConnections()
	r := testkit.Must(client.Get("https://example.com/"))(t)
	text, _ := io.ReadAll(r.Body)
	r.Body.Close()
	testkit.Same(t, fmt.Sprintf("the server says %q", text), "inside", string(text))
	transport.CloseIdleConnections()
	transport.TLSClientConfig.ServerName = "example.com"
	if r, err := client.Get("https://other.example/"); err == nil {
		r.Body.Close()
		t.Error("a tunnel to one host led to another")
	}
	testkit.Includes(t, "reported", <-b.reports, "another server")
	if conn := b.tunnelTo(t, "example.com:443"); conn != nil {
		fmt.Fprint(conn, "SSH-2.0-x\r\n")
		n, err := conn.Read(make([]byte, 1))
		testkit.Check(t, err != nil, "%d bytes came through a tunnel without TLS", n)
		conn.Close()
	}
}

func (b *bed) tunnelTo(t *testing.T, at string) net.Conn {
	t.Helper()
	conn := testkit.Must(net.Dial("tcp", b.at))(t)
	_ = conn.SetDeadline(time.Now().Add(time.Minute))
	fmt.Fprintf(conn, "CONNECT %s HTTP/1.1\r\nHost: %s\r\n\r\n", at, at)
	r, err := http.ReadResponse(bufio.NewReader(conn), &http.Request{Method: http.MethodConnect})
	testkit.Need(t, err == nil && r.StatusCode == http.StatusOK, "%s: %v, %v", at, r, err)
	return conn
}

// TestServerSpeaksFirst: what a server says before the client does arrives, and the client's first words are checked
// all the same.
func TestServerSpeaksFirst(t *testing.T) {
	l := testkit.Must(net.Listen("tcp", "127.0.0.1:0"))(t)
	defer l.Close()
	b := start(t, Options{Rules: rules(t, "mail.example:25")}, map[string]string{"mail.example": "93.184.216.34"},
		l.Addr().String())
	hello := testkit.Must(hex.DecodeString("16030100050100000100"))(t) // of TLS for no host
	for first, want := range map[string]string{"EHLO x\r\n": "EHLO x\r\n", string(hello): ""} {
		conn := b.tunnelTo(t, "mail.example:25")
		defer conn.Close()
		there := testkit.Must(l.Accept())(t)
		defer there.Close()
		fmt.Fprint(there, "220 ready\r\n")
		line, err := bufio.NewReader(conn).ReadString('\n')
		testkit.Check(t, line == "220 ready\r\n" && err == nil, "here: %q, %v", line, err)
		fmt.Fprint(conn, first)
		_ = conn.(*net.TCPConn).CloseWrite()
		got, _ := io.ReadAll(there) // reset if the tunnel was closed
		testkit.Same(t, "there", want, string(got))
	}
}

// TestEnds: the end of one direction reaches the other side, which may go on; Close ends everything.
func TestEnds(t *testing.T) {
	l := testkit.Must(net.Listen("tcp", "127.0.0.1:0"))(t)
	defer l.Close()
	b := start(t, Options{Rules: rules(t, "a.example:99")}, map[string]string{"a.example": "93.184.216.34"},
		l.Addr().String())
	for _, closes := range []bool{true, false} {
		conn := b.tunnelTo(t, "a.example:99")
		defer conn.Close()
		there := testkit.Must(l.Accept())(t)
		defer there.Close()
		if !closes {
			b.Close()
			n, err := there.Read(make([]byte, 1))
			testkit.Check(t, err != nil, "%d bytes after the end", n)
			n, err = conn.Read(make([]byte, 1))
			testkit.Check(t, err != nil, "%d bytes after the end", n)
			return
		}
		fmt.Fprint(conn, "ask")
		_ = conn.(*net.TCPConn).CloseWrite()
		got, err := io.ReadAll(there)
		testkit.Check(t, string(got) == "ask" && err == nil, "there: %q, %v", got, err)
		fmt.Fprint(there, "answer")
		there.Close()
		got, err = io.ReadAll(conn)
		testkit.Check(t, string(got) == "answer" && err == nil, "here: %q, %v", got, err)
	}
}

// TestUpstream: outgoing connections take the user's own proxy, with its password, and not those for hosts that
// NO_PROXY names.
func TestUpstream(t *testing.T) {
	up := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprintf(w, "%s %s %s", r.Method, r.RequestURI, r.Header.Get("Proxy-Authorization"))
	}))
	defer up.Close()
	env := map[string]string{"HTTP_PROXY": "http://u:p@up.example:3128", "https_proxy": "up.example:3128",
		"NO_PROXY": "direct.example,.below.example,203.0.113.0/24"}
	upstream := testkit.Must(UpstreamOf(func(name string) string { return env[name] }))(t)
	b := start(t, Options{Rules: rules(t, "a.example", "direct.example"), Upstream: upstream},
		map[string]string{"direct.example": "93.184.216.34"}, up.Listener.Addr().String())
	get := func(host string) string {
		_, body := b.send(t, "GET http://"+host+"/ HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
		return body
	}
	if got := get("a.example"); got != "GET http://a.example/ Basic dTpw" || b.dialed.Load() != "up.example:3128" {
		t.Errorf("the proxy got %q at %v", got, b.dialed.Load())
	}
	if got := get("direct.example"); !strings.HasPrefix(got, "GET /") || b.dialed.Load() != "93.184.216.34:80" {
		t.Errorf("the server got %q at %v", got, b.dialed.Load())
	}
	status, _ := b.send(t, "CONNECT a.example:443 HTTP/1.1\r\nHost: x\r\n\r\n")
	testkit.Check(t, strings.HasPrefix(status, "200") && b.dialed.Load() == "up.example:3128", "a tunnel: %s at %v",
		status, b.dialed.Load())
	for host, direct := range map[string]bool{"x.below.example": true, "203.0.113.9": true, "203.0.114.9": false,
		"localhost": true, "b.example": false} {
		testkit.Same(t, fmt.Sprintf("%s: direct", host), direct, upstream.of(target{host, 443}, true) == nil)
	}
	env = map[string]string{"ALL_PROXY": "socks5://x"}
	testkit.Fails(t, "a SOCKS proxy was taken", testkit.Err(UpstreamOf(func(name string) string { return env[name] })))
}

// TestForward: a listed address of this computer leads there as it is.
func TestForward(t *testing.T) {
	server := echo(t)
	b := start(t, Options{}, nil, server)
	l := testkit.Must(net.Listen("tcp", "127.0.0.1:0"))(t)
	done := make(chan struct{})
	go func() {
		defer close(done)
		b.Forward(l, "127.0.0.1:8080")
	}()
	r := testkit.Must(http.Get("http://" + l.Addr().String() + "/x"))(t)
	r.Body.Close()
	http.DefaultClient.CloseIdleConnections()
	testkit.Check(t, b.dialed.Load() == "127.0.0.1:8080" && r.StatusCode == http.StatusOK, "dialed %v, %s",
		b.dialed.Load(), r.Status)
	b.Close()
	<-done
}

func TestRules(t *testing.T) {
	for text, want := range map[string]string{
		"Example.COM": "example.com", "*.example.com:8443": "*.example.com:8443", "10.0.0.1": "10.0.0.1",
		"[2001:db8::1]:443": "[2001:db8::1]:443", "127.0.0.1:8080": "127.0.0.1:8080", "localhost:5432": "localhost:5432",
		"::ffff:1.2.3.4": "1.2.3.4",
		"":               "!", "*": "!", "*.com": "!", "*.1.2.3.4": "!", "http://x": "!", "a/b": "!",
		"a:0": "!", "a:99999": "!",
		"127.0.0.1": "!", "localhost": "!", "127.0.0.1:80": "!", "0.0.0.0:8080": "!", "a b": "!", "1.2": "!", "a..b": "!",
		"fe80::1%lo": "!", "user@host": "!",
	} {
		r, err := ParseRule(text)
		if got := r.String(); err == nil && got != want || (err != nil) != (want == "!") {
			t.Errorf("%q: %q, %v; want %q", text, got, err, want)
		}
	}
	for name, c := range map[string]struct {
		env  map[string]string
		want string
	}{
		"nothing":     {nil, "api.anthropic.com:443, platform.claude.com:443"},
		"a gateway":   {map[string]string{"ANTHROPIC_BASE_URL": "https://Gate.corp/v1"}, "gate.corp:443"},
		"a rehearsal": {map[string]string{"ANTHROPIC_BASE_URL": "http://127.0.0.1:4711"}, "127.0.0.1:4711"},
		"Bedrock": {map[string]string{"CLAUDE_CODE_USE_BEDROCK": "1", "AWS_REGION": "eu-west-1"},
			"bedrock-runtime.eu-west-1.amazonaws.com:443, bedrock.eu-west-1.amazonaws.com:443, " +
				"sts.eu-west-1.amazonaws.com:443"},
	} {
		got := APIHosts(func(n string) string { return c.env[n] })
		list := testkit.Each(got, func(r Rule) string { return r.String() })
		testkit.Check(t, strings.Join(list, ", ") == c.want, "%s: %s", name, list)
	}
	forwards := append(rules(t, "localhost:8080", "127.0.0.1:8080", "a.example:8080", "[::1]:9090"),
		APIHosts(func(string) string { return "http://127.0.0.1:4711" })...).Forwards()
	testkit.Same(t, "forwards", "127.0.0.1:8080 [::1]:9090 127.0.0.1:4711", strings.Join(forwards, " "))
}

// TestThroughEnds: a tunnel that is no longer wanted ends, also while the proxy's own TLS begins.
func TestThroughEnds(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	dial := func(context.Context, string, string) (net.Conn, error) {
		cancel()
		conn, _ := net.Pipe() // whose other end says nothing
		return conn, nil
	}
	_, err := through(ctx, dial, &url.URL{Scheme: "https", Host: "up.example"}, target{"a.example", 443})
	testkit.Fails(t, "the tunnel", err)
}
