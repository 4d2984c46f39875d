package journal

import (
	"errors"
	"fmt"
	"time"
)

// lookEvery is how often a writer that has nothing to write looks whether the directory still exists: nobody reaches
// the process of a deleted run, which would wait for ever.
const lookEvery = time.Minute

// writer makes appended records durable. It belongs to one goroutine, the only one that writes to the run's
// files.
type writer struct {
	r       *Run
	seg     *segment
	highest int    // the highest segment number ever tried
	keep    int    // the segment with the previous snapshot: lower numbers are not needed
	crc     uint32 // of the last durable input
	events  *eventFile
	trouble string // the last text that Trouble was called with

	work    entry  // what is being written, besides batch
	batch   []byte // kept until it is durable
	first   uint64
	last    uint64
	lastCRC uint32
	synced  bool // batch is in seg and synced, but seg may have lost its place
	spare   spare
	syncDue <-chan time.Time
}

// spare has buffers to fill next.
type spare struct{ frames, lines []byte }

// job is a change of the run's description whose caller waits.
type job struct {
	change func(*Meta)
	result chan error
}

// run commits in groups: what is appended during one fsync is written with the next. After Close it continues
// until nothing is pending or the time is over.
func (w *writer) run() {
	defer close(w.r.done)
	var (
		stop     = w.r.stop
		deadline <-chan time.Time
		late     bool
		err      error
	)
	look := time.NewTicker(lookEvery)
	defer look.Stop()
	for {
		select {
		case j := <-w.r.jobs:
			w.do(j)
		default:
		}
		var retry <-chan time.Time
		if w.fill() {
			if err = w.step(); err == nil {
				continue
			}
			w.report(err)
			retry = time.After(w.r.opts.Retry)
		}
		if late || stop == nil && (!w.busy() || errors.Is(err, ErrDeleted)) {
			break
		}
		if w.syncDue == nil && len(w.events.lines) > 0 {
			w.syncDue = time.After(eventSync)
		}
		select {
		case <-w.wake():
		case <-retry:
		case <-look.C:
			if err := w.r.dir.Present(); errors.Is(err, ErrDeleted) {
				w.report(err)
			}
		case <-w.syncDue:
			w.syncDue = nil
			if err := w.events.sync(); err != nil || !w.busy() {
				w.report(err)
			}
			w.events.pack()
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

// busy reports whether something is being written.
func (w *writer) busy() bool {
	return w.batch != nil || !w.work.empty() || w.events.written < len(w.events.lines)
}

// wake returns nil while something is being written: what comes has to wait for it.
func (w *writer) wake() <-chan struct{} {
	if w.busy() {
		return nil
	}
	return w.r.wake
}

// fill takes what is pending, unless something is being written, and reports whether there is something to
// write now.
func (w *writer) fill() bool {
	if w.busy() {
		return true
	}
	work, first, last, ok := w.r.take(&w.spare)
	if !ok {
		return false
	}
	w.work = work
	if len(work.frames) > 0 {
		w.first, w.last, w.synced = first, last, false
		w.batch, w.work.frames = work.frames, nil
		w.lastCRC = chainBatch(w.batch, seedOf(w.r.id), w.crc)
	}
	return true
}

// step writes what was taken: inputs first, then lines of the event log, then the snapshot.
func (w *writer) step() error {
	if w.batch != nil {
		if err := w.commit(); err != nil {
			return err
		}
		w.acknowledge()
	}
	if n := len(w.work.lines); n > 0 || len(w.events.lines) > w.events.written {
		lines := w.work.lines
		w.work.lines = nil // the event log keeps them until they are durable
		err := w.events.write(lines, w.work.chain)
		w.r.eventsWritten(n)
		if cap(lines) <= windowSize {
			w.spare.lines = lines // the event log has copied them
		}
		if err == nil && len(w.events.lines) > eventBuffer {
			err = w.events.sync()
		}
		if err != nil {
			return err
		}
		if !w.events.failed {
			w.report(nil)
		}
	}
	if encode := w.work.encode; encode != nil {
		w.work.encode = nil
		w.r.snapped(w.snapshot(encode))
	}
	return nil
}

// snapshot begins a segment with a snapshot, and returns its size; 0: it failed, and the previous segment continues.
func (w *writer) snapshot(encode func() ([]byte, error)) int64 {
	if w.events.sync() != nil {
		return 0 // it is tried again, and reported, when the next lines are due
	}
	payload, err := encode()
	if err != nil || len(payload) > MaxSnapshot {
		return 0
	}
	durable := w.r.Durable()
	w.highest++
	h := newHeader(w.r.id, durable+1, durable, w.crc, len(payload))
	h.logEnd = w.events.durable
	crash("journal.snapshot.before")
	seg, err := createSegment(w.r.dir, w.highest, h, snapshotFrame(payload, h))
	if err != nil {
		// The new segment may have its name all the same, or get it back by a crash: so inputs from now on must
		// be in a younger segment.
		w.seg.spent = true
		return 0
	}
	w.seg.f.Close()
	w.seg = seg
	removeSegments(w.r.dir, w.keep, w.r.opts.History)
	w.keep = seg.number
	w.events.pack()
	return seg.end
}

// commit makes the batch durable, in another segment if this one has failed.
func (w *writer) commit() error {
	if !w.synced {
		err := w.write()
		if err != nil && w.seg.spent {
			// The pages that a failed fsync did not write look clean afterwards, and the next fsync succeeds
			// without them. So of this segment, only what was durable before is ever trusted again.
			if !errors.Is(err, errSpent) {
				w.report(err)
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
		crash("journal.commit.truncate.before")
		// This only tidies up and frees space: nothing after the durable end counts.
		if failed := w.seg.f.Truncate(w.seg.end); failed != nil || segmentSpent(err) {
			w.seg.spent = true
		}
		crash("journal.commit.truncate.after")
		return err
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

// alone fails if the segment has another length than this process wrote. Bytes that another process added at
// the end never count: the writer continues in another segment. If the other process has cut the segment off,
// durable records are lost, and the writer cannot continue.
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

// moveOn begins a segment with the batch.
func (w *writer) moveOn() error {
	w.highest++
	h := newHeader(w.r.id, w.first, w.last, w.crc, 0)
	h.logEnd = w.events.durable
	seg, err := createSegment(w.r.dir, w.highest, h, w.batch)
	if err != nil {
		return err
	}
	w.seg.f.Close()
	w.seg = seg
	seg.end -= int64(len(w.batch)) // acknowledge adds it
	return nil
}

// acknowledge notifies everyone that the batch is durable.
func (w *writer) acknowledge() {
	grown := len(w.batch)
	w.seg.end += int64(grown)
	w.crc = w.lastCRC
	if cap(w.batch) <= windowSize {
		w.spare.frames = w.batch
	}
	w.batch = nil
	w.r.advance(w.last, grown)
	w.report(nil)
	crash("journal.commit.committed.before")
	w.r.opts.Committed(w.last)
}

// report reports trouble, once for each cause, and when it is over.
func (w *writer) report(err error) {
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

// leave records how far the run has come, in a segment that no other process wrote to.
func (w *writer) leave() (err error) {
	if !w.seg.spent {
		if err = w.alone(); err != nil {
			w.report(err)
		}
	}
	if w.seg.spent {
		w.first, w.last = w.r.Durable()+1, w.r.Durable()
		if err = w.moveOn(); err != nil {
			return err
		}
	}
	err = errors.Join(err, w.events.sync())
	m := w.r.Meta()
	if m.Closed == w.r.Durable() && !m.Reopened {
		return err
	}
	m.Closed, m.Reopened = w.r.Durable(), false
	var all Info
	err = errors.Join(err, all.files(w.r.dir))
	m.Bytes = all.Bytes
	return errors.Join(err, w.save(m))
}

// finish records that everything is complete, so that the next process that opens the run can distinguish
// damage from a crash, and closes everything, the lock last.
func (w *writer) finish(err error) {
	crash("journal.close.before")
	if !w.busy() {
		err = errors.Join(err, w.leave())
	}
	w.r.end(err)
	crash("journal.close.after")
	err = errors.Join(w.seg.f.Close(), w.events.close(), w.r.close())
	if err != nil {
		w.r.end(err)
	}
}
