package bridge

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/sourcegraph/jsonrpc2"
)

// Each method of the handler may call back, which jsonrpc2's plain handlers may not do.
func TestHandlersMayCallBack(t *testing.T) {
	bubble(t, func(t *testing.T) {
		var r *rig
		h := &recorder{}
		asked := make(chan error, 1)
		h.event = func(ev Event) {
			if _, ok := ev.Body.(Assistant); ok {
				asked <- errOf(r.Context(r.ctx, ev.AgentRef))
			}
		}
		h.toolCall = func(ctx context.Context, p ToolCallParams) (ToolCallResult, error) {
			res, err := r.Ask(ctx, AskParams{p.AgentRef, p.Tool})
			return ToolCallResult{Text: res.Answer}, err
		}
		h.permission = func(ctx context.Context, p PermissionParams) (PermissionResult, error) {
			_, err := r.Interrupt(ctx, p.AgentRef)
			return PermissionResult{Behavior: Allow}, err
		}
		r = newRig(t, &fakeLauncher{}, h)
		defer r.leave(t)
		a := r.spawn(t, "a", 1)
		a.host.Emit(Event{Body: Assistant{Text: "call me"}})
		a.host.Emit(Event{Body: Delta{Text: "and wait"}}) // read before the answer, handled after it
		if err := <-asked; err != nil {
			t.Errorf("a call from Event: %v", err)
		}
		got, err := a.host.ToolCall(r.ctx, ToolCallParams{Tool: "status", Input: json.RawMessage(`{}`)})
		if diff := cmp.Diff(ToolCallResult{Text: "the answer to status"}, got); err != nil || diff != "" {
			t.Errorf("a call from ToolCall: %v, -want +got:\n%s", err, diff)
		}
		if got, err := a.host.Permission(r.ctx,
			PermissionParams{Tool: "Bash", Input: json.RawMessage(`{}`)}); err != nil || got.Behavior != Allow {
			t.Errorf("a call from Permission: %v, %v", got, err)
		}
	})
}

func TestFailedRequestsToClient(t *testing.T) {
	bubble(t, func(t *testing.T) {
		h := &recorder{}
		r := newRig(t, &fakeLauncher{}, h)
		a := r.spawn(t, "a", 1)
		permission := func(ctx context.Context) PermissionResult {
			p, _ := a.host.Permission(ctx, PermissionParams{Tool: "Bash"})
			return p
		}
		tool := func(ctx context.Context) ToolCallResult {
			res, _ := a.host.ToolCall(ctx, ToolCallParams{Tool: "status"})
			return res
		}
		if p := permission(r.ctx); p.Behavior != Deny || p.Message != "nobody is there" {
			t.Errorf("a handler's error: %+v", p)
		}
		if res := tool(r.ctx); !res.IsError || res.Text != "no such tool" {
			t.Errorf("a tool's error: %+v", res)
		}
		for _, odd := range []string{"Allow", "ALLOW", "", "yes"} {
			h.permission = func(context.Context, PermissionParams) (PermissionResult, error) {
				return PermissionResult{Behavior: odd}, nil
			}
			if p := permission(r.ctx); p.Behavior != Deny {
				t.Errorf("behavior %q: %+v", odd, p)
			}
		}
		cancelled := make(chan struct{}, 2)
		h.permission = func(ctx context.Context, _ PermissionParams) (PermissionResult, error) {
			<-ctx.Done()
			cancelled <- struct{}{}
			return PermissionResult{Behavior: Allow}, nil
		}
		h.toolCall = func(ctx context.Context, _ ToolCallParams) (ToolCallResult, error) {
			<-ctx.Done()
			cancelled <- struct{}{}
			return ToolCallResult{Text: "too late"}, nil
		}
		ctx, cancel := context.WithTimeout(r.ctx, time.Second)
		defer cancel()
		if p := permission(ctx); p.Behavior != Deny {
			t.Errorf("no decision in time: %+v", p)
		}
		<-cancelled
		begun := time.Now()
		if res := tool(r.ctx); !res.IsError || time.Since(begun) != DefaultToolTimeout {
			t.Errorf("a tool without an answer: %+v after %v", res, time.Since(begun))
		}
		<-cancelled
		h.toolCall = func(context.Context, ToolCallParams) (ToolCallResult, error) { panic("a bug") }
		if res := tool(r.ctx); !res.IsError || !strings.Contains(res.Text, "internal error in tool_call: a bug") {
			t.Errorf("a tool that panics: %+v", res)
		}
		denied := make(chan PermissionResult)
		go func() { denied <- permission(t.Context()) }()
		synctest.Wait()
		r.Close()
		if p := <-denied; p.Behavior != Deny {
			t.Errorf("the client is gone: %+v", p)
		}
		if err := <-r.served; err != nil {
			t.Errorf("Serve: %v", err)
		}
		if p, res := permission(t.Context()), tool(t.Context()); p.Behavior != Deny || !res.IsError {
			t.Errorf("after the connection: %+v, %+v", p, res)
		}
		r.stop()
	})
}

