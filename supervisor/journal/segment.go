package journal

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io/fs"
	"slices"
	"strconv"
	"strings"
)

// The file name of a segment is its number; higher numbers are younger.
const (
	segmentPrefix = "journal-"
	scratchSuffix = ".tmp"
)

func segmentName(number int) string {
	digits := strconv.Itoa(number)
	return segmentPrefix + strings.Repeat("0", max(0, 6-len(digits))) + digits
}

func segmentNumber(name string) (int, bool) {
	digits, ok := strings.CutPrefix(name, segmentPrefix)
	if !ok {
		return 0, false
	}
	n, err := strconv.Atoi(digits)
	return n, err == nil && n > 0 && segmentName(n) == name
}

// A segment begins with two copies of its header, so that a bad sector or a flipped bit does not lose
// everything that follows. A snapshot may follow, then inputs. A copy is, little endian:
//
//	  0  magic    "ARBJRNL\n"
//	  8  version  uint16
//	 10  reserved uint16
//	 12  base     uint64  sequence number of its first input
//	 20  settled  uint64  up to here inputs were synced before the file got its name
//	 28  prev     uint32  crc of input base-1
//	 32  length   uint8   of the run's id
//	 33  run      64 bytes
//	 97  first    uint32  offset of its first input; behind the header: there is no snapshot
//	101  log end  uint64  how long the event log was, all of it durable, when the file got its name
//	109  lines    uint64  of it
//	117  sum      uint32  of the last of them
//	121  reserved
//	124  crc      uint32  CRC-32C of bytes 0 to 123
//
// Magic, version, size and crc must keep their places in all later versions.
const (
	magic         = "ARBJRNL\n"
	formatVersion = 5
	headerCopy    = 128
	headerSize    = 2 * headerCopy
	maxRunID      = 64
)

type header struct {
	version int
	base    uint64
	settled uint64
	prev    uint32
	run     string
	first   int64
	logEnd  LogPosition // of the event log's end
}

// newHeader returns the header of a segment that begins with input base.
func newHeader(run string, base, settled uint64, prev uint32, snapshot int) header {
	h := header{version: formatVersion, base: base, settled: settled, prev: prev, run: run, first: headerSize}
	if snapshot > 0 {
		h.first += frameHead + int64(snapshot)
	}
	return h
}

func (h header) encode() []byte {
	b := make([]byte, headerCopy)
	copy(b, magic)
	binary.LittleEndian.PutUint16(b[8:], uint16(h.version))
	binary.LittleEndian.PutUint64(b[12:], h.base)
	binary.LittleEndian.PutUint64(b[20:], h.settled)
	binary.LittleEndian.PutUint32(b[28:], h.prev)
	b[32] = byte(copy(b[33:33+maxRunID], h.run))
	binary.LittleEndian.PutUint32(b[97:], uint32(h.first))
	binary.LittleEndian.PutUint64(b[101:], uint64(h.logEnd.Offset))
	binary.LittleEndian.PutUint64(b[109:], h.logEnd.Prev.N)
	binary.LittleEndian.PutUint32(b[117:], h.logEnd.Prev.Sum)
	binary.LittleEndian.PutUint32(b[124:], crc32.Checksum(b[:124], castagnoli()))
	return append(b, b...)
}

var errHeader = errors.New("the header is damaged")

// decodeHeader reads the first headerSize bytes of a segment, or as many as there are. With errHeader the
// header comes from its other copy or, if both are lost, is zero. A *VersionError or *ForeignError refuses the
// file.
func decodeHeader(b []byte, file, run string) (header, error) {
	var good []header
	ours := false
	for at := 0; at < headerSize && at < len(b); at += headerCopy {
		c := b[at:min(at+headerCopy, len(b))]
		ours = ours || bytes.HasPrefix(c, []byte(magic))
		if h, ok := decodeCopy(c); ok {
			good = append(good, h)
		}
	}
	if len(good) == 0 {
		if ours || len(bytes.Trim(b, "\x00")) == 0 || strings.HasPrefix(magic, string(b)) {
			return header{}, errHeader
		}
		return header{}, &ForeignError{File: file, Reason: "it is not a journal"}
	}
	h := good[0]
	if h.version != formatVersion {
		return header{}, &VersionError{File: file, Found: h.version, Known: formatVersion}
	}
	if h.run != run {
		return header{}, &ForeignError{File: file, Run: h.run, Reason: fmt.Sprintf("it belongs to run %q", h.run)}
	}
	if h.base == 0 || h.first < headerSize {
		return header{}, errHeader
	}
	if len(good) == 1 || good[0] != good[1] {
		return h, errHeader
	}
	return h, nil
}

