package journal

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"sync"
	"time"
)

// Run is the journal of one run, open for appending. Several goroutines may call its methods at once.
type Run struct {
	id string
	held
	opts Options
	wake chan struct{} // capacity 1: there is something to take
	soon *time.Timer   // calls late; nil until the writer is started
	jobs chan job
	stop chan struct{} // closed by Close
	done chan struct{} // closed when the writer has ended

	mu sync.Mutex // held for a few instructions, never over I/O or a callback
	st state
}

// state is shared by Append, the writer and the callers that wait.
type state struct {
	meta     Meta
	queue    []entry // oldest first; never empty, and only the last one grows
	chain    LogChain
	records  int // in queue
	taken    int // inputs that the writer is writing
	takenLen int
	next     uint64
	durable  uint64
	size     int64 // of what a resume would read: the last snapshot, and the inputs since, also those in queue
	closed   bool
	soon     bool // the timer is set
	due      bool // the timer has fired since the first of the lines in the last entry was added
	// snapshots is 1 while a snapshot is being written
	snapshots int
	advanced  chan struct{} // closed and replaced when durable moves
	err       error         // of the writer's end
}

// entry is what the writer takes at once: inputs, then lines of the event log, then a snapshot.
type entry struct {
	frames  []byte // not complete yet
	records int    // in frames
	lines   []byte
	chain   LogChain // at the last line
	encode  func() ([]byte, error)
}

func (e *entry) empty() bool { return len(e.frames) == 0 && len(e.lines) == 0 && e.encode == nil }

// Dir is the directory of the run. Other packages may put files there; Remove deletes them, too.
func (r *Run) Dir() string { return r.dir.Path() }

// ID is the run's id.
func (r *Run) ID() string { return r.id }

// LockFile returns the locked file, to be passed to a child that the run depends on: the run is then held until
// both have ended. Close closes it.
func (r *Run) LockFile() *os.File { return r.lock.File() }

// Meta returns the run's description.
func (r *Run) Meta() Meta {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.st.meta
}

// Durable is the last record that is known to be on disk.
func (r *Run) Durable() uint64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.st.durable
}

// Fill returns how many bytes a resume would have to read now, and at how many inputs are refused.
func (r *Run) Fill() (used, limit int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.st.size, r.opts.MaxBytes
}

// waiting counts the bytes that wait for the disk. The caller holds the lock.
func (r *Run) waiting() int {
	n := r.st.takenLen
	for i := range r.st.queue {
		n += len(r.st.queue[i].frames) + len(r.st.queue[i].lines)
	}
	return n
}

// SoonDelay is how long a record of AppendSoon may wait to share a commit with others.
const SoonDelay = 30 * time.Millisecond

// Append adds an input and returns its sequence number. It only buffers: it never
// waits and never touches the disk; Committed reports when the input is durable. It
// fails with ErrClosed, ErrTooLarge, ErrFull (inputs) or ErrDropped (narration).
// The payload is copied.
func (r *Run) Append(k Kind, payload []byte) (seq uint64, err error) {
	return r.append(k, payload, r.hint)
}

// AppendSoon is Append for an input that is not urgent: the writer commits it with the next one of Append, at the
// latest after SoonDelay.
func (r *Run) AppendSoon(k Kind, payload []byte) (seq uint64, err error) {
	return r.append(k, payload, r.hintSoon)
}

func (r *Run) append(k Kind, payload []byte, hint func()) (seq uint64, err error) {
	if k != Input && k != Narration {
		return 0, fmt.Errorf("append record: %w: %d", errKind, k)
	}
	if len(payload) > MaxPayload {
		return 0, fmt.Errorf("append record of %d bytes: %w", len(payload), ErrTooLarge)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	seq, err = r.add(k, payload)
	if err == nil {
		hint()
	}
	return seq, err
}

// add adds an input. The caller holds the lock, and wakes the writer.
func (r *Run) add(k Kind, payload []byte) (seq uint64, err error) {
	n := frameHead + len(payload)
	if err := r.admit(k, n); err != nil {
		return 0, err
	}
	r.st.size += int64(n)
	last := r.last()
	last.frames = appendFrame(last.frames, r.st.next, k, payload)
	last.records++
	r.st.records++
	r.st.next++
	return r.st.next - 1, nil
}

func (r *Run) last() *entry { return &r.st.queue[len(r.st.queue)-1] }

func (r *Run) hint() {
	select {
	case r.wake <- struct{}{}:
	default:
	}
}

// hintSoon wakes the writer after SoonDelay, unless it is woken before. The caller holds the lock.
func (r *Run) hintSoon() {
	if !r.st.soon {
		r.st.soon = true
		r.soon.Reset(SoonDelay)
	}
}

// late wakes the writer if what hintSoon was called for is still pending.
func (r *Run) late() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.st.soon = false
	r.st.due = len(r.last().lines) > 0
	if len(r.st.queue) > 1 || !r.last().empty() {
		r.hint()
	}
}

