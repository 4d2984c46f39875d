package clients

import (
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"crypto/subtle"
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"math"
	"mime"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"path"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/arbiter-cli/arbiter/bridge/control"
	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/command"
	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/runstore"
	"github.com/arbiter-cli/arbiter/sanitize"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/journal"
	"github.com/arbiter-cli/arbiter/supervisor/words"
	"github.com/arbiter-cli/arbiter/transcript/jsonl"
	"github.com/arbiter-cli/arbiter/tui/eventtext"
	"github.com/arbiter-cli/arbiter/tui/history"
)

const (
	// mostStreams is how many pages may follow the run at once. Each has a connection to the run, and other clients
	// need connections, too.
	mostStreams = 32
	// closing bounds the end of requests when the server ends.
	closing = 2 * time.Second
)

// kinds are the content types of the page's files. The system's own table may have others, which browsers refuse.
var kinds = map[string]string{
	".html": "text/html; charset=utf-8", ".css": "text/css; charset=utf-8", ".js": "text/javascript; charset=utf-8",
	".svg": "image/svg+xml",
}

//go:embed assets
var embedded embed.FS

// WebOptions configure a server.
type WebOptions struct {
	Runs   Runs
	Run    string   // complete id
	State  string   // the flag with which other commands find it; empty: none
	Listen string   // address; port 0: any
	Hosts  []string // other host names of this machine that browsers may use
	// Public allows an address that other machines can reach. The connection is not encrypted.
	Public bool
}

// WebServer serves the page of one run.
type WebServer struct {
	runs     Runs
	run      string
	named    string // how a command line names it: its id, and the flag for its state directory if that needs one
	guard    *guard
	listener net.Listener
	streams  chan struct{} // one slot per page that follows
	handler  http.Handler
}

// ErrNotLoopback says that other machines could reach the page.
var ErrNotLoopback = errors.New("other machines reach this address, and nothing is encrypted there")

// ListenWeb opens the port. The caller must call Serve or Close.
func ListenWeb(o WebOptions) (*WebServer, error) {
	host, _, err := net.SplitHostPort(o.Listen)
	switch {
	case err != nil:
		return nil, fmt.Errorf("%q is not an ADDRESS:PORT", o.Listen)
	case !loopback(host) && !o.Public:
		return nil, ErrNotLoopback
	}
	for _, h := range o.Hosts {
		if _, ok := hostname(h); !ok {
			return nil, fmt.Errorf("%q is not a host name", h)
		}
	}
	listener, err := net.Listen("tcp", o.Listen)
	if err != nil {
		return nil, err
	}
	s := NewWeb(o)
	s.listener = listener
	return s, nil
}

// NewWeb makes a server without a port.
func NewWeb(o WebOptions) *WebServer {
	g := &guard{cookie: "arbiter-" + strings.ToLower(rand.Text()[:8]), secret: rand.Text(), key: rand.Text()}
	for _, h := range o.Hosts {
		if name, ok := hostname(h); ok {
			g.hosts = append(g.hosts, name)
		}
	}
	if host, _, err := net.SplitHostPort(o.Listen); err == nil && o.Public {
		g.hosts = append(g.hosts, strings.ToLower(host))
	}
	s := &WebServer{runs: o.Runs, run: o.Run, named: command.ShortID(o.Run) + o.State, guard: g,
		streams: make(chan struct{}, mostStreams)}
	s.handler = s.guard.wrap(s.routes())
	return s
}

func (s *WebServer) routes() http.Handler {
	mux := http.NewServeMux()
	serve := func(w http.ResponseWriter, r *http.Request, name string) {
		kind, known := kinds[path.Ext(name)]
		name = path.Join("assets", name)
		if info, err := fs.Stat(embedded, name); err != nil || info.IsDir() || !known {
			http.NotFound(w, r)
			return
		}
		w.Header().Set("Content-Type", kind)
		http.ServeFileFS(w, r, embedded, name)
	}
	mux.HandleFunc("GET /{$}", func(w http.ResponseWriter, r *http.Request) { serve(w, r, "page.html") })
	mux.HandleFunc("GET /{file}", func(w http.ResponseWriter, r *http.Request) { serve(w, r, r.PathValue("file")) })
	mux.HandleFunc("GET /run/events", s.stream)
	for path, do := range map[string]func(http.ResponseWriter, *http.Request, json.RawMessage){
		"/run/command": s.command, "/run/stop": s.stop, "/run/resume": s.resume, "/link": s.link,
	} {
		mux.HandleFunc("POST "+path, func(w http.ResponseWriter, r *http.Request) {
			if raw, ok := readBody(w, r); ok {
				do(w, r, raw)
			}
		})
	}
	return mux
}