func decodeCopy(b []byte) (header, bool) {
	if len(b) < headerCopy || !bytes.HasPrefix(b, []byte(magic)) ||
		crc32.Checksum(b[:124], castagnoli()) != binary.LittleEndian.Uint32(b[124:]) {
		return header{}, false
	}
	h := header{
		version: int(binary.LittleEndian.Uint16(b[8:])),
		base:    binary.LittleEndian.Uint64(b[12:]),
		settled: binary.LittleEndian.Uint64(b[20:]),
		prev:    binary.LittleEndian.Uint32(b[28:]),
		run:     string(b[33 : 33+min(int(b[32]), maxRunID)]),
		first:   int64(binary.LittleEndian.Uint32(b[97:])),
		logEnd: LogPosition{
			Offset: int64(binary.LittleEndian.Uint64(b[101:])),
			Prev:   LogChain{N: binary.LittleEndian.Uint64(b[109:]), Sum: binary.LittleEndian.Uint32(b[117:])},
		},
	}
	return h, true
}

// segment is a file that records are added to.
type segment struct {
	number int
	f      file
	end    int64 // after the last durable record
	spent  bool  // failed permanently, nothing more is written to it
}

func (s *segment) name() string { return segmentName(s.number) }

// createSegment creates a segment that already contains frames. The number must not have been used before, not even by
// an attempt that failed, because its name may reappear after a crash.
func createSegment(dir directory, number int, h header, frames []byte) (*segment, error) {
	crash("journal.segment.create.before")
	f, err := publish(dir, "journal.segment", segmentName(number), h.encode(), frames)
	if err != nil {
		return nil, err
	}
	return &segment{number: number, f: f, end: headerSize + int64(len(frames))}, nil
}

// publish writes a file, which gets its name when its contents are durable, so that it never appears without them: a
// crash leaves either what was there before or all of it. kind begins the names of its crash points.
func publish(dir directory, kind, name string, parts ...[]byte) (f file, err error) {
	scratch := name + scratchSuffix
	if err := ignoreMissing(dir.Unlink(scratch)); err != nil {
		return nil, err
	}
	if f, err = dir.Open(scratch, openCreate); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			f.Close()
			err = errors.Join(err, ignoreMissing(dir.Unlink(scratch)))
		}
	}()
	crash(kind + ".write.before")
	size := int64(0)
	for _, part := range parts {
		if len(part) == 0 {
			continue
		}
		if _, err := f.WriteAt(part, size); err != nil {
			return f, err
		}
		size += int64(len(part))
	}
	crash(kind + ".sync.before")
	if err := f.Sync(); err != nil {
		return f, err
	}
	crash(kind + ".rename.before")
	if err := dir.Rename(scratch, name); err != nil {
		return f, err
	}
	crash(kind + ".syncdir.before")
	if err := dir.Sync(); err != nil {
		return f, err
	}
	crash(kind + ".syncdir.after")
	return f, nil
}

// removeSegments removes the segments with smaller numbers, except the latest of them, up to so many bytes. Errors do
// not matter: a segment that is left over does not count, and is removed later.
func removeSegments(dir directory, below int, history int64) {
	names, err := dir.Names()
	if err != nil {
		return
	}
	var old []int
	for _, name := range names {
		if n, ok := segmentNumber(name); ok && n < below {
			old = append(old, n)
		}
	}
	slices.SortFunc(old, func(a, b int) int { return b - a })
	for _, n := range old {
		if history > 0 {
			info, err := statFile(dir, segmentName(n))
			if history -= info.Size; err == nil && history >= 0 {
				continue
			}
			history = 0 // older ones would be cut off from the rest
		}
		crash("journal.segment.unlink.before")
		_ = dir.Unlink(segmentName(n))
	}
}

func ignoreMissing(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}