// AppendEvents adds lines to the event log: all lines that follow from one input, in one call, because recovery finds
// missing lines by the number of lines of an input. The inputs must be durable, and in order. It only
// buffers; the writer writes the lines SoonDelay later, together with all that came meanwhile. After Close it fails
// with ErrClosed.
func (r *Run) AppendEvents(lines ...LogContent) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.st.closed {
		return ErrClosed
	}
	last, chain := r.last(), r.st.chain
	n, more := len(last.lines), 0
	for _, x := range lines {
		more += MaxHead + len(x.Line) + len(x.Record)
	}
	b := slices.Grow(last.lines, more)
	for _, x := range lines {
		var err error
		if b, err = chain.Append(b, x); err != nil {
			last.lines = b[:n]
			return err
		}
	}
	last.lines, last.chain, r.st.chain = b, chain, chain
	r.hintSoon()
	return nil
}

// Snapshot lets the writer begin another segment with a snapshot of the state after all inputs so far. The
// writer's goroutine calls encode when these inputs and all lines of the event log so far are durable. A
// snapshot that fails is left out: the previous segment continues. Snapshot reports false while one is being
// written already, and after Close.
func (r *Run) Snapshot(encode func() ([]byte, error)) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.st.closed || r.st.snapshots > 0 {
		return false
	}
	r.st.snapshots++
	r.last().encode = encode
	r.st.queue = append(r.st.queue, entry{})
	r.hint()
	return true
}

// admit decides whether a frame of n bytes is accepted. The caller holds the lock.
func (r *Run) admit(k Kind, n int) error {
	waiting := r.waiting() + n
	switch {
	case r.st.closed:
		return ErrClosed
	case k == Narration && waiting > r.opts.MaxPending:
		return fmt.Errorf("%w: the disk does not keep up", ErrDropped)
	case k == Input && waiting > 2*r.opts.MaxPending:
		return fmt.Errorf("%w: %d bytes wait for the disk", ErrFull, waiting-n)
	case r.st.size+int64(n) > r.opts.MaxBytes:
		return fmt.Errorf("%w: a resume would have to read more than %d MiB (--max-journal)", ErrFull, r.opts.MaxBytes>>20)
	}
	return nil
}

// Sync waits until all that was appended before the call is durable. It fails with
// the cause of ctx, or with ErrClosed if the journal was closed before that.
func (r *Run) Sync(ctx context.Context) error {
	r.mu.Lock()
	target := r.st.next - 1
	r.hint()
	r.mu.Unlock()
	for {
		r.mu.Lock()
		durable, advanced := r.st.durable, r.st.advanced
		r.mu.Unlock()
		if durable >= target {
			return nil
		}
		select {
		case <-advanced:
		case <-ctx.Done():
			return fmt.Errorf("sync journal: %w", context.Cause(ctx))
		case <-r.done:
			if r.Durable() >= target {
				return nil
			}
			return fmt.Errorf("sync journal: %w", ErrClosed)
		}
	}
}

// Update changes the run's description and writes it. The writer's goroutine calls change; its changes of Run,
// Closed and Reopened are ignored.
func (r *Run) Update(ctx context.Context, change func(*Meta)) error {
	j := job{change: change, result: make(chan error, 1)}
	select {
	case r.jobs <- j:
	case <-ctx.Done():
		return fmt.Errorf("update run %s: %w", r.id, context.Cause(ctx))
	case <-r.done:
		return fmt.Errorf("update run %s: %w", r.id, ErrClosed)
	}
	select {
	case err := <-j.result:
		return err
	case <-ctx.Done():
		return fmt.Errorf("update run %s: %w", r.id, context.Cause(ctx))
	}
}

// closeSlack is the time, beyond Options.CloseWait, for a running disk call: such a call cannot be cancelled.
const closeSlack = 5 * time.Second

