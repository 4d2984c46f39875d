package journal

import (
	"errors"
	"fmt"
	"math"
	"slices"
)

// place is a position between two inputs: after the one that link names.
type place struct {
	link
	seg int // index among the segments found
	off int64
}

// found is a segment as it is on disk.
type found struct {
	number int
	size   int64
	header header // base is 0 if nothing is known about it
	bad    error  // what is wrong with the header
	broken error  // what is wrong with the snapshot
}

func (f found) name() string { return segmentName(f.number) }

// scanner reads the records of a run. It changes nothing.
type scanner struct {
	dir    directory
	run    string
	closed uint64 // the last input when the run was closed normally, 0 if not known
	upTo   uint64 // the last input wanted
	oldest bool   // begin with the oldest snapshot, not with the youngest
	each   func(Record) error

	segs   []found
	start  int   // the segment that reading begins with
	end    place // after the last good input
	rec    Recovery
	window window
}

// newScanner returns a scanner that checks all inputs.
func newScanner(dir directory, m Meta) *scanner {
	s := rescanner(dir, m.Run, math.MaxUint64, nil)
	s.closed = m.Closed
	return s
}

// rescanner returns a scanner for inputs up to upTo that were checked just before.
func rescanner(dir directory, run string, upTo uint64, each func(Record) error) *scanner {
	return &scanner{dir: dir, run: run, upTo: upTo, each: each, end: place{link: link{crc: seedOf(run)}}}
}

// scan reads the youngest undamaged snapshot, and all inputs after it. A refusal (*VersionError, *ForeignError,
// *UnsafeError) or an error of each stops it; damage does not.
func (s *scanner) scan() error {
	defer func() { s.rec.Records = s.end.seq }()
	if err := s.find(); err != nil {
		return err
	}
	if err := s.begin(); err != nil {
		return err
	}
	for i := s.start; i < len(s.segs); i++ {
		if err := s.segment(i); err != nil {
			return err
		}
	}
	s.checkClosed()
	return nil
}

// find lists the segments and reads their headers, one file open at a time.
func (s *scanner) find() error {
	names, err := s.dir.Names()
	if err != nil {
		return err
	}
	for _, name := range names {
		if n, ok := segmentNumber(name); ok {
			s.segs = append(s.segs, found{number: n})
		}
	}
	slices.SortFunc(s.segs, func(a, b found) int { return a.number - b.number })
	for i := range s.segs {
		if err := s.readHeader(&s.segs[i]); err != nil {
			return err
		}
	}
	return nil
}

// begin passes the youngest undamaged snapshot to each, or the oldest. Without one a run is read from its first input
// on.
func (s *scanner) begin() error {
	if s.oldest && len(s.segs) > 0 && s.segs[0].header.base == 1 {
		return nil
	}
	for n := range s.segs {
		i := len(s.segs) - 1 - n
		if s.oldest {
			i = n
		}
		seg := &s.segs[i]
		if seg.header.base == 0 || seg.header.first <= headerSize || seg.header.base-1 > s.upTo {
			continue
		}
		var handed error
		err := s.withSegment(seg, func(w *window) error {
			f, err := frameAt(w, headerSize, seedOf(s.run))
			switch {
			case err != nil:
				return err
			case f.Kind != Snapshot || f.Seq != seg.header.base-1 || headerSize+f.size != seg.header.first:
				return errChain
			}
			if s.each != nil {
				handed = s.each(f.Record)
			}
			return nil
		})
		switch {
		case handed != nil:
			return handed
		case err == nil:
			s.start, s.end.link = i, link{seq: seg.header.base - 1, crc: seg.header.prev}
			return nil
		case !isDamage(err):
			return err
		}
		seg.broken = err
	}
	return nil
}

// withSegment keeps a segment open while do runs.
func (s *scanner) withSegment(seg *found, do func(*window) error) error {
	f, err := s.dir.Open(seg.name(), openRead)
	if err != nil {
		return err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return err
	}
	seg.size = info.Size
	s.window.reset(f, info.Size)
	return do(&s.window)
}

