package ptyproxy

import (
	"cmp"
	"errors"
	"io"
	"time"
)

// Proxy sets how a program is run behind the user's terminal.
type Proxy struct {
	// Detach is the letter that together with Ctrl takes the terminal back: one of those between @ and _. 0
	// stands for ].
	Detach byte
	// Grace is how long a program may take to end after SIGHUP, and again after SIGTERM, and how long the
	// terminal may accept nothing while it gets the last output. 0 stands for 2 s.
	Grace time.Duration
}

var (
	// ErrDetached reports that the user took the terminal back.
	ErrDetached = errors.New("the terminal was taken back")
	// ErrGone reports that the user's terminal no longer exists.
	ErrGone = errors.New("the terminal is gone")
)

// Remote is a terminal elsewhere in which a program runs.
type Remote interface {
	// Read returns output of the program; an error is its end. Write passes on what was typed. At most one
	// of each is called at a time, and may block.
	io.ReadWriter
	// Resize sets the size to that of the user's terminal, in cells. It must not block for long.
	Resize(cols, rows int)
	// Leave makes pending and later calls of Read and Write return: the view has ended. It is called once,
	// and does not wait for the program's end.
	Leave()
}

func (l Proxy) grace() time.Duration { return cmp.Or(l.Grace, 2*time.Second) }

func (l Proxy) key() byte { return cmp.Or(l.Detach, ']') }