// Link returns a URL that opens the page in one browser of this machine.
func (s *WebServer) Link() string { return "http://" + s.listener.Addr().String() + s.guard.path() }

// LinkAt returns a URL that opens the page by another name, through the proxy that has the certificate for the
// name.
func (s *WebServer) LinkAt(host string) string { return "https://" + host + s.guard.path() }

// Close closes the port of a server that does not serve.
func (s *WebServer) Close() error { return s.listener.Close() }

// Serve serves until ctx ends, and waits for all requests.
func (s *WebServer) Serve(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	srv := &http.Server{
		Handler: s.handler, ReadHeaderTimeout: 10 * time.Second, IdleTimeout: 2 * time.Minute, MaxHeaderBytes: 64 << 10,
		BaseContext: func(net.Listener) context.Context { return ctx },
		ErrorLog:    slog.NewLogLogger(slog.DiscardHandler, slog.LevelError),
	}
	ended := make(chan error, 1)
	go func() { ended <- srv.Serve(s.listener) }() // ends with Shutdown
	select {
	case err := <-ended:
		return err
	case <-ctx.Done():
	}
	within, done := context.WithTimeout(context.Background(), closing)
	defer done()
	if err := srv.Shutdown(within); err != nil {
		_ = srv.Close() // remaining requests have had their time
	}
	if err := <-ended; !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

const (
	// maxBody bounds a request. A message has at most 1 MiB of text, which JSON may escape.
	maxBody = 3 << 20
	// webTakes is how long a run may take to accept a command, which it first writes to disk.
	webTakes = 15 * time.Second
)

// answer is the reply to a request of the page.
type answer struct {
	Accepted bool   `json:"accepted"`
	Message  string `json:"message,omitempty"`
	Link     string `json:"link,omitempty"` // path of a link for another browser
}

// command sends a command of the page to the run.
func (s *WebServer) command(w http.ResponseWriter, r *http.Request, raw json.RawMessage) {
	c := contract.ParseCommand(raw)
	switch b := c.Body.(type) {
	case contract.Malformed:
		reply(w, http.StatusBadRequest, answer{Message: b.Problem})
		return
	case contract.Say, contract.Permit, contract.Choose, contract.Interrupt, contract.Pause, contract.Continue:
	default: // it changes how a run is guarded (permission modes, acceptance), or has a permanent effect
		reply(w, http.StatusForbidden, answer{Message: "The page may not send this command. Use a terminal."})
		return
	}
	s.withRun(w, r, func(ctx context.Context, client *control.Client) (answer, error) {
		done, err := runstore.Send(ctx, client, c.Body) // without a ref: it belongs to the caller
		return answer{Accepted: done.Accepted, Message: done.Message}, err
	})
}

// stop asks the run to end in an orderly way, like arbiter stop.
func (s *WebServer) stop(w http.ResponseWriter, r *http.Request, _ json.RawMessage) {
	s.withRun(w, r, func(ctx context.Context, client *control.Client) (answer, error) {
		err := client.Stop(ctx, control.StopParams{Signal: "TERM"})
		return answer{Accepted: err == nil, Message: "The run is stopping. It can be resumed."}, err
	})
}

// resume resumes a run that no process plays.
func (s *WebServer) resume(w http.ResponseWriter, r *http.Request, _ json.RawMessage) {
	if err := s.runs.Resume(r.Context(), s.run, "", nil); err != nil {
		reply(w, http.StatusConflict, answer{Message: err.Error()})
		return
	}
	reply(w, http.StatusOK, answer{Accepted: true, Message: "The run is resumed."})
}

// link makes a link for another browser.
func (s *WebServer) link(w http.ResponseWriter, _ *http.Request, _ json.RawMessage) {
	reply(w, http.StatusOK, answer{Accepted: true, Link: s.guard.path()})
}

// withRun calls do with a connection to the run, and sends the reply.
func (s *WebServer) withRun(w http.ResponseWriter, r *http.Request,
	do func(context.Context, *control.Client) (answer, error)) {
	ctx, cancel := context.WithTimeout(r.Context(), webTakes)
	defer cancel()
	client, _, err := s.runs.Dial(ctx, s.run)
	if err != nil {
		reply(w, http.StatusConflict, answer{Message: "The run cannot be reached: " + err.Error()})
		return
	}
	defer client.Close()
	a, err := do(ctx, client)
	switch refused, ok := errors.AsType[*control.Refusal](err); {
	case ok:
		reply(w, http.StatusConflict, answer{Message: refused.Message})
	case err != nil:
		reply(w, http.StatusBadGateway, answer{Message: "It is not known whether the run accepted this: " + err.Error()})
	case !a.Accepted:
		reply(w, http.StatusConflict, a)
	default:
		reply(w, http.StatusOK, a)
	}
}

// readBody reads the body of a POST. The content type must be JSON, which a form of another page cannot send
// without a preflight request.
func readBody(w http.ResponseWriter, r *http.Request) (json.RawMessage, bool) {
	kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	if err != nil || kind != "application/json" {
		reply(w, http.StatusUnsupportedMediaType, answer{Message: "Send application/json."})
		return nil, false
	}
	raw, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	switch _, ok := errors.AsType[*http.MaxBytesError](err); {
	case ok:
		reply(w, http.StatusRequestEntityTooLarge, answer{Message: "The text is too long: 1 MiB at most."})
		return nil, false
	case err != nil:
		reply(w, http.StatusBadRequest, answer{Message: "The request was not read to its end."})
		return nil, false
	}
	return raw, true
}

func reply(w http.ResponseWriter, code int, a answer) {
	a.Message = strings.TrimSpace(sanitize.Line(a.Message, 500))
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	w.WriteHeader(code)
	_ = json.NewEncoder(w).Encode(a) // a client that has gone does not read it
}

func (g *guard) path() string { return "/?" + tokenParam + "=" + g.newToken() }

// This part of the package serves one page that follows a live run and answers what waits for the human.
//
// The page is only a client of the run's control socket: it shows what the socket reports, and sends commands of
// the contract. Text of agents is not trusted: it is bounded and sanitized here, and the page shows it as text
// nodes, never as markup.
//
// # Access
//
// Anyone can open the page with the link that the command prints. The token in the link works once. The browser
// that redeems it gets two secrets of this process: a cookie, which scripts cannot read, and a key in the link's
// fragment, which the page stores in its origin's storage and sends with each request for data. Both are needed. A
// cookie alone would be sent to every server on the same host, regardless of the port, including one that an agent
// has started.
//
// Before that, [guard] refuses requests for unknown host names (DNS rebinding) and from pages of other origins.
//
// # Goroutines
//
// [WebServer.Serve] owns the listener and waits for all handlers. The handler of a stream owns its connections to the
// run.

const (
	// tokenParam is the parameter with the one-time token of a link.
	tokenParam = "t"
	// keyHeader is the header with the key that the page stores.
	keyHeader = "X-Arbiter-Key"
	// mostTokens is the maximum number of unused links.
	mostTokens = 16
)

// securityHeaders are set on every response. Scripts and styles come only from this server, text never becomes
// markup, and no other page may frame or open this one.
var securityHeaders = map[string]string{
	"Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; " +
		"connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; " +
		"require-trusted-types-for 'script'; trusted-types 'none'",
	"Cross-Origin-Opener-Policy":   "same-origin",
	"Cross-Origin-Resource-Policy": "same-origin",
	"Referrer-Policy":              "no-referrer",
	"X-Content-Type-Options":       "nosniff",
	"X-Frame-Options":              "DENY",
	"Cache-Control":                "no-store",
}

// bodyTime is how long the body of a request may take to arrive.
var bodyTime = 10 * time.Second

// guard decides who may send requests to this server.
type guard struct {
	hosts  []string // allowed host names besides loopback, in lower case, without port
	cookie string   // name of the cookie; servers on other ports of this host have their own cookies
	secret string   // value of the cookie
	key    string

	mu     sync.Mutex
	tokens []string // unused ones, the oldest first
}

// newToken makes a token for another browser. Beyond the limit, the oldest tokens become invalid.
func (g *guard) newToken() string {
	g.mu.Lock()
	defer g.mu.Unlock()
	token := rand.Text()
	g.tokens = append(g.tokens, token)
	if extra := len(g.tokens) - mostTokens; extra > 0 {
		g.tokens = slices.Delete(g.tokens, 0, extra)
	}
	return token
}

// valid reports whether a token is valid. To redeem it invalidates it.
func (g *guard) valid(token string, redeem bool) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	i := slices.IndexFunc(g.tokens, func(t string) bool { return same(t, token) })
	if i >= 0 && redeem {
		g.tokens = slices.Delete(g.tokens, i, i+1)
	}
	return i >= 0
}

