package transcript

import (
	"bufio"
	"bytes"
	"errors"
	"io"
)

// maxLine bounds what is kept of one line. Lines of 10 MB were seen: a large
// prompt stands in two of them.
const maxLine = 64 << 20

// keepBuffer is the largest buffer kept from one long line to the next.
const keepBuffer = 1 << 20

// lineReader reads lines of any length. What exceeds maxLine is read but not
// kept, so that the rest of the file is still found.
type lineReader struct {
	r   *bufio.Reader
	buf []byte
}

func newLineReader(r io.Reader) *lineReader {
	return &lineReader{r: bufio.NewReaderSize(r, 256<<10)}
}

// next returns the next line without its end, valid until the call after, and
// whether it was cut at maxLine. At the end of the input a last line without an
// end still counts: the next writer may join it.
func (l *lineReader) next() (line []byte, cut bool, err error) {
	if cap(l.buf) > keepBuffer {
		l.buf = nil
	}
	l.buf = l.buf[:0]
	for {
		part, err := l.r.ReadSlice('\n')
		if err == nil && len(l.buf) == 0 {
			return bytes.TrimRight(part, "\r\n"), false, nil // the common case copies nothing
		}
		if room := maxLine - len(l.buf); len(part) > room {
			part, cut = part[:room], true
		}
		l.buf = append(l.buf, part...)
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
		case err == nil, errors.Is(err, io.EOF) && len(l.buf) > 0:
			return bytes.TrimRight(l.buf, "\r\n"), cut, nil
		default:
			return nil, false, err
		}
	}
}
