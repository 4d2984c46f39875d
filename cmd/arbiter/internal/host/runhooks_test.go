package host

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/bridge/control"
	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/hookclient"
	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/runstore"
	"github.com/arbiter-cli/arbiter/hooks"
	"github.com/arbiter-cli/arbiter/internal/testkit"
	"github.com/arbiter-cli/arbiter/supervisor"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/input"
	"github.com/arbiter-cli/arbiter/supervisor/runconfig"
)

// TestHookAgents: an agent is found by its session as long as it belongs to the run.
func TestHookAgents(t *testing.T) {
	state := &supervisor.State{
		Options: runconfig.Options{ContextWarn: 60, ContextCritical: 80},
		Roster: supervisor.Roster{Agents: []*supervisor.Agent{
			{
				AgentIdentity: supervisor.AgentIdentity{AgentRef: bridge.AgentRef{ID: "arbiter", Generation: 3},
					Role: supervisor.RoleArbiter, SessionID: "a"},
				AgentProcess: supervisor.AgentProcess{Status: supervisor.AgentReady},
				AgentContext: supervisor.AgentContext{Context: bridge.Context{Window: 300_000}, NotifiedLevel: "warn"},
			},
			{AgentIdentity: supervisor.AgentIdentity{AgentRef: bridge.AgentRef{ID: "orch-1", Generation: 1},
				Role: supervisor.RoleOrchestrator, SessionID: "b"},
				AgentProcess: supervisor.AgentProcess{Status: supervisor.AgentEnded}},
			{AgentIdentity: supervisor.AgentIdentity{AgentRef: bridge.AgentRef{ID: "orch-2", Generation: 1},
				Role: supervisor.RoleOrchestrator, SessionID: "c"},
				AgentProcess: supervisor.AgentProcess{Status: supervisor.AgentParked}},
			{AgentIdentity: supervisor.AgentIdentity{AgentRef: bridge.AgentRef{ID: "orch-3", Generation: 1},
				Role: supervisor.RoleOrchestrator}, AgentProcess: supervisor.AgentProcess{Status: supervisor.AgentStarting}},
		}},
	}
	want := hookedAgent{AgentRef: bridge.AgentRef{ID: "arbiter", Generation: 3}, Session: "a", Window: 300_000,
		Spent: "warn", Policy: hooks.Policy{Role: hooks.RoleArbiter, Warn: 60, Critical: 80, KeepContext: true}}
	got, ok := agentOf(state, "a")
	testkit.Includes(t, "its reminder", got.Policy.Reminder, "You are the Arbiter")
	want.Policy.Reminder = got.Policy.Reminder
	diff := cmp.Diff(want, got)
	testkit.Check(t, ok && diff == "", "(-want +got):\n%s", diff)
	for session, want := range map[string]string{"b": "", "c": "orch-2", "d": "", "": ""} {
		got, ok := agentOf(state, session)
		testkit.Check(t, got.ID == want && ok == (want != ""), "session %q: %+v, %v", session, got, ok)
	}
}

// TestSetup: a session in a terminal on this machine gets hooks and a token. Every session gets the TERM of its
// terminal.
func TestSetup(t *testing.T) {
	l := newLoop()
	for id, host := range map[string]string{"orch-1": "", "orch-2": "box"} {
		a := &supervisor.Agent{AgentIdentity: supervisor.AgentIdentity{AgentRef: bridge.AgentRef{ID: id, Generation: 1},
			SessionID: "s-" + id}}
		a.Host = host
		l.state.Agents = append(l.state.Agents, a)
	}
	shown := &Terminals{}
	for _, id := range []string{"orch-1", "orch-2"} {
		testkit.OK(t, testkit.Err(shown.Claim(id, "ann", control.Size{}, "xterm")))
	}
	s := ServeHooks(testkit.ShortDir(t), l, shown, slog.New(slog.DiscardHandler))
	defer s.Close()
	here, env := s.Setup(bridge.AgentRef{ID: "orch-1", Generation: 1})
	testkit.Check(t, strings.Contains(here, s.Path()) && env["TERM"] == "xterm", "here: %s, %v", here, env)
	first, second := bridge.AgentRef{ID: "orch-1", Generation: 1}, bridge.AgentRef{ID: "orch-2", Generation: 1}
	token := env[hookclient.TokenEnv]
	testkit.Check(t, s.tokens.Good(first, token) && !s.tokens.Good(second, token) && !s.tokens.Good(first, ""),
		"the token is that of the agent, and of no other")
	there, env := s.Setup(second)
	testkit.Check(t, there == "" && len(env) == 1 && env["TERM"] == "xterm", "on another host: %q, %v", there, env)
	s.report(first, decision{changed: true, after: spent{reading: hooks.Reading{Tokens: 7, Window: 10, Pct: 70}}})
	if len(l.events) != 1 || l.events[0].Body != (bridge.Context{Tokens: 7, Window: 10, Pct: 70, Source: "transcript"}) {
		t.Errorf("reported: %+v", l.events)
	}
	s.Close()
	text, env := s.Setup(first)
	testkit.Check(t, text == "" && env["TERM"] == "xterm" && s.Path() == "", "without a socket: %q, %v, %q", text, env,
		s.Path())
}

