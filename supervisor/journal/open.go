package journal

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"time"
)

// Open takes up a run: it waits as long as wait for a dying owner to go, or fails
// with *HeldError, reads the journal, and makes sure of what it found. The records
// are then had from [Run.Records]. Whatever a crash or bad disk left, it opens with
// the longest good prefix; it refuses only what is not ours (*ForeignError,
// *UnsafeError), of another format (*VersionError) or was tampered with
// (*TamperedError), and leaves that untouched.
// Nothing that was on disk is cut off or removed: what is not used stays in its
// segment, and damage is copied to a file of its own, too.
func (s *Store) Open(id string, wait time.Duration, o Options) (*Run, Recovery, error) {
	if err := validID(id); err != nil {
		return nil, Recovery{}, fmt.Errorf("open run: %w", err)
	}
	r, rec, err := s.open(id, wait, o)
	if errors.Is(err, fs.ErrNotExist) {
		err = errors.Join(ErrNotFound, err)
	}
	if err != nil {
		return nil, rec, fmt.Errorf("open run %s: %w", id, err)
	}
	return r, rec, nil
}

func (s *Store) open(id string, wait time.Duration, o Options) (r *Run, rec Recovery, err error) {
	h, err := s.hold(id, wait)
	if err != nil {
		return nil, rec, err
	}
	defer h.closeUnless(&r)
	m, lost, err := readMeta(h.dir, id)
	if err != nil {
		return nil, rec, err
	}
	key, err := s.needKey()
	if err != nil {
		return nil, rec, err
	}
	sc := newScanner(h.dir, m, key)
	sc.accept = o.AcceptPrefix
	err = sc.scan()
	rec = sc.rec
	if lost != nil {
		rec.MetaLost = lost.Error()
	}
	if err != nil {
		return nil, rec, err
	}
	if err := tidy(h.dir); err != nil {
		return nil, rec, err
	}
	setAside(h.dir, rec.Damage)
	seg, err := sc.settle()
	if err != nil {
		return nil, rec, err
	}
	defer seg.closeUnless(&r)
	if lost != nil || m.Closed > sc.end.seq || !m.Reopened {
		m.Closed, m.Reopened = min(m.Closed, sc.end.seq), true
		if err := writeMeta(h.dir, m); err != nil {
			return nil, rec, err
		}
	}
	// The run's own directory may be news to the disk, if its creator crashed.
	if err := s.runs.Sync(); err != nil {
		return nil, rec, err
	}
	if err := h.lock.sign(holder{PID: os.Getpid(), Run: id, CWD: m.CWD, Place: m.Place, Since: time.Now()}); err != nil {
		return nil, rec, err
	}
	size, err := segmentBytes(h.dir)
	if err != nil {
		return nil, rec, err
	}
	return start(h, m, o, seg, sc.end, sc.seals, size), rec, nil
}

// tidy removes what was never finished.
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

// ownName tells the files that are made under a scratch name first.
func ownName(name string) bool {
	_, segment := segmentNumber(name)
	return segment || name == metaName
}

// settle returns a segment to add to, behind the records found. It is the youngest
// one if all in it is known to be durable and nothing else is there. Otherwise a
// new one takes over: it begins with the records of the last batch, whose fsync may
// have failed unseen, since pages that a failed fsync did not write look like those
// it did. What is behind the good records in older segments never counts again.
func (s *scanner) settle() (*segment, error) {
	if s.settled() {
		last := s.segs[s.end.seg]
		f, err := s.dir.Open(last.name(), openWrite)
		return &segment{number: last.number, f: f, end: s.end.off}, err
	}
	number := 1
	if n := len(s.segs); n > 0 {
		number = s.segs[n-1].number + 1
	}
	h := header{version: formatVersion, base: s.durable.seq + 1, settled: s.end.seq, prev: s.durable.crc, run: s.run}
	if s.durable.seq == s.end.seq {
		return createSegment(s.dir, number, h, noRecords)
	}
	return createSegment(s.dir, number, h, s.copyTail)
}

// settled tells whether the youngest segment can go on.
func (s *scanner) settled() bool {
	n := len(s.segs)
	return n > 0 && s.end.seg == n-1 && s.end.off == s.segs[n-1].size && s.segs[n-1].bad == nil &&
		s.segs[n-1].header.version == formatVersion &&
		s.durable.seq == s.end.seq && len(s.rec.Damage) == 0
}

// copyTail writes the records that are not known to be durable to f, and checks
// them on the way.
func (s *scanner) copyTail(f file, at int64) (int64, error) {
	from := s.durable
	err := s.withSegment(&s.segs[from.seg], func(w *window) error {
		for from.off < s.end.off {
			r, err := frameAt(w, from.off, seedOf(s.run))
			if err == nil {
				err = from.follow(&r)
			}
			if err != nil {
				return fmt.Errorf("read record %d again: %w", from.seq+1, err)
			}
			if _, err := f.WriteAt(r.raw, at); err != nil {
				return err
			}
			from.off += r.size
			at += r.size
		}
		return nil
	})
	if err != nil || !s.end.open {
		return at, err
	}
	// They are of a format without seals: from here on they have one.
	b := appendFrame(nil, s.end.seq, kindSeal, s.seals.seal())
	s.end.link = link{seq: s.end.seq, crc: finishFrame(b, seedOf(s.run), s.end.crc, s.end.nth)}
	_, err = f.WriteAt(b, at)
	return at + int64(len(b)), err
}

// segmentBytes is what the segments take on disk.
func segmentBytes(dir directory) (int64, error) {
	names, err := dir.Names()
	if err != nil {
		return 0, err
	}
	var sum int64
	for _, name := range names {
		if _, ok := segmentNumber(name); !ok {
			continue
		}
		info, err := statFile(dir, name)
		if err != nil {
			return 0, err
		}
		sum += info.Used
	}
	return sum, nil
}

func statFile(dir directory, name string) (fileInfo, error) {
	f, err := dir.Open(name, openRead)
	if err != nil {
		return fileInfo{}, err
	}
	defer f.Close()
	return f.Stat()
}

// Read calls each with the records of a run, in order, when all of them are checked.
// It takes no lock and changes nothing, so it works while the run is live; then what is
// being written may show as torn. An error of each ends it and is returned. What was
// tampered with is not handed out: the error after what is before it is *TamperedError.
func (s *Store) Read(id string, each func(Record) error) (Recovery, error) {
	if err := validID(id); err != nil {
		return Recovery{}, fmt.Errorf("read run: %w", err)
	}
	dir, err := s.runs.Dir(id)
	if errors.Is(err, fs.ErrNotExist) {
		err = errors.Join(ErrNotFound, err)
	}
	if err != nil {
		return Recovery{}, fmt.Errorf("read run %s: %w", id, err)
	}
	defer dir.Close()
	m, lost, err := readMeta(dir, id)
	if err != nil {
		return Recovery{}, fmt.Errorf("read run %s: %w", id, err)
	}
	key, err := s.readKey()
	if err != nil {
		return Recovery{}, fmt.Errorf("read run %s: %w", id, err)
	}
	sc := newScanner(dir, m, key)
	err = sc.scan()
	if lost != nil {
		sc.rec.MetaLost = lost.Error()
	}
	var tampered *TamperedError
	if each != nil && (err == nil || errors.As(err, &tampered)) {
		if err := rescanner(dir, id, sc.end.seq, each).scan(); err != nil {
			return sc.rec, fmt.Errorf("read run %s: %w", id, err)
		}
	}
	if err != nil {
		return sc.rec, fmt.Errorf("read run %s: %w", id, err)
	}
	return sc.rec, nil
}
