package bridge

import (
	"context"
	"errors"
	"io"
	"net"
	"runtime"
	"testing"
	"testing/synctest"
	"time"
)

// A cancelled call is cancelled at the other end too, and the connection continues.
func TestCancelledCallsAreCancelled(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := newRig(t, &fakeLauncher{}, &recorder{})
		defer r.leave(t)
		a := r.spawn(t, "a", 1)
		ended := make(chan struct{}, 1)
		a.ask = func(ctx context.Context, _ string) (string, error) {
			<-ctx.Done() // by the cancel notification
			ended <- struct{}{}
			return "", ctx.Err()
		}
		ctx, cancel := context.WithTimeout(r.ctx, time.Millisecond)
		defer cancel()
		if _, err := r.Ask(ctx, AskParams{AgentRef{"a", 1}, "q"}); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("got %v", err)
		}
		<-ended
		if _, err := r.Context(r.ctx, AgentRef{"a", 1}); err != nil {
			t.Errorf("afterwards: %v", err)
		}
	})
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
				if _, err := c.Context(ctx, AgentRef{"a", 1}); !errors.Is(err, context.DeadlineExceeded) {
					t.Fatalf("got %v", err)
				}
				cancel()
			}
			synctest.Wait()
			return heapObjects()
		}
		const calls = 1000
		before := giveUp(100)
		if grown := int64(giveUp(calls)) - int64(before); grown > calls {
			t.Errorf("%d calls left %d objects", calls, grown)
		}
	})
}

func heapObjects() uint64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapObjects
}
