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

// maxUnhandled is how many bytes of events may wait for the handler before reading from the connection
// pauses. The pause delays no answer: an answer read later would have to wait for these events anyway.
const maxUnhandled = 64 << 20

// eventQueue passes events from the goroutine that reads them to the one that calls the handler, in order.
//
// It is also the ordering barrier: an answer is returned to its caller only when all events that were read
// before it have been handled, so that a caller that gets the answer to "kill" has seen the agent's `done`.
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
	ended   bool   // nothing more is pushed; waiting events are still handled
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

// unbound removes the limit, so that the reading goroutine can finish: the connection has ended, so only
// little is left to read.
func (q *eventQueue) unbound() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.limit = math.MaxInt
	q.change.Broadcast()
}

// end makes run return when all waiting events are handled; drop makes it return at once.
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

// run passes events to the handler until end or drop.
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

// checked handles an event, unless check refuses it.
func (q *eventQueue) checked(ev Event, number uint64) error {
	if q.check != nil {
		if err := q.check(ev, number); err != nil {
			return err
		}
	}
	return q.guarded(ev)
}

// guarded turns a panic of the handler into the end of the connection: the state that the handler was
// changing can no longer be trusted, but the terminal can be restored.
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

// release opens the barriers that were reached. The caller holds mu.
func (q *eventQueue) release() {
	for len(q.passed) > 0 && (q.dropped || q.passed[0].mark <= q.handled) {
		close(q.passed[0].open)
		q.passed = q.passed[1:]
	}
}

// wait returns when all events pushed so far are handled. If the handler itself calls it, it returns at
// once, because it would wait for itself.
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

// errAnswered is the error of a caller whose context ended between the answer and the events before it:
// unlike other abandoned calls, this one succeeded.
var errAnswered = errors.New("answered, but the events before the answer are not yet handled")

// calledFrom reports whether this goroutine is inside the given method of this package. It is used only
// where waiting in that method would be a deadlock.
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
