package runhost

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync"

	"github.com/arbiter-cli/arbiter/bridge/control"
	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/eventboard"
	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/runstore"
	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/terminals"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/input"
)

// attachment is an agent's session in somebody's terminal. It implements
// control.Attachment.
type attachment struct {
	run     *runtimeRun
	channel string
	result  control.AttachResult
	hold    *terminals.Claim
	watch   *eventboard.Listener
	over    chan struct{} // closed when the session was given back
	ended   control.Ended // once over is closed
	asked   sync.Once     // to give it back
}

// attach opens an agent's session for somebody, who is named so, and says how far it is.
// When ctx ends first, it is given up.
func (r *runtimeRun) attach(ctx context.Context, channel, who string, p control.AttachParams,
	say func(string)) (*attachment, error) {
	h, err := r.terminals.Claim(p.Agent, who, p.Size, p.Term)
	if err != nil {
		return nil, err
	}
	ref := r.newRef()
	w := r.board.Subscribe(func(e contract.Event) bool {
		switch b := e.Body.(type) {
		case contract.Accepted:
			return b.Ref == ref
		case contract.Rejected:
			return b.Ref == ref
		case contract.Takeover:
			return e.ID == p.Agent
		}
		return false
	})
	a := &attachment{run: r, channel: channel, hold: h, watch: w, over: make(chan struct{})}
	a.result = control.AttachResult{Run: r.choices.Options.Run, Agent: p.Agent, Name: p.Agent}
	if err := a.open(ctx, ref, say); err != nil {
		w.Close()
		r.terminals.Release(p.Agent, h)
		return nil, err
	}
	for _, agent := range r.loop.Snapshot().Agents {
		if agent.ID == p.Agent {
			a.result.Name, a.result.Host, a.result.Session = agent.Name, agent.Host, agent.SessionID
		}
	}
	r.attached.Go(a.await)
	return a, nil
}

// open asks the loop, and waits until the terminal is open.
func (a *attachment) open(ctx context.Context, ref string, say func(string)) error {
	asked := make(chan bool, 1)
	a.run.attached.Go(func() { // until the loop takes it, or is over
		asked <- a.run.loop.Put(input.Command{Command: contract.Command{Ref: ref,
			Body: contract.Attach{ID: a.result.Agent}}, Channel: a.channel})
	})
	for {
		select {
		case e := <-a.watch.News():
			switch b := e.Body.(type) {
			case contract.Accepted:
				say(b.Message)
			case contract.Rejected:
				return errors.New(b.Message)
			case contract.Takeover:
				switch b.State {
				case "open":
					return nil
				case "failed", "ended":
					return fmt.Errorf("%s cannot be attached to: %s", a.result.Agent,
						cmp.Or(b.Reason, "it ended at once"))
				}
			}
		case <-a.run.loop.Done():
			return runstore.ErrRunOver
		case <-ctx.Done():
			a.run.attached.Go(func() { // behind the question, however long that takes
				if <-asked {
					a.giveBack()
				}
			})
			return fmt.Errorf("given up: %w", context.Cause(ctx))
		}
	}
}

// await learns of the end.
func (a *attachment) await() {
	defer func() {
		a.hold.End()
		a.watch.Close()
		a.run.terminals.Release(a.result.Agent, a.hold)
		close(a.over)
	}()
	for {
		select {
		case e := <-a.watch.News():
			if b, ok := e.Body.(contract.Takeover); ok && (b.State == "ended" || b.State == "failed") {
				a.ended = control.Ended{Reason: b.Reason, Words: b.Words, Files: b.Files}
				return
			}
		case <-a.run.loop.Done():
			a.ended = control.Ended{Reason: runstore.ErrRunOver.Error()}
			return
		}
	}
}

// giveBack asks the loop to.
func (a *attachment) giveBack() {
	a.asked.Do(func() {
		// A loop that is stuck keeps it: what it holds is ended by a halt, or with the run.
		a.run.loop.Put(input.Command{Command: contract.Command{Ref: a.run.newRef(),
			Body: contract.Detach{ID: a.result.Agent}}, Channel: a.channel})
	})
}

// Result, Take, Write, Resize and Detach implement control.Attachment.
func (a *attachment) Result() control.AttachResult { return a.result }

func (a *attachment) Take(ctx context.Context, p []byte) (int, error) {
	return a.hold.Take(ctx, p)
}

func (a *attachment) Write(ctx context.Context, p []byte) error { return a.hold.Write(ctx, p) }

func (a *attachment) Resize(ctx context.Context, s control.Size) error { return a.hold.Resize(ctx, s) }

// Detach gives the session back.
func (a *attachment) Detach(ctx context.Context) control.Ended {
	select {
	case <-a.over:
		return a.ended
	default:
	}
	a.run.attached.Go(a.giveBack) // until the loop has taken it, or the run is over
	select {
	case <-a.over:
		return a.ended
	case <-ctx.Done():
		return control.Ended{Reason: "the session is still being given back"}
	}
}

// put hands a command in, and waits for nothing but that.
func (r *runtimeRun) put(ctx context.Context, c contract.Command, channel string) error {
	done := make(chan bool, 1)
	// until the loop takes it, or is over
	r.attached.Go(func() { done <- r.loop.Put(input.Command{Command: c, Channel: channel}) })
	select {
	case ok := <-done:
		if !ok {
			return runstore.ErrRunOver
		}
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// newRef is a ref that no script's can be taken for.
func (r *runtimeRun) newRef() string {
	return "socket-" + strconv.FormatUint(r.refs.Add(1), 10)
}
