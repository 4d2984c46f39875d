package journal

import "fmt"

// walk reads the records of a segment up to the first that is not good. Where there are
// seals, records count when the seal behind them is seen and fits.
func (s *scanner) walk(w *window, i int, limit uint64) error {
	sealed := s.segs[i].header.version >= formatVersion
	if !sealed && s.rec.Seals.Sealed+s.rec.Seals.Unknown > 0 {
		return s.tampered(w, i, errOldFormat)
	}
	began := s.mark()
	for at := s.end; at.off < w.size && (at.seq < limit || sealed && at.open); {
		f, err := frameAt(w, at.off, seedOf(s.run))
		next := at
		if err == nil {
			err = next.follow(&f)
		}
		if err == nil && !sealed && f.Kind == kindSeal {
			err = errKind
		}
		if err != nil {
			s.rewind(began)
			return s.broken(w, i, err)
		}
		next.off += f.size
		switch {
		case f.Kind == kindSeal:
			if err := s.sealedAt(&f); err != nil {
				s.rewind(began)
				return s.tampered(w, i, err)
			}
			s.count(next)
		case sealed && at.open && f.nth == 0:
			s.rewind(began)
			return s.tampered(w, i, errUnsealedRecord)
		case !sealed:
			if f.nth == 0 {
				s.durable = s.end
			}
			s.took(f.raw)
			s.countOne(next)
		default:
			s.took(f.raw)
		}
		if s.each != nil && f.Kind != kindSeal {
			if err := s.each(f.Record); err != nil {
				return err
			}
		}
		if at = next; sealed && at.open && at.off == w.size {
			s.rewind(began)
			return s.unsealed(w, i, at.seq)
		}
	}
	return nil
}

// count takes a batch in that ends with its seal.
func (s *scanner) count(next place) {
	s.durable = s.end
	s.rec.Bytes += next.off - s.end.off
	from := s.end.seq
	s.end = next
	if settled := s.segs[next.seg].header.settled; next.seq <= settled || from < s.closed && s.closed <= next.seq {
		s.durable = s.end
	}
}

// countOne takes one record in, of a format without seals.
func (s *scanner) countOne(next place) {
	s.rec.Bytes += next.off - s.end.off
	s.end = next
	s.rec.Seals.Unsealed = next.seq
	if next.seq <= s.segs[next.seg].header.settled || next.seq == s.closed {
		s.durable = s.end
	}
}

func (s *scanner) took(raw []byte) {
	if s.seals != nil {
		s.seals.frames(raw)
	}
}

func (s *scanner) sealedAt(f *frame) error {
	if s.seals == nil {
		return nil
	}
	known, err := s.seals.check(f.Payload)
	switch {
	case err != nil:
		return err
	case known:
		s.rec.Seals.Sealed, s.rec.Seals.Unsealed = f.Seq, 0
	default:
		s.rec.Seals.Unknown, s.rec.Seals.Unsealed = f.Seq, 0
	}
	return nil
}

// mark and rewind bring the seals back to where the good records end.
func (s *scanner) mark() mark {
	if s.seals == nil {
		return mark{}
	}
	return s.seals.mark()
}

func (s *scanner) rewind(began mark) {
	if s.seals == nil || s.segs[s.end.seg].header.version < formatVersion {
		return // of a plain segment nothing was taken in that does not count
	}
	if s.end.off > headerSize {
		s.seals.restart()
	} else {
		s.seals.back(began)
	}
}

// unsealed reports records at the end of a segment that are whole and have no seal. A
// crash leaves that only where the last write was cut off just there.
func (s *scanner) unsealed(w *window, i int, last uint64) error {
	if s.followed(i) || s.whole && last > s.closed {
		return s.tampered(w, i, errUnsealedRecord)
	}
	d := Damage{
		Segment: s.segs[i].name(), Offset: s.end.off, Bytes: w.size - s.end.off, Reason: errUnsealedRecord.Error(),
		Readable: int(last - s.end.seq), Unsealed: true, Torn: s.end.seq >= s.segs[i].header.settled,
	}
	s.rec.Damage = append(s.rec.Damage, d)
	return nil
}

// tampered reports what no crash and no bad disk leaves.
func (s *scanner) tampered(w *window, i int, why error) error {
	if s.accept {
		d := Damage{Segment: s.segs[i].name(), Offset: s.end.off, Bytes: w.size - s.end.off, Reason: why.Error(), Tampered: true}
		d.Readable, _ = s.resync(w, s.end.off)
		s.rec.Damage = append(s.rec.Damage, d)
		return nil
	}
	return &TamperedError{Run: s.run, Record: s.end.seq + 1, File: fmt.Sprintf("%s/%s", s.dir.Path(), s.segs[i].name()), Offset: s.end.off, Reason: why.Error()}
}
