package clients

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/arbiter-cli/arbiter/bridge/control"
	"github.com/arbiter-cli/arbiter/supervisor"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/journal"
)

// mcpWaitTimeout is only a deadline for failures.
const mcpWaitTimeout = time.Minute

const theRun = "4be1c2d0-0000-4000-8000-000000000000"

// world is the run of a test: its directory, its event log, and the process that plays it.
type world struct {
	t    *testing.T
	dir  string
	path string // of the event log
	sock string

	mu       sync.Mutex
	info     journal.Info
	status   control.Status
	chain    journal.LogChain
	seq      uint64
	refuse   error // of Dial
	commands []contract.CommandBody
	changed  chan struct{} // closed and replaced when something has happened
	server   *control.Server
}

func newWorld(t *testing.T) *world {
	t.Helper()
	dir, err := os.MkdirTemp("/tmp", "mcp-") // a socket's path must be short
	if err == nil {
		dir, err = filepath.EvalSymlinks(dir)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	w := &world{t: t, dir: dir, path: filepath.Join(dir, journal.LogName), sock: filepath.Join(dir, "s"),
		changed: make(chan struct{})}
	w.info.Run, w.info.CWD, w.info.Live, w.info.Unfinished = theRun, dir, true, true
	w.status = control.Status{Run: theRun, CWD: dir, PID: os.Getpid(), Phase: "executing", LogLines: 7}
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: w.sock, Net: "unix"})
	if err != nil {
		t.Fatal(err)
	}
	w.server = control.Serve(l, service{w}, slog.New(slog.DiscardHandler))
	t.Cleanup(func() { _ = w.server.Close() }) // it may have ended already
	w.happens(contract.Session{Session: theRun, CWD: dir})
	return w
}

// happens adds an event to the log, and notifies the clients of the run.
func (w *world) happens(b contract.Body) {
	w.t.Helper()
	w.mu.Lock()
	defer w.mu.Unlock()
	if _, ok := b.(contract.Session); ok {
		w.seq = 0
	}
	w.seq++
	now := time.Now()
	line, err := contract.EncodeLine(nil, w.seq, now, contract.Event{ID: "orch-1", Body: b})
	var raw []byte
	if err == nil {
		raw, err = w.chain.Append(nil, journal.LogContent{At: now, Line: line[:len(line)-1]})
	}
	if err != nil {
		w.t.Fatal(err)
	}
	f, err := os.OpenFile(w.path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err == nil {
		_, err = f.Write(raw)
		_ = f.Close()
	}
	if err != nil {
		w.t.Fatal(err)
	}
	w.notify()
}

// notify wakes the waiters. The caller holds mu.
func (w *world) notify() {
	close(w.changed)
	w.changed = make(chan struct{})
}

// message lets an agent say something that a model receives.
func (w *world) message(text string) {
	w.t.Helper()
	w.happens(contract.Message{From: "orch-1", To: "arbiter", Kind: "progress", Text: text})
}

// waits adds an item to the inbox.
func (w *world) waits(i control.InboxItem) {
	w.t.Helper()
	w.happens(contract.Question{Text: i.Text})
	w.do(func() {
		i.Since = time.Now()
		w.status.Inbox = append(w.status.Inbox, i)
	})
}

// asks adds a permission request to the inbox.
func (w *world) asks(id, command string, rules ...string) {
	w.t.Helper()
	raw, err := json.Marshal(contract.PermissionRequest{Request: id, Tool: "Bash", Action: "hash-" + id,
		Input: json.RawMessage(fmt.Sprintf(`{"command":%q}`, command)), Suggestions: rules})
	if err != nil {
		w.t.Fatal(err)
	}
	w.waits(
		control.InboxItem{ID: id, Kind: string(supervisor.InboxPermission), Agent: "orch-1", Text: "Bash", Request: raw},
	)
}

func (w *world) do(f func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	f()
	w.notify()
}

// answer removes an item from the inbox.
func (w *world) answer(id string) {
	w.do(func() {
		w.status.Inbox = slices.DeleteFunc(slices.Clone(w.status.Inbox),
			func(i control.InboxItem) bool { return i.ID == id })
	})
}

// given returns the commands received so far.
func (w *world) given() []contract.CommandBody {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.commands)
}

// ends ends the process of the run.
func (w *world) ends() {
	w.do(func() { w.info.Live = false })
	_ = w.server.Close()
}

// List, Find, Dial, Start, Resume, Log and Report implement Runs.
func (w *world) List() ([]journal.Info, error) { return []journal.Info{w.found()}, nil }

func (w *world) found() journal.Info {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.info
}

func (w *world) Find(named string) (journal.Info, error) {
	if !strings.HasPrefix(theRun, named) {
		return journal.Info{}, errors.New("there is no run " + named)
	}
	return w.found(), nil
}

