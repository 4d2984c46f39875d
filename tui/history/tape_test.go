package history

import (
	"bytes"
	"errors"
	"io"
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// memFile is a file in memory that may be full, or fail.
type memFile struct {
	mu     sync.Mutex
	b      []byte
	space  int // bytes it takes; 0: any number
	broken bool
}

var errFull, errBroken = errors.New("no space left on device"), errors.New("input/output error")

func (f *memFile) WriteAt(p []byte, off int64) (int, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.broken {
		return 0, errBroken
	}
	n := len(p)
	if f.space > 0 {
		n = max(min(n, f.space-int(off)), 0)
	}
	if grow := int(off) + n - len(f.b); grow > 0 {
		f.b = append(f.b, make([]byte, grow)...)
	}
	if copy(f.b[off:], p[:n]); n < len(p) {
		return n, errFull
	}
	return n, nil
}

func (f *memFile) ReadAt(p []byte, off int64) (int, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.broken {
		return 0, errBroken
	}
	if off >= int64(len(f.b)) {
		return 0, io.EOF
	}
	n := copy(p, f.b[off:])
	if n < len(p) {
		return n, io.EOF
	}
	return n, nil
}

func (f *memFile) set(space int, broken bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.space, f.broken = space, broken
}

// TestTape compares a tape, on a file, on a strip and without either, with a slice.
func TestTape(t *testing.T) {
	d := rand.New(rand.NewPCG(1, 2))
	for name, disk := range map[string]file{
		"file": &memFile{}, "strip": &strip{area: &area{disk: &memFile{}}}, "none": nil,
	} {
		t.Run(name, func(t *testing.T) {
			tp := newTape(disk, &health{}, 700, 3000)
			var want []byte
			for range 30_000 {
				p := make([]byte, d.IntN(1+d.IntN(1000)))
				for i := range p {
					p[i] = byte(d.Uint32())
				}
				switch {
				case d.IntN(3) == 0:
					off := tp.append(p)
					if off != int64(len(want)) {
						t.Fatalf("appended at %d, not %d", off, len(want))
					}
					want = append(want, p...)
				case d.IntN(10) == 0 && len(p) <= len(want):
					off := d.IntN(len(want) - len(p) + 1)
					tp.rewrite(int64(off), p)
					copy(want[off:], p)
				case len(p) > 0:
					off := int64(d.IntN(len(want) + 100))
					end := off + int64(len(p))
					err := tp.readAt(p, off)
					if end > int64(len(want)) || disk == nil && off < tp.base() {
						if err == nil {
							t.Fatalf("%d bytes at %d of %d could be read", len(p), off, len(want))
						}
					} else if err != nil || !bytes.Equal(p, want[off:end]) {
						t.Fatalf("%d bytes at %d of %d: %v, or not the same", len(p), off, len(want), err)
					}
				}
			}
			if len(tp.ring) != 3000 {
				t.Errorf("the ring has %d bytes", len(tp.ring))
			}
		})
	}
}

// TestStripsShareAFile fills many strips at once and releases some.
func TestStripsShareAFile(t *testing.T) {
	a := &area{disk: &memFile{}}
	strips := make([]*strip, 5)
	for i := range strips {
		strips[i] = &strip{area: a}
	}
	block := func(i, n int) []byte { return bytes.Repeat([]byte{byte(16*i + n%16)}, 1000) }
	for n := range 100 {
		for i, s := range strips {
			if _, err := s.WriteAt(block(i, n), int64(n)*1000); err != nil {
				t.Fatal(err)
			}
		}
	}
	size := a.next
	strips[1].release()
	strips[3].release()
	strips[1], strips[3] = &strip{area: a}, &strip{area: a}
	for n := range 100 {
		for _, i := range []int{1, 3} {
			if _, err := strips[i].WriteAt(block(i, n), int64(n)*1000); err != nil {
				t.Fatal(err)
			}
		}
	}
	if a.next != size {
		t.Errorf("%d bytes, %d before some were given back", a.next, size)
	}
	got := make([]byte, 1000)
	for n := range 100 {
		for i, s := range strips {
			if _, err := s.ReadAt(got, int64(n)*1000); err != nil || !bytes.Equal(got, block(i, n)) {
				t.Fatalf("strip %d, block %d: %v, or not the same", i, n, err)
			}
		}
	}
	if _, err := strips[0].ReadAt(got, 10<<20); err == nil {
		t.Error("what was never written could be read")
	}
}

// TestTapeOnADiskThatFails: what is lost is the oldest data that the disk did not accept, and once it works
// again, nothing else is missing.
func TestTapeOnADiskThatFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, h := &memFile{}, &health{}
		tp := newTape(f, h, 100, 1000)
		var want []byte
		add := func(blocks int) {
			for range blocks {
				p := bytes.Repeat([]byte{byte(len(want) / 50)}, 50)
				tp.append(p)
				want = append(want, p...)
			}
		}
		read := func(off int) bool {
			t.Helper()
			p := make([]byte, 50)
			err := tp.readAt(p, int64(off))
			if err == nil && !bytes.Equal(p, want[off:off+50]) {
				t.Fatalf("at %d: not what was written", off)
			}
			return err == nil
		}
		check := func(lostFrom, lostTo int) {
			t.Helper()
			for off := 0; off < len(want); off += 50 {
				if ok := read(off); ok != (off < lostFrom || off >= lostTo) {
					t.Errorf("at %d of %d: read: %v", off, len(want), ok)
				}
			}
		}
		add(40)
		check(0, 0)
		f.set(2000, false)
		add(21) // 1050 that the ring of 1000 does not hold
		if !unwritable(h) || !errors.Is(h.err(), errFull) {
			t.Errorf("problem: %v", h.err())
		}
		check(2000, 2050)
		add(40)
		check(2000, 4050)
		f.set(0, false)
		add(2) // it does not retry every time
		if !unwritable(h) {
			t.Error("it was tried again at once")
		}
		time.Sleep(again)
		add(2)
		if h.err() != nil {
			t.Errorf("problem: %v", h.err())
		}
		check(2000, 4200)
		add(100)
		check(2000, 4200)
		f.set(0, true)
		if read(0) || h.err() == nil {
			t.Errorf("a broken disk was read; problem: %v", h.err())
		}
	})
}

// unwritable reports whether the last report was that data could not be stored.
func unwritable(h *health) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.write != nil
}
