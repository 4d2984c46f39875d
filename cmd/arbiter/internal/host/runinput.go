package host

// This part of the package puts inputs into the loop of a run for callers that do not wait until the loop has
// received them: clients of the control socket, terminals, and the process itself.

import (
	"context"
	"strconv"
	"sync"
	"sync/atomic"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/runstore"
	"github.com/arbiter-cli/arbiter/supervisor"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/input"
)

// InputLoop is the part of a run's loop that a sender needs. *runloop.Loop implements it.
type InputLoop interface {
	Put(input.Body) bool // waits until the loop receives it; false: the run is over
	Event(bridge.Event)
	Snapshot() *supervisor.State
	Done() <-chan struct{}
}

// Sender puts inputs into a loop. It is safe for concurrent use. Its owner calls [Sender.Wait] when the loop has ended.
type Sender struct {
	loop    InputLoop
	board   *Board // of the run's events
	waiting group
	refs    atomic.Uint64
}

// NewSender makes a sender for a loop whose events go to board.
func NewSender(loop InputLoop, board *Board) *Sender { return &Sender{loop: loop, board: board} }

// NewRef returns a new ref for a command. Scripts do not use such refs.
func (s *Sender) NewRef() string { return "socket-" + strconv.FormatUint(s.refs.Add(1), 10) }

// InputAnswers reports whether an event answers the command with a ref: it was accepted or rejected.
func InputAnswers(e contract.Event, ref string) bool {
	switch b := e.Body.(type) {
	case contract.Accepted:
		return b.Ref == ref
	case contract.Rejected:
		return b.Ref == ref
	}
	return false
}

// Go runs f in a goroutine that [Sender.Wait] waits for: f returns when the loop has ended at the latest.
func (s *Sender) Go(f func()) { s.waiting.start(f) }

// Wait returns when all goroutines of the sender have ended.
func (s *Sender) Wait() { s.waiting.wait() }

// Later sends an input without waiting. The channel receives whether the loop got it.
func (s *Sender) Later(b input.Body) <-chan bool {
	taken := make(chan bool, 1)
	s.waiting.start(func() { taken <- s.loop.Put(b) }) // until the loop receives it, or is over
	return taken
}

// Put sends a command and waits until the loop has received it or ctx ends. In the latter case the loop still gets
// it.
func (s *Sender) Put(ctx context.Context, c contract.Command, channel string) error {
	select {
	case ok := <-s.Later(input.Command{Command: c, Channel: channel}):
		if !ok {
			return runstore.ErrRunOver
		}
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// Ask sends a command and waits for its answer. It replaces the ref of the command, because several callers may use
// the same one.
func (s *Sender) Ask(
	ctx context.Context, c contract.Command, channel string,
) (accepted bool, message string, err error) {
	c.Ref = s.NewRef()
	answers := s.board.Subscribe(func(e contract.Event) bool { return InputAnswers(e, c.Ref) })
	defer answers.Close()
	if err := s.Put(ctx, c, channel); err != nil {
		return false, "", err
	}
	select {
	case e := <-answers.Events():
		if b, ok := e.Body.(contract.Accepted); ok {
			return true, b.Message, nil
		}
		return false, e.Body.(contract.Rejected).Message, nil
	case <-s.loop.Done():
		return false, "", runstore.ErrRunOver
	case <-ctx.Done():
		return false, "", context.Cause(ctx)
	}
}

// Notice notifies the human of something about an agent, as if its bridge had reported it. If the run does not have
// the agent, the notice is about the Arbiter.
func (s *Sender) Notice(agent, text string) {
	ref := bridge.AgentRef{ID: contract.Arbiter}
	for _, a := range s.loop.Snapshot().Agents {
		if a.ID == agent || ref.Generation == 0 && a.ID == ref.ID {
			ref = a.AgentRef
		}
	}
	s.waiting.start(func() { s.loop.Event(bridge.Event{AgentRef: ref, Body: bridge.Notice{Text: text}}) })
}

// group is a set of goroutines that wait for a loop while their callers continue. Each goroutine ends at the latest
// when the loop ends. Then the owner of the group waits for them.
type group struct {
	mu   sync.Mutex
	over bool
	work sync.WaitGroup
}

// start runs f in a goroutine of the group. After [group.wait] was called it runs f at once: the loop has ended, so f
// does not wait.
func (g *group) start(f func()) {
	g.mu.Lock()
	if g.over {
		g.mu.Unlock()
		f()
		return
	}
	g.work.Go(f)
	g.mu.Unlock()
}

// wait returns when all goroutines have ended. It may be called more than once.
func (g *group) wait() {
	g.mu.Lock()
	g.over = true
	g.mu.Unlock()
	g.work.Wait()
}
