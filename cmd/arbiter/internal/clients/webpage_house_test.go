package clients

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/arbiter-cli/arbiter/bridge/control"
	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/host"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/journal"
)

const testRun = "4be1c2d0-0000-4000-8000-000000000000"

// house is a run for tests: its process behind a real control socket, with scripted output and recorded input, and
// its event log. It implements control.Service and Runs.
type house struct {
	t   *testing.T
	dir string

	mu       sync.Mutex
	changed  chan struct{} // closed and replaced at each change
	info     journal.Info
	status   control.Status
	lines    []string // of the process that plays the run
	ended    bool
	log      []byte
	logs     int // number of opened logs
	chain    journal.LogChain
	commands []string
	resumed  int
	refuse   string // why commands are refused
	server   *control.Server
	listener *host.Listener
}

func newHouse(t *testing.T) *house {
	t.Helper()
	dir, err := os.MkdirTemp("", "web") // t.TempDir is too long for a socket's path
	if err != nil {
		t.Fatal(err)
	}
	began := time.Now().Add(-90 * time.Second).UTC()
	h := &house{t: t, dir: dir, changed: make(chan struct{}), info: journal.Info{
		Meta: journal.Meta{Run: testRun, CWD: "/home/me/parser", Title: "Rewrite the parser", Began: began},
	}, status: control.Status{
		Run: testRun, CWD: "/home/me/parser", Title: "Rewrite the parser", Began: began, Phase: "executing",
		Agents: []control.AgentStatus{
			{ID: "arbiter", Name: "The Arbiter", Status: "busy", Since: began, Session: "s1"},
		},
		Inbox: []control.InboxItem{},
	}}
	t.Cleanup(func() {
		h.end("complete")
		_ = os.RemoveAll(dir)
	})
	h.begin()
	return h
}

// begin starts a process that plays the run.
func (h *house) begin() {
	h.t.Helper()
	l, err := host.Listen(h.dir, control.SocketName)
	if err != nil {
		h.t.Fatal(err)
	}
	h.mu.Lock()
	h.listener, h.lines, h.ended, h.info.Live, h.info.Status = l, nil, false, true, ""
	h.status.LogLines = h.chain.N
	h.server = control.Serve(l.UnixListener, h, slog.New(slog.DiscardHandler))
	h.mu.Unlock()
	h.record(`{"kind":"origin","by":"human"}`)
	h.emit("supervisor", contract.Session{Session: testRun, CWD: "/home/me/parser"})
}

// end ends the process; without a status, it was killed.
func (h *house) end(status string) {
	h.mu.Lock()
	server, listener := h.server, h.listener
	h.server, h.info.Live, h.info.Status, h.ended = nil, false, status, status != ""
	h.info.LastActive = time.Now()
	h.wake()
	h.mu.Unlock()
	if server != nil {
		if err := errors.Join(server.Close(), listener.Close()); err != nil {
			h.t.Log(err)
		}
	}
}

// emit emits an event of the run.
func (h *house) emit(id string, body contract.Body) {
	h.t.Helper()
	h.mu.Lock()
	defer h.mu.Unlock()
	_, piece := body.(contract.Delta)
	seq := h.status.Seq
	if !piece {
		seq++
	}
	if _, first := body.(contract.Session); first {
		seq = 1
	}
	line, err := contract.EncodeLine(nil, seq, time.Now(), contract.Event{ID: id, Body: body})
	if err != nil {
		h.t.Fatal(err)
	}
	line = line[:len(line)-1]
	h.status.Seq = seq
	h.lines = append(h.lines, string(line))
	if !piece {
		h.log, err = h.chain.Append(h.log, journal.LogContent{At: time.Now(), Line: json.RawMessage(line)})
	}
	if err != nil {
		h.t.Fatal(err)
	}
	h.wake()
}

// record adds an entry that is not an event to the log.
func (h *house) record(text string) {
	h.t.Helper()
	h.mu.Lock()
	defer h.mu.Unlock()
	var err error
	h.log, err = h.chain.Append(h.log, journal.LogContent{At: time.Now(), Record: json.RawMessage(text)})
	if err != nil {
		h.t.Fatal(err)
	}
}

