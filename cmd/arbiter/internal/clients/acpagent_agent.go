package clients

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"sync"

	"github.com/sourcegraph/jsonrpc2"

	"github.com/arbiter-cli/arbiter/sanitize"
)

// ACPRuns finds, starts and resumes the user's runs.
type ACPRuns interface {
	Runs
	// ResumeWith resumes a run with a new task. The run then continues without the caller.
	ResumeWith(ctx context.Context, run, task string, args []string) error
}

// ACPConfig is the configuration of the agent.
type ACPConfig struct {
	Runs ACPRuns
	Args []string // flags of arbiter for new runs
	// Mode returns the permission mode in which a run in dir starts, or an error if no run can start there.
	Mode       func(dir string) (string, error)
	AcceptRisk bool // whether the mode allow-all may be chosen
	Words      ACPWords
	Version    string
	Login      []string // arguments that log in to Claude, appended to those of this command
	Log        *slog.Logger
}

// server is one connection to a client.
type server struct {
	ACPConfig
	conn  *jsonrpc2.Conn
	ready chan struct{} // closed when conn is set: the connection reads before NewConn returns
	ctx   context.Context
	work  sync.WaitGroup

	mu       sync.Mutex
	can      features
	sessions map[string]*session
	serving  map[jsonrpc2.ID]func() // running prompts by request id; the function cancels the prompt
	calls    uint64                 // number of requests sent
}

// ServeACP serves a client until the client closes its end or ctx ends. Runs continue after that.
func ServeACP(ctx context.Context, in io.Reader, out io.Writer, c ACPConfig) error {
	ctx, stop := context.WithCancel(ctx)
	s := &server{ACPConfig: c, ready: make(chan struct{}), ctx: ctx, sessions: map[string]*session{},
		serving: map[jsonrpc2.ID]func(){}}
	s.conn = jsonrpc2.NewConn(ctx, newStream(in, out), s, jsonrpc2.SetLogger(quiet{}))
	close(s.ready)
	select {
	case <-s.conn.DisconnectNotify():
	case <-ctx.Done():
	}
	stop()
	_ = s.conn.Close() // may be closed already
	s.work.Wait()
	return nil
}

// quiet discards jsonrpc2's own log lines, which are about answers that no caller waits for.
type quiet struct{}

func (quiet) Printf(string, ...any) {}

// Handle implements jsonrpc2.Handler, on the goroutine that reads. Work whose order matters starts here; slow work
// continues on a goroutine of its own.
func (s *server) Handle(_ context.Context, _ *jsonrpc2.Conn, req *jsonrpc2.Request) {
	<-s.ready
	var p sessionParams
	if err := params(req, &p); err != nil {
		s.answer(req, nil, err)
		return
	}
	switch req.Method {
	case methodCancel:
		s.cancel(p.SessionID)
	case methodCancelRequest:
		s.cancelRequest(req)
	case methodPrompt:
		s.prompt(req, p)
	case methodInitialize:
		result, err := s.initialize(req)
		s.answer(req, result, err)
	default:
		s.work.Go(func() {
			result, err := s.serve(req, p)
			s.answer(req, result, err)
		})
	}
}

func (s *server) serve(req *jsonrpc2.Request, p sessionParams) (any, error) {
	switch req.Method {
	case methodNew:
		return s.newSession(p)
	case methodLoad:
		return s.openSession(p, true)
	case methodResume:
		return s.openSession(p, false)
	case methodList:
		return s.list(p)
	case methodClose:
		return s.closeSession(p.SessionID)
	case methodSetMode:
		return empty{}, s.setMode(p.SessionID, p.ModeID, true)
	case methodSetOption:
		return s.setOption(p)
	case methodAuthenticate:
		return nil, &jsonrpc2.Error{Code: jsonrpc2.CodeInvalidParams,
			Message: "there is no such method of authentication: run claude auth login in a terminal"}
	}
	return nil, &jsonrpc2.Error{Code: jsonrpc2.CodeMethodNotFound,
		Message: fmt.Sprintf("unknown method %.100q", req.Method)}
}

