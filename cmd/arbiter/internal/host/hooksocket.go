package host

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/subtle"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/bridge/claude"
	"github.com/arbiter-cli/arbiter/bridge/control"
	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/command"
	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/hookclient"
	"github.com/arbiter-cli/arbiter/hooks"
	"github.com/arbiter-cli/arbiter/supervisor"
	"github.com/arbiter-cli/arbiter/transcript"
)

// This part of the package answers the hooks of sessions that a person opened in a terminal: `arbiter hook`
// (package hookclient) asks over a Unix socket. The arbiter that plays the run ([ServeHooks]) finds the agent of the
// session in the run's snapshot, reads the session's context, decides with package hooks, and passes the outcome to
// the loop as if a bridge had seen it. It reports each level once. A process that an agent started must present its
// agent's token ([Tokens]).
//
// A [HooksService] owns the goroutine that accepts connections and one for each event; Close waits for them.

// read reads the context size from the session's transcript, for events that need it. An unreadable transcript
// means an unknown context size.
func (s *HooksService) read(in hooks.Input, agent hookedAgent) hooks.Reading {
	path := in.TranscriptPath
	// The CLI stores it as projects/PROJECT/SESSION.jsonl (observed with CLI 2.1.329). Any other path is refused.
	if !filepath.IsAbs(path) || filepath.Clean(path) != path || filepath.Base(path) != in.SessionID+".jsonl" ||
		filepath.Base(filepath.Dir(filepath.Dir(path))) != "projects" || in.AgentID != "" {
		return hooks.Reading{}
	}
	switch in.Event {
	case hooks.PostToolUse, hooks.PostToolUseFailure, hooks.UserPromptSubmit, hooks.PreCompact:
	default:
		return hooks.Reading{}
	}
	r := s.readAt(path, agent)
	if in.ToolUseID == "" || !s.near(agent, r) {
		return r
	}
	s.awaitWritten(path, in.ToolUseID)
	return s.readAt(path, agent)
}

func (s *HooksService) readAt(path string, agent hookedAgent) hooks.Reading {
	tokens, err := s.size(path)
	if err != nil {
		s.log.Debug("hooks", "session", agent.Session, "error", err)
		return hooks.Reading{}
	}
	return hooks.Reading{Tokens: tokens, Window: agent.Window, Pct: transcript.Percent(tokens, agent.Window)}
}

// The CLI writes its transcript up to a quarter of a second late (observed with CLI 2.1.329), so a reading can be
// one call old. Close to a level that was not reported yet, waiting is worthwhile: then the model learns of the
// level with its next request, not with the one after. Otherwise events do not wait.
const (
	nearness    = 15 // points below the first level
	longestWait = 400 * time.Millisecond
	recheck     = 15 * time.Millisecond
)

// near reports whether the next reading may reach a level that was not reported yet.
func (s *HooksService) near(agent hookedAgent, r hooks.Reading) bool {
	s.mu.Lock()
	reported := s.present(agent)
	s.mu.Unlock()
	return reported.Level != hooks.LevelCritical && r.Window > 0 && r.Pct >= agent.Policy.Warn-nearness
}

// awaitWritten waits a short time until a call is in the transcript.
func (s *HooksService) awaitWritten(path, toolUse string) {
	late := time.NewTimer(longestWait)
	defer late.Stop()
	again := time.NewTicker(recheck)
	defer again.Stop()
	for !s.written(path, toolUse) {
		select {
		case <-again.C:
		case <-late.C:
			return
		case <-s.quit.Done():
			return
		}
	}
}

// tokensOf returns a session's context size from its transcript; 0: the transcript has none yet, or none since it
// was compacted.
func tokensOf(path string) (int, error) {
	newest, err := transcript.ReadNewest(path)
	if err != nil || !newest.Found {
		return 0, err
	}
	return newest.Sample.Usage.Context(), nil
}

// searched is how much of a transcript's end is searched for a call, which is in one of the last lines.
const searched = 1 << 20

// written reports whether a transcript has a tool call. It returns true for an unreadable transcript, so that
// nothing waits for it.
func written(path, toolUse string) bool {
	info, err := os.Lstat(path)
	if err != nil || !info.Mode().IsRegular() {
		return true
	}
	f, err := os.Open(path)
	if err != nil {
		return true
	}
	defer f.Close()
	tail, err := io.ReadAll(io.NewSectionReader(f, max(0, info.Size()-searched), searched))
	return err != nil || bytes.Contains(tail, []byte(toolUse))
}

