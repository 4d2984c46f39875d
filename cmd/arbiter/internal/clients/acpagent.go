package clients

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"log/slog"
	"net/url"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/google/uuid"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/sourcegraph/jsonrpc2"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/bridge/control"
	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/command"
	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/runstore"
	"github.com/arbiter-cli/arbiter/internal/backlog"
	"github.com/arbiter-cli/arbiter/sanitize"
	"github.com/arbiter-cli/arbiter/supervisor"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/journal"
	"github.com/arbiter-cli/arbiter/supervisor/machine"
	"github.com/arbiter-cli/arbiter/supervisor/runconfig"
	"github.com/arbiter-cli/arbiter/supervisor/words"
	"github.com/arbiter-cli/arbiter/transcript/jsonl"
)

// ACPConfig is the configuration of the agent.
type ACPConfig struct {
	Runs  Runs
	State string   // the flag with which other commands find them; empty: none
	Args  []string // flags of arbiter for new runs
	// Mode returns the permission mode in which a run in dir starts, or an error if no run can start there.
	Mode       func(dir string) (string, error)
	AcceptRisk bool // whether the mode allow-all may be chosen
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

	calls   atomic.Uint64 // number of requests sent
	serving sync.Map      // running prompts by request id: functions that cancel them

	mu       sync.Mutex
	can      features
	sessions map[string]*session
}

// ServeACP serves a client until the client closes its end or ctx ends. Runs continue after that.
func ServeACP(ctx context.Context, in io.Reader, out io.Writer, c ACPConfig) error {
	ctx, stop := context.WithCancel(ctx)
	s := &server{ACPConfig: c, ready: make(chan struct{}), ctx: ctx, sessions: map[string]*session{}}
	quiet := log.New(io.Discard, "", 0) // of lines about answers that no caller waits for
	s.conn = jsonrpc2.NewConn(ctx, newStream(in, out), s, jsonrpc2.SetLogger(quiet))
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
	case "session/cancel":
		s.cancel(p.SessionID)
	case methodCancelRequest:
		s.cancelRequest(req)
	case "session/prompt":
		s.prompt(req, p)
	case "initialize":
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
	case "session/new":
		return s.newSession(p)
	case "session/load":
		return s.openSession(p, true)
	case "session/resume":
		return s.openSession(p, false)
	case "session/list":
		return s.list(p)
	case "session/close":
		return s.closeSession(p.SessionID)
	case "session/set_mode":
		return object{}, s.setMode(p.SessionID, p.ModeID, true)
	case "session/set_config_option":
		return s.setOption(p)
	case "authenticate":
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
	logins := []object{}
	if c.Auth.Terminal {
		logins = append(logins, object{"type": "terminal", "id": "claude-login", "name": "Log in to Claude",
			"description": "Runs claude auth login", "args": s.Login})
	}
	return object{"protocolVersion": 1, "authMethods": logins,
		"agentInfo": object{"name": "arbiter", "title": "Arbiter", "version": s.Version},
		"agentCapabilities": object{"loadSession": true,
			"promptCapabilities":  object{"image": false, "audio": false, "embeddedContext": true},
			"sessionCapabilities": object{"list": object{}, "resume": object{}, "close": object{}}}}, nil
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
	id := jsonrpc2.ID{Num: s.calls.Add(1)}
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
	root, agent, _ := strings.Cut(id, "/")
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
	return object{"sessionId": open.id, "modes": s.modeState(mode), "configOptions": s.options(mode)}, nil
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
	open := &session{s: s, id: id, dir: dir, turn: make(chan struct{}, 1), gone: make(chan struct{})}
	open.ctx, open.close = context.WithCancel(s.ctx)
	s.mu.Lock()
	open.follow = acpFollower{follower: follower{runs: s.Runs, run: id}, session: open,
		mapper: newMapper(id, s.can), kick: make(chan struct{}, 1)}
	before := s.sessions[id]
	s.sessions[id] = open
	s.mu.Unlock()
	if before != nil {
		before.leave()
		open.note(func(now *standing) { now.own = before.now().own })
	}
	return open
}

