package journal

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"
)

// Recovery is the result of reading a run.
type Recovery struct {
	Records uint64 // the last good input, those in the snapshot included
	Damage  []Damage
	// MetaLost says why the description of the run could not be read; it was reconstructed from other files.
	MetaLost string
}

// Harmed reports whether something is wrong that a crash does not explain, so that inputs that were once
// accepted may be missing.
func (r Recovery) Harmed() bool {
	return slices.ContainsFunc(r.Damage, func(d Damage) bool { return !d.Torn && !d.Mended })
}

// Damage is a part of a file that is not used.
type Damage struct {
	Segment string
	Offset  int64
	Bytes   int64
	Reason  string
	// Torn: the end of what was being written at a crash or power cut. None of it was ever accepted.
	Torn bool
	// Mended: nothing is lost, since another copy of the damaged part exists.
	Mended bool
	// Readable counts whole records found in the damaged part. They are not used, since the records before them
	// are missing.
	Readable int
	// SetAside is the file in the run's directory that contains a copy, if any.
	SetAside string
}

func (d Damage) String() string {
	return fmt.Sprintf("%s at %d: %s (%d bytes)", d.Segment, d.Offset, d.Reason, d.Bytes)
}

// isDamage reports whether an error is about the content of a file; other errors say nothing about it.
func isDamage(err error) bool {
	return slices.ContainsFunc([]error{errCutOff, errChecksum, errLength, errKind, errRepeat, errGap, errChain,
		errRead}, func(e error) bool {
		return errors.Is(err, e)
	})
}

// noteHeader records what is wrong with a header.
func (s *scanner) noteHeader(w *window, seg *found) {
	if seg.bad == nil {
		return
	}
	d := Damage{Segment: seg.name(), Bytes: min(headerSize, w.size), Reason: seg.bad.Error(), Mended: true}
	if seg.header.base == 0 {
		d.Bytes, d.Mended = w.size, false
		d.Readable, _ = s.resync(w, headerSize)
	}
	s.rec.Damage = append(s.rec.Damage, d)
}

// noteSnapshot records a snapshot that could not be read; an older one and the inputs after it were read
// instead.
func (s *scanner) noteSnapshot(seg *found) {
	if seg.broken == nil {
		return
	}
	s.rec.Damage = append(s.rec.Damage, Damage{
		Segment: seg.name(), Offset: headerSize, Bytes: min(seg.header.first, seg.size) - headerSize,
		Reason: "its snapshot: " + seg.broken.Error(), Mended: seg.header.first <= seg.size,
	})
}

// unreachable records a segment that does not continue the records before it.
func (s *scanner) unreachable(w *window, i int, why error) {
	d := Damage{Segment: s.segs[i].name(), Bytes: w.size, Reason: why.Error()}
	d.Readable, _ = s.resync(w, headerSize)
	s.rec.Damage = append(s.rec.Damage, d)
}

// damaged records a segment that is bad from s.end on. It returns errors that say nothing about the file's
// content.
func (s *scanner) damaged(w *window, i int, why error) error {
	if !isDamage(why) {
		return why
	}
	d := Damage{Segment: s.segs[i].name(), Offset: s.end.off, Bytes: w.size - s.end.off, Reason: why.Error()}
	readable, proof := s.resync(w, s.end.off)
	d.Readable = readable
	// A crash cuts off or mixes up what was not durable: the last batch, at the end of the last segment. It
	// does not cause a whole record in the wrong place, nor the loss of a record that was settled.
	d.Torn = !proof && !s.followed(i) && s.end.seq >= s.segs[i].header.settled &&
		!errors.Is(why, errRepeat) && !errors.Is(why, errGap) && !errors.Is(why, errRead)
	s.rec.Damage = append(s.rec.Damage, d)
	return nil
}

// followed reports whether a younger segment exists, which is created only when everything before it is
// durable.
func (s *scanner) followed(i int) bool {
	return slices.ContainsFunc(s.segs[i+1:], func(seg found) bool { return seg.header.base != 0 })
}

