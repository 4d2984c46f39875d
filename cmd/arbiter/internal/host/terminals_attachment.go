package host

import (
	"context"
	"sync"

	"github.com/arbiter-cli/arbiter/bridge/control"
	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/runstore"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/input"
)

// Attachment is an agent's session in a client's terminal. It implements [control.Attachment].
type Attachment struct {
	opener  Opener
	channel string
	result  control.AttachResult
	claim   *Claim
	events  *BoardListener
	over    chan struct{} // closed when the session was given back
	ended   control.Ended // valid when over is closed
	asked   sync.Once     // for giving it back
}

// await waits for the end of the session, and releases it.
func (a *Attachment) await() {
	defer a.release()
	for {
		select {
		case e := <-a.events.Events():
			if b, ok := e.Body.(contract.Takeover); ok && (b.State == "ended" || b.State == "failed") {
				a.ended = endOf(b)
				return
			}
		case <-a.opener.Loop.Done():
			a.ended = control.Ended{Reason: runstore.ErrRunOver.Error()}
			return
		}
	}
}

// endOf reports how a session ended.
func endOf(b contract.Takeover) control.Ended {
	return control.Ended{Reason: b.Reason, Words: b.Words, Files: b.Files}
}

// release lets others attach to the agent; a.ended is valid from then on.
func (a *Attachment) release() {
	a.claim.End()
	a.events.Close()
	a.opener.Terminals.Release(a.result.Agent, a.claim)
	close(a.over)
}

// giveBack asks the loop to end the attachment.
func (a *Attachment) giveBack() {
	a.asked.Do(func() {
		// A stuck loop keeps the session; a halt or the end of the run then ends it.
		a.opener.Loop.Put(input.Command{Command: contract.Command{Ref: a.opener.Input.NewRef(),
			Body: contract.Detach{ID: a.result.Agent}}, Channel: a.channel})
	})
}

// Result implements [control.Attachment].
func (a *Attachment) Result() control.AttachResult { return a.result }

// Take implements [control.Attachment].
func (a *Attachment) Take(ctx context.Context, p []byte) (int, error) { return a.claim.Take(ctx, p) }

// Write implements [control.Attachment].
func (a *Attachment) Write(ctx context.Context, p []byte) error { return a.claim.Write(ctx, p) }

// Resize implements [control.Attachment].
func (a *Attachment) Resize(ctx context.Context, s control.Size) error { return a.claim.Resize(ctx, s) }

// Detach gives the session back.
func (a *Attachment) Detach(ctx context.Context) control.Ended {
	select {
	case <-a.over:
		return a.ended
	default:
	}
	a.opener.Input.Go(a.giveBack) // until the loop has received it, or the run is over
	select {
	case <-a.over:
		return a.ended
	case <-ctx.Done():
		return control.Ended{Reason: "the session is still being given back"}
	}
}