// openSession opens a run as a session, and shows its history if show is set. Later events follow.
func (s *server) openSession(p sessionParams, show bool) (any, error) {
	info, err := s.run(p.SessionID)
	if err != nil {
		return nil, err
	}
	if p.CWD != "" && !info.Rehearsal && !command.SameDir(p.CWD, info.CWD) {
		return nil, invalid("run %s works in %s, not in %s", info.Run, info.CWD, p.CWD)
	}
	s.logIgnoredServers(p)
	open := s.open(info.Run, info.CWD)
	mode, err := s.Mode(info.CWD)
	if err != nil {
		mode = string(runconfig.ModeAsk)
	}
	open.mode, open.begun = mode, true
	f := &open.follow
	if f.loading = silent; show {
		f.loading = shown
	}
	err = f.catchUp(s.ctx)
	f.loading = acpLive
	if err != nil {
		return nil, err
	}
	mode = open.now().mode
	open.start()
	return object{"modes": s.modeState(mode), "configOptions": s.options(mode)}, nil
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
	sessions := []object{}
	r, n := object{}, 0
	for _, i := range all {
		if i.Empty || i.Damaged || i.CWD == "" || p.CWD != "" && !command.SameDir(p.CWD, i.CWD) {
			continue
		}
		n++
		if n <= from {
			continue
		}
		if len(sessions) == listed {
			r["nextCursor"] = strconv.Itoa(from + listed)
			break
		}
		sessions = append(sessions, object{"sessionId": i.Run, "cwd": i.CWD,
			"title": sanitize.Line(i.Title, maxTitle), "updatedAt": i.LastActive.UTC().Format(time.RFC3339)})
	}
	r["sessions"] = sessions
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
	return object{}, nil
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
	return object{"configOptions": s.options(value)}, nil
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
	case !s.canChoose(to, open.now().mode):
		return invalid("there is no permission mode %.40q", to)
	}
	ctx, cancel := context.WithTimeout(s.ctx, commandTimeout)
	defer cancel()
	if err := open.setMode(ctx, to); err != nil {
		return err
	}
	if byMode {
		s.send([]frame{s.optionsChanged(open.id, to)})
	} else {
		s.send([]frame{modeChanged(open.id, to)})
	}
	return nil
}

const (
	allowAll = "allow-all"
	optionID = "permissions"
)

// modes returns the modes that can be chosen. allow-all is among them only if the command was started with the risk
// accepted, or if the run is in that mode already.
func (c *ACPConfig) modes(now string) []runconfig.Mode {
	return slices.DeleteFunc(slices.Clone(runconfig.Modes), func(m runconfig.Mode) bool {
		return m == allowAll && !c.AcceptRisk && now != allowAll
	})
}

func (c *ACPConfig) canChoose(id, now string) bool {
	return slices.Contains(c.modes(now), runconfig.Mode(id))
}

// choices lists the modes that can be chosen; key is the name of the member with their ids.
func (c *ACPConfig) choices(key, now string) (list []object) {
	for _, m := range c.modes(now) {
		name := strings.ToUpper(string(m[:1])) + strings.ReplaceAll(string(m[1:]), "-", " ")
		list = append(list, object{key: m, "name": name, "description": m.Means()})
	}
	return list
}

func (c *ACPConfig) modeState(now string) object {
	return object{"currentModeId": now, "availableModes": c.choices("id", now)}
}

// options returns the modes as a configuration option, which newer clients show instead of modes.
func (c *ACPConfig) options(now string) []object {
	return []object{{"type": "select", "id": optionID, "name": "Permissions", "category": "mode", "currentValue": now,
		"description": "What happens to a tool call that no rule covers", "options": c.choices("value", now)}}
}

func modeChanged(session, now string) frame {
	return frame{session, object{"sessionUpdate": "current_mode_update", "currentModeId": now}}
}

