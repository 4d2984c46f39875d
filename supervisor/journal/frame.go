package journal

import (
	"encoding/binary"
	"errors"
	"hash/crc32"
)

// Kind tells what a record is for.
type Kind uint8

const (
	// Fact changes the state of the run.
	Fact Kind = 1
	// Narration only tells: whoever folds the state skips it undecoded.
	Narration Kind = 2
)

// Record is one entry. Sequence numbers count from 1 without a gap.
type Record struct {
	Seq     uint64
	Kind    Kind
	Payload []byte // valid during the call it is handed to
}

// MaxPayload bounds the payload of one record, in bytes.
const MaxPayload = 16 << 20

// A frame is a record on disk, little endian:
//
//	 0  crc      uint32  CRC-32C of all that follows, seeded with the run's id
//	 4  length   uint32  of the payload
//	 8  prev     uint32  crc of the record before; of record 1 the run's seed
//	12  seq      uint64
//	20  nth      uint32  place in its batch, from 0
//	24  kind     uint8
//	25  payload
//
// A seal is a frame, too; it counts in its batch, and has the seq of the record before.
//
// The crc alone proves that the frame is whole and of this run; prev chains it
// to all before it. nth says what was durable when the frame was written: a
// batch is written when the one before it has been synced, so all up to
// seq-nth-1 was. That tells what a power cut may leave from what it cannot.
const (
	frameHead = 25
	maxFrame  = frameHead + MaxPayload
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// seedOf is what chains the records of a run to its id, so that those of another
// run do not fit.
func seedOf(run string) uint32 { return crc32.Checksum([]byte(run), castagnoli) }

// appendFrame adds a frame that is not complete yet: what depends on the batch is
// left out.
func appendFrame(b []byte, seq uint64, kind Kind, payload []byte) []byte {
	var head [frameHead]byte
	binary.LittleEndian.PutUint32(head[4:], uint32(len(payload)))
	binary.LittleEndian.PutUint64(head[12:], seq)
	head[24] = byte(kind)
	return append(append(b, head[:]...), payload...)
}

// chainBatch completes the frames of a batch, which follow the frame of crc
// prev, and returns the crc of the last and how many there are.
func chainBatch(batch []byte, seed, prev uint32) (crc, n uint32) {
	for ; len(batch) > 0; n++ {
		end := frameHead + int(binary.LittleEndian.Uint32(batch[4:]))
		prev = finishFrame(batch[:end], seed, prev, n)
		batch = batch[end:]
	}
	return prev, n
}

// finishFrame fills in what depends on the place of a frame, and returns its crc.
func finishFrame(b []byte, seed, prev, nth uint32) uint32 {
	binary.LittleEndian.PutUint32(b[8:], prev)
	binary.LittleEndian.PutUint32(b[20:], nth)
	crc := crc32.Update(seed, castagnoli, b[4:])
	binary.LittleEndian.PutUint32(b, crc)
	return crc
}

// frame is one read from disk.
type frame struct {
	Record
	crc, prev, nth uint32
	size           int64
	raw            []byte // all of it, valid as long as the payload
}

// durableBefore is the last record known to have been durable when this one was
// written.
func (f *frame) durableBefore() uint64 {
	earlier := uint64(f.nth)
	if f.Kind != kindSeal {
		earlier++
	}
	return f.Seq - min(f.Seq, earlier)
}

var (
	errCutOff   = errors.New("the record is cut off")
	errChecksum = errors.New("the checksum does not match")
	errLength   = errors.New("the length is impossible")
	errKind     = errors.New("the kind is unknown")
	errRepeat   = errors.New("a record is repeated or out of order")
	errGap      = errors.New("records are missing")
	errChain    = errors.New("the record does not continue the one before it")
)

// frameLength reads the whole length of the frame that begins with head, which
// has at least frameHead bytes, of which left may still come in the file.
func frameLength(head []byte, left int64) (int64, error) {
	n := int64(binary.LittleEndian.Uint32(head[4:]))
	switch {
	case n > MaxPayload:
		return 0, errLength
	case frameHead+n > left:
		return 0, errCutOff
	}
	return frameHead + n, nil
}

// parseFrame reads a frame that fills b, by itself: its place in the chain is
// not looked at.
func parseFrame(b []byte, seed uint32) (frame, error) {
	f := frame{
		Record: Record{Seq: binary.LittleEndian.Uint64(b[12:]), Kind: Kind(b[24]), Payload: b[frameHead:]},
		crc:    binary.LittleEndian.Uint32(b),
		prev:   binary.LittleEndian.Uint32(b[8:]),
		nth:    binary.LittleEndian.Uint32(b[20:]),
		size:   int64(len(b)),
		raw:    b,
	}
	if crc32.Update(seed, castagnoli, b[4:]) != f.crc {
		return frame{}, errChecksum
	}
	if f.Kind != Fact && f.Kind != Narration && f.Kind != kindSeal {
		return frame{}, errKind
	}
	return f, nil
}

// link is where a chain of records has come to.
type link struct {
	seq  uint64 // of the last record
	crc  uint32 // of the last record
	nth  uint32 // the place in a batch that the next one may have, besides 0
	open bool   // false at the start of a segment and behind a seal, where a batch begins
}

// follow checks that f is next, and moves on.
func (l *link) follow(f *frame) error {
	if f.Kind == kindSeal {
		if f.Seq != l.seq || f.prev != l.crc || !l.open || f.nth != l.nth {
			return errChain
		}
		*l = link{seq: l.seq, crc: f.crc}
		return nil
	}
	switch {
	case f.Seq <= l.seq:
		return errRepeat
	case f.Seq != l.seq+1:
		return errGap
	case f.prev != l.crc:
		return errChain
	case f.nth != 0 && !(l.open && f.nth == l.nth):
		return errChain
	}
	*l = link{seq: f.Seq, crc: f.crc, nth: f.nth + 1, open: true}
	return nil
}
