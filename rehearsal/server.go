package rehearsal

import (
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
	stage    *stage
	recorder *recorder
	log      *slog.Logger
	url      string
	pace     time.Duration
	watch    bool
	http     *http.Server

	ctx      context.Context // ends at Close, and with it the waits of the script
	cancel   context.CancelFunc
	gate     sync.Mutex // guards closing, and ensures that no handler is added after it
	closing  bool
	handlers sync.WaitGroup // requests being answered
	served   chan error     // the result of Serve; capacity 1, sent once
	close    func() error
}

// Start listens on a free port of 127.0.0.1 and serves until Close.
func Start(sc *Scenario, o Options) (*Server, error) {
	vars := sc.Vars()
	maps.Copy(vars, o.Vars)
	if err := sc.CheckVars(vars); err != nil {
		return nil, err
	}
	log := o.Logger
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("listen for the rehearsal: %w", err)
	}
	s := &Server{
		stage: newStage(sc, vars), recorder: &recorder{record: o.Record, changed: make(chan struct{})}, log: log,
		url: "http://" + l.Addr().String(), pace: o.Pace, watch: o.Watched, served: make(chan error, 1),
	}
	s.ctx, s.cancel = context.WithCancel(context.Background())
	s.close = sync.OnceValue(s.shutdown)
	s.http = &http.Server{
		Handler:           http.HandlerFunc(s.serve),
		ReadHeaderTimeout: 30 * time.Second,
		ErrorLog:          slog.NewLogLogger(log.Handler(), slog.LevelDebug),
	}
	go func() { s.served <- s.http.Serve(l) }()
	return s, nil
}

// URL returns the base URL, for ANTHROPIC_BASE_URL.
func (s *Server) URL() string { return s.url }

// Key returns the dummy key, for ANTHROPIC_API_KEY.
func (s *Server) Key() string { return dummyKey }

// Requests returns the model requests recorded so far, oldest first.
func (s *Server) Requests() []Request {
	r, _, _ := s.recorder.snapshot()
	return r
}

// Problems returns deviations from the script: expectations that failed, requests for which no step was
// left, conversations that no actor matched, templates that could not be filled, keys that look real.
func (s *Server) Problems() []string {
	_, p, _ := s.recorder.snapshot()
	return p
}

// Await returns nil as soon as met holds for the requests recorded so far, or
// the context's error.
func (s *Server) Await(ctx context.Context, met func([]Request) bool) error {
	return s.recorder.await(ctx, met)
}

// Close ends every answer in progress, closes the connections and returns when
// the last handler has. It may be called more than once.
func (s *Server) Close() error { return s.close() }

func (s *Server) shutdown() error {
	s.gate.Lock()
	s.closing = true
	s.gate.Unlock()
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
	s.gate.Lock()
	defer s.gate.Unlock()
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
		s.countTokens(w, r)
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
	body, ok := s.read(w, r)
	if !ok {
		return
	}
	c, err := understand(r, body)
	if err != nil {
		s.recorder.complain(err.Error())
		writeError(w, false, http.StatusBadRequest, "invalid_request_error", err.Error())
		return
	}
	q := s.stage.play(c)
	s.recorder.enter(c, q, body)
	s.log.Debug("request", "path", r.URL.Path, "session", short(c.session), "role", q.role, "actor", q.actor,
		"step", q.step, "again", q.again)
	for _, p := range q.problems {
		s.log.Warn("rehearsal", "problem", p)
	}
	if q.reply.delay == 0 && q.role != RoleSide {
		q.reply.delay = s.pace
	}
	ctx, stop := s.until(r.Context())
	defer stop()
	if s.watch {
		if err := wait(ctx, q.reply.pause); err != nil {
			s.stage.takeBack(q)
			s.log.Debug("answer taken back", "session", short(c.session), "step", q.step, "err", err)
			panic(http.ErrAbortHandler)
		}
	}
	if err := q.reply.deliver(ctx, w, c); err != nil {
		s.log.Debug("answer not delivered", "session", short(c.session), "step", q.step, "err", err)
		// Abort, do not close: a client must not take half an answer for a complete one.
		panic(http.ErrAbortHandler)
	}
}

// until returns the request's context, which also ends at Close.
func (s *Server) until(ctx context.Context) (context.Context, func()) {
	ctx, cancel := context.WithCancel(ctx)
	stop := context.AfterFunc(s.ctx, cancel)
	return ctx, func() { stop(); cancel() }
}

func (s *Server) authorised(w http.ResponseWriter, r *http.Request) bool {
	key := r.Header.Get("X-Api-Key")
	if key == "" {
		key = strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")
	}
	if strings.HasPrefix(key, dummyPrefix) {
		return true
	}
	problem := "a request carried no key"
	if key != "" {
		problem = "a request carried a key that is not the rehearsal's: real credentials must not come here"
	}
	s.recorder.complain(problem)
	writeError(w, false, http.StatusUnauthorized, "authentication_error", problem)
	return false
}

func (s *Server) read(w http.ResponseWriter, r *http.Request) ([]byte, bool) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	if err != nil {
		status := http.StatusBadRequest
		if _, large := errors.AsType[*http.MaxBytesError](err); large {
			status = http.StatusRequestEntityTooLarge
		}
		writeError(w, false, status, errorType(status), err.Error())
		return nil, false
	}
	return body, true
}

// countTokens counts tokens like account.
func (s *Server) countTokens(w http.ResponseWriter, r *http.Request) {
	body, ok := s.read(w, r)
	if !ok {
		return
	}
	if err := writeJSON(w, http.StatusOK, object{"input_tokens": len(body)/bytesPerToken + 1}); err != nil {
		s.log.Debug("token count not delivered", "err", err)
	}
}