func same(a, b string) bool { return subtle.ConstantTimeCompare([]byte(a), []byte(b)) == 1 }

// wrap passes allowed requests to next. Requests for data need the key, too; assets and the page itself need only
// the cookie.
func (g *guard) wrap(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		for name, value := range securityHeaders {
			w.Header().Set(name, value)
		}
		if r.ContentLength != 0 { // a recorder of tests has no deadlines
			_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(bodyTime))
		}
		reads := r.Method == http.MethodGet || r.Method == http.MethodHead
		switch {
		case !g.knows(r.Host):
			refuse(w, http.StatusMisdirectedRequest, "This name of the host is not allowed. If it is yours, start "+
				"arbiter web with --host and the name.")
		case !ownPage(r):
			refuse(w, http.StatusForbidden, "Requests of other pages are refused.")
		case r.Method == http.MethodGet && r.URL.Path == "/" && r.URL.Query().Has(tokenParam):
			g.offer(w, r)
		case r.Method == http.MethodPost && r.URL.Path == "/enter":
			g.enter(w, r)
		case r.Method == http.MethodGet && r.URL.Path == "/enter.js":
			next.ServeHTTP(w, r)
		case !g.hasCookie(r), (!reads || strings.HasPrefix(r.URL.Path, "/run/")) && !same(r.Header.Get(keyHeader), g.key):
			refuse(w, http.StatusUnauthorized, "This page opens with the link that arbiter web prints. A link works "+
				"once; an open page makes more of them.")
		default:
			next.ServeHTTP(w, r)
		}
	})
}