func (c *ACPConfig) optionsChanged(session, now string) frame {
	return frame{session, object{"sessionUpdate": "config_option_update", "configOptions": c.options(now)}}
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

// idBefore matches the id of a message before its parameters.
var idBefore = command.Pattern(`"id"\s*:\s*(-?[0-9]+|"[^"\\]*")\s*,`)

// ReadObject implements jsonrpc2.ObjectStream. It skips empty lines and refuses lines that are too long or not JSON
// objects; the connection continues.
func (s *stream) ReadObject(v any) error {
	for {
		next, err := s.in.NextOrLast()
		if err != nil {
			return err
		}
		line := bytes.TrimSpace(next.Data)
		refusal := jsonrpc2.Error{Code: jsonrpc2.CodeParseError, Message: "a line is not JSON"}
		id := json.RawMessage("null") // for a line without a readable one
		switch {
		case next.Oversize:
			head, _, _ := bytes.Cut(line, []byte(`"params"`))
			if found := idBefore().FindSubmatch(head); found != nil && bytes.Contains(head, []byte(`"method"`)) {
				id = found[1] // of a request, and not of an answer to a request of the agent
			}
			refusal = jsonrpc2.Error{Code: jsonrpc2.CodeInvalidRequest,
				Message: fmt.Sprintf("the message has more than %d MiB: name a file instead of its content", acpMaxLine>>20)}
		case len(line) == 0:
			continue
		case json.Valid(line):
			if err = json.Unmarshal(line, v); err == nil {
				return nil
			}
			refusal = jsonrpc2.Error{Code: jsonrpc2.CodeInvalidRequest, Message: "a line is not a message: " + err.Error()}
		}
		if err := s.WriteObject(object{"jsonrpc": "2.0", "id": id, "error": refusal}); err != nil {
			return err
		}
	}
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

const (
	// commandTimeout is how long a run may take to accept a command, including starting it for that.
	commandTimeout = 60 * time.Second
	// again is the delay before the next look at a run that is ending or starting.
	again = 50 * time.Millisecond
)

// session is a run as the client sees it.
type session struct {
	s      *server
	id     string // also the id of the run
	dir    string
	follow acpFollower
	turn   chan struct{} // capacity 1: lock for sending a group of commands
	ctx    context.Context
	close  context.CancelFunc
	gone   chan struct{} // closed when the follower has ended

	mu sync.Mutex
	standing
	prompts []*prompt // that have not ended
}

// standing is the state of a session.
type standing struct {
	begun   bool   // the run exists
	own     bool   // this connection started its process: the session's end ends it
	started bool   // the follower was started
	mode    string // permission mode
	chosen  bool   // mode was chosen while the run was not live: resume with it
}

// prompt is a running prompt.
type prompt struct {
	armed     bool // the run has received it
	cancelled bool
	ended     chan error // capacity 1
	stop      string     // the stop reason, if there was no error
}

// start starts following the run.
func (o *session) start() {
	o.mu.Lock()
	defer o.mu.Unlock()
	if !o.started {
		o.started = true
		o.s.work.Go(o.follow.follow)
	}
}

// leave closes a session and waits until no more updates are sent about it.
func (o *session) leave() {
	o.close()
	o.mu.Lock()
	started := o.started
	o.started = true // so that start never starts it
	o.mu.Unlock()
	if started {
		<-o.gone
	}
}

// now returns the state of the session.
func (o *session) now() standing {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.standing
}

// note changes the state of the session.
func (o *session) note(change func(*standing)) {
	o.mu.Lock()
	defer o.mu.Unlock()
	change(&o.standing)
}

// hold locks the sending of a group of commands.
func (o *session) hold(ctx context.Context) error {
	select {
	case o.turn <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	case <-o.ctx.Done():
		return errors.New("the session was closed")
	}
}

func (o *session) release() { <-o.turn }

// waiting returns the prompts that the run has received, and those that were cancelled.
func (o *session) waiting() (armed, cancelled []*prompt) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, p := range o.prompts {
		if p.armed {
			armed = append(armed, p)
		}
		if p.cancelled {
			cancelled = append(cancelled, p)
		}
	}
	return armed, cancelled
}

// end ends prompts. Cancelled ones end as cancelled.
func (o *session) end(list []*prompt, stop string, err error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, p := range list {
		i := slices.Index(o.prompts, p)
		if i < 0 {
			continue // it has ended already
		}
		o.prompts = slices.Delete(o.prompts, i, i+1)
		if p.cancelled {
			p.stop = stopCancelled
			p.ended <- nil
			continue
		}
		p.stop = stop
		p.ended <- err
	}
}

// cancelPrompts marks all prompts as cancelled. They end when the work has stopped.
func (o *session) cancelPrompts() {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, p := range o.prompts {
		p.cancelled = true
	}
}

// deliver hands a prompt to the run: as its first task, as a new task, or as a message.
func (o *session) deliver(ctx context.Context, p *prompt, text string) error {
	if err := o.hold(ctx); err != nil {
		return err
	}
	defer o.release()
	o.mu.Lock()
	cancelled := p.cancelled
	o.mu.Unlock()
	if cancelled {
		return nil
	}
	o.follow.asks.drop(func(_ string, x *acpAsk) bool { return x.declined.Load() }) // and ask about them again
	o.follow.refused.Store(0)
	o.follow.expect(text)
	err := o.send(ctx, text)
	if err != nil {
		o.follow.forget(text)
		return err
	}
	o.mu.Lock()
	p.armed = true
	o.mu.Unlock()
	o.start()
	o.follow.wake()
	return nil
}

func (o *session) send(ctx context.Context, text string) error {
	if was := o.now(); !was.begun {
		args := slices.Concat(o.s.Args, o.modeArgs(was.mode))
		more, err := o.beside(ctx)
		if err != nil {
			return err
		}
		args = append(args, more...)
		if _, err := o.s.Runs.Start(ctx, Start{Dir: o.dir, Task: text, Args: args, Run: o.id}); err != nil {
			if _, none := o.s.run(o.id); none == nil {
				// Starting failed after the run existed: the next prompt resumes it.
				o.note(func(s *standing) { s.begun = true })
			}
			return err
		}
		o.note(func(s *standing) { s.begun, s.own, s.chosen = true, true, false })
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, commandTimeout)
	defer cancel()
	for {
		done, err := o.trySend(ctx, text)
		if done || err != nil {
			return err
		}
		select {
		case <-time.After(again): // the run's process is just ending, or not ready yet
		case <-ctx.Done():
			return fmt.Errorf("run %s did not accept the prompt in time; send it again", o.id)
		}
	}
}

// Ways to begin in a directory in which another run works.
const (
	besideApart    = "apart"
	besideTogether = "together"
)

// beside asks how a run begins in a directory in which another one works, and returns the flags for that.
func (o *session) beside(ctx context.Context) ([]string, error) {
	const share = "--share-workspace"
	list, err := o.s.Runs.List()
	i := slices.IndexFunc(list, func(x journal.Info) bool {
		return x.Live && !x.Rehearsal && command.SameDir(x.CWD, o.dir)
	})
	if err != nil || i < 0 || slices.Contains(o.s.Args, share) {
		return nil, nil // if the runs cannot be read, Start says why
	}
	where := "Another run works in this directory: " + sanitize.Line(list[i].Title, maxTitle)
	var r permissionResult
	err = o.s.call(ctx, methodPermission, object{"sessionId": o.id, "toolCall": toolCall{
		ToolCallID: "begin-" + o.id, Title: where, Kind: "other", Status: "pending",
		Content: []object{textContent("To go on with that run, open its session, " + list[i].Run +
			", from the list of sessions.")},
	}, "options": []object{
		permissionOption(besideApart, "Begin in a worktree of its own", "allow_once"),
		permissionOption(besideTogether, "Begin in the same files", "allow_once"),
		permissionOption("not", "Do not begin", "reject_once"),
	}}, &r)
	switch {
	case err != nil:
		return nil, err
	case r.Outcome.OptionID == besideApart:
		return []string{share, "--isolation", "worktree"}, nil
	case r.Outcome.OptionID == besideTogether:
		return []string{share}, nil
	}
	return nil, invalid("%s. Nothing was begun", where)
}

// endProcess stops the process of the run in order, if this connection started it: another run may begin in the
// directory, and the session can be loaded again.
func (o *session) endProcess(ctx context.Context) {
	if !o.now().own {
		return
	}
	client, _, err := o.s.Runs.Dial(ctx, o.id)
	if err == nil {
		err = client.Stop(ctx, control.StopParams{Signal: "TERM"})
		client.Close()
	}
	if err != nil {
		o.s.Log.Info("acp: the run was not stopped", "run", o.id, "err", err)
	}
}

// trySend hands a text to the run, and resumes the run for it if it is not live. If it returns false and no error,
// the caller may try again.
func (o *session) trySend(ctx context.Context, text string) (done bool, err error) {
	info, err := o.s.run(o.id)
	if err != nil {
		return false, err
	}
	if !info.Live {
		var args []string
		if was := o.now(); was.chosen {
			args = o.modeArgs(was.mode)
		}
		task := ""
		if info.Finished {
			task = text
		}
		if err := o.s.Runs.Resume(ctx, o.id, task, args); err != nil {
			return false, err
		}
		o.note(func(s *standing) { s.own, s.chosen = true, false })
		return info.Finished, nil
	}
	client, st, err := o.s.Runs.Dial(ctx, o.id)
	if err != nil {
		return false, nil
	}
	defer client.Close()
	list := answers(st, text)
	if !slices.ContainsFunc(list, func(b contract.CommandBody) bool { _, said := b.(contract.Say); return said }) {
		o.follow.forget(text) // no message event will repeat the text
	}
	for _, body := range list {
		r, err := runstore.Send(ctx, client, body)
		switch _, ok := errors.AsType[*control.Refusal](err); {
		case ctx.Err() != nil:
			return false, ctx.Err()
		case ok, errors.Is(err, control.ErrSilent):
			return false, nil // the run is over
		case err != nil:
			return false, err
		case !r.Accepted && endsNow(ctx, client):
			return false, nil // the next attempt resumes the run
		case !r.Accepted:
			return false, invalid("%s", r.Message)
		}
	}
	return true, nil
}

// answers returns the commands for a prompt: stopped work continues, an offered option is chosen, and any other
// text is a message to the Arbiter. While agents work, the message is added to the running turn.
func answers(st runstore.LiveStatus, text string) []contract.CommandBody {
	var list []contract.CommandBody
	if st.Halted { // no agent process runs that could receive a message
		list = append(list, contract.Continue{})
	}
	waits := st.Paused && !st.Halted
	open := slices.ContainsFunc(st.Inbox, func(i supervisor.InboxItem) bool {
		return i.Kind == supervisor.InboxQuestion || i.Kind == supervisor.InboxAcceptance
	})
	word := strings.Trim(strings.TrimSpace(text), ".!\"'`")
	retry := false
	for _, i := range st.Inbox {
		for _, c := range i.Choices {
			if strings.EqualFold(c, word) && !(open && i.Optional) {
				if waits {
					list = append(list, contract.Continue{})
				}
				return append(list, contract.Choose{Option: c})
			}
			retry = retry || c == "retry" && !i.Optional
		}
	}
	if retry { // a failed agent gets the message after it was restarted
		list = append(list, contract.Choose{Option: "retry"})
	}
	say := contract.Say{Text: text}
	if !open && !retry && !st.Paused && !st.Halted {
		say.Strength = contract.Steer
	}
	list = append(list, say)
	if waits { // after the message: an agent that continues without it may end the run
		list = append(list, contract.Continue{})
	}
	return list
}

// endsNow reports whether a run has just ended or does not answer.
func endsNow(ctx context.Context, client *control.Client) bool {
	st, err := statusOf(ctx, client)
	return err != nil || !machine.State(st.Phase).Live()
}

// modeArgs returns the flags for a permission mode.
func (o *session) modeArgs(mode string) []string {
	args := []string{"--permissions", mode}
	if mode == allowAll {
		args = append(args, "--i-accept-the-risk")
	}
	return args
}

// setMode changes the permission mode; at once if the run is live.
func (o *session) setMode(ctx context.Context, to string) error {
	if err := o.hold(ctx); err != nil {
		return err
	}
	defer o.release()
	live := false
	if o.now().begun {
		info, err := o.s.run(o.id)
		if err != nil {
			return err
		}
		live = info.Live
	}
	if live {
		if err := o.command(ctx, contract.Configure{Permissions: to, AcceptRisk: to == allowAll}); err != nil {
			return err
		}
	}
	o.note(func(s *standing) { s.mode, s.chosen = to, !live })
	return nil
}

// command sends a command to the live run.
func (o *session) command(ctx context.Context, body contract.CommandBody) error {
	client, _, err := o.s.Runs.Dial(ctx, o.id)
	if err != nil {
		return err
	}
	defer client.Close()
	r, err := runstore.Send(ctx, client, body)
	if err == nil && !r.Accepted {
		err = invalid("%s", r.Message)
	}
	return err
}

// stopTimeout is how long the agents' turns may take to end after a prompt was cancelled.
const stopTimeout = 15 * time.Second

// prompt starts a prompt. It registers it before the next line is read, so that a later cancellation finds it.
func (s *server) prompt(req *jsonrpc2.Request, p sessionParams) {
	open, agent, err := s.session(p.SessionID)
	if err == nil && agent != "" {
		err = invalid("an Orchestrator takes no prompts: send it in the session of the run")
	}
	var text string
	if err == nil {
		if text, err = promptText(p.Prompt); err != nil {
			err = invalid("%v", err)
		}
	}
	if err != nil {
		s.answer(req, nil, err)
		return
	}
	mine := &prompt{ended: make(chan error, 1)}
	open.mu.Lock()
	open.prompts = append(open.prompts, mine) // in the order in which the client sent them
	open.mu.Unlock()
	s.serving.Store(req.ID, func() { s.cancel(open.id) })
	s.work.Go(func() {
		result, err := open.await(mine, text)
		s.serving.Delete(req.ID)
		s.answer(req, result, err)
	})
}

// await hands a prompt to the run and waits for its end.
func (o *session) await(p *prompt, text string) (any, error) {
	if err := o.deliver(o.ctx, p, text); err != nil {
		o.end([]*prompt{p}, "", err)
	}
	select {
	case err := <-p.ended:
		if err != nil {
			return nil, err
		}
		return object{"stopReason": p.stop}, nil
	case <-o.ctx.Done():
		return object{"stopReason": stopCancelled}, nil
	}
}

// cancelRequest cancels a prompt by its request id. Other requests are short and are not cancelled.
func (s *server) cancelRequest(req *jsonrpc2.Request) {
	var p struct{ RequestID *jsonrpc2.ID }
	if params(req, &p) != nil || p.RequestID == nil {
		return
	}
	if cancel, ok := s.serving.Load(*p.RequestID); ok {
		cancel.(func())()
	}
}

// cancel stops the work of a session, or the turn of an Orchestrator.
func (s *server) cancel(id string) {
	open, agent, err := s.session(id)
	if err != nil {
		s.Log.Debug("acp: nothing to cancel", "err", err)
		return
	}
	if agent == "" {
		open.cancelPrompts()
	}
	s.work.Go(func() {
		ctx, cancel := context.WithTimeout(open.ctx, commandTimeout)
		defer cancel()
		if agent != "" {
			if err := open.command(ctx, contract.Interrupt{ID: agent}); err != nil {
				s.Log.Warn("acp: an agent was not interrupted", "agent", agent, "err", err)
			}
			return
		}
		open.stopWork(ctx)
		select {
		case <-time.After(stopTimeout):
			_, cancelled := open.waiting()
			open.end(cancelled, stopCancelled, nil)
		case <-open.ctx.Done():
		}
	})
}

// stopWork pauses the run and interrupts its agents. Running prompts end as cancelled when no agent works any more,
// or at once if the run cannot be stopped.
func (o *session) stopWork(ctx context.Context) {
	err := o.hold(ctx)
	if err == nil {
		err = o.command(ctx, contract.Pause{})
		if err == nil {
			err = o.command(ctx, contract.Interrupt{})
		}
		o.release()
	}
	if err != nil {
		o.s.Log.Info("acp: nothing was interrupted", "err", err)
		_, cancelled := o.waiting()
		o.end(cancelled, stopCancelled, nil)
		return
	}
	o.follow.wake()
}

// maxPrompt bounds a prompt, in bytes. It is also the limit for a message from the human.
const maxPrompt = 1 << 20

// promptText converts a prompt to the text that the Arbiter gets. It refuses content types that were not
// advertised.
func promptText(blocks []contentBlock) (string, error) {
	var b strings.Builder
	for _, c := range blocks {
		switch {
		case c.Type == "text":
			b.WriteString(c.Text)
		case c.Type == "resource_link" && c.URI != "":
			b.WriteString(placeACP(c.URI))
		case c.Type == "resource" && c.Resource != nil && c.Resource.Text != nil:
			fmt.Fprintf(&b, "\n\n%s:\n%s\n", placeACP(c.Resource.URI), words.Fenced(*c.Resource.Text))
		case c.Type == "resource":
			return "", fmt.Errorf("a prompt cannot contain a resource that is not text: name its file instead")
		default:
			return "", fmt.Errorf("a prompt cannot hold content of type %.40q: send text, or name a file", c.Type)
		}
	}
	text := strings.TrimSpace(b.String())
	switch {
	case text == "":
		return "", fmt.Errorf("the prompt is empty: say what is to be done")
	case len(text) > maxPrompt:
		return "", fmt.Errorf("the prompt has %d bytes; at most %d are accepted: put it into a file and name that",
			len(text), maxPrompt)
	}
	return text, nil
}

// placeACP returns a resource in a form that agents can open: a file by its path, anything else by its URI.
func placeACP(uri string) string {
	u, err := url.Parse(uri)
	if err != nil || u.Scheme != "file" || u.Path == "" {
		return uri
	}
	if u.Fragment != "" {
		return u.Path + "#" + u.Fragment
	}
	return u.Path
}

const (
	// look is the interval at which a run that is not live is checked: another terminal may resume it.
	look = 2 * time.Second
	// retry is the delay before the next connection to a live run that does not answer.
	retry = 100 * time.Millisecond
)

// acpFollower reports the events of a run to the client, across all processes that play the run. Only its own
// goroutine calls its methods, except wake, expect and forget. catchUp may be called before that goroutine starts.
type acpFollower struct {
	follower
	session *session
	mapper  *mapper
	kick    chan struct{} // capacity 1: check whether prompts have ended
	loading loading       // how events read from the log are handled
	asks    asks
	refused atomic.Int32 // answers that the run has refused since the last prompt

	mu       sync.Mutex
	expected []string // texts that the client itself has shown already
}

// loading says how events that are read from the log are handled.
type loading int

const (
	acpLive loading = iota
	shown           // sent, as history
	silent          // not sent
)

// wake makes the follower check whether prompts have ended.
func (f *acpFollower) wake() {
	backlog.Hint(f.kick)
}

// expect records a text of the human that the client shows without an update.
func (f *acpFollower) expect(text string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.expected = append(f.expected, text)
}

// forget removes a text that expect recorded. It reports whether it was recorded.
func (f *acpFollower) forget(text string) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	i := slices.IndexFunc(f.expected, func(t string) bool { return strings.TrimSpace(t) == strings.TrimSpace(text) })
	if i >= 0 {
		f.expected = slices.Delete(f.expected, i, i+1)
	}
	return i >= 0
}

