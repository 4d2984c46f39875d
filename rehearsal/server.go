package rehearsal

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"
)

// dummyKey is the only kind of key that the server accepts: one with this prefix. A real one, sent here by
// a wrong environment, is refused and reported, and never kept.
const (
	dummyPrefix = "sk-ant-rehearsal-"
	dummyKey    = dummyPrefix + "0000"
)

// maxBody bounds a request. The CLI accepts prompts of hundreds of megabytes, the real API 32.
const maxBody = 64 << 20

// Options of [Start].
type Options struct {
	Vars   map[string]string // override the scenario's own
	Logger *slog.Logger      // nil = silent
	Record bool              // keep whole requests, not summaries
	// Pace is the time to wait before every answer whose step sets no delay, so that a human can follow a
	// demonstration.
	Pace time.Duration
	// Watched enables the pauses of steps, for a person who watches.
	Watched bool
}

// Server plays one scenario on a port of 127.0.0.1.
type Server struct {
	options Options
	stage   *stage
	url     string
	http    *http.Server

	ctx      context.Context // ends at Close, and with it the waits of the script
	cancel   context.CancelFunc
	handlers sync.WaitGroup // requests being answered
	served   chan error     // the result of Serve; capacity 1, sent once
	close    func() error

	// mu guards what follows, and ensures that no handler is added after closing.
	mu       sync.Mutex
	closing  bool
	requests []Request
	problems []string
	changed  chan struct{} // closed and replaced at each entry
}

// Start listens on a free port of 127.0.0.1 and serves until Close.
func Start(sc *Scenario, o Options) (*Server, error) {
	vars := sc.Vars()
	maps.Copy(vars, o.Vars)
	if err := sc.CheckVars(vars); err != nil {
		return nil, err
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("listen for the rehearsal: %w", err)
	}
	s := &Server{options: o, stage: newStage(sc, vars), changed: make(chan struct{}),
		url: "http://" + l.Addr().String(), served: make(chan error, 1)}
	s.ctx, s.cancel = context.WithCancel(context.Background())
	s.close = sync.OnceValue(s.shutdown)
	s.http = &http.Server{
		Handler:           http.HandlerFunc(s.serve),
		ReadHeaderTimeout: 30 * time.Second,
		ErrorLog:          slog.NewLogLogger(o.Logger.Handler(), slog.LevelDebug),
	}
	go func() { s.served <- s.http.Serve(l) }()
	return s, nil
}

// URL returns the base URL, for ANTHROPIC_BASE_URL.
func (s *Server) URL() string { return s.url }

// Key returns the dummy key, for ANTHROPIC_API_KEY.
func (s *Server) Key() string { return dummyKey }

// Close ends every answer in progress, closes the connections and returns when
// the last handler has. It may be called more than once.
func (s *Server) Close() error { return s.close() }

func (s *Server) shutdown() error {
	s.mu.Lock()
	s.closing = true
	s.mu.Unlock()
	s.cancel()
	err := s.http.Close()
	if serr := <-s.served; !errors.Is(serr, http.ErrServerClosed) {
		err = errors.Join(err, serr)
	}
	s.handlers.Wait()
	if err != nil {
		return fmt.Errorf("close the rehearsal: %w", err)
	}
	return nil
}

// admit registers a handler, unless the server is closing: a connection that was accepted a moment before
// may still send a request.
func (s *Server) admit() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.closing {
		s.handlers.Add(1)
	}
	return !s.closing
}

func (s *Server) serve(w http.ResponseWriter, r *http.Request) {
	if !s.admit() {
		panic(http.ErrAbortHandler)
	}
	defer s.handlers.Done()
	w.Header().Set("Request-Id", newID("req_"))
	switch path := strings.TrimSuffix(r.URL.Path, "/"); {
	case r.Method == http.MethodPost && (path == "/v1/messages" || path == chatPath):
		s.messages(w, r)
	case r.Method == http.MethodPost && path == "/v1/messages/count_tokens":
		if body, ok := read(w, r); ok { // they are counted like in account
			_ = writeJSON(w, http.StatusOK, object{"input_tokens": len(body)/bytesPerToken + 1}) // the client may have gone
		}
	case path == "" && (r.Method == http.MethodHead || r.Method == http.MethodGet):
		w.WriteHeader(http.StatusOK) // the CLI's test of the connection
	default:
		writeError(w, false, http.StatusNotFound, "not_found_error", "Not found: "+r.Method+" "+r.URL.Path)
	}
}

func (s *Server) messages(w http.ResponseWriter, r *http.Request) {
	if !s.authorised(w, r) {
		return
	}
	body, ok := read(w, r)
	if !ok {
		return
	}
	c, err := understand(r, body)
	if err != nil {
		s.note(nil, err.Error())
		writeError(w, false, http.StatusBadRequest, "invalid_request_error", err.Error())
		return
	}
	log := s.options.Logger.With("session", short(c.session))
	q := s.stage.play(c)
	s.enter(c, q, body)
	log.Debug("request", "path", r.URL.Path, "role", q.role, "actor", q.actor, "step", q.step, "again", q.again)
	for _, p := range q.problems {
		log.Warn("rehearsal", "problem", p)
	}
	if q.reply.delay == 0 && q.role != RoleSide {
		q.reply.delay = s.options.Pace
	}
	ctx, cancel := context.WithCancel(r.Context()) // which also ends at Close
	defer cancel()
	defer context.AfterFunc(s.ctx, cancel)()
	if s.options.Watched {
		if err := wait(ctx, q.reply.pause); err != nil {
			s.stage.takeBack(q)
			log.Debug("answer taken back", "step", q.step, "err", err)
			panic(http.ErrAbortHandler)
		}
	}
	if err := q.reply.deliver(ctx, w, c); err != nil {
		log.Debug("answer not delivered", "step", q.step, "err", err)
		// Abort, do not close: a client must not take half an answer for a complete one.
		panic(http.ErrAbortHandler)
	}
}

func (s *Server) authorised(w http.ResponseWriter, r *http.Request) bool {
	key := cmp.Or(r.Header.Get("X-Api-Key"), strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer "))
	problem := "a request carried a key that is not the rehearsal's: real credentials must not come here"
	switch {
	case strings.HasPrefix(key, dummyPrefix):
		return true
	case key == "":
		problem = "a request carried no key"
	}
	s.note(nil, problem)
	writeError(w, false, http.StatusUnauthorized, "authentication_error", problem)
	return false
}

func read(w http.ResponseWriter, r *http.Request) ([]byte, bool) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	if err == nil {
		return body, true
	}
	status := http.StatusBadRequest
	if _, large := errors.AsType[*http.MaxBytesError](err); large {
		status = http.StatusRequestEntityTooLarge
	}
	writeError(w, false, status, errorType(status), err.Error())
	return nil, false
}