const (
	// HookSocketName is the name of the socket in a run's directory, or of a link to it.
	HookSocketName = "hook.sock"
	// maxRequest bounds what `arbiter hook` sends: names and paths.
	maxRequest = 64 << 10
	// ioTimeout is how long a client may take to send its request, and again to read the answer.
	ioTimeout = time.Second
	// slots bounds the events answered concurrently; further connections wait to be accepted.
	slots = 16
)

// HooksService serves the hooks of sessions that people open. Create one with [ServeHooks].
type HooksService struct {
	loop      InputLoop
	terminals *Terminals
	log       *slog.Logger
	tokens    Tokens
	listener  *Listener // nil without a socket
	quit      context.Context
	stop      context.CancelFunc
	work      sync.WaitGroup

	// These read the CLI's transcripts, and ask the system who is at the other end of a connection.
	size     func(transcript string) (tokens int, err error) // of a session's context; 0: none yet
	written  func(transcript, toolUse string) bool           // a tool call
	identify func(*net.UnixConn) control.Peer

	mu       sync.Mutex
	sessions map[string]spent
}

// hookedAgent is what an answer depends on, besides the event.
type hookedAgent struct {
	bridge.AgentRef
	Session string
	Policy  hooks.Policy
	Window  int    // effective, in tokens; 0: unknown
	Spent   string // the level that was already reported to it in another way
}

// spent is what was reported to a session. A new incarnation starts with its own.
type spent struct {
	generation int
	hooks.Spent
	reading hooks.Reading // the last known reading
}

// ServeHooks listens in the directory of a run. If it cannot listen, it logs that; the sessions then get no warnings,
// and the run continues. The caller closes the service when the loop has ended.
func ServeHooks(dir string, loop InputLoop, t *Terminals, log *slog.Logger) *HooksService {
	s := newHooks(loop, t, log)
	s.listen(dir)
	return s
}

func newHooks(loop InputLoop, t *Terminals, log *slog.Logger) *HooksService {
	s := &HooksService{loop: loop, terminals: t, log: log, size: tokensOf, written: written,
		identify: control.Identify, sessions: map[string]spent{}}
	s.quit, s.stop = context.WithCancel(context.Background())
	return s
}

// listen listens in a run's directory. No other process may use the directory at the same time, so an existing socket
// belongs to a dead arbiter.
func (s *HooksService) listen(dir string) {
	var err error
	if s.listener, err = Listen(dir, HookSocketName); err != nil {
		s.log.Warn("hooks", "error", err)
		return
	}
	s.work.Go(func() {
		free := make(chan struct{}, slots)
		control.Accept(s.listener.UnixListener, free, s.quit, func(conn *net.UnixConn) {
			s.work.Go(func() {
				defer func() { <-free }()
				s.serve(conn)
			})
		}, s.log)
	})
}

// Close refuses further events, waits for the current ones (each takes two seconds at most) and removes the socket. It
// may be called more than once. It does nothing on a nil service.
func (s *HooksService) Close() {
	if s == nil || s.listener == nil {
		return
	}
	s.stop()
	err := s.listener.Close()
	s.work.Wait()
	if s.listener = nil; err != nil {
		s.log.Warn("hooks", "error", err)
	}
}

// Path returns the absolute path of the socket for sessions in terminals; "" if there is none.
func (s *HooksService) Path() string {
	if s.listener == nil {
		return ""
	}
	return s.listener.Path
}

// serve answers one event. Errors are only logged: the client has continued without an answer.
func (s *HooksService) serve(conn *net.UnixConn) {
	defer conn.Close()
	in, secret, err := receive(conn)
	if err != nil {
		s.log.Debug("hooks", "error", err)
		return
	}
	// Another user's process may not ask, nor an agent's process without the token of the agent it speaks for. A
	// person's own session, which no agent started, needs no token.
	agent, ok := agentOf(s.loop.Snapshot(), in.SessionID)
	p := s.identify(conn)
	if p.Problem != "" && (p.UID != os.Getuid() || !ok || !s.tokens.Good(agent.AgentRef, secret)) {
		s.log.Warn("hooks: refused", "session", in.SessionID, "event", in.Event, "why",
			p.String()+": "+p.Problem+", and it does not show its agent's token")
		_ = writeAnswer(conn, hooks.Answer{})
		return
	}
	if !ok { // a session that is not of this run
		_ = writeAnswer(conn, hooks.Answer{})
		return
	}
	d := s.decide(agent, in, s.read(in, agent))
	if err := writeAnswer(conn, d.answer); err != nil {
		s.log.Debug("hooks", "event", in.Event, "session", in.SessionID, "error", err)
		s.giveBack(agent, d)
		return
	}
	conn.Close() // the session continues; the loop may take longer
	s.report(agent.AgentRef, d)
}

