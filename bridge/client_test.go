package bridge

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"runtime"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/sourcegraph/jsonrpc2"

	"github.com/arbiter-cli/arbiter/internal/testkit"
)

// The answer is on the wire directly after the events; the handler is slow.
func TestAnswersDoNotOvertakeEvents(t *testing.T) {
	bubble(t, func(t *testing.T) {
		h := &recorder{event: func(Event) { time.Sleep(time.Second) }}
		r := newRig(t, &fakeLauncher{}, h)
		defer r.leave(t)
		a := r.spawn(t, "a", 1)
		a.message = func(context.Context, MessageParams) error {
			for range 10 {
				a.host.Emit(Event{Body: Delta{Text: "x"}})
			}
			return &RPCError{Code: CodeBusy, Message: "refusals keep the order, too"}
		}
		err := r.Message(r.ctx, MessageParams{AgentRef{"a", 1}, "m", "go", false, nil})
		testkit.Check(t, codeOf(err) == CodeBusy, "message: %v", err)
		testkit.Same(t, "the answer is there after of 10 events", 10, len(h.all()))
		seen := 0
		h.judge = func(context.Context, JudgeParams) (JudgeResult, error) {
			seen = len(h.all())
			return JudgeResult{Behavior: Pass}, nil
		}
		a.host.Emit(Event{Body: Context{Pct: 99}})
		_, err = a.host.Judge(r.ctx, JudgeParams{Tool: "Bash"})
		testkit.Check(t, err == nil && seen == 11, "a call is judged after %d of 11 events: %v", seen, err)
		err = r.Kill(r.ctx, KillParams{AgentRef: AgentRef{"a", 1}})
		testkit.Check(t, err == nil, "kill: %v", err)
		all := h.all()
		testkit.Check(t, all[len(all)-1].Body.eventName() == "done", "kill is answered before done is handled: %v", all)
	})
}

func TestBarrierHonoursContext(t *testing.T) {
	bubble(t, func(t *testing.T) {
		release := make(chan struct{})
		r := newRig(t, &fakeLauncher{}, &recorder{event: func(Event) { <-release }})
		defer r.leave(t)
		a := r.spawn(t, "a", 1)
		a.host.Emit(Event{Body: Delta{Text: "x"}})
		ctx, cancel := context.WithTimeout(r.ctx, time.Second)
		defer cancel()
		testkit.Fails(t, "r.Context", testkit.Err(r.Context(ctx, AgentRef{"a", 1})), context.DeadlineExceeded,
			errAnswered)
		close(release)
	})
}

// Events that the bridge sent before it died are handled before Done is closed.
func TestEventsBeforeTheEndAreHandled(t *testing.T) {
	bubble(t, func(t *testing.T) {
		near, far := net.Pipe()
		h := &recorder{event: func(Event) { time.Sleep(time.Second) }}
		c := NewClient(near, h, testLog(t))
		called := make(chan error)
		go func() { called <- errOf(c.Context(t.Context(), AgentRef{"a", 1})) }()
		testkit.Must(bufio.NewReader(far).ReadString('\n'))(t)
		for i := range 5 {
			fmt.Fprintf(far,
				`{"jsonrpc":"2.0","method":"event","params":{"n":%d,"id":"a","generation":1,"event":"delta","text":"%d"}}`+"\n",
				i+1, i)
		}
		far.Close()
		testkit.Fails(t, "the call", <-called, ErrClosed)
		<-c.Done()
		testkit.Same(t, "events of 5", 5, len(h.all()))
		testkit.Fails(t, "Err", c.Err(), io.EOF)
		testkit.Fails(t, "a call afterwards", c.Kill(t.Context(), KillParams{AgentRef: AgentRef{"a", 1}}), ErrClosed)
	})
}

// A handler that cannot keep up pauses reading; the end of the connection does not discard the waiting
// events.
func TestSlowHandlerPausesReading(t *testing.T) {
	bubble(t, func(t *testing.T) {
		near, far := net.Pipe()
		release := make(chan struct{})
		h := &recorder{event: func(Event) { <-release }}
		c := newClient(near, h, testLog(t))
		c.q.limit = 1000
		c.start()
		const events = 50
		written := 0
		go func() {
			line, _ := eventLine(Event{AgentRef{"a", 1}, Delta{Text: strings.Repeat("x", 200)}})
			for n := range events {
				far.Write(numbered(uint64(n+1), line))
				written++
			}
			far.Close()
		}()
		synctest.Wait()
		testkit.Check(t, written != 0 && written <= 10, "%d events were read while one is being handled, want some",
			written)
		close(release)
		<-c.Done()
		testkit.Same(t, "events", events, len(h.all()))
	})
}