// follow follows the run until the session is closed.
func (f *acpFollower) follow() {
	o := f.session
	defer close(o.gone)
	defer f.asks.withdraw(nil)
	var last time.Time // LastActive of a run that is not live, when its log was last read
	for o.ctx.Err() == nil {
		info, err := o.s.run(o.id)
		wait := look
		switch {
		case err != nil:
			o.s.Log.Warn("acp: run not found", "run", o.id, "err", err)
		case info.Live:
			wait = retry // the run does not answer yet, is ending, or was lost
			l, err := f.connect(o.ctx, false, func(runstore.LiveStatus) error { return f.catchUp(o.ctx) })
			if err != nil {
				o.s.Log.Info("acp: run not followed", "run", o.id, "err", err)
				break
			}
			f.receive(l)
			l.end()
			f.asks.withdraw(nil)
		default:
			f.over(!info.LastActive.Equal(last))
			last = info.LastActive
		}
		select {
		case <-o.ctx.Done():
		case <-f.kick:
		case <-time.After(wait):
		}
	}
}

// catchUp reports the events in the log that were not reported yet.
func (f *acpFollower) catchUp(ctx context.Context) error {
	_, err := f.past(ctx, func(line []byte, at logPlace) {
		f.at = at
		f.report(line)
	})
	return err
}

