package control

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
	"sync"
	"testing"
	"time"

	"github.com/arbiter-cli/arbiter/internal/testkit"
)

// waitTimeout is the deadline of a failing test. No test measures it.
const waitTimeout = 2 * time.Minute

// testService is a Service of tests.
type testService struct {
	mu       sync.Mutex
	refused  []string
	commands []string
	open     *session // the last one attached
	opening  chan struct{}
	opens    int
	parts    []any // of each subscription
	reject   error
	changed  chan struct{} // capacity 1: something changed
}

func newTestService() *testService { return &testService{changed: make(chan struct{}, 1)} }

func (h *testService) do(f func()) {
	h.mu.Lock()
	defer h.mu.Unlock()
	f()
	select {
	case h.changed <- struct{}{}:
	default:
	}
}

// await waits until a condition holds.
func (h *testService) await(t *testing.T, what string, so func() bool) {
	t.Helper()
	late := time.After(waitTimeout)
	for {
		h.mu.Lock()
		ok := so()
		h.mu.Unlock()
		if ok {
			return
		}
		select {
		case <-h.changed:
		case <-late:
			t.Fatalf("not so within %s: %s", waitTimeout, what)
		}
	}
}

type testStatus struct {
	Run string
	PID int
}

func (h *testService) Status() any { return testStatus{Run: "run", PID: os.Getpid()} }

func (h *testService) Command(_ context.Context, line json.RawMessage) (CommandResult, error) {
	h.do(func() { h.commands = append(h.commands, string(line)) })
	return CommandResult{Accepted: true, Ref: "r"}, nil
}

func (h *testService) Halt(context.Context, HaltParams) HaltResult {
	return HaltResult{How: "loop", Halted: true}
}

func (h *testService) State() (StateResult, error) {
	return StateResult{Version: 7, State: json.RawMessage(`{"Paused":true}`)}, nil
}

func (h *testService) Put(_ context.Context, p PutParams) error {
	h.do(func() { h.commands = append(h.commands, p.Frontend+" "+string(p.Command)) })
	return h.reject
}

func (h *testService) Stop(_ context.Context, p StopParams) error {
	h.do(func() { h.commands = append(h.commands, fmt.Sprintf("stop %s %v", p.Signal, p.Fast)) })
	return nil
}

func (h *testService) InputEnded(context.Context) error {
	h.do(func() { h.commands = append(h.commands, "input ended") })
	return nil
}

func (h *testService) Subscribe(ctx context.Context, p SubscribeParams, send func(any) error) {
	for _, part := range h.parts {
		if err := send(part); err != nil {
			h.do(func() { h.refused = append(h.refused, "send failed") })
			return
		}
	}
	h.do(func() { h.commands = append(h.commands, fmt.Sprintf("subscribed since %d", p.Since)) })
	<-ctx.Done()
	h.do(func() { h.commands = append(h.commands, "unsubscribed") })
}

func (h *testService) Refused(p Peer, method string) {
	h.do(func() { h.refused = append(h.refused, method) })
}

func (h *testService) Attach(
	ctx context.Context, who string, p AttachParams, progress func(string),
) (Attachment, error) {
	progress("its turn is being stopped")
	h.do(func() { h.opens++ })
	if h.opening != nil {
		select {
		case <-h.opening:
		case <-ctx.Done():
			h.do(func() { h.refused = append(h.refused, "gave up") })
			return nil, ctx.Err()
		}
	}
	if h.reject != nil {
		return nil, h.reject
	}
	s := &session{h: h, feed: NewFeed(64 << 10), params: p}
	h.do(func() { h.open = s })
	return s, nil
}

// session is an Attachment of tests.
type session struct {
	h        *testService
	feed     *Feed
	params   AttachParams
	typed    []byte
	sizes    []Size
	detached int
}

func (s *session) Result() AttachResult {
	return AttachResult{Agent: s.params.Agent, Name: "Orchestrator I"}
}

func (s *session) Take(ctx context.Context, p []byte) (int, error) { return s.feed.Take(ctx, p) }

func (s *session) Write(_ context.Context, p []byte) error {
	s.h.do(func() { s.typed = append(s.typed, p...) })
	return nil
}

func (s *session) Resize(_ context.Context, size Size) error {
	s.h.do(func() { s.sizes = append(s.sizes, size) })
	return nil
}

func (s *session) Detach(context.Context) Ended {
	s.h.do(func() { s.detached++ })
	s.feed.End(io.EOF)
	return Ended{Reason: "given back", Words: 2}
}

// friend is a peer that may send requests, stranger one that may not.
func friend(*net.UnixConn) Peer { return Peer{PID: 7, Name: "arbiter"} }

func foreignUser(*net.UnixConn) Peer {
	return Peer{PID: 8, Name: "sh", Agent: "orch-1", Problem: "an agent started it"}
}

// listen makes a socket with a short enough path.
func listen(t *testing.T) (*net.UnixListener, string) {
	t.Helper()
	path := filepath.Join(testkit.ShortDir(t), "s")
	l := testkit.Must(net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"}))(t)
	return l, path
}

func open(t *testing.T, h *testService, identify func(*net.UnixConn) Peer) (path string, s *Server) {
	t.Helper()
	l, path := listen(t)
	s = serve(l, h, slog.New(slog.DiscardHandler), identify)
	t.Cleanup(func() {
		err := s.Close()
		testkit.Check(t, err == nil || errors.Is(err, net.ErrClosed), "%v", err)
	})
	return path, s
}

func connect(t *testing.T, path string, progress *[]string) *Client {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), waitTimeout)
	defer cancel()
	c, st, err := Dial[testStatus](ctx, path, func(text string) {
		if progress != nil {
			*progress = append(*progress, text)
		}
	})
	testkit.Need(t, err == nil && st.Run == "run", "%+v, %v", st, err)
	t.Cleanup(c.Close)
	return c
}

// raw sends a line and returns the answer.
func raw(t *testing.T, path, line string) string {
	t.Helper()
	conn := testkit.Must(net.Dial("unix", path))(t)
	defer conn.Close()
	testkit.OK(t, conn.SetDeadline(time.Now().Add(waitTimeout)))
	testkit.Must(conn.Write([]byte(line)))(t)
	buf := make([]byte, 4096)
	n, err := conn.Read(buf)
	testkit.Need(t, err == nil || errors.Is(err, io.EOF), "%v", err)
	return string(buf[:slices.Index(append(buf[:n:n], '\n'), '\n')])
}

// call connects, and waits until the other end has checked this process.
func call(path string) error {
	conn, err := net.Dial("unix", path)
	if err != nil {
		return err
	}
	defer conn.Close()
	_, err = conn.Read(make([]byte, 1))
	return err
}
