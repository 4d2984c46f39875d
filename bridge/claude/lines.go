package claude

import (
	"errors"
	"io"

	"github.com/arbiter-cli/arbiter/transcript"
)

// maxLine bounds a line of the CLI's stdout. The longest seen was 3 MB (CLI
// 2.1.329: a text is repeated in assistant and result frames).
const maxLine = 64 << 20

// errLineTooLong reports a line over the cap. It was skipped; reading goes on.
var errLineTooLong = errors.New("line too long")

// lineReader reads frames: lines that are over the cap or cut short are told of.
type lineReader struct{ lines *transcript.LineReader }

func newLineReader(r io.Reader, max int) *lineReader {
	return &lineReader{transcript.NewLineReader(r, max)}
}

// next returns the next line without its end, valid until the call after. A
// tail without a line end is no line: it comes with io.ErrUnexpectedEOF.
func (l *lineReader) next() ([]byte, error) {
	line, err := l.lines.Next()
	switch {
	case err == nil && line.Oversize:
		return nil, errLineTooLong
	case err == nil:
		return line.Data, nil
	case errors.Is(err, io.EOF):
		if _, cut := l.lines.Splitter.Flush(); cut {
			return nil, io.ErrUnexpectedEOF
		}
	}
	return nil, err
}
