package transcript

import (
	"bytes"
	"errors"
	"io"

	"github.com/arbiter-cli/arbiter/transcript/jsonl"
)

const (
	// firstBlock is the size of the first read. It contains most newest readings.
	firstBlock = 64 << 10
	// maxBlock is how much is read at once farther back.
	maxBlock = 1 << 20
)

// backward yields the lines of a file from the last to the first, in blocks from
// its end. It keeps what is there of one line, no more than jsonl.MaxLine, in a buffer
// that grows by doubling, so that every byte is read once and copied a few times
// at most. Longer lines are passed over, and so is a last line without an end.
type backward struct {
	r     io.ReaderAt
	start int64 // the buffer holds the file from here
	end   int64 // where the line that is to come ends: the offset of its \n

	buf    []byte
	breaks []int64 // offsets of the line ends in the buffer before end, ascending
	block  int
	begun  bool // the first line end was met
	long   bool // the line that ends at end is too long to keep
	over   bool // the first line was returned
	looked int64
	gaveUp bool
}

func newBackward(r io.ReaderAt, size int64) *backward {
	return &backward{r: r, start: size, end: size, block: firstBlock}
}

// previous returns the line before the one that it returned last, without its \n,
// and its offset; it is good until the next call. io.EOF says that there is none:
// the beginning of the file has come, or MaxLook bytes have been read (gaveUp).
func (b *backward) previous() (line []byte, at int64, err error) {
	for {
		if n := len(b.breaks); n > 0 {
			from, to := b.breaks[n-1]+1, b.end
			b.breaks, b.end = b.breaks[:n-1], from-1
			if b.begun && !b.long {
				return b.buf[from-b.start : to-b.start], from, nil
			}
			b.begun, b.long = true, false
			continue
		}
		switch {
		case b.start == 0 && (b.over || !b.begun || b.long):
			return nil, 0, io.EOF
		case b.start == 0:
			b.over = true
			return b.buf[:b.end], 0, nil
		case b.looked >= MaxLook:
			b.gaveUp = true
			return nil, 0, io.EOF
		}
		if err := b.load(); err != nil {
			return nil, 0, err
		}
	}
}

// load reads what stands before the buffer, and keeps what is there of the line
// to come.
func (b *backward) load() error {
	if b.end-b.start > jsonl.MaxLine {
		b.long = true
	}
	if !b.begun || b.long {
		b.end = b.start // it will not be read
		if cap(b.buf) > maxBlock {
			b.buf = nil
		}
	}
	kept := int(b.end - b.start)
	// a line of jsonl.MaxLine and the end before it
	size := int(min(int64(max(b.block, 2*kept)), jsonl.MaxLine+1, b.end))
	b.block = min(2*b.block, maxBlock)
	more := size - kept
	buf := b.buf
	if cap(buf) < size {
		buf = make([]byte, size)
	}
	buf = buf[:size]
	copy(buf[more:], b.buf[:kept]) // may overlap
	n, err := b.r.ReadAt(buf[:more], b.start-int64(more))
	if n < more {
		if err == nil || errors.Is(err, io.EOF) {
			err = io.ErrUnexpectedEOF // the file was cut meanwhile
		}
		return err
	}
	b.buf, b.start, b.looked = buf, b.start-int64(more), b.looked+int64(more)
	for i := 0; i < more; {
		n := bytes.IndexByte(buf[i:more], '\n')
		if n < 0 {
			break
		}
		b.breaks = append(b.breaks, b.start+int64(i+n))
		i += n + 1
	}
	return nil
}
