package ptyproxy

import (
	"cmp"
	"errors"
	"io"
	"time"
)

// Proxy says how a program is run behind the user's terminal.
type Proxy struct {
	// Detach is the letter that takes the terminal back together with Ctrl: one of
	// those between @ and _. 0 is ].
	Detach byte
	// Grace is how long a program may take to end after SIGHUP, and again after
	// SIGTERM, and how long the terminal may stand still while it gets the last
	// output. 0 is 2 s.
	Grace time.Duration
}

var (
	// ErrDetached says that the user took the terminal back.
	ErrDetached = errors.New("the terminal was taken back")
	// ErrGone says that the user's terminal is no more.
	ErrGone = errors.New("the terminal is gone")
)

// Remote is a terminal elsewhere, with a program in it.
type Remote interface {
	// Read gets what the program sends; an error is its end. Write is what is typed.
	// One of each is called at a time, and may wait.
	io.ReadWriter
	// Resize tells the size of the user's terminal, in cells. It does not wait for long.
	Resize(cols, rows int)
	// Leave has a Read and a Write that wait return, and those to come: nobody looks
	// any more. It is called once, and does not wait for the program's end.
	Leave()
}

func (l Proxy) grace() time.Duration { return cmp.Or(l.Grace, 2*time.Second) }

func (l Proxy) key() byte { return cmp.Or(l.Detach, ']') }