// Close makes pending records durable, within Options.CloseWait, releases the lock and waits for the writer's
// goroutine. The error says what is lost. With ErrStuck the disk hangs: when it answers, the goroutine ends and
// the lock is released.
func (r *Run) Close() error {
	r.mu.Lock()
	first := !r.st.closed
	r.st.closed = true
	r.mu.Unlock()
	if first {
		r.soon.Stop()
		close(r.stop)
	}
	timer := time.NewTimer(r.opts.CloseWait + closeSlack)
	defer timer.Stop()
	select {
	case <-r.done:
	case <-timer.C:
		return fmt.Errorf("close run %s: %w", r.id, ErrStuck)
	}
	if !first {
		return nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.st.err
}

// take returns the oldest entry for the writer, and whether there is one. Lines of the event log stay in the queue
// until their delay is over: so all commits of that time share one write to it. It uses the spare buffers that it
// needs.
func (r *Run) take(spare *spare) (e entry, first, last uint64, ok bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	e = r.st.queue[0]
	var kept entry
	if !r.st.due && !r.st.closed && len(r.st.queue) == 1 && len(e.lines) > 0 {
		kept.lines, kept.chain = e.lines, e.chain
		e.lines = nil
	}
	if e.empty() {
		return e, 0, 0, false
	}
	if r.st.queue = r.st.queue[1:]; len(r.st.queue) == 0 {
		kept.frames, spare.frames = spare.frames[:0], nil
		if kept.lines == nil {
			kept.lines, spare.lines = spare.lines[:0], nil
			r.st.due = false
			if r.st.soon { // nothing is pending any more
				r.st.soon = false
				r.soon.Stop()
			}
		}
		r.st.queue = append(r.st.queue, kept)
	}
	first = r.st.next - uint64(r.st.records)
	last = first + uint64(e.records) - 1
	r.st.taken, r.st.takenLen = e.records, len(e.frames)+len(e.lines)
	r.st.records -= e.records
	return e, first, last, true
}

// advance records that everything up to seq is durable.
func (r *Run) advance(seq uint64, n int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.st.durable = seq
	r.st.taken, r.st.takenLen = 0, r.st.takenLen-n
	close(r.st.advanced)
	r.st.advanced = make(chan struct{})
}

// eventsWritten records that n bytes of the event log are written.
func (r *Run) eventsWritten(n int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.st.takenLen -= n
}

// snapped records that a snapshot is finished, and the size of its segment if it succeeded.
func (r *Run) snapped(size int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.st.snapshots--
	if size == 0 {
		return
	}
	r.st.size = size
	for i := range r.st.queue {
		r.st.size += int64(len(r.st.queue[i].frames))
	}
}

// end records how the writer ended.
func (r *Run) end(err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.st.closed = true
	if missing := r.st.records + r.st.taken; missing > 0 {
		err = errors.Join(err, fmt.Errorf("%d records were not written", missing))
	}
	if err != nil {
		r.st.err = fmt.Errorf("close run %s: %w", r.id, err)
	}
}

// DefaultMaxBytes is the default of [Options.MaxBytes].
const DefaultMaxBytes = 256 << 20

// Options tune a run. The zero value gives the defaults.
type Options struct {
	// Committed is called when all records up to upTo are durable. It runs on the writer's goroutine, which
	// writes nothing until it returns; it may call Append, but not Sync, Update or Close.
	Committed func(upTo uint64)
	// Trouble is called, on the same goroutine and under the same rules, when pending records cannot be made
	// durable, again when the cause changes, and with nil when it is over. Pending records are lost only if the
	// process ends meanwhile. The caller must refuse new input until then.
	Trouble func(err error)

	// MaxPending bounds the bytes that wait for the disk: above it narration is dropped, above twice of it
	// inputs are refused. Default: 64 MiB.
	MaxPending int
	// MaxBytes bounds what a resume reads into memory: the last snapshot, and the inputs since. Above it inputs are
	// refused. The event log does not count: no process has to hold it. Default: 256 MiB.
	MaxBytes int64
	// History bounds the segments that are kept in addition to those that a resume needs, in bytes, for
	// [Store.ReadAll]. Default: none.
	History int64
	// Retry is how long the writer waits before it repeats what failed. Default: 500 ms.
	Retry time.Duration
	// CloseWait bounds how long Close waits for pending records. Default: 5 s.
	CloseWait time.Duration
}

func (o Options) withDefaults() Options {
	if o.Committed == nil {
		o.Committed = func(uint64) {}
	}
	if o.Trouble == nil {
		o.Trouble = func(error) {}
	}
	o.MaxPending = cmp.Or(o.MaxPending, 64<<20)
	o.MaxBytes = cmp.Or(o.MaxBytes, DefaultMaxBytes)
	o.Retry = cmp.Or(o.Retry, 500*time.Millisecond)
	o.CloseWait = cmp.Or(o.CloseWait, 5*time.Second)
	return o
}
