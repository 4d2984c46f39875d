package terminal

import (
	"sync"

	"github.com/gdamore/tcell/v2"
)

// checkedTTY is the terminal as tcell is given it. It keeps the error that tcell drops, and it
// keeps tcell's two sizes, that of the screen and that of its buffer of cells, the same: see
// [Screen.drawable]. They change together when tcell looks whether the window's size is
// another one. But when it begins with a terminal, it asks for the size for its buffer alone.
// It then gets the size that its screen has; the window's own comes with the next look.
type checkedTTY struct {
	tcell.Tty

	mu       sync.Mutex
	stopped  error // of the last Stop
	size     tcell.WindowSize
	known    bool // size was told
	starting bool // started, and not asked for a size since
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

// WindowSize implements tcell.Tty. A terminal that does not tell its size has the one it had.
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
