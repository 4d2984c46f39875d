package jsonl

import (
	"bytes"
	"io"
)

const (
	// MaxLine bounds a line where nothing else is said. Lines of 10 MB were seen: a
	// large prompt stands in two of them.
	MaxLine = 64 << 20
	// ExcerptLen is how many bytes of an over-long line are kept to show.
	ExcerptLen = 512
	// keepBuffer is the largest buffer kept from one long line to the next.
	keepBuffer = 1 << 20
	// readBuffer is how much is read at once.
	readBuffer = 64 << 10
	// maxEmptyReads bounds how often a reader may return nothing and no error.
	maxEmptyReads = 100
)

// Line is a line of a stream. Offsets are in bytes from the stream's beginning.
type Line struct {
	// Data is the line without its end (\n or \r\n), of an over-long one its first
	// bytes. It is valid until the next call of the Splitter or LineReader that made the Line.
	Data []byte
	// Start is the offset of its first byte, End that of the byte behind its \n: what
	// to persist when the line has been dealt with.
	Start, End int64
	// Oversize says that the line was longer than allowed. It is reported once, when
	// its end has come.
	Oversize bool
}

// Splitter makes lines of bytes that come in chunks. A line exists only when its
// \n is there; how the bytes were cut into chunks makes no difference. No byte
// is special but \n, and a \r before it: NULs, byte order marks and invalid UTF-8
// are the reader's matter.
//
//	s.Feed(chunk)
//	for line, ok := s.Next(); ok; line, ok = s.Next() { … }
//
// Most lines are handed out as parts of the chunk. Only those that chunks end
// in are copied, so that it holds at most one line of at most Max bytes. The
// zero value is ready and begins at offset 0. It has one owner.
type Splitter struct {
	// Max is the length of the longest line handed out, in bytes before the \n. 0: MaxLine.
	Max int

	chunk []byte // what was fed and not yet looked at
	carry []byte // of the line whose end has not come; of an over-long one its beginning
	long  bool   // more than Max of that line have come
	lent  bool   // carry is the line handed out last
	start int64  // offset of that line
	at    int64  // offset of chunk
}

// Reset forgets what was fed. The next chunk begins at offset.
func (s *Splitter) Reset(offset int64) {
	*s = Splitter{Max: s.Max, start: offset, at: offset, carry: s.carry[:0]}
	s.trim()
}

// Offset is where the first incomplete line begins: behind the last \n handed out.
func (s *Splitter) Offset() int64 { return s.start }

// Fed is the offset behind the last byte fed.
func (s *Splitter) Fed() int64 { return s.at + int64(len(s.chunk)) }

// Feed adds a chunk, which must not change until Next has returned false. It
// panics when there still are lines of the last one.
func (s *Splitter) Feed(chunk []byte) {
	if len(s.chunk) > 0 {
		panic("jsonl: Splitter.Feed before Next has returned false")
	}
	s.chunk = chunk
}

// Next returns the next whole line, valid until the next call of any method, or
// false when more has to be fed.
func (s *Splitter) Next() (line Line, ok bool) {
	s.takeBack()
	i := bytes.IndexByte(s.chunk, '\n')
	if i < 0 {
		s.keep(s.chunk)
		s.at += int64(len(s.chunk))
		s.chunk = nil
		return Line{}, false
	}
	part := s.chunk[:i]
	s.chunk = s.chunk[i+1:]
	line.Start = s.start
	s.at += int64(i + 1)
	s.start = s.at
	line.End = s.at
	if len(s.carry) == 0 && !s.long && i <= s.max() {
		line.Data = trimCR(part) // the common case copies nothing
		return line, true
	}
	s.keep(part)
	s.lent = true
	line.Data, line.Oversize = s.carry, s.long
	if !s.long {
		line.Data = trimCR(s.carry)
	}
	return line, true
}

// Rest returns what was fed behind the last \n, as it is; valid until the next
// call of another method. Only when Next has returned false it is all of it.
func (s *Splitter) Rest() (rest Line, ok bool) {
	s.takeBack()
	return Line{Data: s.carry, Start: s.start, End: s.at, Oversize: s.long}, s.at > s.start
}

// Flush hands out what Rest returns as if its end had come, where the stream has
// ended and that is as good. It is valid until the next call.
func (s *Splitter) Flush() (line Line, ok bool) {
	line, ok = s.Rest()
	if !line.Oversize {
		line.Data = trimCR(line.Data)
	}
	s.start, s.lent = s.at, ok
	return line, ok
}

func (s *Splitter) takeBack() {
	if s.lent {
		s.lent, s.long, s.carry = false, false, s.carry[:0]
		s.trim()
	}
}

// keep copies part of a line. Of one that has become too long only the beginning
// stays.
func (s *Splitter) keep(part []byte) {
	switch {
	case s.long:
	case len(s.carry)+len(part) <= s.max():
		s.carry = append(s.carry, part...)
	default:
		s.long = true
		n := min(ExcerptLen, s.max())
		if len(s.carry) >= n {
			s.carry = s.carry[:n]
		} else {
			s.carry = append(s.carry, part[:n-len(s.carry)]...)
		}
		if cap(s.carry) > keepBuffer {
			s.carry = bytes.Clone(s.carry)
		}
	}
}

func (s *Splitter) trim() {
	if cap(s.carry) > keepBuffer {
		s.carry = nil
	}
}

func (s *Splitter) max() int {
	if s.Max <= 0 {
		return MaxLine
	}
	return s.Max
}

func trimCR(line []byte) []byte { return bytes.TrimSuffix(line, []byte("\r")) }

// LineReader reads the lines of an io.Reader, which it never asks for more before
// it has handed out what it has. bufio.Scanner would end for good at the
// first long one. It has one owner.
type LineReader struct {
	Splitter Splitter
	r        io.Reader
	buf      []byte
	err      error
}

// NewLineReader reads lines of at most max bytes (0: MaxLine), counting from
// offset 0.
func NewLineReader(r io.Reader, max int) *LineReader {
	return &LineReader{Splitter: Splitter{Max: max}, r: r, buf: make([]byte, readBuffer)}
}

// Next returns the next whole line, valid until the next call. When r has ended
// or failed it returns r's error, from then on: what stands behind the last \n is
// Splitter.Rest, or Splitter.Flush.
func (l *LineReader) Next() (Line, error) {
	for empty := 0; ; {
		if line, ok := l.Splitter.Next(); ok {
			return line, nil
		}
		if l.err != nil {
			return Line{}, l.err
		}
		n, err := l.r.Read(l.buf)
		l.Splitter.Feed(l.buf[:n])
		l.err = err
		if n > 0 {
			empty = 0
		} else if empty++; err == nil && empty >= maxEmptyReads {
			l.err = io.ErrNoProgress
		}
	}
}

// NextOrLast is Next for a stream whose last line counts without its end, too. The
// error comes with the call after that line.
func (l *LineReader) NextOrLast() (Line, error) {
	line, err := l.Next()
	if err != nil {
		if last, ok := l.Splitter.Flush(); ok {
			return last, nil
		}
	}
	return line, err
}