// report passes the outcome of an event to the loop.
func (s *HooksService) report(a bridge.AgentRef, d decision) {
	r := d.after.reading
	tell := func(body bridge.EventBody) { s.loop.Event(bridge.Event{AgentRef: a, Body: body}) }
	if d.changed {
		tell(bridge.Context{Tokens: r.Tokens, Window: r.Window, Pct: r.Pct, Source: "transcript"})
	}
	for _, e := range d.effects {
		if event := claude.HookEvent(e, r); event != nil {
			tell(event)
		}
	}
}

func receive(conn *net.UnixConn) (in hooks.Input, secret string, err error) {
	if err := conn.SetReadDeadline(time.Now().Add(ioTimeout)); err != nil {
		return in, "", err
	}
	raw, err := io.ReadAll(io.LimitReader(conn, maxRequest+1))
	if err != nil {
		return in, "", fmt.Errorf("read request: %w", err)
	}
	if len(raw) > maxRequest {
		return in, "", fmt.Errorf("the request is larger than %d bytes", maxRequest)
	}
	var with struct {
		Token string `json:"arbiter_token"`
	}
	_ = json.Unmarshal(raw, &with) // Parse reports what is not an event
	in, err = hooks.Parse(raw)
	return in, with.Token, err
}

func writeAnswer(conn *net.UnixConn, a hooks.Answer) error {
	if err := conn.SetWriteDeadline(time.Now().Add(ioTimeout)); err != nil {
		return err
	}
	_, err := conn.Write(a.JSON())
	return err
}

// decision is the outcome of an event, and the answer to it.
type decision struct {
	answer        hooks.Answer
	effects       []hooks.Effect
	changed       bool // the reading differs from the last one
	before, after spent
}

// decide answers one event at a time: the tool calls of one message end concurrently.
func (s *HooksService) decide(agent hookedAgent, in hooks.Input, r hooks.Reading) (d decision) {
	s.mu.Lock()
	defer s.mu.Unlock()
	d.before = s.present(agent)
	d.after = d.before
	d.answer, d.after.Spent, d.effects = hooks.Decide(agent.Policy, in, r, d.before.Spent)
	if slices.ContainsFunc(d.effects, func(e hooks.Effect) bool { _, ok := e.(hooks.Compacted); return ok }) {
		d.after.reading = hooks.Reading{}
	}
	if d.changed = r.Tokens > 0 && r != d.before.reading; d.changed {
		d.after.reading = r
	}
	s.sessions[agent.Session] = d.after
	return d
}

// present returns what was reported to a session so far. The caller holds the lock.
func (s *HooksService) present(agent hookedAgent) spent {
	reported, ok := s.sessions[agent.Session]
	if !ok || reported.generation != agent.Generation {
		return spent{generation: agent.Generation, Spent: hooks.SpentLevel(agent.Spent)}
	}
	return reported
}

// giveBack undoes what decide marked as reported, if the answer could not be delivered. Another event may have been
// answered in the meantime; it did not report the same.
func (s *HooksService) giveBack(agent hookedAgent, d decision) {
	s.mu.Lock()
	defer s.mu.Unlock()
	reported := s.sessions[agent.Session]
	if reported.generation != d.after.generation {
		return
	}
	if reported.Level == d.after.Level && reported.Pct == d.after.Pct {
		reported.Level, reported.Pct = d.before.Level, d.before.Pct
	}
	reported.Owed = reported.Owed || d.before.Owed && !d.after.Owed
	s.sessions[agent.Session] = reported
}

// Tokens has the tokens that the hooks of sessions in terminals present: a random one for each generation of an
// agent.
type Tokens struct {
	list sync.Map // [token] by agent
}

type token struct {
	generation int
	secret     string
}

// Issue makes the token of a generation; it replaces the older one.
func (t *Tokens) Issue(a bridge.AgentRef) string {
	secret := rand.Text()
	t.list.Store(a.ID, token{a.Generation, secret})
	return secret
}

// Good reports whether secret is the agent's token. It compares in constant time.
func (t *Tokens) Good(a bridge.AgentRef, secret string) bool {
	issued, _ := t.list.Load(a.ID)
	have, _ := issued.(token)
	same := subtle.ConstantTimeCompare([]byte(have.secret), []byte(secret)) == 1
	return same && have.secret != "" && have.generation == a.Generation
}

// Setup is a runloop.Setup: it returns hooks that ask this process, and the token that they present.
func (s *HooksService) Setup(a bridge.AgentRef) (settings string, env map[string]string) {
	env = map[string]string{}
	if h := s.terminals.Of(a.ID); h != nil && h.term != "" {
		env["TERM"] = h.term
	}
	self, err := os.Executable()
	known, _ := s.loop.Snapshot().Agent(a.ID)
	if err != nil || s.listener == nil || known.Host != supervisor.LifecycleHere {
		return "", env
	}
	env[hookclient.TokenEnv] = s.tokens.Issue(a)
	return string(hooks.Settings(hookclient.CommandLine(self, s.Path()))), env
}

