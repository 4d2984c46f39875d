package clients

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net"
	"net/http"
	"path"
	"time"

	"github.com/arbiter-cli/arbiter/bridge/control"
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