// inputLoop receives inputs one by one from an unbuffered channel.
type inputLoop struct {
	taken  chan input.Body
	done   chan struct{}
	state  supervisor.State
	events []bridge.Event
}

func newLoop() *inputLoop { return &inputLoop{taken: make(chan input.Body), done: make(chan struct{})} }

func (l *inputLoop) Put(b input.Body) bool {
	select {
	case l.taken <- b:
		return true
	case <-l.done:
		return false
	}
}

func (l *inputLoop) Event(e bridge.Event)        { l.events = append(l.events, e) }
func (l *inputLoop) Snapshot() *supervisor.State { return &l.state }
func (l *inputLoop) Done() <-chan struct{}       { return l.done }

// TestAsk: each command gets the answer to its own ref, or an error if the run ends without one.
func TestAsk(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, board := newLoop(), &Board{}
		s := NewSender(l, board)
		sink := board.publish
		go func() {
			for range 2 {
				c := (<-l.taken).(input.Command)
				body := contract.Body(contract.Accepted{Ref: c.Command.Ref, Message: "paused"})
				if _, ok := c.Command.Body.(contract.Continue); ok {
					body = contract.Rejected{Ref: c.Command.Ref, Message: "not paused"}
				}
				sink(time.Now(), contract.Event{Body: contract.Accepted{Ref: "same"}})
				sink(time.Now(), contract.Event{Body: body})
			}
		}()
		ok, message, err := s.Ask(t.Context(), contract.Command{Ref: s.NewRef(), Body: contract.Pause{}}, "socket")
		testkit.Check(t, ok && message == "paused" && err == nil, "accepted: %v, %q, %v", ok, message, err)
		ok, message, err = s.Ask(t.Context(), contract.Command{Ref: s.NewRef(), Body: contract.Continue{}}, "socket")
		testkit.Check(t, !ok && message == "not paused" && err == nil, "rejected: %v, %q, %v", ok, message, err)
		go func() {
			<-l.taken
			close(l.done)
		}()
		p := control.PutParams{Command: json.RawMessage(`{"type":"message","text":"Wait.","ref":"late"}`)}
		err = (&service{input: s}).Put(t.Context(), p)
		testkit.Fails(t, "a text that the loop received, and did not look at", err, runstore.ErrRunOver)
		s.Wait()
	})
}

// TestBusyLoop: a caller that gives up does not withdraw its command. A command after the end of the run gets an
// error.
func TestBusyLoop(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLoop()
		s := NewSender(l, &Board{})
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		err := s.Put(ctx, contract.Command{Ref: "a"}, "stdin")
		testkit.Check(t, errors.Is(err, context.DeadlineExceeded), "the loop takes nothing: %v", err)
		c := (<-l.taken).(input.Command)
		testkit.Check(t, c.Command.Ref == "a" && c.Channel == "stdin", "the loop got %+v", c)
		close(l.done)
		testkit.Fails(t, "after the end", s.Put(t.Context(), contract.Command{}, "stdin"), runstore.ErrRunOver)
		s.Wait()
	})
}

// TestNotice: a notice belongs to the agent that it is about, or to the Arbiter.
func TestNotice(t *testing.T) {
	l := newLoop()
	for n, id := range []string{contract.Arbiter, "orch-1"} {
		l.state.Agents = append(l.state.Agents, &supervisor.Agent{AgentIdentity: supervisor.AgentIdentity{
			AgentRef: bridge.AgentRef{ID: id, Generation: n + 2}}})
	}
	s := NewSender(l, &Board{})
	for _, agent := range []string{"orch-1", "orch-9", contract.Arbiter} {
		s.Notice(agent, "met and survived")
		s.Wait() // from the first call on, each is done at once
	}
	want := []bridge.AgentRef{{ID: "orch-1", Generation: 3}, {ID: contract.Arbiter, Generation: 2},
		{ID: contract.Arbiter, Generation: 2}}
	for n, e := range l.events {
		testkit.Check(t, e.AgentRef == want[n] && e.Body == (bridge.Notice{Text: "met and survived"}), "event %d: %+v",
			n, e)
	}
	testkit.Check(t, len(l.events) == len(want), "%d events", len(l.events))
}

// TestGoroutinesAreWaitedFor: Wait returns after all goroutines, including those started by others. Later functions
// run at once.
func TestGoroutinesAreWaitedFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var g group
		over := make(chan struct{})
		ended, waited := false, make(chan struct{})
		g.Go(func() {
			<-over
			g.Go(func() { ended = true }) // one of them starts another
		})
		go func() {
			defer close(waited)
			g.Wait()
		}()
		synctest.Wait()
		select {
		case <-waited:
			t.Error("not waited for")
		default:
		}
		close(over)
		<-waited
		testkit.Check(t, ended, "waited for one, but not for what it began")
		late := false
		g.Go(func() { late = true })
		testkit.Check(t, late, "one that came late is not done at once")
		g.Wait()
	})
}
