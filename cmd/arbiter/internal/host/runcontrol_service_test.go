package host

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/bridge/control"
	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/command"
	"github.com/arbiter-cli/arbiter/internal/testkit"
	"github.com/arbiter-cli/arbiter/supervisor"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/input"
)

// controlLoop records its inputs, and accepts every command.
type controlLoop struct {
	inputLoop
	took []string
	emit func(time.Time, contract.Event)
}

func (l *controlLoop) Put(b input.Body) bool {
	switch b := b.(type) {
	case input.Command:
		l.took = append(l.took, fmt.Sprintf("%T by %s", b.Command.Body, b.Channel))
		l.emit(time.Now(), contract.Event{Body: contract.Accepted{Ref: b.Command.Ref, Message: "done"}})
	default:
		l.took = append(l.took, fmt.Sprintf("%T", b))
	}
	return true
}

func serviceOf() (*service, *controlLoop) {
	board := &Board{}
	l := &controlLoop{emit: board.publish}
	return &service{cwd: "/w", run: "r", input: NewSender(l, board), Group: newGroup()}, l
}

// TestCommands: the answer has the ref of the client, and the command arrives on the channel of its frontend.
func TestCommands(t *testing.T) {
	s, l := serviceOf()
	for line, want := range map[string]control.CommandResult{
		`{"type":"pause","ref":"mine"}`:           {Ref: "mine", Accepted: true, Message: "done"},
		`{"type":"attach","ref":"mine","id":"x"}`: {Ref: "mine", Message: "attach has a method of its own, which carries the terminal"},
	} {
		got, err := s.Command(t.Context(), json.RawMessage(line))
		testkit.Check(t, err == nil && got == want, "%s: %+v, %v", line, got, err)
	}
	got, err := s.Command(t.Context(), json.RawMessage(`{"ref":"mine"}`))
	testkit.Check(t, err == nil && !got.Accepted && got.Message != "", "no command: %+v, %v", got, err)
	for _, frontend := range []string{"", input.ChannelScreen, "stdin"} {
		p := control.PutParams{Command: json.RawMessage(`{"type":"continue"}`), Frontend: frontend}
		testkit.Works(t, "Put", s.Put(t.Context(), p))
	}
	want := []string{"contract.Pause by socket", "contract.Continue by socket", "contract.Continue by screen",
		"contract.Continue by socket"}
	testkit.Check(t, slices.Equal(l.took, want), "the loop took %q", l.took)
}

// TestSignals: a client can end the run with exactly three signals.
func TestSignals(t *testing.T) {
	s, l := serviceOf()
	for _, name := range []string{"INT", "TERM", "HUP"} {
		testkit.Works(t, "Stop", s.Stop(t.Context(), control.StopParams{Signal: name}))
	}
	err := s.Stop(t.Context(), control.StopParams{Signal: "KILL"})
	testkit.Check(t, err != nil && len(l.took) == 3, "%v, the loop took %q", err, l.took)
}

// TestInputEnds: only the last client to leave ends the input of the run.
func TestInputEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, l := serviceOf()
		ctx, cancel := context.WithCancel(t.Context())
		for range 2 {
			go s.Subscribe(ctx, control.SubscribeParams{}, func(any) error { return nil })
		}
		synctest.Wait()
		err := s.InputEnded(t.Context())
		testkit.Check(t, err == nil && l.took == nil, "two clients are there: %v, the loop took %q", err, l.took)
		cancel()
		synctest.Wait()
		if err := s.InputEnded(t.Context()); err != nil || !slices.Equal(l.took, []string{"input.InputEnded"}) {
			t.Errorf("nobody is there: %v, the loop took %q", err, l.took)
		}
	})
}

// TestRefusedPeers: the human is warned once about agents that try to use the socket.
func TestRefusedPeers(t *testing.T) {
	s, l := serviceOf()
	for range 3 {
		s.Refused(control.Peer{Agent: "orch-1"}, "command")
	}
	s.input.Wait()
	testkit.Check(t, len(l.events) == 1 && l.events[0].ID == contract.Arbiter, "events: %+v", l.events)
}

// haltLoop is a run's loop that halts when it receives a halt. A stuck loop accepts nothing until it is done.
type haltLoop struct {
	inputLoop
	stuck bool
	state atomic.Pointer[supervisor.State]
}

func (l *haltLoop) Put(b input.Body) bool {
	if l.stuck {
		<-l.done
		return false
	}
	if _, ok := b.(input.Command).Command.Body.(contract.Halt); ok {
		s := &supervisor.State{}
		s.Halted, s.Halts = true, 1
		l.state.Store(s)
	}
	return true
}

func (l *haltLoop) Snapshot() *supervisor.State { return l.state.Load() }

// haltHosts has the agents on other hosts: they end when they are halted, except the lost ones.
type haltHosts struct {
	agents []string
	lost   []string
	halted int
}

func (h *haltHosts) Halt(context.Context) { h.halted++; h.agents = nil }
func (h *haltHosts) Agents() []string     { return h.agents }
func (h *haltHosts) Lost() []string       { return h.lost }

func halterOf(l *haltLoop, elsewhere *haltHosts) *Halter {
	l.state.Store(&supervisor.State{})
	l.done = make(chan struct{})
	return &Halter{ID: "no such run", Input: NewSender(l, &Board{}), Elsewhere: elsewhere,
		Bridge: func() *bridge.Client { return nil }, Log: slog.New(slog.DiscardHandler)}
}