// agentOf finds the agent of a session. It ignores released agents: a person who reopens the session of one gets no
// advice to hand off.
func agentOf(s *supervisor.State, session string) (hookedAgent, bool) {
	for i := range s.Agents {
		a := s.Agents[i]
		if session == "" || a.SessionID != session || a.Status == supervisor.AgentEnded ||
			a.Status == supervisor.AgentStopping {
			continue
		}
		c := s.Hooks(a)
		return hookedAgent{
			AgentRef: a.AgentRef, Session: session, Window: a.Context.Window, Spent: c.Spent,
			Policy: claude.HookPolicy(c),
		}, true
	}
	return hookedAgent{}, false
}

// This file listens on the Unix sockets of a run, each at a path that only the user can access. A listener
// has one owner; Close removes the socket. The package has no goroutines.

// maxPath is the maximum length of a Unix socket's path: 107 bytes on Linux, 103 on macOS.
const maxPath = len(syscall.RawSockaddrUnix{}.Path) - 1

// Listener listens on a socket of a run: in the run's directory or, if that has too long a path or is accessible to
// others, in a directory of its own, with a link in the run's directory.
type Listener struct {
	*net.UnixListener
	Path string // of the socket
	link string // link to the socket; "" if there is none
	own  string // directory made for the socket; "" if there is none
}

// Listen listens in a run's directory. No other process may use the directory at the same time, so an existing
// socket belongs to a dead arbiter.
func Listen(dir, name string) (*Listener, error) {
	l, err := find(dir, name)
	if err != nil {
		return nil, err
	}
	if l.UnixListener, err = net.ListenUnix("unix", &net.UnixAddr{Name: l.Path, Net: "unix"}); err == nil {
		err = os.Chmod(l.Path, 0o600)
	}
	if err != nil {
		return nil, errors.Join(err, l.Close())
	}
	return l, nil
}

// Close closes the listener, if it is open, and removes what was created for it.
func (l *Listener) Close() error {
	var errs []error
	if l.UnixListener != nil {
		if err := l.UnixListener.Close(); !errors.Is(err, net.ErrClosed) {
			errs = append(errs, err)
		}
	}
	paths := []string{l.Path, l.link}
	if l.own != "" {
		paths = append(paths, filepath.Join(l.own, command.ScratchMark), l.own)
	}
	for _, path := range paths {
		if err := os.Remove(path); path != "" && err != nil && !errors.Is(err, fs.ErrNotExist) {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

// find removes an old socket from the run's directory, and chooses another directory if needed.
func find(dir, name string) (*Listener, error) {
	path := filepath.Join(dir, name)
	if err := makeWay(path); err != nil {
		return nil, err
	}
	if info, err := os.Stat(dir); err == nil && info.IsDir() && info.Mode().Perm()&0o077 == 0 && len(path) <= maxPath {
		return &Listener{Path: path}, nil
	}
	var errs []error
	for _, base := range []string{os.Getenv("XDG_RUNTIME_DIR"), os.TempDir(), "/tmp"} {
		if !filepath.IsAbs(base) {
			continue
		}
		own, err := command.MakeScratch(base, command.ScratchSockets, dir)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		l := &Listener{Path: filepath.Join(own, name), own: own}
		if len(l.Path) > maxPath {
			errs = append(errs, fmt.Errorf("%s is too long a name for a socket", l.Path), l.Close())
			continue
		}
		if err := os.Symlink(l.Path, path); err != nil {
			return nil, errors.Join(err, l.Close())
		}
		l.link = path
		return l, nil
	}
	return nil, errors.Join(errs...)
}

// makeWay removes what a killed arbiter has left: its socket, or the link with the directory that it points to. It
// removes nothing else.
func makeWay(path string) error {
	info, err := os.Lstat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return err
	case info.Mode().Type() == fs.ModeSymlink:
		if target, err := os.Readlink(path); err == nil &&
			strings.HasPrefix(filepath.Base(filepath.Dir(target)), command.ScratchSockets) {
			own := filepath.Dir(target)
			for _, path := range []string{target, filepath.Join(own, command.ScratchMark), own} {
				_ = os.Remove(path) // they may have been removed at a reboot
			}
		}
	case info.Mode().Type() != fs.ModeSocket:
		return fmt.Errorf("%s exists and is not a socket", path)
	}
	return os.Remove(path)
}
