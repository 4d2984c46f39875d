package journal

import (
	"errors"
	"fmt"
	"time"
)

// writer makes durable what was appended. It belongs to one goroutine, the only one
// that writes to the run's files.
type writer struct {
	r       *Run
	seg     *segment
	highest int    // the highest segment number ever tried
	crc     uint32 // of the last durable frame
	seals   *sealer
	trouble string // what Trouble was last told

	batch   []byte // with its seal; stays until it is durable
	first   uint64
	last    uint64
	lastCRC uint32
	synced  bool   // batch is in seg and synced, but seg may have lost its place
	spare   []byte // a buffer to fill next
}

// job is a change of the run's description that somebody waits for.
type job struct {
	change func(*Meta)
	result chan error
}

// run commits in groups: what is appended during one fsync goes out with the next.
// After Close it goes on until nothing is pending or the time is up.
func (w *writer) run() {
	defer close(w.r.done)
	var (
		stop     = w.r.stop
		deadline <-chan time.Time
		late     bool
		err      error
	)
	for {
		select {
		case j := <-w.r.jobs:
			w.do(j)
		default:
		}
		var retry <-chan time.Time
		if w.fill(); w.batch != nil {
			if err = w.commit(); err == nil {
				w.acknowledge()
				continue
			}
			w.tell(err)
			retry = time.After(w.r.opts.Retry)
		}
		if late || (stop == nil && w.batch == nil) {
			break
		}
		select {
		case <-w.wake():
		case <-retry:
		case j := <-w.r.jobs:
			w.do(j)
		case <-stop:
			stop, deadline = nil, time.After(w.r.opts.CloseWait)
		case <-deadline:
			late = true
		}
	}
	w.finish(err)
}

// wake is silent while there is a batch in hand: what comes has to wait for it.
func (w *writer) wake() <-chan struct{} {
	if w.batch != nil {
		return nil
	}
	return w.r.wake
}

// fill takes what is pending, unless a batch is in hand.
func (w *writer) fill() {
	if w.batch != nil {
		return
	}
	batch, first, last := w.r.take(w.spare)
	if batch == nil {
		return
	}
	w.spare = nil
	w.first, w.last, w.synced = first, last, false
	w.batch, w.lastCRC = appendSeal(batch, last, w.seals, seedOf(w.r.id), w.crc)
}

// commit makes the batch durable, in another segment if this one has failed.
func (w *writer) commit() error {
	if !w.synced {
		err := w.write()
		if err != nil && w.seg.spent {
			// The pages that a failed fsync did not write look clean from then on,
			// and the next fsync succeeds without them. So the segment is never
			// trusted again with anything but what was durable before.
			if !errors.Is(err, errSpent) {
				w.tell(err)
			}
			err = w.moveOn()
		}
		if err != nil {
			return err
		}
		w.synced = true
	}
	if err := w.r.dir.Present(); err != nil {
		return err
	}
	return w.r.dir.Holds(w.seg.name(), w.seg.f)
}

// write adds the batch to the segment.
func (w *writer) write() error {
	if w.seg.spent {
		return errSpent
	}
	if err := w.alone(); err != nil {
		return err
	}
	crash("journal.commit.write.before")
	if _, err := w.seg.f.WriteAt(w.batch, w.seg.end); err != nil {
		return w.cutBack(err)
	}
	crash("journal.commit.sync.before")
	if err := w.seg.f.Sync(); err != nil {
		w.seg.spent = true
		return err
	}
	crash("journal.commit.sync.after")
	return nil
}

var errSpent = errors.New("the segment has failed")

// alone fails if the segment is not as long as we made it. What somebody else has put
// behind our end never counts: the segment is left to him. Where he has cut it off,
// durable records are gone, and there is nothing to go on from.
func (w *writer) alone() error {
	info, err := w.seg.f.Stat()
	if err != nil {
		return err
	}
	switch n := info.Size - w.seg.end; {
	case n > 0:
		w.seg.spent = true
		return fmt.Errorf("%w: %d bytes were added to %s", ErrForeignWrite, n, w.seg.name())
	case n < 0:
		return fmt.Errorf("%w: %d bytes were cut off %s", ErrForeignWrite, -n, w.seg.name())
	}
	return nil
}

// cutBack removes what a failed write left. It is only for tidiness, and to give
// room back: nothing behind the durable end counts.
func (w *writer) cutBack(cause error) error {
	crash("journal.commit.truncate.before")
	if err := w.seg.f.Truncate(w.seg.end); err != nil || segmentSpent(cause) {
		w.seg.spent = true
	}
	crash("journal.commit.truncate.after")
	return cause
}

// moveOn begins a segment with the batch.
func (w *writer) moveOn() error {
	w.highest++
	h := header{version: formatVersion, base: w.first, settled: w.last, prev: w.crc, run: w.r.id}
	seg, err := createSegment(w.r.dir, w.highest, h, func(f file, at int64) (int64, error) {
		n, err := f.WriteAt(w.batch, at)
		return at + int64(n), err
	})
	if err != nil {
		return err
	}
	w.seg.f.Close()
	w.seg = seg
	seg.end -= int64(len(w.batch)) // acknowledge adds it
	return nil
}

// acknowledge tells everybody that the batch is durable.
func (w *writer) acknowledge() {
	grown := int64(len(w.batch))
	w.seg.end += grown
	w.crc = w.lastCRC
	if cap(w.batch) <= windowSize {
		w.spare = w.batch
	}
	w.batch = nil
	w.r.advance(w.last, grown)
	w.tell(nil)
	crash("journal.commit.committed.before")
	w.r.opts.Committed(w.last)
}

// tell reports trouble, once for each cause, and its end.
func (w *writer) tell(err error) {
	text := ""
	if err != nil {
		text = err.Error()
	}
	if text != w.trouble {
		w.trouble = text
		w.r.opts.Trouble(err)
	}
}

// do writes a changed description.
func (w *writer) do(j job) {
	m := w.r.Meta()
	run, closed, reopened := m.Run, m.Closed, m.Reopened
	j.change(&m)
	m.Run, m.Closed, m.Reopened = run, closed, reopened
	j.result <- w.save(m)
}

func (w *writer) save(m Meta) error {
	if err := w.r.dir.Present(); err != nil {
		return err
	}
	if err := writeMeta(w.r.dir, m); err != nil {
		return err
	}
	w.r.mu.Lock()
	defer w.r.mu.Unlock()
	w.r.st.meta = m
	return nil
}

// leave notes how far the run has come, in a segment that nobody else wrote to.
func (w *writer) leave() (err error) {
	if !w.seg.spent {
		if err = w.alone(); err != nil {
			w.tell(err)
		}
	}
	if w.seg.spent {
		w.first, w.last = w.r.Durable()+1, w.r.Durable()
		if err = w.moveOn(); err != nil {
			return err
		}
	}
	m := w.r.Meta()
	if m.Closed == w.r.Durable() && !m.Reopened {
		return err
	}
	m.Closed, m.Reopened = w.r.Durable(), false
	return errors.Join(err, w.save(m))
}

// finish notes that all is there, so that the next to open can tell damage from a
// crash, and closes everything, the lock last.
func (w *writer) finish(err error) {
	crash("journal.close.before")
	if w.batch == nil {
		err = errors.Join(err, w.leave())
	}
	w.r.end(err)
	crash("journal.close.after")
	err = errors.Join(w.seg.f.Close(), w.r.dir.Close(), w.r.lock.Close())
	if err != nil {
		w.r.end(err)
	}
}
