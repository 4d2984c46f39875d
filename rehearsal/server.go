package rehearsal

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/arbiter-cli/arbiter/transcript"
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

	cancel context.CancelFunc // ends the contexts of all requests, and with them the waits of the script
	served chan error         // the result of Serve; capacity 1, sent once
	close  func() error
	open   sync.RWMutex // held by each handler for reading, and by the end for writing

	// mu guards what follows.
	mu       sync.Mutex
	requests []Request
	problems []string
}

// Start listens on a free port of 127.0.0.1 and serves until Close.
func Start(sc *Scenario, o Options) (*Server, error) {
	vars := maps.Clone(sc.Vars)
	maps.Copy(vars, o.Vars)
	if err := sc.CheckVars(vars); err != nil {
		return nil, err
	}
	o.Logger = cmp.Or(o.Logger, slog.New(slog.DiscardHandler))
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("listen for the rehearsal: %w", err)
	}
	s := &Server{options: o, stage: newStage(sc, vars),
		url: "http://" + l.Addr().String(), served: make(chan error, 1)}
	ctx, cancel := context.WithCancel(context.Background())
	s.cancel = cancel
	s.close = sync.OnceValue(s.shutdown)
	s.http = &http.Server{
		Handler:           http.HandlerFunc(s.serve),
		BaseContext:       func(net.Listener) context.Context { return ctx },
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
	s.cancel()
	err := s.http.Close()
	if serr := <-s.served; !errors.Is(serr, http.ErrServerClosed) {
		err = errors.Join(err, serr)
	}
	s.open.Lock() // for ever: when the last handler has returned
	if err != nil {
		return fmt.Errorf("close the rehearsal: %w", err)
	}
	return nil
}

func (s *Server) serve(w http.ResponseWriter, r *http.Request) {
	if !s.open.TryRLock() { // a connection that was accepted a moment before may still send a request
		panic(http.ErrAbortHandler)
	}
	defer s.open.RUnlock()
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
	c, err := readCall(r.URL.Path, r.Header, body)
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
	if s.options.Watched {
		if err := wait(r.Context(), q.reply.pause); err != nil {
			s.stage.takeBack(q)
			log.Debug("answer taken back", "step", q.step, "err", err)
			panic(http.ErrAbortHandler)
		}
	}
	if err := q.reply.deliver(r.Context(), w, c); err != nil {
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

// Request is the record of one model request.
type Request struct {
	Session string // Claude's session id
	Agent   string // the subagent's id, if the client names one
	Role    Role
	Actor   string // the actor that answered; "" = none matched
	Step    string // file:line of the step that answered; "" = none
	Model   string
	Stream  bool
	Cwd     string   // working directory according to the request
	Tools   []string // that it offers
	Used    transcript.Usage
	// First and Incoming are the conversation's first text and the input to answer. Without Options.Record
	// they are cut to 4 KiB.
	First, Incoming string
	// The following fields are kept only with Options.Record.
	System   string
	Messages json.RawMessage
	Body     json.RawMessage
}

// UserText joins the texts of all messages of role user. It needs Options.Record.
func (r Request) UserText() string {
	var all []wireMessage
	_ = json.Unmarshal(r.Messages, &all) // without a record there are none
	var said content
	for _, m := range all {
		if m.Role == "user" {
			said = append(said, m.Content...)
		}
	}
	return said.text()
}

const (
	summaryText = 4 << 10
	keepSummary = 10000 // summaries kept; the oldest are removed first
	keepProblem = 1000
)

// enter keeps a request.
func (s *Server) enter(c *call, q cue, body []byte) {
	r := Request{
		Session: c.session, Agent: c.agent, Role: q.role, Actor: q.actor, Step: q.step,
		Model: c.Model, Stream: c.Stream, Cwd: c.cwd, First: c.firstText, Incoming: c.incoming, Used: q.reply.usage,
	}
	for _, t := range c.Tools {
		r.Tools = append(r.Tools, t.Name)
	}
	if s.options.Record {
		r.System, r.Body = c.System.text(), body
		var raw struct{ Messages json.RawMessage }
		_ = json.Unmarshal(body, &raw) // it was read before
		r.Messages = raw.Messages
	} else {
		// Cloned, so that a cut string does not hold the whole body.
		r.First, r.Incoming = strings.Clone(r.First[:min(len(r.First), summaryText)]),
			strings.Clone(r.Incoming[:min(len(r.Incoming), summaryText)])
	}
	s.note(&r, q.problems...)
}

// note records a request, unless it is nil, and problems.
func (s *Server) note(r *Request, problems ...string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if r != nil {
		if !s.options.Record && len(s.requests) >= keepSummary {
			s.requests = slices.Delete(s.requests, 0, keepSummary/10)
		}
		s.requests = append(s.requests, *r)
	}
	s.problems = append(s.problems, problems...)
	s.problems = s.problems[:min(len(s.problems), keepProblem)]
}

// Requests returns the model requests recorded so far, oldest first.
func (s *Server) Requests() []Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.requests)
}

// Problems returns deviations from the script: expectations that failed, requests for which no step was
// left, conversations that no actor matched, templates that could not be filled, keys that look real.
func (s *Server) Problems() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.problems)
}
