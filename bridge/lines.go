package bridge

import (
	"bytes"
	"io"

	"github.com/arbiter-cli/arbiter/transcript"
)

const (
	// maxLine bounds one message. A base64 screenshot or a whole file in a tool's
	// input are megabytes; a line beyond this is a fault of the peer.
	maxLine = 64 << 20
	// excerptLen is how much of an over-long line is kept to show.
	excerptLen = transcript.ExcerptLen
)

// lineReader reads messages: lines of bounded length, in memory of their own. An
// over-long one is told of, and reading goes on.
type lineReader struct{ lines *transcript.LineReader }

func newLineReader(r io.Reader, max int) *lineReader {
	return &lineReader{transcript.NewLineReader(r, max)}
}

// next returns a line without its end. When the line was longer than max, over is
// true and line is its beginning. The last line counts also when the stream ends
// without a line end.
func (l *lineReader) next() (line []byte, over bool, err error) {
	got, err := l.lines.Next()
	if err != nil {
		last, ok := l.lines.Splitter.Flush()
		if !ok {
			return nil, false, err
		}
		got = last // err comes again with the next call
	}
	return bytes.Clone(got.Data), got.Oversize, nil
}
