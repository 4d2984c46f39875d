package history

import (
	"math/bits"
	"sync"
	"sync/atomic"
)

// firstExtent is the size of a strip's first extent; each further one is twice as
// large as the one before.
const firstExtent = 4 << 10

// maxExtents is more than any strip can have.
const maxExtents = 48

// area is one file that many strips share, so that a thread needs no file of its own. The unused part of an
// extent is a hole in the file and takes no room.
type area struct {
	disk file

	mu   sync.Mutex
	next int64
	free [maxExtents][]int64
}

func (a *area) take(k int) int64 {
	a.mu.Lock()
	defer a.mu.Unlock()
	if n := len(a.free[k]); n > 0 {
		off := a.free[k][n-1]
		a.free[k] = a.free[k][:n-1]
		return off
	}
	off := a.next
	a.next += firstExtent << k
	return off
}

// strip is a file in an area. One goroutine writes, any may read what was written.
type strip struct {
	area *area
	at   [maxExtents]atomic.Int64 // offset of an extent, plus one; 0: it does not exist yet
}

// extent returns the extent that contains a byte, and the offset of the byte in it.
func extent(off int64) (k int, within int64) {
	k = bits.Len64(uint64(off)/firstExtent+1) - 1
	return k, off - firstExtent*(1<<k-1)
}

// do calls f with the parts of p, one for each extent.
func (s *strip) do(p []byte, off int64, grow bool, f func([]byte, int64) (int, error)) (done int, err error) {
	for len(p) > 0 {
		k, within := extent(off)
		at := s.at[k].Load() - 1
		if at < 0 {
			if !grow {
				return done, errGone
			}
			at = s.area.take(k)
			s.at[k].Store(at + 1)
		}
		n := min(int64(len(p)), firstExtent<<k-within)
		got, err := f(p[:n], at+within)
		done += got
		if int64(got) < n {
			return done, err
		}
		p, off = p[n:], off+n
	}
	return done, nil
}

func (s *strip) WriteAt(p []byte, off int64) (int, error) {
	return s.do(p, off, true, s.area.disk.WriteAt)
}

func (s *strip) ReadAt(p []byte, off int64) (int, error) {
	return s.do(p, off, false, s.area.disk.ReadAt)
}

// release frees the extents. The strip must not be used afterwards.
func (s *strip) release() {
	s.area.mu.Lock()
	defer s.area.mu.Unlock()
	for k := range s.at {
		if at := s.at[k].Swap(0) - 1; at >= 0 {
			s.area.free[k] = append(s.area.free[k], at)
		}
	}
}