func TestAgentPanicIsAnAnswer(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := newRig(t, &fakeLauncher{}, &recorder{})
		defer r.leave(t)
		a := r.spawn(t, "a", 1)
		a.ask = func(context.Context, string) (string, error) { panic("a bug") }
		if _, err := r.Ask(r.ctx, AskParams{AgentRef{"a", 1}, "q"}); codeOf(err) != jsonrpc2.CodeInternalError {
			t.Errorf("got %v", err)
		}
		if _, err := r.Context(r.ctx, AgentRef{"a", 1}); err != nil {
			t.Errorf("afterwards: %v", err)
		}
		r.l.launch = func(context.Context, SpawnParams, Host) (Agent, error) { panic("a bug") }
		if _, err := r.Spawn(r.ctx, spawnParams("b", 1)); codeOf(err) != jsonrpc2.CodeInternalError {
			t.Errorf("a launch that panics: %v", err)
		}
		if err := r.Kill(r.ctx, KillParams{AgentRef: AgentRef{"b", 1}}); codeOf(err) != CodeEnded {
			t.Errorf("what did not start: %v", err)
		}
	})
}

func TestEventHandlerPanicEndsTheConnection(t *testing.T) {
	bubble(t, func(t *testing.T) {
		handled := 0
		r := newRig(t, &fakeLauncher{}, &recorder{event: func(Event) {
			if handled++; handled == 2 {
				panic("a bug")
			}
		}})
		a := r.spawn(t, "a", 1)
		for range 5 {
			a.host.Emit(Event{Body: Delta{}})
		}
		<-r.Done()
		if handled != 2 {
			t.Errorf("%d events were handled, want none after the second", handled)
		}
		if err := r.Err(); err == nil || !strings.Contains(err.Error(), "event handler panicked: a bug") {
			t.Errorf("Err: %v", err)
		}
		<-r.served
		r.stop()
	})
}

func TestHandlersMayClose(t *testing.T) {
	for _, from := range []string{"event", "tool"} {
		t.Run(from, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				var r *rig
				h := &recorder{}
				if from == "event" {
					h.event = func(Event) { r.Close() }
				}
				h.toolCall = func(context.Context, ToolCallParams) (ToolCallResult, error) {
					return ToolCallResult{}, r.Close()
				}
				r = newRig(t, &fakeLauncher{}, h)
				a := r.spawn(t, "a", 1)
				if from == "event" {
					a.host.Emit(Event{Body: Delta{}})
				} else if res, _ := a.host.ToolCall(r.ctx, ToolCallParams{Tool: "t"}); !res.IsError {
					t.Errorf("got %+v", res)
				}
				<-r.Done()
				if err := r.Err(); err != nil {
					t.Errorf("Err after Close: %v", err)
				}
				<-r.served
				r.stop()
			})
		})
	}
}