// report reports an event to the client. It returns whether the items that wait for the human may have changed.
func (f *acpFollower) report(line []byte) bool {
	event, err := contract.DecodeWritten(line)
	if err != nil {
		f.session.s.Log.Warn("acp: event not read", "run", f.session.id, "err", err)
		return false
	}
	if b, ok := event.Body.(contract.Session); ok && f.loading != acpLive {
		f.session.note(func(s *standing) { s.learn(b.Permissions) })
	}
	frames := f.mapper.add(event)
	if f.loading == silent {
		return false
	}
	if f.loading == shown { // notices are not part of the history
		frames = slices.DeleteFunc(frames, func(x frame) bool {
			update, _ := x.Update.(object)
			return update["sessionUpdate"] == noticed
		})
	}
	if m, ok := event.Body.(contract.Message); ok && m.From == contract.Human && len(frames) > 0 && f.forget(m.Text) {
		frames = frames[1:]
	}
	f.session.s.send(frames)
	return !contract.Narrates(event.Body)
}

// receive reports what the run sends, until the run or the connection ends.
func (f *acpFollower) receive(l *link) {
	f.syncInbox(l)
	for {
		changed := false
		select {
		case <-l.ctx.Done():
			return
		case <-l.feed.Done():
			return
		case <-f.kick:
			changed = true
		case part := <-l.parts:
			switch part := part.(type) {
			case control.Events:
				for _, line := range part.Lines {
					f.at = f.after([]byte(line))
					changed = f.report([]byte(line)) || changed
				}
			case control.RunEnded:
				return
			}
		}
		if changed {
			f.syncInbox(l)
		}
	}
}