func (s *scanner) readHeader(seg *found) error {
	return s.withSegment(seg, func(w *window) error {
		b, err := w.at(0, min(headerSize, w.size))
		if err != nil && !errors.Is(err, errRead) && !errors.Is(err, errCutOff) {
			return err
		}
		seg.header, seg.bad = decodeHeader(b, s.dir.Path()+"/"+seg.name(), s.run)
		if seg.bad == nil {
			return nil
		}
		if seg.header.base == 0 {
			s.adoptRecordRun(w, seg)
		}
		if errors.Is(seg.bad, errHeader) {
			return nil
		}
		return seg.bad
	})
}

// adoptRecordRun accepts a segment with no good copy of the header, because of its first record: the record's
// checksum proves that it belongs to this run.
func (s *scanner) adoptRecordRun(w *window, seg *found) {
	var foreign *ForeignError
	if !errors.Is(seg.bad, errHeader) && (!errors.As(seg.bad, &foreign) || foreign.Run != "") {
		return // it has a header, which refuses the file
	}
	f, err := frameAt(w, headerSize, seedOf(s.run))
	if err != nil || f.nth != 0 || f.Seq == 0 {
		return
	}
	seg.header = newHeader(s.run, f.Seq, 0, f.prev, 0)
	if f.Kind == Snapshot {
		seg.header = newHeader(s.run, f.Seq+1, 0, f.prev, len(f.Payload))
	}
	seg.header.logEnd = unknownEnd
	seg.bad = errHeader
}

// frameAt reads the frame at an offset, without checking its neighbours.
func frameAt(w *window, off int64, seed uint32) (frame, error) {
	if w.size-off < frameHead {
		return frame{}, errCutOff
	}
	head, err := w.at(off, frameHead)
	if err != nil {
		return frame{}, err
	}
	n, err := frameLength(head, w.size-off)
	if err != nil {
		return frame{}, err
	}
	b, err := w.at(off, n)
	if err != nil {
		return frame{}, err
	}
	return parseFrame(b, seed)
}

// limit is the last input of a segment that counts: a younger segment that begins earlier contains the rest
// again.
func (s *scanner) limit(i int) uint64 {
	limit := s.upTo
	for _, seg := range s.segs[i+1:] {
		if seg.header.base != 0 {
			limit = min(limit, seg.header.base-1)
		}
	}
	return limit
}

// segment reads the inputs of a segment.
func (s *scanner) segment(i int) error {
	seg, limit := &s.segs[i], s.limit(i)
	if seg.header.base != 0 && limit < seg.header.base-1 {
		return nil // replaced completely
	}
	return s.withSegment(seg, func(w *window) error {
		if seg.header.base == 0 && s.followed(i) {
			return nil // what it lacks shows in the next segment
		}
		s.noteHeader(w, seg)
		switch {
		case seg.header.base == 0:
			return nil
		case seg.header.base != s.end.seq+1:
			s.unreachable(w, i, fmt.Errorf("%w: %d to %d, before it", errGap, s.end.seq+1, seg.header.base-1))
			return nil
		case seg.header.prev != s.end.crc:
			s.unreachable(w, i, errChain)
			return nil
		}
		s.noteSnapshot(seg)
		s.end = place{link: link{seq: s.end.seq, crc: s.end.crc}, seg: i, off: min(seg.header.first, w.size)}
		return s.walk(w, i, limit)
	})
}

// walk reads up to the first bad input.
func (s *scanner) walk(w *window, i int, limit uint64) error {
	for s.end.off < w.size && s.end.seq < limit {
		f, err := frameAt(w, s.end.off, seedOf(s.run))
		next := s.end
		if err == nil {
			err = next.follow(&f)
		}
		if err != nil {
			return s.damaged(w, i, err)
		}
		next.off += f.size
		s.end = next
		if s.each != nil {
			if err := s.each(f.Record); err != nil {
				return err
			}
		}
	}
	return nil
}
