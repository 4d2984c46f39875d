package bridge

import (
	"context"
	"fmt"
	"sync"
	"time"
)

// Witness finds out about work without asking the agents that did it, for a
// [Server]. Its methods are safe for concurrent use.
type Witness interface {
	// Check runs a command for a run, whose mark everything it starts bears. When
	// ctx ends, or the command does, all of that is ended before Check returns; that
	// takes a second at most.
	Check(ctx context.Context, run string, p CheckParams) (CheckResult, error)
	// Survey looks at a session's transcript and repository, and changes neither.
	// What it cannot see is no error but SurveyResult.Trouble.
	Survey(ctx context.Context, p SurveyParams) (SurveyResult, error)
}

// inquiries are a conversation's requests to its witness. They end with it: end
// comes before the wait for agents, so that both end at the same time.
type inquiries struct {
	witness Witness // may be nil
	ctx     context.Context
	cancel  context.CancelFunc

	mu      sync.Mutex
	ended   bool
	running sync.WaitGroup
}

func newInquiries(w Witness) *inquiries {
	i := &inquiries{witness: w}
	i.ctx, i.cancel = context.WithCancel(context.Background())
	return i
}

// inquire asks the witness unless the conversation is ending.
func inquire[R any](ctx context.Context, i *inquiries, what string, ask func(context.Context, Witness) (R, error)) (R, error) {
	var none R
	if i.witness == nil {
		return none, rpcErrorf(CodeUnsupported, "this bridge has no "+what)
	}
	if !i.begin() {
		return none, errShuttingDown()
	}
	defer i.running.Done()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(i.ctx, cancel)()
	r, err := ask(ctx, i.witness)
	if err != nil {
		if i.ctx.Err() != nil {
			err = errShuttingDown()
		}
		return none, err
	}
	return r, nil
}

func errShuttingDown() error {
	return rpcErrorf(CodeShuttingDown, "the bridge is shutting down")
}

func (i *inquiries) begin() bool {
	i.mu.Lock()
	defer i.mu.Unlock()
	if !i.ended {
		i.running.Add(1)
	}
	return !i.ended
}

// end cancels what runs and lets nothing new begin. It does not wait.
func (i *inquiries) end() {
	i.mu.Lock()
	i.ended = true
	i.mu.Unlock()
	i.cancel()
}

// wait waits until nothing runs, for at most d, and names what does then.
func (i *inquiries) wait(d time.Duration) (left []string) {
	if within(d, i.running.Wait) {
		return nil
	}
	return []string{"a check"}
}

func (c *conversation) check(ctx context.Context, p CheckParams) (CheckResult, error) {
	c.mu.Lock()
	run := c.run
	c.mu.Unlock()
	return inquire(ctx, c.inquiries, MethodCheck, func(ctx context.Context, w Witness) (CheckResult, error) {
		r, err := w.Check(ctx, run, p)
		if err != nil {
			return r, fmt.Errorf("check: %w", err)
		}
		return r, nil
	})
}

func (c *conversation) survey(ctx context.Context, p SurveyParams) (SurveyResult, error) {
	return inquire(ctx, c.inquiries, MethodSurvey, func(ctx context.Context, w Witness) (SurveyResult, error) {
		r, err := w.Survey(ctx, p)
		if err != nil {
			return r, fmt.Errorf("survey: %w", err)
		}
		return r, nil
	})
}