// over ends the prompts of a run that no process plays. If grown is set or prompts are open, it first reports the
// events that were not reported yet.
func (f *acpFollower) over(grown bool) {
	o := f.session
	armed, cancelled := o.waiting()
	if !grown && len(armed)+len(cancelled) == 0 {
		return
	}
	if err := f.catchUp(o.ctx); err != nil {
		o.s.Log.Warn("acp: event log not read", "run", o.id, "err", err)
	}
	err := f.loginNeeded()
	stop := stopEndTurn
	switch r := f.mapper.ended; {
	case err != nil:
	case r == nil:
		err = fmt.Errorf("the process of run %s ended before the work was done: send another prompt to resume it", o.id)
	case r.Status == contract.StatusLimit:
		stop = stopLimit
	}
	o.end(append(armed, cancelled...), stop, err)
}

// loginNeeded returns an error if the last error of the run was that Claude is not logged in.
func (f *acpFollower) loginNeeded() error {
	if !f.mapper.login {
		return nil
	}
	return &jsonrpc2.Error{Code: codeAuthRequired,
		Message: "Claude is not logged in: run claude auth login, and send the prompt again"}
}

// asks holds the pending requests to the client, by the id of the inbox item that each request is about. An item
// stays in it if its request was declined without an answer, so that it is not asked again before the next prompt. If
// the run has refused the answer, it is asked again at once.
type asks struct {
	open sync.Map // [*acpAsk] by item
}

