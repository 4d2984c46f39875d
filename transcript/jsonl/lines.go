package jsonl

import (
	"bufio"
	"bytes"
	"errors"
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
)

// Line is a line of a stream.
type Line struct {
	// Data is the line without its end (\n or \r\n), or the first bytes of a too long line. It is valid until
	// the next call of the LineReader.
	Data []byte
	// Oversize says that the line was longer than allowed. Such a line is returned once, when its end has come.
	Oversize bool
}

// LineReader reads the lines of an io.Reader. A line is complete only when its \n has come. No byte is special except
// \n, and a \r before it: the reader of the lines must handle NULs, byte order marks and invalid UTF-8. Most lines are
// returned as parts of its buffer; it holds at most one line besides. (bufio.Scanner would stop for good at the first
// long line.) It has one owner.
type LineReader struct {
	r    *bufio.Reader
	max  int
	line []byte // the incomplete line so far; only the beginning if it is too long
	long bool   // that line has more than max bytes
	lent bool   // line was returned
	err  error
}

// NewLineReader reads lines of at most max bytes before the \n (0: MaxLine).
func NewLineReader(r io.Reader, max int) *LineReader {
	if max <= 0 {
		max = MaxLine
	}
	return &LineReader{r: bufio.NewReaderSize(r, readBuffer), max: max}
}

// Next returns the next whole line, which is valid until the next call. When the reader has ended or failed, this and
// all later calls return its error; then Rest returns what follows the last \n.
func (l *LineReader) Next() (Line, error) {
	l.takeBack()
	for l.err == nil {
		part, err := l.r.ReadSlice('\n')
		whole := err == nil
		if whole {
			part = part[:len(part)-1]
		}
		if whole && len(l.line) == 0 && !l.long && len(part) <= l.max {
			return Line{Data: trimCR(part)}, nil // the common case copies nothing
		}
		l.keep(part)
		if whole {
			line, _ := l.Rest()
			return line, nil
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			l.err = err
		}
	}
	return Line{}, l.err
}

// NextOrLast is Next for a stream whose last line counts even without its end. The error comes with the call
// after that line.
func (l *LineReader) NextOrLast() (Line, error) {
	line, err := l.Next()
	if err != nil {
		if last, ok := l.Rest(); ok {
			return last, nil
		}
	}
	return line, err
}

// Rest returns the bytes after the last \n, once: for a stream whose last line counts without its end.
func (l *LineReader) Rest() (line Line, ok bool) {
	l.takeBack()
	ok = len(l.line) > 0 || l.long
	l.lent = true
	line = Line{Data: l.line, Oversize: l.long}
	if !l.long {
		line.Data = trimCR(l.line)
	}
	return line, ok
}

func (l *LineReader) takeBack() {
	if l.lent {
		l.lent, l.long, l.line = false, false, l.line[:0]
		if cap(l.line) > keepBuffer {
			l.line = nil
		}
	}
}

// keep copies part of a line. Of a line that has become too long it keeps only the beginning.
func (l *LineReader) keep(part []byte) {
	switch {
	case l.long:
	case len(l.line)+len(part) <= l.max:
		l.line = append(l.line, part...)
	default:
		l.long = true
		l.line = append(l.line, part...)
		l.line = bytes.Clone(l.line[:min(ExcerptLen, l.max)])
	}
}

func trimCR(line []byte) []byte { return bytes.TrimSuffix(line, []byte("\r")) }