// offer answers a link with a small page whose form redeems the token. The link itself does not: programs that preview
// links, or fetch them early, follow it, too.
func (g *guard) offer(w http.ResponseWriter, r *http.Request) {
	token := r.URL.Query().Get(tokenParam)
	switch {
	case g.valid(token, false):
		w.Header().Set("Content-Security-Policy", strings.Replace(securityHeaders["Content-Security-Policy"],
			"form-action 'none'", "form-action 'self'", 1))
		w.Header().Set("Referrer-Policy", "same-origin") // without a referrer, browsers name no origin of the form either
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		fmt.Fprintf(w, offered, token)
	case g.hasCookie(r): // a browser loads its link again
		http.Redirect(w, r, "/", http.StatusSeeOther)
	default:
		refuse(w, http.StatusUnauthorized, usedLink)
	}
}

// offered is the page of [guard.offer]. Its script sends the form once a person sees the page.
const offered = `<!doctype html><html lang="en"><title>Arbiter</title>
<meta name="viewport" content="width=device-width">
<form method="post" action="/enter"><input type="hidden" name="t" value="%s"><button>Open the run</button></form>
<script src="/enter.js"></script></html>
`

const usedLink = "This link was used already, or is not of this arbiter web. Start arbiter web again, or make a link " +
	"on a page that is open."

// enter exchanges a token for the cookie and the key.
func (g *guard) enter(w http.ResponseWriter, r *http.Request) {
	r.Body = http.MaxBytesReader(w, r.Body, maxBody)
	if !g.valid(r.PostFormValue(tokenParam), true) {
		refuse(w, http.StatusUnauthorized, usedLink)
		return
	}
	http.SetCookie(w, &http.Cookie{
		Name: g.cookie, Value: g.secret, Path: "/", HttpOnly: true, SameSite: http.SameSiteStrictMode,
	})
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	fmt.Fprintf(w, entered, g.key)
}

// entered is a page that continues to the actual page. It is not an HTTP redirection: if the link was clicked on a
// page of another site, browsers would not send the new cookie.
const entered = `<!doctype html><html lang="en"><title>Arbiter</title>
<meta http-equiv="refresh" content="0; url=/#k=%[1]s"><p><a href="/#k=%[1]s">Continue to the run</a></p></html>
`

func (g *guard) hasCookie(r *http.Request) bool {
	c, err := r.Cookie(g.cookie)
	return err == nil && same(c.Value, g.secret)
}

// knows reports whether the Host of a request is a name of this server. A name that an attacker has pointed at this
// machine (DNS rebinding) is not. The port is not compared, because `ssh -L` changes it.
func (g *guard) knows(host string) bool {
	name, ok := hostname(host)
	return ok && (loopback(name) || slices.Contains(g.hosts, name))
}

// hostname returns the name in a Host header in lower case, without port and brackets.
func hostname(host string) (string, bool) {
	u, err := url.Parse("//" + host)
	if err != nil || u.Host != host || u.User != nil {
		return "", false
	}
	return strings.ToLower(u.Hostname()), u.Hostname() != ""
}

