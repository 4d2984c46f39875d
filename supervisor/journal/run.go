package journal

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"time"
)

// Run is the journal of one run, open for adding to. Its methods may be called by
// several goroutines at once.
type Run struct {
	id   string
	dir  directory
	lock *Lock
	opts Options
	open uint64 // the last record that was there when it was opened

	wake chan struct{} // holds one: there is something to take
	jobs chan job
	stop chan struct{} // closed by Close
	done chan struct{} // closed when the writer has ended

	mu sync.Mutex // held for a few instructions, never over I/O or a callback
	st state
}

// state is what Append, the writer and those who wait share.
type state struct {
	meta     Meta
	pending  []byte // frames that are not complete yet
	records  int    // in pending
	taken    int    // records that the writer has in hand
	takenLen int
	next     uint64
	durable  uint64
	size     int64 // of the run's segments on disk
	lost     Lost
	closed   bool
	advanced chan struct{} // closed and replaced when durable moves
	err      error         // of the writer's end
}

// Lost counts narration that was dropped, by cause.
type Lost struct {
	Backlog uint64 // the disk did not keep up
	Size    uint64 // the run's files are long enough
}

// Dir is the directory of the run. Files of others may be put there; Remove takes
// them along.
func (r *Run) Dir() string { return r.dir.Path() }

// ID is the run's id.
func (r *Run) ID() string { return r.id }

// LockFile is the locked file, to be handed to a child that the run depends on: the
// run is then held until both are gone. It is closed by Close.
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

// Pending counts what is appended and not durable yet, in records and in bytes.
func (r *Run) Pending() (records, bytes int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.st.records + r.st.taken, len(r.st.pending) + r.st.takenLen
}

// Lost counts the narration dropped since the run was opened.
func (r *Run) Lost() Lost {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.st.lost
}

// Records calls each with the records that were there when the run was opened, in
// order. An error of each ends it and is returned.
func (r *Run) Records(each func(Record) error) error {
	s := rescanner(r.dir, r.id, r.open, each)
	if err := s.scan(); err != nil {
		return err
	}
	if s.end.seq != r.open {
		return fmt.Errorf("read run %s: %d of %d records are left", r.id, s.end.seq, r.open)
	}
	return nil
}

// Append adds a record and returns its sequence number. It only buffers: it never
// waits and never touches the disk; Committed tells when the record is durable. It
// fails with ErrClosed, ErrTooLarge, ErrFull (facts) or ErrDropped (narration).
// The payload is copied.
func (r *Run) Append(k Kind, payload []byte) (seq uint64, err error) {
	if k != Fact && k != Narration {
		return 0, fmt.Errorf("append record: %w: %d", errKind, k)
	}
	if len(payload) > MaxPayload {
		return 0, fmt.Errorf("append record of %d bytes: %w", len(payload), ErrTooLarge)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.add(k, payload)
}

// add takes a record in. The lock is held.
func (r *Run) add(k Kind, payload []byte) (seq uint64, err error) {
	if err := r.admit(k, frameHead+len(payload)); err != nil {
		return 0, err
	}
	r.st.pending = appendFrame(r.st.pending, r.st.next, k, payload)
	r.st.records++
	r.st.next++
	select {
	case r.wake <- struct{}{}:
	default:
	}
	return r.st.next - 1, nil
}

// admit decides whether a frame of n bytes is taken. The lock is held.
func (r *Run) admit(k Kind, n int) error {
	waiting := len(r.st.pending) + r.st.takenLen + n
	size := r.st.size + int64(waiting)
	switch {
	case r.st.closed:
		return ErrClosed
	case k == Narration && waiting > r.opts.MaxPending:
		r.st.lost.Backlog++
		return fmt.Errorf("%w: the disk does not keep up", ErrDropped)
	case k == Narration && size > r.opts.NarrationBytes:
		r.st.lost.Size++
		return fmt.Errorf("%w: the journal is over %d bytes", ErrDropped, r.opts.NarrationBytes)
	case k == Fact && waiting > 2*r.opts.MaxPending:
		return fmt.Errorf("%w: %d bytes wait for the disk", ErrFull, waiting-n)
	case k == Fact && size > r.opts.MaxBytes:
		return fmt.Errorf("%w: it is over %d bytes", ErrFull, r.opts.MaxBytes)
	}
	return nil
}

// Sync waits until all that was appended before the call is durable. It fails with
// the cause of ctx, or with ErrClosed if the journal was closed before that.
func (r *Run) Sync(ctx context.Context) error {
	r.mu.Lock()
	target := r.st.next - 1
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

// Update changes the run's description and writes it. The writer's goroutine calls
// change, which may keep the run's id and Closed only.
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

// Finish waits until all is durable and notes how the run ended, after which it may
// be pruned.
func (r *Run) Finish(ctx context.Context, status string) error {
	if err := r.Sync(ctx); err != nil {
		return err
	}
	return r.Update(ctx, func(m *Meta) { m.Finished, m.Status = true, status })
}

// closeSlack is what the disk has, beyond Options.CloseWait, to answer a call that
// is under way: such a call cannot be cancelled.
const closeSlack = 5 * time.Second

// Close makes durable what is pending, within Options.CloseWait, gives up the lock
// and waits for the writer's goroutine. The error says what is lost. With ErrStuck
// the disk hangs: the goroutine ends, and the lock is given up, when it answers.
func (r *Run) Close() error {
	r.mu.Lock()
	first := !r.st.closed
	r.st.closed = true
	r.mu.Unlock()
	if first {
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

// take hands what is pending to the writer, or nil.
func (r *Run) take(spare []byte) (batch []byte, first, last uint64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.st.pending) == 0 {
		return nil, 0, 0
	}
	batch, first, last = r.st.pending, r.st.next-uint64(r.st.records), r.st.next-1
	r.st.taken, r.st.takenLen = r.st.records, len(batch)
	r.st.pending, r.st.records = spare[:0], 0
	return batch, first, last
}

// advance notes that all up to seq is durable and the files have grown by n.
func (r *Run) advance(seq uint64, n int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.st.durable = seq
	r.st.taken, r.st.takenLen = 0, 0
	r.st.size += n
	close(r.st.advanced)
	r.st.advanced = make(chan struct{})
}

// end notes how the writer ended.
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
