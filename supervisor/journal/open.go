package journal

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"slices"
	"strings"
	"time"
)

// Recovered is a run that is being opened, for the code that restores its state.
type Recovered struct {
	Recovery
	// LastLogged is the last line of the event log, and Lines how many lines follow from the same input; Event is the
	// last event in the log. They are zero if no line was added since the snapshot.
	LastLogged LogContent
	Lines      int
	Event      LogContent

	read   func(each func(Record) error) error
	missed []byte
	chain  LogChain
}

// Records calls each with the snapshot, if there is one, and the inputs after it. An error of each stops it and
// is returned.
func (r *Recovered) Records(each func(Record) error) error { return r.read(each) }

// AppendEvents adds lines to the event log that a crash kept from being written.
func (r *Recovered) AppendEvents(lines ...LogContent) (err error) {
	for _, x := range lines {
		if r.missed, err = r.chain.Append(r.missed, x); err != nil {
			return err
		}
	}
	return nil
}

// note takes note of a line of the event log.
func (r *Recovered) note(x LogEntry) {
	x.Line, x.Record = bytes.Clone(x.Line), bytes.Clone(x.Record)
	if x.Line != nil {
		r.Event = x.LogContent
	}
	switch {
	case x.Input == 0:
	case x.Input == r.LastLogged.Input:
		r.Lines++
		r.LastLogged = x.LogContent
	default:
		r.Lines, r.LastLogged = 1, x.LogContent
	}
}

// Resume restores the state of a run from what was recovered, and returns a snapshot of it.
type Resume func(r *Recovered) (snapshot []byte, err error)

// Open resumes a run: it waits up to wait for an ending owner to release the run, or fails with *HeldError,
// reads the journal, calls resume to restore the state, and begins a segment with the snapshot that resume
// returns. Then everything that was found is durable, even if the last fsync failed before the process could
// report it. Whatever a crash or bad disk left, it opens with the longest good prefix. It refuses only files
// that are not ours (*ForeignError, *UnsafeError), files of another format (*VersionError), a run that cannot
// be read at all (ErrNoSnapshot), and what resume refuses. It leaves these unchanged.
// No input that was on disk is cut off: what is not used stays in its segment until two younger snapshots have
// replaced it, and damage is also copied to a separate file.
func (s *Store) Open(id string, wait time.Duration, o Options, resume Resume) (r *Run, rec Recovery, err error) {
	defer attempted(&err, "open", id)
	h, err := s.hold(id, openLock, wait)
	if err != nil {
		return nil, rec, err
	}
	defer closeUnless(&r, h.close)
	m, lost, err := readMeta(h.dir, id)
	if err != nil {
		return nil, rec, err
	}
	sc := newScanner(h.dir, m)
	err = sc.scan()
	if lost != nil {
		sc.rec.MetaLost = lost.Error()
	}
	if err == nil && sc.lost() {
		err = ErrNoSnapshot
	}
	if err != nil {
		return nil, sc.rec, err
	}
	recovered := &Recovered{read: func(each func(Record) error) error {
		return readAgain(h.dir, id, sc.end.seq, false, each)
	}}
	events, damage, err := openEvents(h.dir, sc.logEnd(), sc.end.seq, recovered.note)
	if err != nil {
		return nil, sc.rec, err
	}
	defer closeUnless(&r, events.f.Close)
	sc.rec.Damage = append(sc.rec.Damage, damage...)
	recovered.Recovery, recovered.chain = sc.rec, events.chain
	snapshot, err := resume(recovered)
	if err != nil {
		return nil, sc.rec, err
	}
	if err := tidy(h.dir); err != nil {
		return nil, sc.rec, err
	}
	setAside(h.dir, sc.rec.Damage)
	rec = sc.rec
	events.lines, events.chain = append(events.lines, recovered.missed...), recovered.chain
	damage, err = events.again()
	rec.Damage = append(rec.Damage, damage...)
	if err != nil {
		return nil, rec, err
	}
	seg, err := sc.takeOver(snapshot, events.durable, o.History)
	if err != nil {
		return nil, rec, err
	}
	defer closeUnless(&r, seg.f.Close)
	if lost != nil || m.Closed > sc.end.seq || !m.Reopened {
		m.Closed, m.Reopened = min(m.Closed, sc.end.seq), true
		if err := writeMeta(h.dir, m); err != nil {
			return nil, rec, err
		}
	}
	// The entry of the run's own directory may not be on disk yet, if its creator crashed.
	if err := s.runs.Sync(); err != nil {
		return nil, rec, err
	}
	if err := h.lock.sign(id, m.CWD, m.Place); err != nil {
		return nil, rec, err
	}
	if h.live, err = s.mark(id); err != nil {
		return nil, rec, err
	}
	return start(h, m, o, &writer{seg: seg, highest: seg.number, keep: seg.number, crc: sc.end.crc, events: events},
		sc.end.seq), rec, nil
}