func TestEndOfConnectionWhileReadingIsPaused(t *testing.T) {
	bubble(t, func(t *testing.T) {
		near, far := net.Pipe()
		release := make(chan struct{})
		h := &recorder{event: func(Event) { <-release }}
		c := newClient(near, h, testLog(t))
		c.q.limit = 100
		c.start()
		line, _ := eventLine(Event{AgentRef{"a", 1}, Delta{Text: strings.Repeat("x", 200)}})
		far.Write(slices.Concat(numbered(1, line), numbered(2, line), numbered(3, line)))
		synctest.Wait()
		c.p.s.fail(errors.New("no more")) // like a failed write
		time.Sleep(time.Minute)
		close(release)
		<-c.Done()
		testkit.Same(t, "events of 3", 3, len(h.all()))
		far.Close()
	})
}

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
		testkit.Works(t, "a call from Event", <-asked)
		got, err := a.host.ToolCall(r.ctx, ToolCallParams{Tool: "status", Input: json.RawMessage(`{}`)})
		diff := cmp.Diff(ToolCallResult{Text: "the answer to status"}, got)
		testkit.Check(t, err == nil && diff == "", "a call from ToolCall: %v, -want +got:\n%s", err, diff)
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
		testkit.Like(t, "a handler's error", PermissionResult{Behavior: Deny, Message: "nobody is there"},
			permission(r.ctx))
		testkit.Like(t, "a tool's error", ToolCallResult{IsError: true, Text: "no such tool"}, tool(r.ctx))
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
		testkit.Like(t, "no decision in time", PermissionResult{Behavior: Deny}, permission(ctx))
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
		testkit.Like(t, "the client is gone", PermissionResult{Behavior: Deny}, <-denied)
		err := <-r.served
		testkit.Check(t, err == nil, "Serve: %v", err)
		p, res := permission(t.Context()), tool(t.Context())
		testkit.Check(t, p.Behavior == Deny && res.IsError, "after the connection: %+v, %+v", p, res)
		r.stop()
	})
}

func TestAgentPanicIsAnAnswer(t *testing.T) {
	inRig(t, &fakeLauncher{}, &recorder{}, func(t *testing.T, r *rig) {
		a := r.spawn(t, "a", 1)
		a.ask = func(context.Context, string) (string, error) { panic("a bug") }
		_, err := r.Ask(r.ctx, AskParams{AgentRef{"a", 1}, "q"})
		testkit.Check(t, codeOf(err) == jsonrpc2.CodeInternalError, "got %v", err)
		_, err = r.Context(r.ctx, AgentRef{"a", 1})
		testkit.Check(t, err == nil, "afterwards: %v", err)
		r.l.launch = func(context.Context, SpawnParams, Host) (Agent, error) { panic("a bug") }
		_, err = r.Spawn(r.ctx, spawnParams("b", 1))
		testkit.Check(t, codeOf(err) == jsonrpc2.CodeInternalError, "a launch that panics: %v", err)
		err = r.Kill(r.ctx, KillParams{AgentRef: AgentRef{"b", 1}})
		testkit.Check(t, codeOf(err) == CodeEnded, "what did not start: %v", err)
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
		testkit.Same(t, "events were handled", 2, handled)
		testkit.Fails(t, "Err", r.Err(), "event handler panicked: a bug")
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
				testkit.Works(t, "Err after Close", r.Err())
				<-r.served
				r.stop()
			})
		})
	}
}

func TestCancelledCallsAreCancelled(t *testing.T) {
	for name, call := range map[string]func(*rig, context.Context) error{
		"ask":   func(r *rig, ctx context.Context) error { return errOf(r.Ask(ctx, AskParams{AgentRef{"a", 1}, "q"})) },
		"check": func(r *rig, ctx context.Context) error { return errOf(r.Check(ctx, oneCheck)) },
		"query": func(r *rig, ctx context.Context) error { return errOf(r.Query(ctx, oneQuery)) },
		"write": func(r *rig, ctx context.Context) error {
			return r.PTYWrite(ctx, PTYWriteParams{AgentRef{"b", 1}, []byte("x")})
		},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				ended := make(chan struct{}, 1)
				wait := func(ctx context.Context) error {
					<-ctx.Done() // by the cancel notification
					ended <- struct{}{}
					return ctx.Err()
				}
				r := collectorRig(t, &fakeCollector{check: func(ctx context.Context, _ Owner, _ CheckParams) (CheckResult, error) {
					return CheckResult{}, wait(ctx)
				}})
				defer r.leave(t)
				r.spawn(t, "a", 1).ask = func(ctx context.Context, _ string) (string, error) { return "", wait(ctx) }
				r.l.query = func(ctx context.Context, _ QueryParams) (QueryResult, error) { return QueryResult{}, wait(ctx) }
				testkit.Must(r.PTYOpen(r.ctx, onePTY("b", 1)))(t)
				r.l.terminal(AgentRef{"b", 1}).write = wait
				ctx, cancel := context.WithTimeout(r.ctx, time.Millisecond)
				defer cancel()
				testkit.Fails(t, "call", call(r, ctx), context.DeadlineExceeded)
				<-ended
				synctest.Wait() // its answer, which no caller waits for, is on its way
				testkit.Works(t, "afterwards", testkit.Err(r.Context(r.ctx, AgentRef{"a", 1})))
			})
		})
	}
}

