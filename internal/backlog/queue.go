// Package backlog is a bounded queue between a producer and a slower consumer. The producer
// never blocks: it gives a limit with each item; beyond it, the item is dropped and counted, and
// the consumer gets the count.
package backlog

import (
	"slices"
	"sync"
)

// Limit is how much may wait before an item is dropped. Zero stands for no limit.
type Limit struct{ Items, Bytes int }

// Queue is a first-in first-out queue. Any number of goroutines may put items in; one takes them.
// The zero value is not usable: see [New].
type Queue[T any] struct {
	wake  chan struct{} // capacity 1
	taken chan struct{} // capacity 1

	mu      sync.Mutex
	items   []T
	sizes   []int // of the items, in bytes
	bytes   int
	dropped int
}

// New makes an empty queue.
func New[T any]() *Queue[T] {
	return &Queue[T]{wake: make(chan struct{}, 1), taken: make(chan struct{}, 1)}
}

// Put adds an item of about so many bytes, unless the limit is reached. It reports whether the
// item was added. An empty queue takes an item of any size.
func (q *Queue[T]) Put(item T, bytes int, limit Limit) bool {
	q.mu.Lock()
	full := len(q.items) > 0 &&
		(limit.Items > 0 && len(q.items) >= limit.Items || limit.Bytes > 0 && q.bytes+bytes > limit.Bytes)
	if full {
		q.dropped++
	} else {
		q.items, q.sizes = append(q.items, item), append(q.sizes, bytes)
		q.bytes += bytes
	}
	q.mu.Unlock()
	Hint(q.wake)
	return !full
}

// Take takes the oldest items, at most most of them (0: all), and reports whether more wait. With the last
// waiting item it also returns how many items were dropped since it last did so.
func (q *Queue[T]) Take(most int) (items []T, dropped int, more bool) {
	q.mu.Lock()
	if n := len(q.items); most <= 0 || n <= most {
		items, dropped = q.items, q.dropped
		q.items, q.sizes, q.bytes, q.dropped = nil, nil, 0, 0
	} else {
		items, more = q.items[:most:most], true
		for _, size := range q.sizes[:most] {
			q.bytes -= size
		}
		q.items, q.sizes = q.items[most:], q.sizes[most:]
	}
	q.mu.Unlock()
	Hint(q.taken)
	return items, dropped, more
}

// Waiting returns how much waits.
func (q *Queue[T]) Waiting() (items, bytes int) {
	q.mu.Lock()
	defer q.mu.Unlock()
	return len(q.items), q.bytes
}

// All returns a copy of the waiting items, oldest first.
func (q *Queue[T]) All() []T {
	q.mu.Lock()
	defer q.mu.Unlock()
	return slices.Clone(q.items)
}

// Wake has a value when an item was put in or dropped since the last receive.
func (q *Queue[T]) Wake() <-chan struct{} { return q.wake }

// Taken has a value when an item was taken since the last receive.
func (q *Queue[T]) Taken() <-chan struct{} { return q.taken }

// Nudge wakes the consumer although no item was put in.
func (q *Queue[T]) Nudge() { Hint(q.wake) }

// Hint puts a value into a channel of capacity 1, unless it has one: its receiver looks at everything.
func Hint(ch chan struct{}) {
	select {
	case ch <- struct{}{}:
	default:
	}
}
