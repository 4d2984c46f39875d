package journal

import (
	"errors"
	"fmt"
	"io"
)

// window reads a file forwards through one buffer, which grows only as far as the requested bytes really exist.
type window struct {
	f    file
	size int64
	buf  []byte
	off  int64 // where buf begins
}

const windowSize = 1 << 20

// reset points the window at another file and keeps its buffer.
func (w *window) reset(f file, size int64) {
	w.f, w.size, w.off = f, size, 0
	w.buf = w.buf[:0]
}

// errRead says that a part of the disk cannot be read. Other read errors say nothing about the file's content.
var errRead = errors.New("the disk cannot be read")

// at returns the n bytes at off, which must not reach beyond the end. They are valid until the next call.
func (w *window) at(off, n int64) ([]byte, error) {
	if off >= w.off && off+n <= w.off+int64(len(w.buf)) {
		return w.buf[off-w.off:][:n], nil
	}
	want := min(max(n, windowSize), w.size-off)
	if want < n {
		return nil, errCutOff
	}
	var kept int
	if off >= w.off && off < w.off+int64(len(w.buf)) {
		kept = copy(w.buf, w.buf[off-w.off:])
	}
	if int64(cap(w.buf)) < want {
		grown := make([]byte, want)
		copy(grown, w.buf[:kept])
		w.buf = grown
	}
	w.buf, w.off = w.buf[:want], off
	got, err := readAt(w.f, w.buf[kept:], off+int64(kept))
	w.buf = w.buf[:kept+got]
	if int64(len(w.buf)) >= n {
		return w.buf[:n], nil
	}
	if err == nil || errors.Is(err, io.EOF) {
		return nil, errCutOff // the file shrank meanwhile
	}
	return nil, err
}

// readAt reads a bad part of the disk up to three times: what cannot be read counts as damage, which must not
// happen for a transient error.
func readAt(f file, b []byte, off int64) (n int, err error) {
	for range 3 {
		n, err = f.ReadAt(b, off)
		if err == nil || errors.Is(err, io.EOF) || !segmentSpent(err) {
			return n, err
		}
	}
	return n, fmt.Errorf("%w: %w", errRead, err)
}
