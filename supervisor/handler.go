package supervisor

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/supervisor/policy"
)

// waiting holds the requests of agents that wait for an answer of the loop.
type waiting struct {
	mu          sync.Mutex
	tools       map[string]chan bridge.ToolCallResult
	permissions map[string]chan bridge.PermissionResult
	calls       atomic.Uint64
	inputs      sync.Map // of permissions, by the request: json.RawMessage, as the tool would get it
}

func (w *waiting) init() {
	w.tools = map[string]chan bridge.ToolCallResult{}
	w.permissions = map[string]chan bridge.PermissionResult{}
}

func (w *waiting) answerTool(call string, r bridge.ToolCallResult) { answer(&w.mu, w.tools, call, r) }

func (w *waiting) answerPermission(request string, r bridge.PermissionResult) {
	answer(&w.mu, w.permissions, request, r)
}

// exact is a request's input with its secrets, while somebody waits for the answer.
func (w *waiting) exact(p bridge.PermissionParams) json.RawMessage {
	if in, ok := w.inputs.Load(p.Request); ok {
		return in.(json.RawMessage)
	}
	return p.Input
}

// answer hands r to whoever waits under the key, if somebody still does. The
// channel has room for it, so nobody blocks.
func answer[R any](mu *sync.Mutex, m map[string]chan R, key string, r R) {
	mu.Lock()
	ch := m[key]
	delete(m, key)
	mu.Unlock()
	if ch != nil {
		ch <- r
	}
}

func expect[R any](mu *sync.Mutex, m map[string]chan R, key string) chan R {
	ch := make(chan R, 1)
	mu.Lock()
	m[key] = ch
	mu.Unlock()
	return ch
}

func forget[R any](mu *sync.Mutex, m map[string]chan R, key string) {
	mu.Lock()
	delete(m, key)
	mu.Unlock()
}

var errOver = errors.New("the run is over")

// Event implements bridge.Handler.
//
// What a terminal shows is none of the loop's business: whoever shows it takes it off before.
func (l *Loop) Event(e bridge.Event) {
	if _, ok := e.Body.(bridge.PTY); ok {
		return
	}
	if l.redact != nil {
		var told bool
		if e, told = l.pieces.mask(e, l.redact); !told {
			return
		}
	}
	l.Put(Happened{Event: e})
}

// ToolCall implements bridge.Handler: it waits for the loop's answer.
func (l *Loop) ToolCall(ctx context.Context, p bridge.ToolCallParams) (bridge.ToolCallResult, error) {
	call := fmt.Sprintf("call-%d", l.waiting.calls.Add(1))
	ch := expect(&l.waiting.mu, l.waiting.tools, call)
	defer forget(&l.waiting.mu, l.waiting.tools, call)
	if !l.Put(ToolCalled{Call: call, Params: p}) {
		return bridge.ToolCallResult{}, errOver
	}
	select {
	case r := <-ch:
		return r, nil
	case <-ctx.Done():
		return bridge.ToolCallResult{}, ctx.Err()
	case <-l.done:
		return bridge.ToolCallResult{}, errOver
	}
}

// Permission implements bridge.Handler: the rules are looked up here, because
// they read the file system, and the loop decides on what they say.
func (l *Loop) Permission(ctx context.Context, p bridge.PermissionParams) (bridge.PermissionResult, error) {
	if trouble := l.books.trouble.Load(); trouble != nil {
		return bridge.PermissionResult{}, fmt.Errorf("what is decided cannot be recorded now: %s", *trouble)
	}
	d := l.ruling(p.ID, p.Tool, p.Input)
	fact := PermissionAsked{Params: p, Behavior: d.Behavior, By: d.By, Rule: d.Rule, Reason: d.Reason, Action: actionKey(p), Told: l.told.take(p)}
	if d.Behavior == policy.Ask {
		fact.Suggestions = l.suggest(p)
	}
	ch := expect(&l.waiting.mu, l.waiting.permissions, p.Request)
	defer forget(&l.waiting.mu, l.waiting.permissions, p.Request)
	l.waiting.inputs.Store(p.Request, p.Input)
	defer l.waiting.inputs.Delete(p.Request)
	if !l.Put(fact) {
		return bridge.PermissionResult{}, errOver
	}
	select {
	case r := <-ch:
		return r, nil
	case <-ctx.Done():
		l.Put(PermissionWithdrawn{Request: p.Request})
		return bridge.PermissionResult{}, ctx.Err()
	case <-l.done:
		return bridge.PermissionResult{}, errOver
	}
}

// beyondMode says why the mode of an Orchestrator does not let it use a tool like this;
// empty: it does. Its subagents are held to the same.
func (l *Loop) beyondMode(agent, tool string, input json.RawMessage) (rule, why string) {
	s := l.Snapshot()
	if s == nil {
		return "", ""
	}
	a, ok := s.agent(agent)
	if !ok || a.Mode == "" {
		return "", ""
	}
	mode, ok := s.modeNamed(a.Mode)
	if !ok {
		return "", "its mode " + a.Mode + " is not known any more"
	}
	if allowed, rule, why := mode.Allows(l.policy.CWD, l.policy.Home, tool, input); !allowed {
		return rule, why
	}
	return "", ""
}

// arbiterMay are the tools the Arbiter is not denied by its role.
var arbiterMay = map[string]bool{
	"Read": true, "Grep": true, "Glob": true, "StructuredOutput": true,
	"mcp__arbiter__spawn_orchestrator": true, "mcp__arbiter__release_orchestrator": true,
	"mcp__arbiter__set_plan": true, "mcp__arbiter__status": true,
}
