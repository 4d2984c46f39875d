package runloop

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/supervisor/input"
	"github.com/arbiter-cli/arbiter/supervisor/policy"
	"github.com/arbiter-cli/arbiter/supervisor/words"
)

// requests are requests of agents that wait for an answer of the loop, by name.
type requests[R any] struct {
	mu      sync.Mutex
	waiting map[string]chan R
}

// answer sends r to the caller that waits under a name, if it still waits. The channel has room for it, so
// nothing blocks.
func (q *requests[R]) answer(name string, r R) {
	if ch := q.expect(name, nil); ch != nil {
		ch <- r
	}
}

// expect sets the channel that gets the answer for a name (nil: none) and returns the previous channel.
func (q *requests[R]) expect(name string, ch chan R) (before chan R) {
	q.mu.Lock()
	defer q.mu.Unlock()
	before = q.waiting[name]
	switch {
	case ch == nil:
		delete(q.waiting, name)
	case q.waiting == nil:
		q.waiting = map[string]chan R{name: ch}
	default:
		q.waiting[name] = ch
	}
	return before
}

var errOver = errors.New("the run is over")

// put puts in an input from a host's bridge, and waits until the loop answers it under a name. A request that
// is withdrawn already gets no answer; otherwise it would be chance whether it gets one.
func (q *requests[R]) put(
	ctx context.Context, l *Loop, host, name string, f input.Body,
) (r R, err error) {
	if err := ctx.Err(); err != nil {
		return r, err
	}
	ch := make(chan R, 1)
	q.expect(name, ch)
	defer q.expect(name, nil)
	if !l.putFrom(host, f) {
		return r, errOver
	}
	select {
	case r = <-ch:
		return r, nil
	case <-ctx.Done():
		return r, ctx.Err()
	case <-l.done:
		return r, errOver
	}
}

// permission answers a request by an earlier answer or by what takes the call away, or has a human answer it.
func (l *Loop) permission(ctx context.Context, host string, p bridge.PermissionParams,
	call toolCall) (bridge.PermissionResult, error) {
	if trouble := l.outbox.trouble.Load(); trouble != nil {
		return bridge.PermissionResult{}, fmt.Errorf("what is decided cannot be recorded now: %s", *trouble)
	}
	if len(p.Input) > maxAskedInput {
		return bridge.PermissionResult{Behavior: bridge.Deny,
			Message: fmt.Sprintf("A call whose input has %s bytes cannot be shown to anybody: at most %s are asked "+
				"about. Do it in smaller pieces.",
				words.Number(len(p.Input)), words.Number(maxAskedInput))}, nil
	}
	changes := l.Snapshot().Permission.Changes
	d := l.answer(call)
	asked := input.PermissionAsked{
		Params: p, Behavior: d.Behavior, By: d.By, Rule: d.Rule, Reason: d.Reason, Action: call.key(), Changes: changes,
	}
	if d.Behavior == policy.Ask {
		asked.Suggestions = l.suggest(p)
	}
	asked.Params.Suggestions = nil
	l.inputs.Store(p.Request, p.Input)
	defer l.inputs.Delete(p.Request)
	r, err := l.permissions.put(ctx, l, host, p.Request, asked)
	if err != nil && ctx.Err() != nil {
		l.Put(input.PermissionWithdrawn{Request: p.Request})
	}
	return r, err
}

// exact is a request's input with its secrets, while a caller waits for the answer.
func (l *Loop) exact(p bridge.PermissionParams) json.RawMessage {
	if in, ok := l.inputs.Load(p.Request); ok {
		return in.(json.RawMessage)
	}
	return p.Input
}

const (
	// maxCallInput bounds the input of a call of Arbiter's own tools, and maxAskedInput the input of a call
	// with a permission request: the journal keeps both in full.
	maxCallInput  = 1 << 20
	maxAskedInput = 8 << 20
)
