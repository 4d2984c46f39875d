package host

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/arbiter-cli/arbiter/internal/testkit"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/runstore"
	"github.com/arbiter-cli/arbiter/supervisor"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/input"
)

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

// TestAsk: each command gets the answer to its own ref, whatever ref the caller gave.
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
		ok, message, err := s.Ask(t.Context(), contract.Command{Ref: "same", Body: contract.Pause{}}, "socket")
		testkit.Check(t, ok && message == "paused" && err == nil, "accepted: %v, %q, %v", ok, message, err)
		ok, message, err = s.Ask(t.Context(), contract.Command{Ref: "same", Body: contract.Continue{}}, "socket")
		testkit.Check(t, !ok && message == "not paused" && err == nil, "rejected: %v, %q, %v", ok, message, err)
		close(l.done)
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