// A cancelled call must not stay in jsonrpc2's map when no answer ever comes. Without the synthetic answer
// each call would leave at least four objects.
func TestCancelledCallsAreForgotten(t *testing.T) {
	bubble(t, func(t *testing.T) {
		near, far := net.Pipe()
		go io.Copy(io.Discard, far)
		c := NewClient(near, &recorder{}, nil)
		defer c.Close()
		giveUp := func(calls int) uint64 {
			for range calls {
				ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
				_, err := c.Context(ctx, AgentRef{"a", 1})
				testkit.Need(t, errors.Is(err, context.DeadlineExceeded), "got %v", err)
				cancel()
			}
			synctest.Wait()
			runtime.GC()
			runtime.GC()
			var m runtime.MemStats
			runtime.ReadMemStats(&m)
			return m.HeapObjects
		}
		const calls = 1000
		before := giveUp(100)
		grown := int64(giveUp(calls)) - int64(before)
		testkit.Check(t, grown <= calls, "%d calls left %d objects", calls, grown)
	})
}

func (l *fakeLauncher) Query(ctx context.Context, of Owner, claude ClaudeSpec, p QueryParams) (QueryResult, error) {
	if l.query != nil {
		return l.query(ctx, p)
	}
	return QueryResult{Output: json.RawMessage(`{"action":"CONTINUE"}`), Text: of.Run + claude.Path + ": " + p.Prompt,
		Usage: Usage{Input: 1, Output: 2}, CostUSD: 0.5, DurationMS: 9, Model: p.Model}, nil
}

var oneQuery = QueryParams{Model: "haiku", Effort: "low", CWD: "/w", SystemPrompt: "You choose.", Prompt: "Which?",
	JSONSchema: json.RawMessage(`{"type":"object"}`), SettingSources: []string{"user"}, MaxBudgetUSD: 0.1,
	Env: map[string]string{"X": "y"}, TimeoutMS: 1000}

// TestElicitationContent: a human's words become the fields that an MCP server asks for, or an error that names them.
func TestElicitationContent(t *testing.T) {
	const two = `{"type":"object","properties":{"region":{"type":"string","enum":["eu","us"]},` +
		`"nodes":{"type":"integer","default":3}},"required":["region"]}`
	one := func(kind string) string {
		return `{"type":"object","properties":{"it":{"type":"` + kind + `"}},"required":["it"]}`
	}
	for _, c := range []struct{ schema, said, want, wrong string }{
		{"", "", `{}`, ""},
		{"", "well", "", "consent alone"},
		{one("string"), "12", `{"it":"12"}`, ""},
		{one("string"), `{"it":"a"}`, `{"it":"a"}`, ""},
		{one("integer"), "12", `{"it":12}`, ""},
		{one("boolean"), "Yes", `{"it":true}`, ""},
		{one("boolean"), "perhaps", "", "it (boolean)"},
		{one("string"), "", "", "it (string)"},
		{two, `{"region":"eu"}`, `{"nodes":3,"region":"eu"}`, ""},
		{two, `{"region":"mars"}`, "", "a JSON object with nodes (integer, optional), region (string, one of [eu us])"},
		{two, "eu", "", "is not a JSON object"},
		{two, `{"region"`, "", "region"},
		{`{"type":`, "x", "", "deny the request"},
	} {
		got, err := Elicitation{Schema: json.RawMessage(c.schema)}.Content(c.said)
		if string(got) != c.want || (err != nil) != (c.wrong != "") || err != nil && !strings.Contains(err.Error(), c.wrong) {
			t.Errorf("%s, %q: %s, %v; want %s, %q", c.schema, c.said, got, err, c.want, c.wrong)
		}
	}
	_, err := Elicitation{Schema: json.RawMessage(two)}.Content(strings.Repeat("word ", 10) + "sk-ant-" +
		strings.Repeat("x", 90)) // a part of a secret is not recognized as one
	testkit.Check(t, err != nil && !strings.Contains(err.Error(), "sk-"), "it quotes a part of a word: %v", err)
}
