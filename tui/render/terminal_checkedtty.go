package render

import (
	"sync"

	"github.com/gdamore/tcell/v2"
)

// checkedTTY is the terminal that tcell gets. It keeps the error that tcell drops, and it keeps tcell's two
// sizes, that of the screen and that of its buffer of cells, equal: see [Screen.drawable]. They change
// together when tcell checks whether the window's size has changed. But when tcell starts to use a
// terminal, it requests the size only for its buffer. It then gets the size that its screen has; the
// window's own size comes with the next check.
type checkedTTY struct {
	tcell.Tty

	mu       sync.Mutex
	stopped  error // of the last Stop
	size     tcell.WindowSize
	known    bool // size was read
	starting bool // started, and the size was not requested since
}

// Start implements tcell.Tty.
func (c *checkedTTY) Start() error {
	err := c.Tty.Start()
	c.mu.Lock()
	defer c.mu.Unlock()
	c.starting = err == nil
	return err
}

// Stop implements tcell.Tty.
func (c *checkedTTY) Stop() error {
	err := c.Tty.Stop()
	c.mu.Lock()
	defer c.mu.Unlock()
	c.stopped = err
	return err
}

func (c *checkedTTY) stopError() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.stopped
}

// WindowSize implements tcell.Tty. If a terminal does not report its size, it has the last one.
func (c *checkedTTY) WindowSize() (tcell.WindowSize, error) {
	size, err := c.Tty.WindowSize()
	c.mu.Lock()
	defer c.mu.Unlock()
	starting := c.starting
	c.starting = false
	if c.known && (starting || err != nil) {
		return c.size, nil
	}
	if err == nil {
		c.size, c.known = size, true
	}
	return size, err
}