// ownPage reports whether a request comes from a page of this server, or from the address bar. A request that
// changes something must have an origin; browsers set it.
func ownPage(r *http.Request) bool {
	origin, site := r.Header.Get("Origin"), r.Header.Get("Sec-Fetch-Site")
	reads := r.Method == http.MethodGet || r.Method == http.MethodHead
	if origin == "" {
		return reads && (site == "" || site == "same-origin" || site == "none" || r.URL.Path == "/")
	}
	u, err := url.Parse(origin)
	return err == nil && (u.Scheme == "http" || u.Scheme == "https") && strings.EqualFold(u.Host, r.Host) &&
		(site == "" || site == "same-origin" || reads && site == "none")
}

func refuse(w http.ResponseWriter, code int, text string) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.WriteHeader(code)
	_, _ = w.Write([]byte(text + "\n")) // a client that has gone does not read it
}

// loopback reports whether only this machine can be reached by a name or an address.
func loopback(name string) bool {
	addr, err := netip.ParseAddr(name)
	return name == "localhost" || err == nil && addr.IsLoopback()
}

// heartbeat is how often a sign of life is sent to a page, because proxies close silent connections.
const heartbeat = 10 * time.Second

// Tests shorten these times.
var (
	// slowest is how long a browser may take to read one part. A slower browser is disconnected, and connects again
	// after what it has read. So it costs neither the run nor this server anything.
	slowest = 20 * time.Second
	// onceMore is the delay before a stream looks again for a process that plays the run.
	onceMore = time.Second
)

// Kinds of parts that a page is sent: the `event` of a server-sent event.
const (
	partRun     = "run"     // runPart: whether a process plays the run
	partStatus  = "status"  // runstore.LiveStatus
	partEvents  = "lines"   // a list of events, as arbiter --json prints them
	partSkipped = "skipped" // skippedPart: events that are omitted
)

// runPart reports what has happened to the process that plays the run.
type runPart struct {
	Run       string    `json:"run"`
	Title     string    `json:"title"`
	CWD       string    `json:"cwd"`
	Began     time.Time `json:"began"`
	State     string    `json:"state"` // live, silent, ended, interrupted
	Text      string    `json:"text,omitempty"`
	Resumable bool      `json:"resumable,omitempty"`
	CostUSD   float64   `json:"cost_usd,omitempty"`  // of a run that no process plays
	Rehearsal bool      `json:"rehearsal,omitempty"` // costs are simulated
	Replay    string    `json:"replay"`              // the command that prints all events

	CostUnknown bool `json:"cost_unknown,omitempty"` // it has cost more than CostUSD, and nobody knows how much
}

// States of a run from the page's point of view.
const (
	stateLive        = "live"
	stateSilent      = "silent" // a process holds the run but does not answer
	stateEnded       = "ended"
	stateInterrupted = contract.StatusInterrupted
)

type skippedPart struct {
	Count uint64 `json:"count"`
}

