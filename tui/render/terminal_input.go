package render

import (
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/gdamore/tcell/v2"
)

// Maximum size of a window.
const maxColumns, maxRows = 2000, 600

// inputTTY is a terminal whose input the [decoder] reads before the screen's library (tcell) does. It has a goroutine
// that reads, from Start to Stop: only so can what never ends, such as half a key, be given up after some time.
//
// It keeps the error of Stop, which tcell drops, and it keeps tcell's two sizes, that of the screen and that of its
// buffer of cells, equal: see [Screen.drawable]. They change together when tcell checks whether the window's size has
// changed. But when tcell starts to use a terminal, it requests the size only for its buffer. It then gets the size
// that its screen has; the window's own size comes with the next check.
type inputTTY struct {
	tcell.Tty
	keys    decoder
	charset func() string // of the terminal, known once tcell has started it; nil: UTF-8

	// Owned by the goroutine that calls Read.
	rest []byte // decoded, and not passed on yet

	mu       sync.Mutex
	quit     chan struct{} // closed: nobody reads any more; nil: not started
	ended    chan struct{} // the goroutine has ended
	chunks   chan chunk
	stopped  error // of the last Stop
	size     tcell.WindowSize
	known    bool // size was read
	starting bool // started, and the size was not requested since
}

// chunk is what one read returned.
type chunk struct {
	bytes []byte
	err   error
}

// Start implements tcell.Tty. Incomplete input from before another program had the terminal is discarded.
func (t *inputTTY) Start() error {
	if err := t.Tty.Start(); err != nil {
		return err
	}
	t.rest = nil
	t.keys.state, t.keys.seq, t.keys.out = atKey, nil, nil
	t.keys.text, t.keys.seen, t.keys.lost = strings.Builder{}, 0, 0
	t.keys.bytes = t.charset != nil && t.charset() != "UTF-8"
	t.mu.Lock()
	defer t.mu.Unlock()
	t.starting = true
	t.quit, t.ended, t.chunks = make(chan struct{}), make(chan struct{}), make(chan chunk)
	go pump(t.Tty, t.chunks, t.quit, t.ended)
	return nil
}

// pump passes on what a terminal sends, until it fails or nobody reads any more.
func pump(tty tcell.Tty, chunks chan<- chunk, quit <-chan struct{}, ended chan<- struct{}) {
	defer close(ended)
	for {
		buf := make([]byte, 64<<10)
		n, err := tty.Read(buf)
		select {
		case chunks <- chunk{buf[:n], err}:
		case <-quit:
			return
		}
		if err != nil {
			return
		}
	}
}

// Drain implements tcell.Tty: reading ends.
func (t *inputTTY) Drain() error {
	t.stopReading()
	return t.Tty.Drain()
}

// Stop implements tcell.Tty.
func (t *inputTTY) Stop() error {
	t.stopReading()
	err := t.Tty.Stop()
	if _, ended, _ := t.channels(); ended != nil {
		<-ended // which Drain has brought about
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.stopped = err
	return err
}

func (t *inputTTY) stopError() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.stopped
}

func (t *inputTTY) stopReading() {
	t.mu.Lock()
	defer t.mu.Unlock()
	select {
	case <-t.quit:
	default:
		if t.quit != nil {
			close(t.quit)
		}
	}
}

func (t *inputTTY) channels() (quit, ended <-chan struct{}, chunks <-chan chunk) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.quit, t.ended, t.chunks
}

// WindowSize implements tcell.Tty. A terminal, or the variable LINES, may report any size, and memory is allocated for
// each cell, so the size is limited to what the finest displays have. If a terminal does not report its size, it has
// the last one.
func (t *inputTTY) WindowSize() (tcell.WindowSize, error) {
	size, err := t.Tty.WindowSize()
	size.Width, size.Height = min(max(size.Width, 0), maxColumns), min(max(size.Height, 0), maxRows)
	t.mu.Lock()
	defer t.mu.Unlock()
	starting := t.starting
	t.starting = false
	if t.known && (starting || err != nil) {
		return t.size, nil
	}
	if err == nil {
		t.size, t.known = size, true
	}
	return size, err
}

// Read implements tcell.Tty. It may return no bytes. It never cuts a character: tcell reads half of one as another.
func (t *inputTTY) Read(b []byte) (int, error) {
	if len(t.rest) == 0 {
		if err := t.next(); err != nil {
			return 0, err
		}
	}
	n := copy(b, t.rest)
	for cut := n; cut > 0 && n-cut < utf8.UTFMax && n < len(t.rest); cut-- {
		if utf8.RuneStart(t.rest[cut]) {
			n = cut
			break
		}
	}
	t.rest = t.rest[n:]
	return n, nil
}

// next waits for input, or for the time at which incomplete input is given up.
func (t *inputTTY) next() error {
	quit, _, chunks := t.channels()
	var late <-chan time.Time
	if by := t.keys.deadline(); !by.IsZero() {
		timer := time.NewTimer(time.Until(by))
		defer timer.Stop()
		late = timer.C
	}
	select {
	case c := <-chunks:
		t.rest = t.keys.feed(c.bytes, time.Now())
		return c.err
	case <-late:
		t.rest = t.keys.expire()
	case <-quit:
	}
	return nil
}
