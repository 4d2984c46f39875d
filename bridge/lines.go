package bridge

import (
	"bufio"
	"bytes"
	"errors"
	"io"
)

const (
	// maxLine bounds one message. A base64 screenshot or a whole file in a tool's
	// input are megabytes; a line beyond this is a fault of the peer.
	maxLine = 64 << 20
	// excerptLen is how much of an over-long line is kept to show.
	excerptLen = 512
)

// lineReader splits a byte stream into lines of bounded length. Unlike
// bufio.Scanner it survives an over-long one: it says so and reads on.
type lineReader struct {
	r   *bufio.Reader
	max int
}

func newLineReader(r io.Reader, max int) *lineReader {
	return &lineReader{r: bufio.NewReaderSize(r, 64<<10), max: max}
}

// next returns a line without its end, in memory of its own. When the line was
// longer than max, over is true and line is its beginning. The last line counts
// also when the stream ends without a line end.
func (l *lineReader) next() (line []byte, over bool, err error) {
	for {
		part, err := l.r.ReadSlice('\n')
		if !over {
			line = append(line, part...)
			if len(bytes.TrimSuffix(line, []byte("\n"))) > l.max {
				line, over = bytes.Clone(line[:min(excerptLen, l.max)]), true
			}
		}
		switch {
		case err == nil:
			return trimEnd(line, over), over, nil
		case errors.Is(err, bufio.ErrBufferFull):
			continue
		case len(line) > 0:
			return trimEnd(line, over), over, nil // err comes again with the next call
		default:
			return nil, false, err
		}
	}
}

func trimEnd(line []byte, over bool) []byte {
	if over {
		return line
	}
	return bytes.TrimSuffix(bytes.TrimSuffix(line, []byte("\n")), []byte("\r"))
}
