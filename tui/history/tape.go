package history

import (
	"errors"
	"io"
	"sync"
)

// file is what a tape needs of a file.
type file interface {
	io.ReaderAt
	io.WriterAt
}

// errGone reports that a part of a tape was lost.
var errGone = errors.New("it could not be kept")

// tape is a sequence of bytes that grows at its end. The end is in a ring in memory, and everything except
// the pending bytes is in a file. One goroutine appends and rewrites; any may read.
//
// The writer reads ring, end and flushed without the lock, because only the writer changes them; it takes
// the lock to change them. Readers take it to read them.
type tape struct {
	disk   file // nil: there is none
	health *health
	chunk  int // bytes that may be pending
	most   int // bytes of the ring once it has grown

	mu       sync.Mutex
	ring     []byte // byte i of the tape is ring[i%len(ring)]
	end      int64
	flushed  int64 // all before is in the file, except the hole
	holeFrom int64 // start of what could not be written before its room was needed
	holeTo   int64
}

func newTape(disk file, h *health, chunk, most int) *tape {
	return &tape{disk: disk, health: h, chunk: chunk, most: most}
}

func (t *tape) len() int64 {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.end
}

// base returns the first byte that is in the ring.
func (t *tape) base() int64 { return max(t.end-int64(len(t.ring)), 0) }

// append adds p, which must not be longer than half of the ring, and returns its offset.
func (t *tape) append(p []byte) int64 {
	off := t.end
	t.mu.Lock()
	t.grow(len(p))
	t.put(off, p)
	t.end += int64(len(p))
	t.mu.Unlock()
	if t.end-t.flushed >= int64(t.chunk) {
		t.flush()
	}
	return off
}

// full reports whether n more bytes, together with the pending ones, must be written to the disk.
func (t *tape) full(n int) bool { return t.end+int64(n)-t.flushed >= int64(t.chunk) }

// skip excludes everything before an offset from writing: it will not be read here.
func (t *tape) skip(upTo int64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.flushed = max(t.flushed, upTo)
}

// grow makes the ring larger, as long as it has not wrapped around.
func (t *tape) grow(n int) {
	size := max(len(t.ring), min(1<<10, t.most))
	for size < t.most && int64(size) < t.end+int64(n) {
		size = min(2*size, t.most)
	}
	if size > len(t.ring) {
		ring := make([]byte, size)
		copy(ring, t.ring)
		t.ring = ring
	}
}

// put copies the part of p that belongs at off into the ring, if that is still there.
func (t *tape) put(off int64, p []byte) {
	if base := max(off+int64(len(p)), t.end) - int64(len(t.ring)); off < base {
		p = p[min(base-off, int64(len(p))):]
		off = base
	}
	for len(p) > 0 {
		n := copy(t.ring[off%int64(len(t.ring)):], p)
		p, off = p[n:], off+int64(n)
	}
}

// flush writes the pending bytes, if the disk accepts them.
func (t *tape) flush() {
	if t.disk == nil || !t.health.may() {
		return
	}
	from := max(t.flushed, t.base())
	for off := from; off < t.end; {
		at := off % int64(len(t.ring))
		part := t.ring[at:min(int64(len(t.ring)), at+t.end-off)]
		if _, err := t.disk.WriteAt(part, off); err != nil {
			t.health.failed(err)
			return
		}
		off += int64(len(part))
	}
	t.health.worked()
	t.mu.Lock()
	defer t.mu.Unlock()
	if from > t.flushed {
		if t.holeTo == 0 {
			t.holeFrom = t.flushed
		}
		t.holeTo = from
	}
	t.flushed = t.end
}

// rewrite replaces what was written at off.
func (t *tape) rewrite(off int64, p []byte) {
	t.mu.Lock()
	t.put(off, p)
	t.mu.Unlock()
	if t.disk == nil || off >= t.flushed || off < t.holeTo && off+int64(len(p)) > t.holeFrom {
		return
	}
	if _, err := t.disk.WriteAt(p, off); err != nil {
		t.health.failed(err)
	}
}

// place is where a part of a tape is.
type place uint8

const (
	onDisk place = iota
	inMemory
	gone
)

// where returns where n bytes at off are. Only the writer may call it.
func (t *tape) where(off, n int64) place {
	switch {
	case off < t.holeTo && off+n > t.holeFrom:
		return gone
	case off+n <= t.flushed:
		return onDisk
	case off >= t.base():
		return inMemory
	}
	return gone
}

// whole reports that nothing is lost for lack of a disk at present. Only the writer may call it.
func (t *tape) whole() bool { return t.base() <= t.flushed }

// readAt fills p with what was written at off.
func (t *tape) readAt(p []byte, off int64) error {
	t.mu.Lock()
	end := off + int64(len(p))
	if off < 0 || end > t.end {
		t.mu.Unlock()
		return errGone
	}
	n := min(max(t.base()-off, 0), int64(len(p))) // from the file, the others from the ring
	if n > 0 && (t.disk == nil || off+n > t.flushed || off < t.holeTo && off+n > t.holeFrom) {
		t.mu.Unlock()
		return errGone
	}
	for i := n; i < int64(len(p)); {
		i += int64(copy(p[i:], t.ring[(off+i)%int64(len(t.ring)):]))
	}
	t.mu.Unlock()
	if n == 0 {
		return nil
	}
	if got, err := t.disk.ReadAt(p[:n], off); int64(got) < n {
		if err == nil {
			err = io.ErrUnexpectedEOF
		}
		t.health.unreadable(err)
		return err
	}
	return nil
}
