package standin

import (
	"context"
	"testing"
	"testing/synctest"
)

// TestQueuedIsTaken: a message that the host was told of is in the very next turn, however
// long its way into the queue is.
func TestQueuedIsTaken(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		b := newInbox(nil)
		b.admit("1")
		b.push(message{uuid: "1"})
		b.admit("2")

		taken := make(chan int, 1)
		go func() { taken <- len(b.next(ctx)) }()
		synctest.Wait()
		b.push(message{uuid: "2"})
		if n := <-taken; n != 2 {
			t.Errorf("%d of two messages are in the turn", n)
		}

		b.admit("3")
		go func() { taken <- len(b.fold(ctx)) }()
		synctest.Wait()
		b.push(message{uuid: "3"})
		if n := <-taken; n != 1 {
			t.Errorf("%d of one message join the turn", n)
		}

		b.admit("4")
		b.close()
		go func() { taken <- len(b.next(ctx)) }()
		synctest.Wait()
		cancel()
		if n := <-taken; n != 0 {
			t.Errorf("%d messages are taken after the end", n)
		}
	})
}
