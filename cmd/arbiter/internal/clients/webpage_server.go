package clients

import (
	"context"
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"mime"
	"net"
	"net/http"
	"path"
	"strings"
	"time"

	"github.com/arbiter-cli/arbiter/bridge/control"
	"github.com/arbiter-cli/arbiter/sanitize"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/journal"
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

// WebRuns is the part of Runs that the page needs.
type WebRuns interface {
	Find(named string) (journal.Info, error)
	Dial(ctx context.Context, run string) (*control.Client, control.Status, error)
	Log(run string) (*journal.EventLog, error)
	Resume(ctx context.Context, run string, args []string) error
}

// WebOptions configure a server.
type WebOptions struct {
	Runs   WebRuns
	Run    string   // complete id
	Listen string   // address; port 0: any
	Hosts  []string // other host names of this machine that browsers may use
	// Public allows an address that other machines can reach. The connection is not encrypted.
	Public bool
}

// WebServer serves the page of one run.
type WebServer struct {
	runs     WebRuns
	run      string
	guard    *guard
	listener net.Listener
	streams  chan struct{} // one slot per page that follows
	handler  http.Handler
}

// ErrNotLoopback says that other machines could reach the page.
var ErrNotLoopback = errors.New("other machines reach this address, and nothing is encrypted there")

// ListenWeb opens the port. The caller must call Serve or Close.
func ListenWeb(o WebOptions) (*WebServer, error) {
	if _, _, err := net.SplitHostPort(o.Listen); err != nil {
		return nil, fmt.Errorf("%q is not an ADDRESS:PORT", o.Listen)
	}
	if !isLoopback(o.Listen) && !o.Public {
		return nil, ErrNotLoopback
	}
	for _, h := range o.Hosts {
		if name, ok := hostname(h); !ok || name == "" {
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
	hosts := make([]string, 0, len(o.Hosts)+1)
	for _, h := range o.Hosts {
		if name, ok := hostname(h); ok {
			hosts = append(hosts, name)
		}
	}
	if host, _, err := net.SplitHostPort(o.Listen); err == nil && o.Public {
		hosts = append(hosts, host)
	}
	s := &WebServer{runs: o.Runs, run: o.Run, guard: newGuard(hosts), streams: make(chan struct{}, mostStreams)}
	s.handler = s.guard.wrap(s.routes())
	return s
}

func (s *WebServer) routes() http.Handler {
	assets, err := fs.Sub(embedded, "assets")
	if err != nil {
		panic(err) // cannot happen: the files are embedded
	}
	mux := http.NewServeMux()
	serve := func(w http.ResponseWriter, r *http.Request, name string) {
		kind, known := kinds[path.Ext(name)]
		if info, err := fs.Stat(assets, name); err != nil || info.IsDir() || !known {
			http.NotFound(w, r)
			return
		}
		w.Header().Set("Content-Type", kind)
		http.ServeFileFS(w, r, assets, name)
	}
	mux.HandleFunc("GET /{$}", func(w http.ResponseWriter, r *http.Request) { serve(w, r, "page.html") })
	mux.HandleFunc("GET /{file}", func(w http.ResponseWriter, r *http.Request) { serve(w, r, r.PathValue("file")) })
	mux.HandleFunc("GET /run/events", s.stream)
	mux.HandleFunc("POST /run/command", s.command)
	mux.HandleFunc("POST /run/stop", s.stop)
	mux.HandleFunc("POST /run/resume", s.resume)
	mux.HandleFunc("POST /link", s.link)
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

// allowed reports whether the page may send a command. Other commands change how a run is guarded (permission
// modes, acceptance) or have permanent effects, and need a terminal.
func allowed(c contract.CommandBody) bool {
	switch c.(type) {
	case contract.Say, contract.Permit, contract.Choose, contract.Interrupt, contract.Pause, contract.Continue:
		return true
	}
	return false
}

// answer is the reply to a request of the page.
type answer struct {
	Accepted bool   `json:"accepted"`
	Message  string `json:"message,omitempty"`
	Link     string `json:"link,omitempty"` // path of a link for another browser
}

// command sends a command of the page to the run.
func (s *WebServer) command(w http.ResponseWriter, r *http.Request) {
	raw, ok := readBody(w, r)
	if !ok {
		return
	}
	c := contract.ParseCommand(raw)
	if bad, is := c.Body.(contract.Malformed); is {
		reply(w, http.StatusBadRequest, answer{Message: bad.Problem})
		return
	}
	if !allowed(c.Body) {
		reply(w, http.StatusForbidden, answer{Message: "The page may not send this command. Use a terminal."})
		return
	}
	line, err := contract.MarshalCommand(contract.Command{Body: c.Body}) // without a ref: it belongs to the caller
	if err != nil {
		reply(w, http.StatusBadRequest, answer{Message: err.Error()})
		return
	}
	s.withRun(w, r, func(ctx context.Context, client *control.Client) (answer, error) {
		done, err := client.Command(ctx, line)
		return answer{Accepted: done.Accepted, Message: done.Message}, err
	})
}

// stop asks the run to end in an orderly way, like arbiter stop.
func (s *WebServer) stop(w http.ResponseWriter, r *http.Request) {
	if _, ok := readBody(w, r); !ok {
		return
	}
	s.withRun(w, r, func(ctx context.Context, client *control.Client) (answer, error) {
		err := client.Stop(ctx, control.StopParams{Signal: "TERM"})
		return answer{Accepted: err == nil, Message: "The run is stopping. It can be resumed."}, err
	})
}

// resume resumes a run that no process plays.
func (s *WebServer) resume(w http.ResponseWriter, r *http.Request) {
	if _, ok := readBody(w, r); !ok {
		return
	}
	if err := s.runs.Resume(r.Context(), s.run, nil); err != nil {
		reply(w, http.StatusConflict, answer{Message: err.Error()})
		return
	}
	reply(w, http.StatusOK, answer{Accepted: true, Message: "The run is resumed."})
}

// link makes a link for another browser.
func (s *WebServer) link(w http.ResponseWriter, r *http.Request) {
	if _, ok := readBody(w, r); !ok {
		return
	}
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
	var refused *control.Refusal
	switch {
	case errors.As(err, &refused):
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
	var large *http.MaxBytesError
	switch {
	case errors.As(err, &large):
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
