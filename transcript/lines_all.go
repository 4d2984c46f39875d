package transcript

import (
	"errors"
	"io"
)

const maxLine = MaxLine

// lineReader reads a file that nobody is expected to go on with: its last line
// counts without an end, too, which the next writer may join.
type lineReader struct{ lines *LineReader }

func newLineReader(r io.Reader) *lineReader {
	return &lineReader{NewLineReader(r, maxLine)}
}

// next returns the next line, valid until the call after, and whether it was
// longer than is kept.
func (l *lineReader) next() (line []byte, cut bool, err error) {
	got, err := l.lines.Next()
	if errors.Is(err, io.EOF) {
		last, ok := l.lines.Splitter.Flush()
		if !ok {
			return nil, false, io.EOF
		}
		got, err = last, nil
	}
	return got.Data, got.Oversize, err
}
