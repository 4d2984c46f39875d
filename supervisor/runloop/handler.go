package runloop

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/supervisor/input"
	"github.com/arbiter-cli/arbiter/supervisor/permission"
	"github.com/arbiter-cli/arbiter/supervisor/policy"
	"github.com/arbiter-cli/arbiter/supervisor/words"
)

// requests are those of agents that wait for an answer of the loop, by their names.
type requests[R any] struct {
	mu      sync.Mutex
	waiting map[string]chan R
}

// answer hands r to whoever waits under a name, if somebody still does. The channel has
// room for it, so nobody blocks.
func (q *requests[R]) answer(name string, r R) {
	if ch := q.expect(name, nil); ch != nil {
		ch <- r
	}
}

// expect has ch be answered under a name, nil: nobody, in place of the one it returns.
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

// put puts an input in and waits until the loop answers it under a name. What is withdrawn
// already needs no answer, which else would come or not by chance.
func (q *requests[R]) put(ctx context.Context, l *Loop, name string, f input.Body) (r R, err error) {
	if err := ctx.Err(); err != nil {
		return r, err
	}
	ch := make(chan R, 1)
	q.expect(name, ch)
	defer q.expect(name, nil)
	if !l.Put(f) {
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

// Event implements bridge.Handler.
//
// What a terminal shows is none of the loop's business: whoever shows it takes it off before.
func (l *Loop) Event(e bridge.Event) {
	if _, ok := e.Body.(bridge.PTY); ok {
		return
	}
	if l.redact != nil {
		var told bool
		if e, told = l.pieces.Event(e, l.redact); !told {
			return
		}
	}
	l.Put(input.AgentEvent{Event: e})
}

// ToolCall implements bridge.Handler: it waits for the loop's answer.
func (l *Loop) ToolCall(ctx context.Context, p bridge.ToolCallParams) (bridge.ToolCallResult, error) {
	if len(p.Input) > maxCallInput {
		return bridge.ToolCallResult{IsError: true,
			Text: fmt.Sprintf("The input has %s bytes, and at most %s are taken. Say it in fewer words; what is long "+
				"belongs into files, which you name.",
				words.Number(len(p.Input)), words.Number(maxCallInput))}, nil
	}
	call := fmt.Sprintf("call-%d", l.calls.Add(1))
	return l.tools.put(ctx, l, call, input.ToolCalled{Call: call, Params: p})
}

// Permission implements bridge.Handler: the rules are looked up here, because
// they read the file system, and the loop decides on what they say.
func (l *Loop) Permission(ctx context.Context, p bridge.PermissionParams) (bridge.PermissionResult, error) {
	return l.permission(ctx, p, askedCall(p, p.Input))
}

// permission decides a call, or has the human decide it.
func (l *Loop) permission(ctx context.Context, p bridge.PermissionParams,
	call toolCall) (bridge.PermissionResult, error) {
	if trouble := l.books.trouble.Load(); trouble != nil {
		return bridge.PermissionResult{}, fmt.Errorf("what is decided cannot be recorded now: %s", *trouble)
	}
	if len(p.Input) > maxAskedInput {
		return bridge.PermissionResult{Behavior: bridge.Deny,
			Message: fmt.Sprintf("A call whose input has %s bytes cannot be shown to anybody: at most %s are asked "+
				"about. Do it in smaller pieces.",
				words.Number(len(p.Input)), words.Number(maxAskedInput))}, nil
	}
	changes := l.Snapshot().Permission.Changes
	d := l.ruling(call)
	asked := input.PermissionAsked{
		Params: p, Behavior: d.Behavior, By: d.By, Rule: d.Rule, Reason: d.Reason,
		Action: permission.Key(p.Tool, p.Input), Told: l.told.take(p), Changes: changes,
	}
	if d.Behavior == policy.Ask {
		asked.Suggestions = l.suggest(p)
	}
	l.inputs.Store(p.Request, p.Input)
	defer l.inputs.Delete(p.Request)
	r, err := l.permissions.put(ctx, l, p.Request, asked)
	if err != nil && ctx.Err() != nil {
		l.Put(input.PermissionWithdrawn{Request: p.Request})
	}
	return r, err
}

// exact is a request's input with its secrets, while somebody waits for the answer.
func (l *Loop) exact(p bridge.PermissionParams) json.RawMessage {
	if in, ok := l.inputs.Load(p.Request); ok {
		return in.(json.RawMessage)
	}
	return p.Input
}

const (
	// maxCallInput bounds the input of a call of our own tools, and maxAskedInput that of a
	// call somebody is asked about: the journal keeps both whole.
	maxCallInput  = 1 << 20
	maxAskedInput = 8 << 20
)