// takeOver begins a segment with a snapshot of everything that was found.
func (s *scanner) takeOver(snapshot []byte, logEnd LogPosition, history int64) (*segment, error) {
	number, keep := 1, 1
	if n := len(s.segs); n > 0 {
		number, keep = s.segs[n-1].number+1, s.segs[s.start].number
	}
	if s.end.seq == 0 {
		snapshot = nil // nothing has happened yet
	}
	h := newHeader(s.run, s.end.seq+1, s.end.seq, s.end.crc, len(snapshot))
	h.logEnd = logEnd
	var frames []byte
	if len(snapshot) > 0 {
		frames = snapshotFrame(snapshot, h)
	}
	seg, err := createSegment(s.dir, number, h, frames)
	if err == nil && s.end.seq > 0 {
		removeSegments(s.dir, keep, history)
	}
	return seg, err
}

// lost reports whether a run had snapshots, and none of them can be read.
func (s *scanner) lost() bool {
	return s.end.seq == 0 && slices.ContainsFunc(s.segs, func(f found) bool { return f.header.base > 1 })
}

// logEnd is how far the event log was durable when the segment that reading began with got its name.
func (s *scanner) logEnd() LogPosition {
	if len(s.segs) == 0 {
		return LogPosition{}
	}
	return s.segs[s.start].header.logEnd
}

// readAgain passes what was checked just before to each.
func readAgain(dir directory, run string, upTo uint64, oldest bool, each func(Record) error) error {
	s := rescanner(dir, run, upTo, each)
	s.oldest = oldest
	if err := s.scan(); err != nil {
		return err
	}
	if s.end.seq != upTo {
		return fmt.Errorf("read run %s: %d of %d inputs are left", run, s.end.seq, upTo)
	}
	return nil
}

// tidy removes files that were never finished.
func tidy(dir directory) error {
	names, err := dir.Names()
	if err != nil {
		return err
	}
	for _, name := range names {
		if scratch, ok := strings.CutSuffix(name, scratchSuffix); ok && ownName(scratch) {
			crash("journal.open.tidy.before")
			if err := dir.Unlink(name); err != nil {
				return err
			}
		}
	}
	return nil
}

// ownName reports whether a file of that name is first written under a scratch name.
func ownName(name string) bool {
	_, segment := segmentNumber(name)
	return segment || name == metaName
}

func statFile(dir directory, name string) (fileInfo, error) {
	f, err := dir.Open(name, openRead)
	if err != nil {
		return fileInfo{}, err
	}
	defer f.Close()
	return f.Stat()
}

// EventLog opens the event log of a run for reading, even while the run is live. The caller closes it.
func (s *Store) EventLog(id string) (log *EventLog, err error) {
	defer attempted(&err, "read", id)
	if err := validID(id); err != nil {
		return nil, err
	}
	dir, err := s.runs.Dir(id)
	if err != nil {
		return nil, err
	}
	f, err := dir.Open(LogName, openRead)
	if err != nil {
		return nil, errors.Join(err, dir.Close())
	}
	return NewLog(wholeLog{&logFile{file: f, dir: dir}}), nil
}

// Read calls each with the last snapshot of a run, if it has one, and with the inputs after it, in order, once
// all of them are checked. It takes no lock and changes nothing, so it works while the run is live; then an
// input that is being written may look torn. An error of each stops it and is returned.
func (s *Store) Read(id string, each func(Record) error) (Recovery, error) {
	return s.ReadTo(id, math.MaxUint64, each)
}

// ReadTo is Read up to an input, from the last snapshot before it. If that snapshot is no longer kept, there is
// nothing to read.
func (s *Store) ReadTo(id string, upTo uint64, each func(Record) error) (Recovery, error) {
	return s.read(id, upTo, false, each)
}

// ReadAll is Read from the oldest snapshot that is kept, or else from the first input. An [ErrEnough] of each ends it.
func (s *Store) ReadAll(id string, each func(Record) error) (Recovery, error) {
	rec, err := s.read(id, math.MaxUint64, true, each)
	if errors.Is(err, ErrEnough) {
		err = nil
	}
	return rec, err
}

func (s *Store) read(id string, upTo uint64, oldest bool, each func(Record) error) (rec Recovery, err error) {
	defer attempted(&err, "read", id)
	dir, err := s.dirOf(id)
	if err != nil {
		return Recovery{}, err
	}
	defer dir.Close()
	m, lost, err := readMeta(dir, id)
	if err != nil {
		return Recovery{}, err
	}
	var sc *scanner
	for range 5 { // a segment may be replaced meanwhile
		sc = newScanner(dir, m)
		sc.oldest = oldest
		if sc.upTo = upTo; upTo < m.Closed {
			sc.closed = 0
		}
		if err = sc.scan(); !errors.Is(err, fs.ErrNotExist) {
			break
		}
	}
	if lost != nil {
		sc.rec.MetaLost = lost.Error()
	}
	if err == nil && each != nil {
		err = readAgain(dir, id, sc.end.seq, oldest, each)
	}
	return sc.rec, err
}