// wait adds items that wait for the human.
func (h *house) wait(items ...control.InboxItem) {
	h.mu.Lock()
	h.status.Inbox = append(slices.Clone(h.status.Inbox), items...)
	h.mu.Unlock()
	h.emit("supervisor", contract.Notice{Text: "something waits"})
}

// wake wakes the waiters. The caller holds mu.
func (h *house) wake() {
	close(h.changed)
	h.changed = make(chan struct{})
}

// took waits until n commands were received, and returns them.
func (h *house) took(ctx context.Context, n int) []string {
	h.t.Helper()
	for {
		h.mu.Lock()
		list, changed := slices.Clone(h.commands), h.changed
		h.mu.Unlock()
		if len(list) >= n {
			return list
		}
		select {
		case <-changed:
		case <-ctx.Done():
			h.t.Fatalf("the run took %q, want %d commands", list, n)
		}
	}
}

// Status implements control.Service.
func (h *house) Status() control.Status {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.status
}

// Command implements control.Service: it removes the item that a command answers.
func (h *house) Command(_ context.Context, line json.RawMessage) (control.CommandResult, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.refuse != "" {
		return control.CommandResult{Message: h.refuse}, nil
	}
	h.commands = append(h.commands, string(line))
	c := contract.ParseCommand(line)
	h.status.Inbox = slices.DeleteFunc(slices.Clone(h.status.Inbox), func(i control.InboxItem) bool {
		switch b := c.Body.(type) {
		case contract.Permit:
			return i.ID == b.Request
		case contract.Say:
			return i.Kind == "question"
		case contract.Choose:
			return slices.Contains(i.Choices, b.Option)
		}
		return false
	})
	h.wake()
	return control.CommandResult{Accepted: true, Message: "done"}, nil
}

// Stop implements control.Service.
func (h *house) Stop(_ context.Context, p control.StopParams) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.commands = append(h.commands, "stop "+p.Signal)
	h.wake()
	return nil
}

// Subscribe implements control.Service.
func (h *house) Subscribe(ctx context.Context, p control.SubscribeParams, send func(any) error) {
	next := 0
	for {
		h.mu.Lock()
		lines, changed, ended := h.lines[min(next, len(h.lines)):], h.changed, h.ended
		h.mu.Unlock()
		next += len(lines)
		lines = slices.DeleteFunc(slices.Clone(lines), func(l string) bool {
			return int64(seqOf([]byte(l))) <= p.Since
		})
		if len(lines) > 0 && send(control.Events{Lines: lines}) != nil {
			return
		}
		if ended {
			_ = send(control.RunEnded{}) // a client that has gone does not read it
			return
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return
		}
	}
}

var errNotHere = errors.New("not in this test")

// Attach, Halt, State, Put, InputEnded and Refused implement control.Service.
func (h *house) Attach(context.Context, string, control.AttachParams, func(string)) (control.Attachment, error) {
	return nil, errNotHere
}
func (h *house) Halt(context.Context, control.HaltParams) control.HaltResult {
	return control.HaltResult{}
}
func (h *house) State() (control.StateResult, error)          { return control.StateResult{}, errNotHere }
func (h *house) Put(context.Context, control.PutParams) error { return errNotHere }
func (h *house) InputEnded(context.Context) error             { return errNotHere }
func (h *house) Refused(p control.Peer, _ string)             { h.t.Errorf("refused: %s", p) }

// Find implements Runs.
func (h *house) Find(string) (journal.Info, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.info, nil
}

// Dial implements Runs.
func (h *house) Dial(ctx context.Context, _ string) (*control.Client, control.Status, error) {
	return control.Dial(ctx, filepath.Join(h.dir, control.SocketName), nil)
}

// Log implements Runs.
func (h *house) Log(string) (*journal.EventLog, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.logs++ // a log that is being read must not be overwritten
	path := filepath.Join(h.dir, fmt.Sprintf("log-%d", h.logs))
	if err := os.WriteFile(path, h.log, 0o600); err != nil {
		return nil, err
	}
	return journal.OpenLog(path)
}

// Resume implements Runs.
func (h *house) Resume(context.Context, string, []string) error {
	h.mu.Lock()
	h.resumed++
	h.mu.Unlock()
	h.begin()
	return nil
}
