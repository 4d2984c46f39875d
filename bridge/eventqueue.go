package bridge

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"runtime"
	"runtime/debug"
	"strings"
	"sync"
)

// maxUnhandled is how many bytes of events may wait for the handler before the
// connection is read no further. Nothing is lost by that pause: an answer read
// later could not overtake these events anyway.
const maxUnhandled = 64 << 20

// eventQueue stands between the goroutine that reads events and the one that
// hands them to the handler, in order.
//
// It is also the ordering barrier: an answer is given to its caller only when
// all events that were read before it have been handled, so a caller of "kill"
// and gets the answer has seen the agent's `done`.
type eventQueue struct {
	handle func(Event)
	log    *slog.Logger
	fail   func(error) // called when handle panicked
	stray  func(params []byte, err error)
	check  func(ev Event, number uint64) error // an error ends the connection; may be nil

	mu      sync.Mutex
	change  sync.Cond // of anything below
	waiting [][]byte
	bytes   int
	limit   int    // of bytes
	pushed  uint64 // events read so far
	handled uint64 // events handled so far
	ended   bool   // nothing more is pushed; what waits is still handled
	dropped bool   // nothing more is handled
	passed  []barrier
	done    chan struct{}
}

// barrier is a caller that waits until handled has reached mark.
type barrier struct {
	mark uint64
	open chan struct{}
}

func newEventQueue(handle func(Event), log *slog.Logger) *eventQueue {
	q := &eventQueue{handle: handle, log: log, limit: maxUnhandled, done: make(chan struct{})}
	q.change.L = &q.mu
	return q
}

// push appends an event. It waits while too much is waiting.
func (q *eventQueue) push(params []byte) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for q.bytes > q.limit && !q.ended && !q.dropped {
		q.change.Wait()
	}
	if q.ended || q.dropped {
		return
	}
	q.waiting = append(q.waiting, params)
	q.bytes += len(params)
	q.pushed++
	q.change.Broadcast()
}

// unbound lets the reading goroutine finish: the connection has ended, so only little
// is left to read.
func (q *eventQueue) unbound() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.limit = math.MaxInt
	q.change.Broadcast()
}

// end lets run return when all that waits is handled; drop at once.
func (q *eventQueue) end() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.ended = true
	q.change.Broadcast()
}

func (q *eventQueue) drop() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.dropped, q.waiting, q.bytes = true, nil, 0
	q.release()
	q.change.Broadcast()
}

// run hands events on until end or drop.
func (q *eventQueue) run() {
	defer close(q.done)
	for {
		batch := q.take()
		if batch == nil {
			return
		}
		for _, params := range batch {
			if !q.one(params) {
				return
			}
		}
	}
}

func (q *eventQueue) take() [][]byte {
	q.mu.Lock()
	defer q.mu.Unlock()
	for len(q.waiting) == 0 && !q.ended && !q.dropped {
		q.change.Wait()
	}
	batch := q.waiting
	q.waiting = nil
	return batch
}

// one decodes and handles an event, and reports whether to continue.
func (q *eventQueue) one(params []byte) bool {
	ev, number, err := decodeEvent(params)
	if err != nil {
		q.stray(params, err)
	} else if err = q.checked(ev, number); err != nil {
		q.drop()
		q.fail(err)
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	q.handled++
	q.bytes = max(0, q.bytes-len(params))
	q.release()
	q.change.Broadcast()
	return !q.dropped
}

// checked hands an event on that may be.
func (q *eventQueue) checked(ev Event, number uint64) error {
	if q.check != nil {
		if err := q.check(ev, number); err != nil {
			return err
		}
	}
	return q.guarded(ev)
}

// guarded turns a panic of the handler into the end of the connection: the state
// it was changing can no longer be trusted, but the terminal can be restored.
func (q *eventQueue) guarded(ev Event) (err error) {
	defer func() {
		if v := recover(); v != nil {
			q.log.Error("the event handler panicked", "agent", ev.ID, "panic", fmt.Sprint(v), "stack",
				string(debug.Stack()))
			err = fmt.Errorf("the event handler panicked: %v", v)
		}
	}()
	if !q.isDropped() {
		q.handle(ev)
	}
	return nil
}

func (q *eventQueue) isDropped() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.dropped
}

// release opens the barriers that are reached. The caller holds mu.
func (q *eventQueue) release() {
	for len(q.passed) > 0 && (q.dropped || q.passed[0].mark <= q.handled) {
		close(q.passed[0].open)
		q.passed = q.passed[1:]
	}
}

// wait returns when all events pushed so far are handled. Called by the handler
// itself it returns at once, for it would wait for its own end.
func (q *eventQueue) wait(ctx context.Context) error {
	q.mu.Lock()
	if q.dropped || q.handled >= q.pushed {
		q.mu.Unlock()
		return nil
	}
	b := barrier{q.pushed, make(chan struct{})}
	q.passed = append(q.passed, b) // marks only grow, so the list is in order
	q.mu.Unlock()
	if calledFrom("(*eventQueue).guarded") {
		return nil
	}
	select {
	case <-b.open:
		return nil
	case <-ctx.Done():
		return errors.Join(errAnswered, ctx.Err())
	}
}

// errAnswered is the error of a caller whose time was up between the answer and the
// events before it: unlike other abandoned calls, this one did succeed.
var errAnswered = errors.New("answered, but the events before the answer are not yet handled")

// calledFrom reports whether this goroutine is inside the given method of this
// package. It is asked only where the answer yes means a certain deadlock.
func calledFrom(method string) bool {
	pcs := make([]uintptr, 256)
	frames := runtime.CallersFrames(pcs[:runtime.Callers(2, pcs)])
	for {
		frame, more := frames.Next()
		if strings.HasSuffix(frame.Function, "/bridge."+method) {
			return true
		}
		if !more {
			return false
		}
	}
}
