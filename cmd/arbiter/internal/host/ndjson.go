package host

// This file writes the events of a run for a script: one JSON object per line, numbered, in order. A [Writer]
// owns the goroutine that writes, so a slow, stuck or closed reader never delays the run. Close waits for
// that goroutine for a limited time.

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/internal/backlog"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/words"
)

// NDJSONBacklog is how many lines may wait for a slow reader before purely narrative events are dropped (and counted).
// Events that a script acts on are always kept.
const NDJSONBacklog = 50_000

// Writer writes events as NDJSON from its own goroutine, so that a slow, stuck or closed stdout never delays the
// run.
type Writer struct {
	queue *backlog.Queue[timedEvent]
	done  chan struct{} // closed when the writer's goroutine has ended

	mu     sync.Mutex
	closed bool
	err    error

	w     *bufio.Writer
	limit backlog.Limit // for narrative events
	fail  func(error)
}

type timedEvent struct {
	at time.Time
	e  contract.Event
}

// NewWriter starts the writer; limit is its Backlog. fail is called once, on the writer's goroutine, when the output
// fails.
func NewWriter(w io.Writer, limit int, fail func(error)) *Writer {
	l := &Writer{
		queue: backlog.New[timedEvent](), done: make(chan struct{}),
		w: bufio.NewWriterSize(w, 64<<10), limit: backlog.Limit{Items: limit}, fail: fail,
	}
	go l.run()
	return l
}

// Put is a runloop.Sink: it never blocks.
func (l *Writer) Put(at time.Time, e contract.Event) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.err != nil || l.closed {
		return
	}
	var limit backlog.Limit
	if contract.Narrates(e.Body) {
		limit = l.limit
	}
	l.queue.Put(timedEvent{at, e}, 0, limit)
}

func (l *Writer) run() {
	defer close(l.done)
	var seq uint64
	var line []byte
	for {
		closed := l.isClosed() // checked first: all events put in before are in the batch
		batch, dropped, _ := l.queue.Take(0)
		if dropped > 0 {
			batch = append(batch, timedEvent{time.Now(), contract.Event{ID: contract.Supervisor, Body: contract.Notice{
				Text: words.Count(dropped, "event") + " left out here: stdout was not read in time",
			}}})
		}
		for _, t := range batch {
			seq++
			var err error
			if line, err = contract.EncodeLine(line[:0], seq, t.at, t.e); err != nil {
				line, err = contract.EncodeLine(line[:0], seq, t.at, contract.Event{ID: t.e.ID, Body: contract.Error{
					Category:        bridge.CatInternal,
					Message:         fmt.Sprintf("event %s could not be written: %v", t.e.Body.EventName(), err),
					RecoveryOptions: []string{},
				}})
			}
			if err == nil {
				_, err = l.w.Write(line)
			}
			if err != nil {
				l.lost(err)
				return
			}
		}
		if err := l.w.Flush(); err != nil {
			l.lost(err)
			return
		}
		if closed && len(batch) == 0 {
			return
		}
		if len(batch) == 0 {
			<-l.queue.Wake()
		}
	}
}

func (l *Writer) isClosed() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.closed
}

func (l *Writer) lost(err error) {
	l.mu.Lock()
	l.err = err
	l.mu.Unlock()
	l.queue.Take(0) // free what will not be written
	l.fail(err)
}

// errStuck is the error of Close if the reader does not read.
var errStuck = errors.New("the last events were not read in time")

// Close writes the remaining events within a time, and returns an error if that fails. A goroutine that is stuck in
// a write stays until the process ends.
func (l *Writer) Close(within time.Duration) error {
	l.mu.Lock()
	l.closed = true
	l.mu.Unlock()
	l.queue.Nudge()
	select {
	case <-l.done:
	case <-time.After(within):
		return errStuck
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.err
}
