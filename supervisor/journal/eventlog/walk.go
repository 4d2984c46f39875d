package eventlog

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
)

// Each passes the entries from a position on to each, oldest first. It skips damage and reports it in Health.
// It reads as far as the file reached when it began, and stops early with the error of each, or of ctx; Health
// is then about what was read. An entry's content is valid only during the call that receives it.
func (l *Log) Each(ctx context.Context, from Position, each func(Entry) error) (Health, error) {
	h := Health{Next: from}
	size, err := l.source.Size()
	if err == nil && size < from.Offset {
		err = fmt.Errorf("it has %d bytes and is shorter than it was", size)
	}
	if err != nil {
		return h, failed(from.Offset, err)
	}
	room := min(size-from.Offset, 256<<10) // small, for following a log as it grows
	in := bufio.NewReaderSize(io.NewSectionReader(l.source, from.Offset, size-from.Offset), int(room))
	var (
		buf    []byte
		at     = from
		faulty []Damage // after the last good line
	)
	for ctx.Err() == nil {
		var line []byte
		var length int64
		line, length, buf, err = nextLine(in, buf[:0])
		if errors.Is(err, io.EOF) {
			h.Torn = size - h.Next.Offset
			return h, nil
		}
		if err != nil && !errors.Is(err, errLong) {
			return h, failed(at.Offset, err)
		}
		next := at
		next.Offset += length
		next.Prev.Sum, _ = statedSum(line) // right or not: the next line was chained to this one
		var e Entry
		if err == nil {
			e, err = Parse(line, at.Prev.Sum)
		}
		if err == nil && e.N <= at.Prev.N {
			err = errCount
		}
		if err != nil {
			if len(faulty)+len(h.Damage) < MaxDamage {
				faulty = append(faulty, Damage{at.Offset, err.Error()})
			}
			at = next
			continue
		}
		e.Position = Position{Offset: at.Offset, Prev: Chain{N: e.N - 1, Sum: at.Prev.Sum}}
		next.Prev.N = e.N
		h.Damage, faulty = append(h.Damage, faulty...), faulty[:0]
		at, h.Next = next, next
		if err := each(e); err != nil {
			return h, err
		}
	}
	return h, ctx.Err()
}

// nextLine reads a line, without its line feed, and returns its length with the line feed. A part of a line at
// the end is io.EOF. Of a line that is too long only the beginning is read.
func nextLine(in *bufio.Reader, buf []byte) (line []byte, length int64, grown []byte, err error) {
	for {
		part, err := in.ReadSlice('\n')
		length += int64(len(part))
		whole := err == nil
		if whole && length == int64(len(part)) {
			return part[:len(part)-1], length, buf, nil // the common case: nothing is copied
		}
		if len(buf) <= MaxLine {
			buf = append(buf, part...)
		}
		switch {
		case whole && length-1 > MaxLine:
			return buf, length, buf, errLong
		case whole:
			return buf[:length-1], length, buf, nil
		case !errors.Is(err, bufio.ErrBufferFull):
			return nil, length, buf, err
		}
	}
}

// backChunk is how much is read at once going backward.
const backChunk = 64 << 10

// Backward passes the entries before a position to each, newest first, until it returns false; the zero
// Position is the end of the file. It skips damage and a torn end. An entry's content is valid only during the
// call that receives it.
func (l *Log) Backward(ctx context.Context, before Position, each func(Entry) bool) error {
	in := backReader{source: l.source, start: before.Offset}
	if before.Offset == 0 {
		if err := in.begin(l.source.Size); err != nil {
			return err
		}
	}
	lowest := ^uint64(0)
	line, at, err := in.line()
	for err == nil && ctx.Err() == nil {
		var prev uint32
		older, olderAt, olderErr := in.line()
		if olderErr == nil {
			prev, _ = statedSum(older)
		}
		if e, err := Parse(line, prev); err == nil && e.N < lowest {
			lowest = e.N
			e.Position = Position{Offset: at, Prev: Chain{N: e.N - 1, Sum: prev}}
			if !each(e) {
				return nil
			}
		}
		line, at, err = older, olderAt, olderErr
	}
	if err == nil || errors.Is(err, io.EOF) {
		return ctx.Err()
	}
	return err
}

// backReader reads lines from the end to the beginning.
type backReader struct {
	source io.ReaderAt
	start  int64  // where buf begins in the file
	buf    []byte // read and not returned yet; it ends with a line
}

// begin moves to the end of the last whole line.
func (b *backReader) begin(size func() (int64, error)) (err error) {
	if b.start, err = size(); err != nil {
		return failed(0, err)
	}
	for {
		if i := bytes.LastIndexByte(b.buf, '\n'); i >= 0 || b.start == 0 {
			b.buf = b.buf[:i+1]
			return nil
		}
		if err := b.more(); err != nil {
			return err
		}
	}
}

// line returns the last line, without its line feed; its bytes stay valid.
func (b *backReader) line() (line []byte, at int64, err error) {
	for {
		if n := len(b.buf); n > 0 {
			if i := bytes.LastIndexByte(b.buf[:n-1], '\n'); i >= 0 || b.start == 0 {
				line, b.buf = b.buf[i+1:n-1:n-1], b.buf[:i+1]
				return line, b.start + int64(i) + 1, nil
			}
		}
		if b.start == 0 {
			return nil, 0, io.EOF
		}
		if err := b.more(); err != nil {
			return nil, 0, err
		}
	}
}

// more reads what is before buf: as much as buf holds, so that a long line is not copied often.
func (b *backReader) more() error {
	if len(b.buf) > MaxLine {
		return failed(b.start, errLong)
	}
	n := min(b.start, int64(max(backChunk, len(b.buf))))
	buf := make([]byte, n, n+int64(len(b.buf)))
	if _, err := b.source.ReadAt(buf, b.start-n); err != nil {
		return failed(b.start-n, err)
	}
	b.buf, b.start = append(buf, b.buf...), b.start-n
	return nil
}
