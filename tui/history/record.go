package history

import (
	"encoding/binary"
	"hash/crc32"
	"time"
)

// recordSize is the size of an entry of the index.
const recordSize = 48

// record is the information about an event in the index.
type record struct {
	off  int64 // where its payload is
	size int
	sum  uint32 // of the payload
	at   time.Time
	// link is the number of the outcome plus one. In the record of an outcome it is that of the entry that
	// it ended.
	link    int64
	outcome bool
	past    bool // it is in the event log, and sum is the checksum of the line before
	kind    uint8
	agent   uint16 // the party it is about
	peer    uint16 // the other party, 0: none
}

// Bits of a record's byte 41.
const (
	flagOutcome = 1 << iota
	flagPast
)

// castagnoli is a function, so that a process that needs no checksum does not build the table.
func castagnoli() *crc32.Table { return crc32.MakeTable(crc32.Castagnoli) }

func (r record) encode() (b [recordSize]byte) {
	binary.LittleEndian.PutUint64(b[0:], uint64(r.off))
	binary.LittleEndian.PutUint64(b[8:], uint64(r.link))
	binary.LittleEndian.PutUint64(b[16:], uint64(r.at.Unix()))
	binary.LittleEndian.PutUint32(b[24:], uint32(r.at.Nanosecond()))
	binary.LittleEndian.PutUint32(b[28:], uint32(r.size))
	binary.LittleEndian.PutUint32(b[32:], r.sum)
	binary.LittleEndian.PutUint16(b[36:], r.agent)
	binary.LittleEndian.PutUint16(b[38:], r.peer)
	b[40] = r.kind
	if r.outcome {
		b[41] |= flagOutcome
	}
	if r.past {
		b[41] |= flagPast
	}
	binary.LittleEndian.PutUint32(b[44:], crc32.Checksum(b[:44], castagnoli()))
	return b
}

// decodeRecord returns false for bytes that are not a record, or a record that is being rewritten.
func decodeRecord(b []byte) (record, bool) {
	if crc32.Checksum(b[:44], castagnoli()) != binary.LittleEndian.Uint32(b[44:]) {
		return record{}, false
	}
	return record{
		off:     int64(binary.LittleEndian.Uint64(b[0:])),
		link:    int64(binary.LittleEndian.Uint64(b[8:])),
		at:      time.Unix(int64(binary.LittleEndian.Uint64(b[16:])), int64(binary.LittleEndian.Uint32(b[24:]))),
		size:    int(binary.LittleEndian.Uint32(b[28:])),
		sum:     binary.LittleEndian.Uint32(b[32:]),
		agent:   binary.LittleEndian.Uint16(b[36:]),
		peer:    binary.LittleEndian.Uint16(b[38:]),
		kind:    b[40],
		outcome: b[41]&flagOutcome != 0,
		past:    b[41]&flagPast != 0,
	}, true
}
