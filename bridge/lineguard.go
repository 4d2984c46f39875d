package bridge

import (
	"bytes"
	"io"
	"sync/atomic"
)

// lineGuard fails a reader whose lines have no end, if strict is set: otherwise the line reader would wait
// forever.
type lineGuard struct {
	r      io.Reader
	strict *atomic.Bool
	length int // of the current line
}

func (g *lineGuard) Read(b []byte) (int, error) {
	n, err := g.r.Read(b)
	if end := bytes.LastIndexByte(b[:n], '\n'); end >= 0 {
		g.length = n - end - 1
	} else {
		g.length += n
	}
	if err == nil && g.length > maxLine && g.strict.Load() {
		err = violation("it sent a line of more than %d bytes", maxLine)
	}
	return n, err
}