// stream follows the run for one page, until the page is closed.
func (s *WebServer) stream(w http.ResponseWriter, r *http.Request) {
	select {
	case s.streams <- struct{}{}:
		defer func() { <-s.streams }()
	default:
		refuse(w, http.StatusServiceUnavailable, "Too many pages follow this run already. Close some of them.")
		return
	}
	at, err := parsePlace(r.Header.Get("Last-Event-ID"))
	if err != nil {
		refuse(w, http.StatusBadRequest, "Last-Event-ID is not an id of this server.")
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("X-Accel-Buffering", "no") // for a reverse proxy
	f := &webFollower{follower: follower{s.runs, s.run, at}, named: s.named, names: map[string]string{},
		out: &sink{w: w, rc: http.NewResponseController(w)}}
	f.follow(r.Context())
}

// sink is the writing end of a page's stream. Only one goroutine writes.
type sink struct {
	w   http.ResponseWriter
	rc  *http.ResponseController
	err error // the first write error; nothing is written after it
}

// send writes a part, with the place after it if there is one.
func (b *sink) send(kind string, place string, part any) {
	raw, err := json.Marshal(part)
	if err != nil {
		b.err = cmp.Or(b.err, err)
		return
	}
	if place != "" {
		place = "id: " + place + "\n"
	}
	b.write(fmt.Sprintf("%sevent: %s\ndata: %s\n\n", place, kind, raw))
}

// beat shows that the connection is alive.
func (b *sink) beat() { b.write(": still here\n\n") }

func (b *sink) write(text string) {
	if b.err != nil {
		return
	}
	// Without deadlines (a test's recorder) a write does not block.
	_ = b.rc.SetWriteDeadline(time.Now().Add(slowest))
	_, err := io.WriteString(b.w, text)
	b.err = cmp.Or(err, b.rc.Flush())
}

// webFollower follows a run for one browser, across the processes that play it.
type webFollower struct {
	follower
	named string // see WebServer
	out   *sink
	sent  runPart         // the last one sent
	shown json.RawMessage // the status that the page shows
	names map[string]string
	ready []json.RawMessage // events to be sent
	bytes int               // of them
	read  time.Time         // LastActive of the run when its log was read without a process
	began time.Time         // see past; zero: the run's own time is not known
}

func (f *webFollower) follow(ctx context.Context) {
	for f.out.err == nil && ctx.Err() == nil {
		info, err := f.runs.Find(f.run)
		if err != nil {
			f.send(runPart{Run: f.run, State: stateSilent, Text: err.Error()})
		} else if info.Live {
			f.live(ctx, info)
		} else {
			f.over(ctx, info)
		}
		select {
		case <-time.After(onceMore):
			f.out.beat()
		case <-ctx.Done():
		}
	}
}

// send sends the state of the process, unless it is unchanged.
func (f *webFollower) send(p runPart) {
	if p.Text = cleanText(p.Text, mostResult); p != f.sent {
		f.sent = p
		f.out.send(partRun, "", p)
	}
}

func (f *webFollower) about(info journal.Info, state, text string) runPart {
	return runPart{
		Run: info.Run, Title: cleanText(info.Title, mostResult), CWD: cleanText(info.CWD, mostResult),
		Began: cmp.Or(f.began, info.Began).UTC(), State: state, Text: text, Rehearsal: info.Rehearsal,
		Replay: "arbiter replay " + f.named,
	}
}

// over shows a run that no process plays: its events, and how it ended.
func (f *webFollower) over(ctx context.Context, info journal.Info) {
	if info.LastActive.Equal(f.read) {
		return
	}
	past, left, err := f.readPast(ctx, logPlace{Process: math.MaxUint64}, mostPast)
	if err != nil {
		f.send(f.about(info, stateSilent, err.Error()))
		return
	}
	f.read = info.LastActive
	f.sendPast(past, left)
	p := f.about(info, stateEnded, info.Status)
	switch {
	case info.Killed():
		p = f.about(info, stateInterrupted, "The process that played this run was killed or crashed. Its agents have "+
			"ended with it. Nothing that it recorded is lost.")
	case info.Status == contract.StatusInterrupted:
		p = f.about(info, stateInterrupted, "This run was stopped, and its agents with it. Nothing that it recorded "+
			"is lost.")
	}
	p.Resumable = !info.Damaged && !info.Empty
	p.CostUSD, p.CostUnknown, _ = costOf(ctx, f.runs, info) // as far as its events can be read
	f.send(p)
}

// webBetween is the minimum time between two status requests: a person does not notice more.
const webBetween = 150 * time.Millisecond

// live follows the process that plays the run until the process or the connection ends.
func (f *webFollower) live(ctx context.Context, info journal.Info) {
	f.shown = nil
	l, err := f.connect(ctx, true, func(st runstore.LiveStatus) error {
		upTo, most := logPlace{Process: st.LogLines}, mostPast // the process itself has its events, with the pieces of texts
		if !f.at.Set && st.Seq >= mostPast {
			upTo.Seq, most = st.Seq-mostPast, 0
		}
		past, left, err := f.readPast(ctx, upTo, most)
		if err != nil {
			return err
		}
		f.send(f.about(info, stateLive, ""))
		f.status(st)
		if f.sendPast(past, left); upTo.Seq > 0 {
			f.at = logPlace{Process: st.LogLines, Seq: upTo.Seq, Set: true}
		}
		return nil
	})
	if err != nil {
		f.send(f.about(info, stateSilent, err.Error()))
		return
	}
	defer l.end()
	beats := time.NewTicker(heartbeat)
	defer beats.Stop()
	var look <-chan time.Time // when the status is requested
	var looked time.Time
	for f.out.err == nil {
		changed := false
		select {
		case part := <-l.parts:
			fresh := f.at.Seq == 0
			if changed = f.pass(part); fresh && f.at.Seq > 0 { // the log has the beginning of the process now
				f.began, _ = f.past(ctx, func([]byte, logPlace) {}) // as far as it can be read
				f.send(f.about(info, stateLive, ""))
			}
		case <-beats.C:
			f.out.beat()
			changed = true // perhaps, without an event
		case <-look:
			look, looked = nil, time.Now()
			st, err := statusOf(l.ctx, l.ask)
			switch {
			case err == nil:
				f.send(f.about(info, stateLive, ""))
				f.status(st)
			case errors.Is(err, context.DeadlineExceeded): // what the page shows may be true no more
				f.shown = nil
				f.send(f.about(info, stateSilent, "Its process is stopped, or hangs; arbiter halt "+f.named+" ends its agents."))
			}
		case <-l.ctx.Done():
			return
		case <-l.feed.Done():
			return
		}
		if changed && look == nil {
			look = time.After(webBetween - time.Since(looked))
		}
	}
}

// pass sends events. It returns whether the status may have changed.
func (f *webFollower) pass(part any) (changed bool) {
	events, ok := part.(control.Events)
	if !ok {
		return false // the end is sent when no process plays the run any more
	}
	if events.Skipped > 0 {
		f.out.send(partSkipped, "", skippedPart{events.Skipped})
	}
	for _, text := range events.Lines {
		line := []byte(text)
		changed = changed || contract.EventNameOf(line) != (contract.Delta{}).EventName()
		f.add(f.line(line), f.after(line))
	}
	f.flush()
	return changed
}

// status sends a status if it differs from the one that the page shows.
func (f *webFollower) status(st runstore.LiveStatus) {
	st.Seq = 0 // changes with each event, and is not shown
	for _, a := range st.Agents {
		f.names[a.ID] = st.Name(a.ID)
	}
	raw, err := pageStatus(st)
	if err != nil || bytes.Equal(raw, f.shown) {
		return
	}
	f.shown = raw
	f.out.send(partStatus, "", raw)
}

const (
	// mostPast is how many earlier events a page receives when it opens.
	mostPast = 3000
	// enough is how many bytes of events are sent at once, not counting the last event.
	enough = 64 << 10
)

// pageSide are the events from which the page sums up what it shows beside the conversation.
var pageSide = []string{"session", "spawn", "context", "turn", "done", "plan", "forecast", "changes", "merge"}

// readPast reads the events in the event log from the page's place up to another one, and when the run began. Events
// before the last most ones are left, except those that the page sums up.
func (f *webFollower) readPast(ctx context.Context, upTo logPlace, most int) (list []pastLine, left uint64, err error) {
	var summed []pastLine
	f.began, err = f.past(ctx, func(line []byte, at logPlace) {
		name := contract.EventNameOf(line)
		if _, shown := bounds[name]; !shown || at.Process >= upTo.Process && at.Seq > upTo.Seq {
			return
		}
		if list = append(list, pastLine{name, bytes.Clone(line), at, false}); len(list) <= most {
			return
		}
		if first := list[0]; slices.Contains(pageSide, first.name) {
			first.omitted = true
			summed = append(summed, first)
		}
		list, left = list[1:], left+1
	})
	if err != nil {
		return nil, 0, fmt.Errorf("read the event log: %w", err)
	}
	return append(summed, list...), left, nil
}

// sendPast sends what was read of the log, and moves the place after it.
func (f *webFollower) sendPast(list []pastLine, left uint64) {
	if left > 0 {
		f.out.send(partSkipped, "", skippedPart{left})
	}
	for _, l := range list {
		raw := f.line(l.line)
		if l.omitted {
			raw = slices.Concat([]byte(`{"omitted":true,`), raw[1:])
		}
		f.add(raw, l.place)
	}
	f.flush()
}

// add collects an event and moves the place after it; raw is nil for an event that the page does not show. What is
// sent at once is small, because a browser with a slow connection must receive it completely in time; otherwise it
// would make no progress.
func (f *webFollower) add(raw json.RawMessage, at logPlace) {
	if f.at = at; raw == nil {
		return
	}
	f.ready, f.bytes = append(f.ready, raw), f.bytes+len(raw)
	if f.bytes >= enough {
		f.flush()
	}
}

// flush sends the collected events.
func (f *webFollower) flush() {
	if len(f.ready) > 0 {
		f.out.send(partEvents, f.at.String(), f.ready)
	}
	f.ready, f.bytes = nil, 0
}

// pastLine is an event of the log, with the place after it.
type pastLine struct {
	name    string
	line    []byte
	place   logPlace
	omitted bool // the conversation does not show it
}

const (
	// mostText bounds one text of an event, in bytes. A longer text is cut and marked.
	mostText = 24 << 10
	// mostResult bounds the result of a tool, which the page shows folded.
	mostResult = 4 << 10
	// mostAsked bounds a text of an item that waits. It is large, because a person decides on the basis of that
	// text.
	mostAsked = 256 << 10
)

// bounds lists the events that the page shows, each with the limit for its texts. Other events are covered by the
// status, or are bookkeeping.
var bounds = map[string]int{
	"session": 1 << 10, "state": 1 << 10, "spawn": mostText, "message": mostText, "assistant": mostText,
	"delta": mostText, "tool_use": mostText, "tool_result": mostResult, "subagent_start": 1 << 10,
	"subagent_stop": 1 << 10, "turn": 1 << 10, "context": 1 << 10, "compact": 1 << 10, "check": mostResult,
	"acceptance": mostResult, "handoff": mostText, "decision": mostText, "plan": mostText, "permission": mostText,
	"permission_request": mostText, "takeover": mostText, "withdrawn": 1 << 10, "halted": 1 << 10, "question": mostText,
	"retry": mostResult, "restart": mostResult, "error": mostText, "notice": mostText, "workspace": 1 << 10,
	"changes": mostText, "overlap": 1 << 10, "merge": mostText, "done": mostResult, "result": mostText, "host": 1 << 10,
	"fuse": 1 << 10, "forecast": 1 << 10, "budget": 1 << 10, "context_warning": 1 << 10,
}

// line prepares an event's line for the page, with the text that all frontends share; nil: the page does not show it.
func (f *webFollower) line(line []byte) json.RawMessage {
	raw := pageLine(line)
	if raw == nil || contract.EventNameOf(line) == (contract.Delta{}).EventName() {
		return raw
	}
	e, err := contract.DecodeWritten(raw)
	if err != nil {
		return raw
	}
	var said string
	switch b := e.Body.(type) {
	case contract.Assistant, contract.Message, contract.Question, contract.ToolResult, contract.Plan, contract.Changes,
		contract.Result:
		return raw // shown in parts
	case contract.ToolUse:
		said = eventtext.Summary(b.Tool, b.Input)
	case contract.Forecast:
		said = eventtext.Price(b)
	case contract.Permission:
		said, _ = eventtext.Text(history.Entry{Event: e}, f.nameOf)
	case contract.Spawn:
		f.names[e.ID] = eventtext.Whole(b.Name, b.Host, b.Make)
		said = words.Sentence(eventtext.Line(e, f.nameOf))
	default:
		said = words.Sentence(eventtext.Line(e, f.nameOf))
	}
	text, _ := json.Marshal(said)
	// No event has a member of this name: of two, the page would take the last.
	return slices.Concat([]byte(`{"sentence":`), text, []byte(","), raw[1:])
}

func (f *webFollower) nameOf(id string) string { return f.names[id] }

// pageLine returns an event's line, cleaned; nil: the page does not show it. An event that cannot be decoded becomes a
// notice, so that nothing is omitted silently.
func pageLine(line []byte) json.RawMessage {
	most, shown := bounds[contract.EventNameOf(line)]
	if !shown {
		return nil
	}
	raw, err := clean(line, most)
	if err != nil {
		raw, _ = json.Marshal(map[string]string{
			"event": "notice", "id": contract.Supervisor, "text": "An event cannot be shown: " + err.Error(),
		})
	}
	return raw
}

// pageStatus returns a run's status in the form for the page.
func pageStatus(st runstore.LiveStatus) (json.RawMessage, error) {
	// page has the texts that all frontends share.
	page := struct {
		runstore.LiveStatus
		Asks  map[string]string `json:"asks"`  // by item: who wants what
		Where map[string]string `json:"where"` // by item: where the call of a request runs, and that it hides something
		Fuses map[string]string `json:"fuses"` // by agent
	}{st, map[string]string{}, map[string]string{}, map[string]string{}}
	for i, a := range st.Agents {
		st.Agents[i].Session = ""
		if a.Fuse > 0 {
			page.Fuses[a.ID] = eventtext.FuseSpent(a.FuseSpent, a.Fuse, st.Rehearsal) + " is spent."
		}
	}
	for _, i := range st.Inbox {
		page.Asks[i.ID] = eventtext.Asks(i, st.Name(i.Agent))
		if i.Request != nil {
			page.Where[i.ID] = eventtext.PlaceOf(i.Request.Place)
			if eventtext.Concealed(i.Request.Input) {
				page.Where[i.ID] = strings.TrimSpace(eventtext.Unseen + " " + page.Where[i.ID])
			}
		}
	}
	raw, err := json.Marshal(page)
	if err != nil {
		return nil, err
	}
	return clean(raw, mostAsked)
}

// clean sanitizes and bounds every text in a JSON value, including names of members.
func clean(raw []byte, most int) (json.RawMessage, error) {
	return jsonl.MapStrings(raw, func(text string) string { return cleanText(text, most) })
}

func cleanText(text string, most int) string {
	if len(text) <= most {
		return sanitize.Text(text)
	}
	head := strings.ToValidUTF8(text[:most], "")
	return sanitize.Text(head) + fmt.Sprintf("\n… %d more bytes are not shown here; arbiter replay prints them.",
		len(text)-len(head))
}