type acpAsk struct {
	withdraw          context.CancelFunc
	declined, refused atomic.Bool
}

// maxRefused is how many refused answers are asked for again between two prompts: an editor may answer without a human.
const maxRefused = 5

// drop cancels and removes requests.
func (a *asks) drop(which func(item string, x *acpAsk) bool) {
	a.open.Range(func(item, x any) bool {
		if which(item.(string), x.(*acpAsk)) {
			x.(*acpAsk).withdraw()
			a.open.Delete(item)
		}
		return true
	})
}

// withdraw cancels the requests about items that are no longer open.
func (a *asks) withdraw(open []supervisor.InboxItem) {
	a.drop(func(item string, _ *acpAsk) bool {
		return !slices.ContainsFunc(open, func(i supervisor.InboxItem) bool { return i.ID == item })
	})
}

// syncInbox handles the items that wait for the human: it asks the client about them, cancels requests about settled
// items, and ends the prompts that no agent is still working on.
func (f *acpFollower) syncInbox(l *link) {
	o := f.session
	armed, _ := o.waiting() // before the status: the run has received these
	st, err := statusOf(l.ctx, l.ask)
	if err != nil {
		return // the connection is ending
	}
	changed := false
	o.note(func(s *standing) { changed = s.learn(st.Permissions) })
	if changed { // by another client
		o.s.send([]frame{modeChanged(o.id, st.Permissions), o.s.optionsChanged(o.id, st.Permissions)})
	}
	f.asks.withdraw(st.Inbox)
	f.asks.drop(func(_ string, x *acpAsk) bool { return x.refused.Load() })
	waiting := false
	for _, i := range st.Inbox {
		waiting = f.ask(l, i) || waiting
	}
	if waiting {
		o.end(armed, stopEndTurn, f.loginNeeded())
	}
	busy := func(a runstore.AgentStatus) bool { return a.Status == string(supervisor.AgentBusy) }
	if !f.mapper.works() && !slices.ContainsFunc(st.Agents, busy) {
		_, cancelled := o.waiting()
		o.end(cancelled, stopCancelled, nil)
	}
}