// TestHalt: the loop is asked first, then the bridges if it does not stop all agents in time.
func TestHalt(t *testing.T) {
	for name, c := range map[string]struct {
		stuck   bool // the loop
		hosts   haltHosts
		how     string
		halted  bool
		bridges int      // how often bridges on other hosts were asked
		left    []string // of the agents
	}{
		"the loop does it":  {how: "loop", halted: true},
		"the loop is stuck": {stuck: true, how: "bridge", bridges: 1},
		"an agent elsewhere goes on": {
			hosts: haltHosts{agents: []string{"orch-1 @box"}}, how: "loop", halted: true, bridges: 1},
		"a host is out of reach": {
			hosts: haltHosts{lost: []string{"orch-2 @node"}}, how: "loop", halted: true, left: []string{"orch-2 @node"}},
		"stuck, with an agent elsewhere": {
			stuck: true, hosts: haltHosts{agents: []string{"orch-1 @box"}}, how: "bridge", bridges: 1},
	} {
		synctest.Test(t, func(t *testing.T) {
			l := &haltLoop{stuck: c.stuck}
			h := halterOf(l, &c.hosts)
			r := h.Halt(input.ChannelSocket)
			testkit.Check(t, r.How == c.how && r.Halted == c.halted && c.hosts.halted == c.bridges &&
				slices.Equal(r.Left, c.left) && h.HaltApplied() == c.halted,
				"%s: %+v, bridges of other hosts asked %d times", name, r, c.hosts.halted)
			close(l.done)
			h.Input.Wait()
		})
	}
}

// TestOnStdin: a halt does not wait for a loop that is stuck; after the end of the run there is nothing to halt.
func TestOnStdin(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, elsewhere := &haltLoop{stuck: true}, &haltHosts{}
		h := halterOf(l, elsewhere)
		testkit.Check(t, !h.OnStdin(contract.Command{Body: contract.Pause{}}) &&
			h.OnStdin(contract.Command{Body: contract.Halt{}}), "a halt, and nothing else, is carried out here")
		synctest.Wait()
		close(l.done)
		h.Input.Wait()
		testkit.Same(t, "halted", 1, elsewhere.halted)
		testkit.Check(t, !h.OnStdin(contract.Command{Body: contract.Halt{}}), "halted after the end")
	})
}

func TestPlaces(t *testing.T) {
	long := filepath.Join(testkit.ShortDir(t), strings.Repeat("x", maxPath))
	open := testkit.ShortDir(t)
	for dir, mode := range map[string]os.FileMode{long: 0o700, open: 0o755} {
		testkit.OK(t, errors.Join(os.MkdirAll(dir, 0o700), os.Chmod(dir, mode)))
	}
	runtimeDir := testkit.ShortDir(t)
	t.Setenv("XDG_RUNTIME_DIR", runtimeDir)
	for name, c := range map[string]struct {
		dir  string
		away bool
	}{
		"private": {testkit.ShortDir(t), false},
		"long":    {long, true},
		"open":    {open, true},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(c.dir, "s")
			for range 2 { // the second one finds what a killed one left
				l := testkit.Must(Listen(c.dir, "s"))(t)
				away := strings.HasPrefix(l.Path, runtimeDir+"/"+command.ScratchSockets)
				testkit.Check(t, away == c.away && away == (l.link == path), "place %+v", l)
				for file, want := range map[string]os.FileMode{l.Path: 0o600, filepath.Dir(l.Path): 0o700} {
					info, err := os.Stat(file)
					testkit.Check(t, err == nil && info.Mode().Perm() == want, "%s: %v, %v", file, info.Mode(), err)
				}
				l.SetUnlinkOnClose(false) // as if killed
				l.UnixListener.Close()
			}
			l := testkit.Must(Listen(c.dir, "s"))(t)
			left, _ := os.ReadDir(runtimeDir)
			testkit.Check(t, !c.away || len(left) == 1, "left in the runtime directory: %v", left)
			if conn, err := net.Dial("unix", path); err != nil && len(path) <= maxPath {
				t.Error(err) // through the link, too
			} else if err == nil {
				conn.Close()
			}
			testkit.Works(t, "Close", l.Close())
			testkit.Works(t, "closed again", l.Close())
		})
	}
	left, _ := os.ReadDir(runtimeDir)
	testkit.Check(t, len(left) == 0, "left behind: %v", left)
}

// TestOthersAreNotCleared: only sockets of arbiter are removed.
func TestOthersAreNotCleared(t *testing.T) {
	dir := testkit.ShortDir(t)
	path := filepath.Join(dir, "s")
	testkit.OK(t, os.WriteFile(path, []byte("precious"), 0o600))
	if l, err := Listen(dir, "s"); err == nil {
		l.Close()
		t.Error("a file was taken for a socket")
	}
	got, err := os.ReadFile(path)
	testkit.Check(t, err == nil && string(got) == "precious", "%q, %v", got, err)
	elsewhere := filepath.Join(testkit.ShortDir(t), "precious")
	testkit.OK(t, errors.Join(os.Remove(path), os.WriteFile(elsewhere, nil, 0o600),
		os.Symlink(elsewhere, path)))
	l := testkit.Must(Listen(dir, "s"))(t)
	t.Cleanup(func() { l.Close() })
	testkit.Works(t, "what a link of somebody else's led to", testkit.Err(os.Stat(elsewhere)))
}