// checkClosed compares the end with the last record at the time when the run was closed normally.
func (s *scanner) checkClosed() {
	if s.closed <= s.end.seq || s.end.seq >= s.upTo {
		return
	}
	why := fmt.Sprintf("it ends with input %d, %d were there when it was closed", s.end.seq, s.closed)
	if n := len(s.rec.Damage); n > 0 {
		s.rec.Damage[n-1].Torn = false
		s.rec.Damage[n-1].Reason += "; " + why
		return
	}
	d := Damage{Segment: segmentName(1), Reason: why}
	if len(s.segs) > 0 {
		d.Segment, d.Offset = s.segs[s.end.seg].name(), s.end.off
	}
	s.rec.Damage = append(s.rec.Damage, d)
}

const (
	resyncSpan = 64 << 20  // how far after damage records are searched for
	resyncWork = 256 << 20 // how many bytes are checksummed during the search
)

// resync counts the whole records after damage. The second result is true if one of them proves that records
// that are now missing were durable.
func (s *scanner) resync(w *window, off int64) (readable int, proof bool) {
	seed, seq := seedOf(s.run), s.end.seq
	work := int64(resyncWork)
	for end := min(w.size, off+resyncSpan); off+frameHead <= end && work > 0; {
		b, err := w.at(off, min(windowSize/2, w.size-off))
		if err != nil {
			return readable, proof
		}
		skip := candidate(b, w.size-off, seq)
		off += int64(skip)
		if skip > len(b)-frameHead {
			continue
		}
		work -= frameHead + int64(binary.LittleEndian.Uint32(b[skip+4:]))
		f, err := frameAt(w, off, seed) // b is no longer valid
		if err != nil {
			off++
			continue
		}
		readable++
		proof = proof || f.Seq-min(f.Seq, uint64(f.nth)+1) > seq
		off += f.size
	}
	return readable, proof
}

// candidate returns the offset in b of the next bytes that look like the head of a frame, or of the first byte
// that it has not examined.
func candidate(b []byte, left int64, seq uint64) int {
	i := 0
	for ; i+frameHead <= len(b); i++ {
		if kind := Kind(b[i+24]); kind != Input && kind != Narration && kind != Snapshot {
			continue
		}
		if got := binary.LittleEndian.Uint64(b[i+12:]); got == 0 || got > seq+1<<40 {
			continue
		}
		if _, err := frameLength(b[i:], left-int64(i)); err == nil {
			return i
		}
	}
	return i
}

const (
	maxAside      = 16 << 20 // bytes copied of one damaged part
	maxAsideFiles = 32
)

// setAside copies damaged parts to files of their own, for people to look at, and records the names. Torn parts
// are not a loss and are left out. The copies are optional: if copying fails, opening the run continues.
func setAside(dir directory, damage []Damage) {
	for i := range damage {
		if d := &damage[i]; !d.Torn && !d.Mended && d.Bytes > 0 {
			if name, err := copyAside(dir, d); err == nil {
				d.SetAside = name
			}
		}
	}
}

func copyAside(dir directory, d *Damage) (string, error) {
	from, err := dir.Open(d.Segment, openRead)
	if err != nil {
		return "", err
	}
	defer from.Close()
	to, name, err := freshAside(dir)
	if err != nil {
		return "", err
	}
	defer to.Close()
	crash("journal.damage.write.before")
	damaged := io.NewSectionReader(from, d.Offset, min(d.Bytes, maxAside))
	if _, err := io.Copy(io.NewOffsetWriter(to, 0), damaged); err != nil {
		return "", errors.Join(err, dir.Unlink(name))
	}
	crash("journal.damage.sync.before")
	if err := to.Sync(); err != nil {
		return "", err
	}
	crash("journal.damage.syncdir.before")
	return name, dir.Sync()
}

// freshAside creates a file under the first free name; it never replaces one.
func freshAside(dir directory) (file, string, error) {
	for n := 1; n <= maxAsideFiles; n++ {
		name := fmt.Sprintf("damaged-%d", n)
		f, err := dir.Open(name, openCreate)
		if !errors.Is(err, fs.ErrExist) {
			return f, name, err
		}
	}
	return nil, "", fmt.Errorf("set aside damage: there are %d files already", maxAsideFiles)
}