func (w *world) Dial(ctx context.Context, _ string) (*control.Client, control.Status, error) {
	if w.refuse != nil {
		return nil, control.Status{}, w.refuse
	}
	if !w.found().Live {
		return nil, control.Status{}, control.ErrSilent
	}
	return control.Dial(ctx, w.sock, nil)
}

func (w *world) Start(_ context.Context, s Start) (string, error) {
	w.do(func() {
		w.commands = append(w.commands, contract.Say{Text: s.Task, To: s.Dir + " " + strings.Join(s.Args, " ")})
	})
	return theRun, nil
}

func (w *world) Resume(context.Context, string, []string) error {
	w.do(func() { w.commands = append(w.commands, contract.Continue{}) })
	return nil
}

func (w *world) Log(string) (*journal.EventLog, error) { return journal.OpenLog(w.path) }

func (w *world) Report(_ context.Context, _, format string, out io.Writer) error {
	_, err := io.WriteString(out, strings.Repeat(format+" ", 10_000))
	return err
}

// service serves the control socket of the run.
type service struct{ w *world }

func (s service) Status() control.Status {
	s.w.mu.Lock()
	defer s.w.mu.Unlock()
	return s.w.status
}

func (s service) Command(_ context.Context, line json.RawMessage) (control.CommandResult, error) {
	c := contract.ParseCommand(line)
	s.w.do(func() { s.w.commands = append(s.w.commands, c.Body) })
	if p, ok := c.Body.(contract.Permit); ok {
		s.w.answer(p.Request)
	}
	return control.CommandResult{Accepted: true, Message: "taken"}, nil
}

func (s service) Subscribe(ctx context.Context, _ control.SubscribeParams, send func(any) error) {
	for {
		s.w.mu.Lock()
		changed := s.w.changed
		s.w.mu.Unlock()
		if send(control.Events{}) != nil {
			return
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return
		}
	}
}

func (service) Attach(context.Context, string, control.AttachParams, func(string)) (control.Attachment, error) {
	return nil, errors.New("no terminal here")
}
func (service) Halt(context.Context, control.HaltParams) control.HaltResult {
	return control.HaltResult{}
}
func (service) State() (control.StateResult, error)            { return control.StateResult{}, nil }
func (service) Put(context.Context, control.PutParams) error   { return nil }
func (service) Stop(context.Context, control.StopParams) error { return nil }
func (service) InputEnded(context.Context) error               { return nil }
func (service) Refused(control.Peer, string)                   {}

// options returns the options of a server for the world's run.
func (w *world) options() MCPOptions {
	return MCPOptions{Runs: w, Args: []string{"--max-cost", "5"}, Dirs: []string{w.dir}, Version: "1",
		Line: func(e contract.Event) string {
			if m, ok := e.Body.(contract.Message); ok {
				return m.Text
			}
			return ""
		},
		Full:  func(e contract.Event) string { return string(e.Body.(contract.PermissionRequest).Input) },
		Typed: func(name, run string, args ...string) string { return name + " " + strings.Join(args, " ") },
	}
}

// user is a client of a server.
type user struct {
	t       *testing.T
	session *mcp.ClientSession
}

// serve connects a client to a server for the world's run. version is the protocol version; empty: the newest.
func (w *world) serve(version string, o *mcp.ClientOptions, change func(*MCPOptions)) *user {
	w.t.Helper()
	opts := w.options()
	if change != nil {
		change(&opts)
	}
	s, err := NewMCP(opts)
	if err != nil {
		w.t.Fatal(err)
	}
	mine, theirs := mcp.NewInMemoryTransports()
	var served sync.WaitGroup
	served.Go(func() { _ = s.Serve(w.t.Context(), theirs) }) // it returns when the client has gone
	w.t.Cleanup(served.Wait)
	client := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, o)
	session, err := client.Connect(w.t.Context(), mine, &mcp.ClientSessionOptions{ProtocolVersion: version})
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() { _ = session.Close() })
	return &user{w.t, session}
}

// callMCP calls a tool and returns its result, or the error text of a failed call.
func callMCP[T any](u *user, name string, args map[string]any) (v T, failed string) {
	u.t.Helper()
	ctx, cancel := context.WithTimeout(u.t.Context(), mcpWaitTimeout)
	defer cancel()
	r, err := u.session.CallTool(ctx, &mcp.CallToolParams{Name: name, Arguments: args})
	if err != nil {
		u.t.Fatalf("%s: %v", name, err)
	}
	if r.IsError {
		return v, r.Content[0].(*mcp.TextContent).Text
	}
	raw, err := json.Marshal(r.StructuredContent)
	if err == nil {
		err = json.Unmarshal(raw, &v)
	}
	if err != nil {
		u.t.Fatalf("%s: %v: %s", name, err, raw)
	}
	return v, ""
}

func (u *user) wait(since uint64) MCPView {
	u.t.Helper()
	v, failed := callMCP[MCPView](u, "wait", map[string]any{"run": theRun, "since": since})
	if failed != "" {
		u.t.Fatalf("wait: %s", failed)
	}
	return v
}