// ask asks the client about an inbox item. It reports whether a prompt ends because of the item. If the event of
// the item was not reported to the client yet, ask does nothing; settle runs again after that event.
func (f *acpFollower) ask(l *link, i supervisor.InboxItem) (ends bool) {
	switch {
	case i.Kind == supervisor.InboxPermission:
		if t, shown := f.mapper.asked[i.ID]; shown {
			session, _ := f.mapper.home(i.Agent)
			t = f.mapper.inFull(t, i)
			f.asking(l, i.ID, func(ctx context.Context) error {
				if i.Request.Tool == bridge.ElicitTool && f.mapper.can.elicits {
					return f.elicit(ctx, i)
				}
				return f.askPermission(ctx, session, t, *i.Request)
			})
		}
		return false
	case i.Optional:
		return false
	case i.Kind == supervisor.InboxQuestion || i.Kind == supervisor.InboxAcceptance:
		if _, shown := f.mapper.shownTexts[i.ID]; !shown {
			return false
		}
	}
	if f.mapper.can.elicits {
		f.asking(l, i.ID, func(ctx context.Context) error { return f.elicit(ctx, i) })
	}
	asked, open := f.asks.open.Load(i.ID)
	return !open || asked.(*acpAsk).declined.Load()
}

// errDeclined says that the client gave no answer.
var errDeclined = errors.New("declined")

// asking asks the client on a new goroutine. The error of the function how is errDeclined, or why the run has no
// answer.
func (f *acpFollower) asking(l *link, item string, how func(context.Context) error) {
	ctx, withdraw := context.WithCancel(l.ctx)
	mine := &acpAsk{withdraw: withdraw}
	if _, open := f.asks.open.LoadOrStore(item, mine); open {
		withdraw()
		return
	}
	f.session.s.work.Go(func() {
		defer withdraw()
		refused := (*jsonrpc2.Error)(nil)
		switch err := how(ctx); {
		case err == nil:
			return
		case errors.As(err, &refused) && f.refused.Add(1) <= maxRefused:
			f.session.s.send(f.mapper.on(f.mapper.root, object{"sessionUpdate": agentChunk, "messageId": uuid.NewString(),
				"content": textOf("That answer is not accepted: " + sanitize.Line(refused.Message, maxDescription) + "\n\n")}))
			mine.refused.Store(true)
		default:
			mine.declined.Store(true)
		}
		f.wake()
	})
}

// askPermission asks the client about a tool call and hands the answer to the run.
func (f *acpFollower) askPermission(
	ctx context.Context, session string, t toolCall, r contract.PermissionRequest,
) error {
	t.Update = ""
	offered, options := permitsFor(r), []object{}
	if r.Tool == bridge.ElicitTool {
		t.Content = append(slices.Clip(t.Content), textContent("To answer it: arbiter allow "+command.ShortID(f.run)+" "+
			r.Request+f.session.s.State+" --message TEXT. Allow once answers without a text."))
	}
	for _, o := range offered {
		options = append(options, permissionOption(o.id, o.label, o.kind))
	}
	var result permissionResult
	err := f.session.s.call(ctx, methodPermission,
		object{"sessionId": session, "toolCall": t, "options": options}, &result)
	i := slices.IndexFunc(offered, func(o permitOption) bool { return o.id == result.Outcome.OptionID })
	switch {
	case err != nil && ctx.Err() != nil:
		return nil
	case err != nil || result.Outcome.Outcome != "selected" || i < 0:
		return errDeclined
	}
	return f.sendAnswer(offered[i].permit)
}

func permissionOption(id, name, kind string) object {
	return object{"optionId": id, "name": name, "kind": kind}
}

// elicit shows the client a form for an item and hands the answer to the run.
func (f *acpFollower) elicit(ctx context.Context, i supervisor.InboxItem) error {
	text := ""
	if i.Request != nil {
		text, _ = elicited(*i.Request)
	}
	form := formFor("", text, i, "arbiter status "+command.ShortID(f.run)+f.session.s.State)
	p := form.params()
	var result mcp.ElicitResult
	err := f.session.s.call(ctx, "elicitation/create", object{"mode": p.Mode, "sessionId": f.mapper.root,
		"message": p.Message, "requestedSchema": p.RequestedSchema}, &result)
	if ctx.Err() != nil {
		return nil
	}
	if err == nil {
		if body := form.command(&result); body != nil {
			return f.sendAnswer(body)
		}
	}
	return errDeclined
}

// sendAnswer sends an answer to the run. An answer that comes too late changes nothing.
func (f *acpFollower) sendAnswer(body contract.CommandBody) error {
	ctx, cancel := context.WithTimeout(f.session.ctx, commandTimeout) // outlives the request, which it settles
	defer cancel()
	err := f.session.command(ctx, body)
	if err != nil {
		f.session.s.Log.Warn("acp: answer not accepted", "run", f.session.id, "err", err)
	}
	f.wake()
	return err
}

// learn stores the permission mode that the run has, unless the client has chosen another one for it. It returns
// whether that is news.
func (s *standing) learn(mode string) (changed bool) {
	if changed = mode != "" && mode != s.mode && !s.chosen; changed {
		s.mode = mode
	}
	return changed
}
