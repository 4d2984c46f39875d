package bridge

import (
	"context"
	"slices"
	"sync"
	"time"
)

// inquiries are a conversation's requests that start processes other than agents: checks, inspections and
// queries. They end with the conversation: end is called before waiting for agents, so that both end at the
// same time.
type inquiries struct {
	ctx    context.Context
	cancel context.CancelFunc

	mu      sync.Mutex
	ended   bool
	names   []string // of those that run
	running sync.WaitGroup
}

func newInquiries() *inquiries {
	i := &inquiries{}
	i.ctx, i.cancel = context.WithCancel(context.Background())
	return i
}

// inquire calls ask unless the conversation is ending. name identifies the request if it outlasts the
// conversation.
func inquire[R any](ctx context.Context, i *inquiries, name string, ask func(context.Context) (R, error)) (R, error) {
	var none R
	if !i.begin(name) {
		return none, errShuttingDown()
	}
	defer i.done(name)
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(i.ctx, cancel)()
	r, err := ask(ctx)
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

func (i *inquiries) begin(name string) bool {
	i.mu.Lock()
	defer i.mu.Unlock()
	if !i.ended {
		i.running.Add(1)
		i.names = append(i.names, name)
	}
	return !i.ended
}

func (i *inquiries) done(name string) {
	i.mu.Lock()
	at := slices.Index(i.names, name)
	i.names = slices.Delete(i.names, at, at+1)
	i.mu.Unlock()
	i.running.Done()
}

// end cancels the running requests and refuses new ones. It does not wait.
func (i *inquiries) end() {
	i.mu.Lock()
	i.ended = true
	i.mu.Unlock()
	i.cancel()
}

// wait waits until no request runs, for at most d, and returns the names of those that still run.
func (i *inquiries) wait(d time.Duration) (left []string) {
	if within(d, i.running.Wait) {
		return nil
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	left = slices.Clone(i.names)
	slices.Sort(left)
	return slices.Compact(left)
}
