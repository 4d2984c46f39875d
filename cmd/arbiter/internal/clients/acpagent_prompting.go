package clients

import (
	"context"
	"encoding/json"
	"strings"
	"time"

	"github.com/sourcegraph/jsonrpc2"

	"github.com/arbiter-cli/arbiter/supervisor/contract"
)

// stopTimeout is how long the agents' turns may take to end after a prompt was cancelled.
const stopTimeout = 15 * time.Second

// prompt starts a prompt. It registers it before the next line is read, so that a later cancellation finds it.
func (s *server) prompt(req *jsonrpc2.Request, p sessionParams) {
	open, agent, err := s.session(p.SessionID)
	if err == nil && agent != "" {
		err = invalid("an Orchestrator takes no prompts: send it in the session of the run")
	}
	var text string
	if err == nil {
		if text, err = promptText(p.Prompt); err != nil {
			err = invalid("%v", err)
		}
	}
	if err != nil {
		s.answer(req, nil, err)
		return
	}
	mine := open.add()
	s.mu.Lock()
	s.serving[req.ID] = func() { s.cancel(open.id) }
	s.mu.Unlock()
	s.work.Go(func() {
		result, err := open.await(mine, text)
		s.mu.Lock()
		delete(s.serving, req.ID)
		s.mu.Unlock()
		s.answer(req, result, err)
	})
}

// await hands a prompt to the run and waits for its end.
func (o *session) await(p *prompt, text string) (any, error) {
	if err := o.deliver(o.ctx, p, text); err != nil {
		o.end([]*prompt{p}, "", err)
	}
	select {
	case err := <-p.ended:
		if err != nil {
			return nil, err
		}
		return promptResult{p.stop}, nil
	case <-o.ctx.Done():
		return promptResult{stopCancelled}, nil
	}
}

// cancelRequest cancels a prompt by its request id. Other requests are short and are not cancelled.
func (s *server) cancelRequest(req *jsonrpc2.Request) {
	var p cancelRequestParams
	var id jsonrpc2.ID
	if params(req, &p) != nil || json.Unmarshal(p.RequestID, &id) != nil {
		return
	}
	s.mu.Lock()
	cancel := s.serving[id]
	s.mu.Unlock()
	if cancel != nil {
		cancel()
	}
}

// cancel stops the work of a session, or the turn of an Orchestrator.
func (s *server) cancel(id string) {
	open, agent, err := s.session(id)
	if err != nil {
		s.Log.Debug("acp: nothing to cancel", "err", err)
		return
	}
	if agent == "" {
		open.cancelPrompts()
	}
	s.work.Go(func() {
		ctx, cancel := context.WithTimeout(open.ctx, commandTimeout)
		defer cancel()
		if agent != "" {
			if err := open.command(ctx, contract.Interrupt{ID: agent}); err != nil {
				s.Log.Warn("acp: an agent was not interrupted", "agent", agent, "err", err)
			}
			return
		}
		open.stopWork(ctx)
		select {
		case <-time.After(stopTimeout):
			_, cancelled := open.waiting()
			open.end(cancelled, stopCancelled, nil)
		case <-open.ctx.Done():
		}
	})
}

// stopWork pauses the run and interrupts its agents. Running prompts end as cancelled when no agent works any more,
// or at once if the run cannot be stopped.
func (o *session) stopWork(ctx context.Context) {
	err := o.hold(ctx)
	if err == nil {
		err = o.command(ctx, contract.Pause{})
		if err == nil {
			err = o.command(ctx, contract.Interrupt{})
		}
		o.release()
	}
	if err != nil {
		o.s.Log.Info("acp: nothing was interrupted", "err", err)
		_, cancelled := o.waiting()
		o.end(cancelled, stopCancelled, nil)
		return
	}
	o.follow.wake()
}

// sameWord reports whether a typed text is a choice, regardless of case and surrounding punctuation.
func sameWord(choice, text string) bool {
	clean := func(s string) string { return strings.ToLower(strings.Trim(strings.TrimSpace(s), ".!\"'`")) }
	return clean(choice) == clean(text)
}
