package clients

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/google/uuid"
	"github.com/sourcegraph/jsonrpc2"

	"github.com/arbiter-cli/arbiter/sanitize"
	"github.com/arbiter-cli/arbiter/supervisor/journal"
	"github.com/arbiter-cli/arbiter/supervisor/runconfig"
	"github.com/arbiter-cli/arbiter/transcript/jsonl"
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

// listed is the page size of a list of sessions.
const listed = 50

// newSession opens a session. Its run begins with the first prompt, so nothing is started here.
func (s *server) newSession(p sessionParams) (any, error) {
	if !filepath.IsAbs(p.CWD) {
		return nil, invalid("cwd %q is not absolute", p.CWD)
	}
	mode, err := s.Mode(p.CWD)
	if err != nil {
		return nil, invalid("%v", err)
	}
	open := s.open(uuid.NewString(), p.CWD)
	open.mode = mode
	s.logIgnoredServers(p)
	return sessionResult{SessionID: open.id, Modes: s.modeState(mode), ConfigOptions: s.options(mode)}, nil
}

// logIgnoredServers logs that the client's own MCP servers are ignored: the CLI uses those of its configuration.
func (s *server) logIgnoredServers(p sessionParams) {
	if len(p.MCPServers) > 0 {
		s.Log.Warn("acp: the client's MCP servers are not used: configure them in Claude Code",
			"count", len(p.MCPServers))
	}
}

// open registers a session. It closes a session that was open under the same id.
func (s *server) open(id, dir string) *session {
	s.mu.Lock()
	open := newSession(s, id, dir, s.can)
	before := s.sessions[id]
	s.sessions[id] = open
	s.mu.Unlock()
	if before != nil {
		before.leave()
	}
	return open
}

// openSession opens a run as a session, and shows its history if show is set. Later events follow.
func (s *server) openSession(p sessionParams, show bool) (any, error) {
	info, err := s.run(p.SessionID)
	if err != nil {
		return nil, err
	}
	if p.CWD != "" && !info.Rehearsal && !samePath(p.CWD, info.CWD) {
		return nil, invalid("run %s works in %s, not in %s", info.Run, info.CWD, p.CWD)
	}
	s.logIgnoredServers(p)
	open := s.open(info.Run, info.CWD)
	mode, err := s.Mode(info.CWD)
	if err != nil {
		mode = string(runconfig.ModeAsk)
	}
	open.mode, open.begun = mode, true
	if err := open.load(s.ctx, show); err != nil {
		return nil, err
	}
	mode = open.currentMode()
	open.start()
	return sessionResult{Modes: s.modeState(mode), ConfigOptions: s.options(mode)}, nil
}

// run finds the run of a session.
func (s *server) run(id string) (journal.Info, error) {
	notFound := &jsonrpc2.Error{Code: codeNotFound, Message: "there is no session " + sanitize.Line(id, 60)}
	if uuid.Validate(id) != nil {
		return journal.Info{}, notFound
	}
	info, err := s.Runs.Find(id)
	if err != nil || info.Run != id {
		return journal.Info{}, notFound
	}
	return info, nil
}

// list lists the runs, the most recently active first. The cursor is the number of runs already listed.
func (s *server) list(p sessionParams) (any, error) {
	all, err := s.Runs.List()
	if err != nil {
		return nil, err
	}
	from := 0
	if p.Cursor != "" {
		if from, err = strconv.Atoi(p.Cursor); err != nil || from < 0 {
			return nil, invalid("%.20q is not a cursor of a list", p.Cursor)
		}
	}
	r := listResult{Sessions: []sessionInfo{}}
	n := 0
	for _, i := range all {
		if i.Empty || i.Damaged || i.CWD == "" || p.CWD != "" && !samePath(p.CWD, i.CWD) {
			continue
		}
		n++
		if n <= from {
			continue
		}
		if len(r.Sessions) == listed {
			r.NextCursor = strconv.Itoa(from + listed)
			break
		}
		r.Sessions = append(r.Sessions, sessionInfo{SessionID: i.Run, CWD: i.CWD,
			Title: sanitize.Line(i.Title, maxTitle), UpdatedAt: i.LastActive.UTC().Format(time.RFC3339)})
	}
	return r, nil
}

// closeSession stops the work of a session, as the protocol requires, and the process that it started, and removes the
// session. The run can be loaded again.
func (s *server) closeSession(id string) (any, error) {
	open, agent, err := s.session(id)
	if err == nil && agent != "" {
		err = invalid("the session of an Orchestrator cannot be closed")
	}
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(s.ctx, commandTimeout)
	defer cancel()
	open.cancelPrompts()
	open.stopWork(ctx)
	open.endProcess(ctx)
	s.mu.Lock()
	if s.sessions[open.id] == open {
		delete(s.sessions, open.id)
	}
	s.mu.Unlock()
	open.leave()
	return empty{}, nil
}

