package bridge

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"
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
		if err := r.Message(r.ctx, MessageParams{AgentRef{"a", 1}, "m", "go", false, nil}); codeOf(err) != CodeBusy {
			t.Errorf("message: %v", err)
		}
		if n := len(h.all()); n != 10 {
			t.Errorf("the answer is there after %d of 10 events", n)
		}
		seen := 0
		h.judge = func(context.Context, JudgeParams) (JudgeResult, error) {
			seen = len(h.all())
			return JudgeResult{Behavior: Pass}, nil
		}
		a.host.Emit(Event{Body: Context{Pct: 99}})
		if _, err := a.host.Judge(r.ctx, JudgeParams{Tool: "Bash"}); err != nil || seen != 11 {
			t.Errorf("a call is judged after %d of 11 events: %v", seen, err)
		}
		if err := r.Kill(r.ctx, KillParams{AgentRef: AgentRef{"a", 1}}); err != nil {
			t.Errorf("kill: %v", err)
		}
		if all := h.all(); all[len(all)-1].Body.eventName() != "done" {
			t.Errorf("kill is answered before done is handled: %v", all)
		}
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
		if _, err := r.Context(ctx, AgentRef{"a", 1}); !errors.Is(err, context.DeadlineExceeded) ||
			!errors.Is(err, errAnswered) {
			t.Errorf("got %v", err)
		}
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
		if _, err := bufio.NewReader(far).ReadString('\n'); err != nil {
			t.Fatal(err)
		}
		for i := range 5 {
			fmt.Fprintf(far,
				`{"jsonrpc":"2.0","method":"event","params":{"n":%d,"id":"a","generation":1,"event":"delta","text":"%d"}}`+"\n",
				i+1, i)
		}
		far.Close()
		if err := <-called; !errors.Is(err, ErrClosed) {
			t.Errorf("the call: %v", err)
		}
		<-c.Done()
		if n := len(h.all()); n != 5 {
			t.Errorf("%d events of 5", n)
		}
		if err := c.Err(); !errors.Is(err, io.EOF) {
			t.Errorf("Err: %v", err)
		}
		if err := c.Kill(t.Context(), KillParams{AgentRef: AgentRef{"a", 1}}); !errors.Is(err, ErrClosed) {
			t.Errorf("a call afterwards: %v", err)
		}
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
		if written == 0 || written > 10 {
			t.Errorf("%d events were read while one is being handled, want some", written)
		}
		close(release)
		<-c.Done()
		if n := len(h.all()); n != events {
			t.Errorf("%d events of %d", n, events)
		}
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
		if n := len(h.all()); n != 3 {
			t.Errorf("%d events of 3", n)
		}
		far.Close()
	})
}
