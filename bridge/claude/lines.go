package claude

import (
	"bufio"
	"bytes"
	"errors"
	"io"
)

// maxLine bounds a line of the CLI's stdout. The longest seen was 3 MB (CLI
// 2.1.329: a text is repeated in assistant and result frames).
const maxLine = 64 << 20

// keepBuffer is the largest buffer kept from one long line to the next.
const keepBuffer = 1 << 20

// errLineTooLong reports a line over the cap. It was skipped; reading goes on.
var errLineTooLong = errors.New("line too long")

// lineReader reads lines of any length up to a cap. bufio.Scanner would end for
// good at the first long one.
type lineReader struct {
	r   *bufio.Reader
	max int
	buf []byte
}

func newLineReader(r io.Reader, max int) *lineReader {
	return &lineReader{r: bufio.NewReaderSize(r, 64<<10), max: max}
}

// next returns the next line without its end, valid until the call after. A
// tail without a line end is no line: it comes with io.ErrUnexpectedEOF.
func (l *lineReader) next() ([]byte, error) {
	if cap(l.buf) > keepBuffer {
		l.buf = nil
	}
	l.buf = l.buf[:0]
	tooLong := false
	for {
		part, err := l.r.ReadSlice('\n')
		if !tooLong && len(l.buf)+len(part) > l.max+1 { // +1: the line end
			tooLong, l.buf = true, nil
		}
		switch {
		case err == nil && tooLong:
			return nil, errLineTooLong
		case err == nil && len(l.buf) == 0:
			return trimEnd(part), nil // the common case copies nothing
		case err == nil:
			l.buf = append(l.buf, part...)
			return trimEnd(l.buf), nil
		case errors.Is(err, bufio.ErrBufferFull):
			if !tooLong {
				l.buf = append(l.buf, part...)
			}
		case errors.Is(err, io.EOF) && (tooLong || len(l.buf)+len(part) > 0):
			return nil, io.ErrUnexpectedEOF
		default:
			return nil, err
		}
	}
}

func trimEnd(line []byte) []byte {
	return bytes.TrimSuffix(bytes.TrimSuffix(line, []byte("\n")), []byte("\r"))
}