// setOption sets the only configuration option: the permission mode.
func (s *server) setOption(p sessionParams) (any, error) {
	var value string
	if p.ConfigID != optionID || json.Unmarshal(bytes.TrimSpace(p.Value), &value) != nil {
		return nil, invalid("there is no option %.60q with such a value", p.ConfigID)
	}
	if err := s.setMode(p.SessionID, value, false); err != nil {
		return nil, err
	}
	return struct {
		ConfigOptions []configOption `json:"configOptions"`
	}{s.options(value)}, nil
}

// setMode changes the permission mode of a session. The client is notified in the form (mode or option) that it did
// not use.
func (s *server) setMode(id, to string, byMode bool) error {
	open, agent, err := s.session(id)
	switch {
	case err != nil:
		return err
	case agent != "":
		return invalid("the permissions are those of the whole run: set them in its session")
	case !s.canChoose(to, open.currentMode()):
		return invalid("there is no permission mode %.40q", to)
	}
	ctx, cancel := context.WithTimeout(s.ctx, commandTimeout)
	defer cancel()
	if err := open.setMode(ctx, to); err != nil {
		return err
	}
	if byMode {
		s.send([]frame{{open.id, currentOptions{optionsChanged, s.options(to)}}})
	} else {
		s.send([]frame{{open.id, currentMode{modeChanged, to}}})
	}
	return nil
}

// samePath compares two directories after resolving symbolic links.
func samePath(a, b string) bool {
	resolve := func(p string) string {
		if real, err := filepath.EvalSymlinks(p); err == nil {
			return real
		}
		return filepath.Clean(p)
	}
	return a == b || resolve(a) == resolve(b)
}

const (
	allowAll = "allow-all"
	optionID = "permissions"
)

// modes returns the modes that can be chosen. allow-all is among them only if the command was started with the risk
// accepted, or if the run is in that mode already.
func (c *ACPConfig) modes(now string) (list []mode) {
	for _, m := range runconfig.Modes {
		if id := string(m); id != allowAll || c.AcceptRisk || now == allowAll {
			name := strings.ToUpper(id[:1]) + strings.ReplaceAll(id[1:], "-", " ")
			list = append(list, mode{id, name, m.Means()})
		}
	}
	return list
}

func (c *ACPConfig) canChoose(id, now string) bool {
	return slices.ContainsFunc(c.modes(now), func(m mode) bool { return m.ID == id })
}

func (c *ACPConfig) modeState(now string) *modeState { return &modeState{now, c.modes(now)} }

// options returns the modes as a configuration option, which newer clients show instead of modes.
func (c *ACPConfig) options(now string) []configOption {
	o := configOption{Type: "select", ID: optionID, Name: "Permissions", Category: "mode", CurrentValue: now,
		Description: "What happens to a tool call that no rule covers"}
	for _, m := range c.modes(now) {
		o.Options = append(o.Options, configValue{m.ID, m.Name, m.Description})
	}
	return []configOption{o}
}

// acpMaxLine bounds a line from the client, in bytes.
const acpMaxLine = 16 << 20

// stream is the connection to the client: one JSON object per line. It implements jsonrpc2.ObjectStream.
type stream struct {
	in  *jsonl.LineReader
	raw io.Reader

	mu  sync.Mutex
	out io.Writer
}

func newStream(in io.Reader, out io.Writer) *stream {
	return &stream{in: jsonl.NewLineReader(in, acpMaxLine), raw: in, out: out}
}

// ReadObject implements jsonrpc2.ObjectStream. It skips empty lines and refuses lines that are not JSON objects;
// the connection continues.
func (s *stream) ReadObject(v any) error {
	for {
		next, err := s.in.NextOrLast()
		line := bytes.TrimSpace(next.Data)
		switch {
		case err != nil:
			return err
		case next.Oversize:
			return fmt.Errorf("a line of the client is longer than %d bytes", acpMaxLine)
		case len(line) == 0:
			continue
		}
		refusal := jsonrpc2.Error{Code: jsonrpc2.CodeParseError, Message: "a line is not JSON"}
		if json.Valid(line) {
			if err = json.Unmarshal(line, v); err == nil {
				return nil
			}
			refusal = jsonrpc2.Error{Code: jsonrpc2.CodeInvalidRequest, Message: "a line is not a message: " + err.Error()}
		}
		if err := s.WriteObject(refused{JSONRPC: "2.0", Error: refusal}); err != nil {
			return err
		}
	}
}

// refused is the answer to a line without a readable id.
type refused struct {
	JSONRPC string         `json:"jsonrpc"`
	ID      *int           `json:"id"`
	Error   jsonrpc2.Error `json:"error"`
}

// WriteObject implements jsonrpc2.ObjectStream.
func (s *stream) WriteObject(v any) error {
	line, err := json.Marshal(v)
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	_, err = s.out.Write(append(line, '\n'))
	return err
}

// Close implements io.Closer. It ends a running read only if the input can be closed.
func (s *stream) Close() error {
	if c, ok := s.raw.(io.Closer); ok {
		return c.Close()
	}
	return nil
}
