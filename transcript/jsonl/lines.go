package jsonl

import (
	"bytes"
	"cmp"
	"io"
)

const (
	// MaxLine is the default limit of a line's length. Lines of 10 MB were seen: a large prompt is in two of
	// them.
	MaxLine = 64 << 20
	// ExcerptLen is how many bytes of a too long line are kept, to be shown.
	ExcerptLen = 512
	// keepBuffer is the size of the largest buffer that is kept after a long line.
	keepBuffer = 1 << 20
	// readBuffer is how much is read at once.
	readBuffer = 64 << 10
	// maxEmptyReads is how often in a row a reader may return no data and no error.
	maxEmptyReads = 100
)

// Line is a line of a stream. Offsets are in bytes from the stream's beginning.
type Line struct {
	// Data is the line without its end (\n or \r\n), or the first bytes of a too long line. It is valid until
	// the next call of the Splitter or LineReader that returned the Line.
	Data []byte
	// Start is the offset of the first byte, End that of the byte after the \n: the offset to store when the
	// line has been processed.
	Start, End int64
	// Oversize says that the line was longer than allowed. Such a line is returned once, when its end has come.
	Oversize bool
}

// Splitter splits bytes that come in chunks into lines. A line is complete only when its \n has come; how the
// bytes are divided into chunks makes no difference. No byte is special except \n, and a \r before it: the
// reader of the lines must handle NULs, byte order marks and invalid UTF-8.
//
//	s.Feed(chunk)
//	for line, ok := s.Next(); ok; line, ok = s.Next() { … }
//
// Most lines are returned as parts of the chunk. Only lines that cross the end of a chunk are copied, so that a
// Splitter holds at most one line of at most Max bytes. The zero value is ready to use and begins at offset 0.
// It has one owner.
type Splitter struct {
	// Max is the length of the longest line returned whole, in bytes before the \n. 0: MaxLine.
	Max int

	chunk []byte // fed, but not processed yet
	carry []byte // the incomplete line so far; only the beginning if it is too long
	long  bool   // that line has more than Max bytes
	lent  bool   // carry is the line returned last
	start int64  // offset of that line
	at    int64  // offset of chunk
}

// Reset drops what was fed. The next chunk begins at offset.
func (s *Splitter) Reset(offset int64) {
	*s = Splitter{Max: s.Max, start: offset, at: offset, carry: s.carry[:0]}
	s.trim()
}

// Fed returns the offset after the last byte fed.
func (s *Splitter) Fed() int64 { return s.at + int64(len(s.chunk)) }

// Feed adds a chunk, which must not change until Next has returned false. It panics if the last chunk still has
// lines.
func (s *Splitter) Feed(chunk []byte) {
	if len(s.chunk) > 0 {
		panic("jsonl: Splitter.Feed before Next has returned false")
	}
	s.chunk = chunk
}

// Next returns the next whole line, which is valid until the next call of any method, or false if more must be
// fed.
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

// Rest returns the unchanged bytes after the last \n, which are valid until the next call of another method.
// They are complete only after Next has returned false.
func (s *Splitter) Rest() (rest Line, ok bool) {
	s.takeBack()
	return Line{Data: s.carry, Start: s.start, End: s.at, Oversize: s.long}, s.at > s.start
}

// Flush returns the bytes of Rest as a line, for a stream whose last line counts without its end. The line is
// valid until the next call.
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

// keep copies part of a line. Of a line that has become too long it keeps only the beginning.
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

func (s *Splitter) max() int { return cmp.Or(s.Max, MaxLine) }

func trimCR(line []byte) []byte { return bytes.TrimSuffix(line, []byte("\r")) }

// LineReader reads the lines of an io.Reader. It reads more only after it has returned all complete lines.
// (bufio.Scanner would stop for good at the first long line.) It has one owner.
type LineReader struct {
	Splitter Splitter
	r        io.Reader
	buf      []byte
	err      error
}

// NewLineReader reads lines of at most max bytes (0: MaxLine), with offsets from 0.
func NewLineReader(r io.Reader, max int) *LineReader {
	return &LineReader{Splitter: Splitter{Max: max}, r: r, buf: make([]byte, readBuffer)}
}

// Next returns the next whole line, which is valid until the next call. When r has ended or failed, this and
// all later calls return r's error. Splitter.Rest or Splitter.Flush then return what follows the last \n.
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

// NextOrLast is Next for a stream whose last line counts even without its end. The error comes with the call
// after that line.
func (l *LineReader) NextOrLast() (Line, error) {
	line, err := l.Next()
	if err != nil {
		if last, ok := l.Splitter.Flush(); ok {
			return last, nil
		}
	}
	return line, err
}
