package journal

import (
	"encoding/binary"
	"errors"
	"hash/crc32"
)

// Kind reports what a record is for.
type Kind uint8

const (
	// Input is an input that is always kept.
	Input Kind = 1
	// Narration is an input that may be dropped if the disk is too slow.
	Narration Kind = 2
	// Snapshot is the state after all inputs before it. It has the sequence number of the last of them.
	Snapshot Kind = 3
)

// Record is an input, or a snapshot. Inputs count from 1 without a gap.
type Record struct {
	Seq     uint64
	Kind    Kind
	Payload []byte // valid only during the call that receives it
}

const (
	// MaxPayload bounds the payload of one input, in bytes.
	MaxPayload = 16 << 20
	// MaxSnapshot bounds the payload of a snapshot.
	MaxSnapshot = 512 << 20
)

// A frame is a record on disk, little endian:
//
//	 0  crc      uint32  CRC-32C of all that follows, seeded with the run's id
//	 4  length   uint32  of the payload
//	 8  prev     uint32  crc of the input before; of input 1 the run's seed
//	12  seq      uint64
//	20  nth      uint32  place in its batch, from 0
//	24  kind     uint8
//	25  payload
//
// The crc alone proves that the frame is whole and belongs to this run; prev chains it to all inputs before it.
// A snapshot is not part of the chain: the input after it continues the input before it, so that both can be
// read without it. nth says what was durable when the frame was written: a batch is written when the one before
// it has been synced, so everything up to seq-nth-1 was durable. That distinguishes what a power cut may leave
// from what it cannot.
const frameHead = 25

// castagnoli is not a variable, so that a process that needs no checksum computes no table.
func castagnoli() *crc32.Table { return crc32.MakeTable(crc32.Castagnoli) }

// seedOf is the seed that chains the records of a run to its id, so that records of another run do not fit.
func seedOf(run string) uint32 { return crc32.Checksum([]byte(run), castagnoli()) }

// appendFrame adds a frame that is not complete yet: the fields that depend on the batch are empty.
func appendFrame(b []byte, seq uint64, kind Kind, payload []byte) []byte {
	var head [frameHead]byte
	binary.LittleEndian.PutUint32(head[4:], uint32(len(payload)))
	binary.LittleEndian.PutUint64(head[12:], seq)
	head[24] = byte(kind)
	return append(append(b, head[:]...), payload...)
}

// chainBatch completes the frames of a batch, which follow the frame with checksum prev, and returns the crc of
// the last.
func chainBatch(batch []byte, seed, prev uint32) (crc uint32) {
	for n := uint32(0); len(batch) > 0; n++ {
		end := frameHead + int(binary.LittleEndian.Uint32(batch[4:]))
		prev = finishFrame(batch[:end], seed, prev, n)
		batch = batch[end:]
	}
	return prev
}

// finishFrame fills in the fields that depend on the place of a frame, and returns its crc.
func finishFrame(b []byte, seed, prev, nth uint32) uint32 {
	binary.LittleEndian.PutUint32(b[8:], prev)
	binary.LittleEndian.PutUint32(b[20:], nth)
	crc := crc32.Update(seed, castagnoli(), b[4:])
	binary.LittleEndian.PutUint32(b, crc)
	return crc
}

// snapshotFrame is a snapshot as it follows the header of a segment.
func snapshotFrame(payload []byte, h header) []byte {
	b := appendFrame(make([]byte, 0, frameHead+len(payload)), h.base-1, Snapshot, payload)
	finishFrame(b, seedOf(h.run), h.prev, 0)
	return b
}

// frame is a frame read from disk.
type frame struct {
	Record
	crc, prev, nth uint32
	size           int64
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

// frameLength returns the whole length of the frame that begins with head. head has at least frameHead bytes;
// left is how many bytes of the file remain.
func frameLength(head []byte, left int64) (int64, error) {
	n, most := int64(binary.LittleEndian.Uint32(head[4:])), int64(MaxPayload)
	if Kind(head[24]) == Snapshot {
		most = MaxSnapshot
	}
	switch {
	case n > most:
		return 0, errLength
	case frameHead+n > left:
		return 0, errCutOff
	}
	return frameHead + n, nil
}

// parseFrame reads a frame that fills b, without checking its place in the chain.
func parseFrame(b []byte, seed uint32) (frame, error) {
	f := frame{
		Record: Record{Seq: binary.LittleEndian.Uint64(b[12:]), Kind: Kind(b[24]), Payload: b[frameHead:]},
		crc:    binary.LittleEndian.Uint32(b),
		prev:   binary.LittleEndian.Uint32(b[8:]),
		nth:    binary.LittleEndian.Uint32(b[20:]),
		size:   int64(len(b)),
	}
	if crc32.Update(seed, castagnoli(), b[4:]) != f.crc {
		return frame{}, errChecksum
	}
	if f.Kind != Input && f.Kind != Narration && f.Kind != Snapshot {
		return frame{}, errKind
	}
	return f, nil
}

// link is the present end of a chain of inputs.
type link struct {
	seq uint64 // of the last input
	crc uint32 // of the last input
	nth uint32 // the place in a batch that the next one may have, besides 0; 0: only 0
}

// follow checks that f is next, and advances to it.
func (l *link) follow(f *frame) error {
	switch {
	case f.Kind == Snapshot:
		return errKind // a snapshot may only follow a header
	case f.Seq <= l.seq:
		return errRepeat
	case f.Seq != l.seq+1:
		return errGap
	case f.prev != l.crc, f.nth != 0 && f.nth != l.nth:
		return errChain
	}
	*l = link{seq: f.Seq, crc: f.crc, nth: f.nth + 1}
	return nil
}