// initialize negotiates what both ends support.
func (s *server) initialize(req *jsonrpc2.Request) (any, error) {
	var p initializeParams
	if err := params(req, &p); err != nil {
		return nil, err
	}
	c := p.ClientCapabilities
	can := features{subagents: c.Subagents != nil, elicits: c.Elicitation != nil && c.Elicitation.Form != nil}
	if c.Session != nil {
		can.notices, can.compaction = c.Session.Notices != nil, c.Session.Compaction != nil
	}
	s.mu.Lock()
	s.can = can
	s.mu.Unlock()
	r := initializeResult{ProtocolVersion: 1, AuthMethods: []authMethod{},
		AgentInfo: implementation{"arbiter", "Arbiter", s.Version},
		AgentCapabilities: agentCapabilities{LoadSession: true,
			PromptCapabilities: promptCapabilities{EmbeddedContext: true}}}
	if c.Auth.Terminal {
		r.AuthMethods = append(r.AuthMethods, authMethod{Type: "terminal", ID: "claude-login",
			Name: "Log in to Claude", Description: "Runs claude auth login", Args: s.Login})
	}
	return r, nil
}

// params decodes the parameters of a request into to. A request without parameters leaves to unchanged.
func params(req *jsonrpc2.Request, to any) error {
	if req.Params == nil {
		return nil
	}
	if err := json.Unmarshal(*req.Params, to); err != nil {
		return &jsonrpc2.Error{Code: jsonrpc2.CodeInvalidParams, Message: err.Error()}
	}
	return nil
}

func invalid(format string, args ...any) error {
	return &jsonrpc2.Error{Code: jsonrpc2.CodeInvalidParams, Message: fmt.Sprintf(format, args...)}
}

// answer answers a request. An error that is no *jsonrpc2.Error becomes an internal error with its text.
func (s *server) answer(req *jsonrpc2.Request, result any, err error) {
	if req.Notif {
		return
	}
	if err == nil {
		err = s.conn.Reply(s.ctx, req.ID, result)
		if err != nil {
			s.Log.Debug("acp: answer not sent", "method", req.Method, "err", err)
		}
		return
	}
	var wire *jsonrpc2.Error
	if !errors.As(err, &wire) {
		wire = &jsonrpc2.Error{Code: jsonrpc2.CodeInternalError, Message: err.Error()}
	}
	shown := *wire
	shown.Message = sanitize.Redact(sanitize.Text(wire.Message))
	if err := s.conn.ReplyWithError(s.ctx, req.ID, &shown); err != nil {
		s.Log.Debug("acp: answer not sent", "method", req.Method, "err", err)
	}
}

// send sends updates.
func (s *server) send(frames []frame) {
	for _, f := range frames {
		if err := s.conn.Notify(s.ctx, methodUpdate, f); err != nil {
			s.Log.Debug("acp: update not sent", "err", err)
			return
		}
	}
}

// call sends a request to the client and waits for the answer. If ctx ends first, it cancels the request.
func (s *server) call(ctx context.Context, method string, p, result any) error {
	s.mu.Lock()
	s.calls++
	id := jsonrpc2.ID{Num: s.calls}
	s.mu.Unlock()
	w, err := s.conn.DispatchCall(ctx, method, p, jsonrpc2.PickID(id))
	if err != nil {
		return err
	}
	err = w.Wait(ctx, result)
	if ctx.Err() != nil && s.ctx.Err() == nil {
		_ = s.conn.Notify(s.ctx, methodCancelRequest, map[string]jsonrpc2.ID{"requestId": id}) // may be answered
		return ctx.Err()
	}
	return err
}

// session finds an open session by its id, or by the id of the session of one of its Orchestrators.
func (s *server) session(id string) (open *session, agent string, err error) {
	root, agent := agentOf(id)
	s.mu.Lock()
	defer s.mu.Unlock()
	if open = s.sessions[root]; open == nil {
		return nil, "", &jsonrpc2.Error{Code: codeNotFound,
			Message: fmt.Sprintf("session %.60q is not open here: load it first", id)}
	}
	return open, agent, nil
}
