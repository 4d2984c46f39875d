package host

import (
	"context"
	"errors"
	"fmt"

	"github.com/arbiter-cli/arbiter/bridge/control"
	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/runstore"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/input"
)

// Opener opens sessions of a run's agents in the terminals of clients.
type Opener struct {
	Run       string
	Terminals *Terminals
	Loop      InputLoop
	Input     *Sender
	Board     *Board
}

// Attach opens an agent's session for a client named who, and reports its progress. If ctx ends first, it gives up.
func (o Opener) Attach(
	ctx context.Context, channel, who string, p control.AttachParams, progress func(string),
) (*Attachment, error) {
	claim, err := o.Terminals.Claim(p.Agent, who, p.Size, p.Term)
	if err != nil {
		return nil, err
	}
	ref := o.Input.NewRef()
	events := o.Board.Subscribe(func(e contract.Event) bool {
		_, takeover := e.Body.(contract.Takeover)
		return takeover && e.ID == p.Agent || InputAnswers(e, ref)
	})
	a := &Attachment{opener: o, channel: channel, claim: claim, events: events, over: make(chan struct{})}
	a.result = control.AttachResult{Run: o.Run, Agent: p.Agent, Name: p.Agent}
	over, err := a.open(ctx, ref, progress)
	if err != nil {
		events.Close()
		o.Terminals.Release(p.Agent, claim)
		return nil, err
	}
	for _, agent := range o.Loop.Snapshot().Agents {
		if agent.ID == p.Agent {
			a.result.Name, a.result.Host, a.result.Session = agent.Name, agent.Host, agent.SessionID
		}
	}
	if over {
		a.release()
	} else {
		o.Input.Go(a.await)
	}
	return a, nil
}

// open asks the loop to open the terminal, and waits until it is open. over: it has ended since, or was given back
// before it was open. The error is a *control.OpenError if the session could not be opened.
func (a *Attachment) open(ctx context.Context, ref string, progress func(string)) (over bool, err error) {
	o := a.opener
	asked := o.Input.Later(input.Command{Command: contract.Command{Ref: ref,
		Body: contract.Attach{ID: a.result.Agent}}, Channel: a.channel})
	for {
		select {
		case e := <-a.events.Events():
			switch b := e.Body.(type) {
			case contract.Accepted:
				progress(b.Message)
			case contract.Rejected:
				return false, errors.New(b.Message)
			case contract.Takeover:
				switch b.State {
				case "open":
					return false, nil
				case "ended":
					a.ended = endOf(b)
					return true, nil
				case "failed":
					return false, &control.OpenError{Agent: a.result.Agent, Reason: b.Reason}
				}
			}
		case <-o.Loop.Done():
			return false, runstore.ErrRunOver
		case <-ctx.Done():
			o.Input.Go(func() { // after the request, however long that takes
				if <-asked {
					a.giveBack()
				}
			})
			return false, fmt.Errorf("given up: %w", context.Cause(ctx))
		}
	}
}
