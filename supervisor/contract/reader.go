package contract

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
)

// DefaultMaxLine bounds a command line, in bytes.
const DefaultMaxLine = 16 << 20

// ReadCommands yields the commands of r until it ends, fails, or yield returns
// false. A line longer than max (0: DefaultMaxLine) becomes a Malformed and
// reading goes on behind it. Empty lines and a byte order mark are skipped, CRLF
// is a line end, and the last line needs none. A problem names its line. The end of input is no error.
func ReadCommands(r io.Reader, max int, yield func(Command) bool) error {
	if max <= 0 {
		max = DefaultMaxLine
	}
	lines := lineReader{r: bufio.NewReaderSize(r, 64<<10), max: max}
	for n := 1; ; n++ {
		line, long, err := lines.next()
		if err != nil && !errors.Is(err, io.EOF) {
			return fmt.Errorf("read commands: %w", err)
		}
		if n == 1 {
			line = bytes.TrimPrefix(line, []byte("\xef\xbb\xbf"))
		}
		line = bytes.TrimSpace(line)
		switch {
		case long:
			problem := fmt.Sprintf("the line is longer than %d bytes", max)
			if !yield(located(Command{Body: malformed(problem, nil)}, n)) {
				return nil
			}
		case len(line) > 0:
			if !yield(located(ParseCommand(line), n)) {
				return nil
			}
		}
		if err != nil {
			return nil
		}
	}
}

// located says in which line the problem of a malformed command is, counted from 1.
func located(c Command, line int) Command {
	if m, ok := c.Body.(Malformed); ok {
		m.Problem = fmt.Sprintf("line %d: %s", line, m.Problem)
		c.Body = m
	}
	return c
}

// lineReader splits a stream at newlines and never holds more than max bytes of
// a line. bufio.Scanner would stop for good at the first long one.
type lineReader struct {
	r   *bufio.Reader
	max int
	buf []byte
}

// next returns a line without its end, or that it was too long. With io.EOF it
// returns what was left. The line is valid until the next call.
func (l *lineReader) next() (line []byte, long bool, err error) {
	if cap(l.buf) > maxPooled {
		l.buf = nil
	}
	l.buf = l.buf[:0]
	for {
		chunk, err := l.r.ReadSlice('\n')
		if !long {
			l.buf = append(l.buf, chunk...)
			long = len(l.buf) > l.max+len("\r\n")
		}
		if errors.Is(err, bufio.ErrBufferFull) {
			continue
		}
		line = bytes.TrimSuffix(bytes.TrimSuffix(l.buf, []byte("\n")), []byte("\r"))
		return line, long || len(line) > l.max, err
	}
}
