package ptyproxy

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/arbiter-cli/arbiter/internal/testkit"
	"github.com/arbiter-cli/arbiter/rehearsal/terminal"
)

// far is a Remote that plays a part: it reports its input and its sizes.
type far struct {
	part  string
	out   chan string
	left  chan struct{}
	rest  string
	mu    sync.Mutex
	floor int // lines of a flood so far
}

func newFar(part string) *far {
	return &far{part: part, out: make(chan string, 64), left: make(chan struct{})}
}

func (f *far) Read(p []byte) (int, error) {
	for f.rest == "" {
		f.mu.Lock()
		if f.part == "flood" && f.floor < floodLines {
			f.rest = fmt.Sprintf("line %06d.\r\n", f.floor)
			f.floor++
		}
		over := f.part == "flood" && f.floor == floodLines && f.rest == ""
		f.mu.Unlock()
		if over {
			return 0, io.EOF
		}
		if f.rest != "" {
			break
		}
		select {
		case f.rest = <-f.out:
			if f.rest == "end" {
				return 0, io.EOF
			}
		case <-f.left:
			return 0, errors.New("nobody looks")
		}
	}
	n := copy(p, f.rest)
	f.rest = f.rest[n:]
	return n, nil
}

func (f *far) Write(p []byte) (int, error) {
	if string(p) == "q" {
		f.out <- "\x1b[?1049h\x1b[?25lthe last\x1b]2;cut"
		f.out <- "end"
		return len(p), nil
	}
	f.out <- fmt.Sprintf("got %x\r\n", p)
	return len(p), nil
}

func (f *far) Resize(cols, rows int) {
	if f.part != "flood" {
		f.out <- fmt.Sprintf("size %dx%d\r\n", cols, rows)
	}
}

func (f *far) Leave() { close(f.left) }

// joiner is the proxy for a remote terminal.
func joiner(ctx context.Context, l Proxy) error {
	return l.Join(ctx, os.Stdin, newFar(strings.TrimPrefix(os.Getenv(partEnv), "far ")))
}

// TestJoin: a remote program gets every byte and every size, and after its end the terminal is as it was.
func TestJoin(t *testing.T) {
	l := proxyTo(t, "far away")
	l.await("size 80x24")
	l.Type("\x03\x1a\x1c")
	l.await("got 031a1c")
	testkit.OK(t, l.Resize(terminal.Size{Columns: 100, Rows: 30}))
	l.await("size 100x30")
	l.Type("q")
	l.end("exit 0 <nil>")
}

// TestJoinDetach: the key returns the terminal to the user, also if the program shows nothing.
func TestJoinDetach(t *testing.T) {
	l := proxyTo(t, "far away")
	l.await("size 80x24")
	l.Type("\x1d")
	l.end("exit 0 " + ErrDetached.Error())
}

// TestJoinDeadline: the end of the context ends Join.
func TestJoinDeadline(t *testing.T) {
	l := proxyTo(t, "far away", timeoutEnv+"=200ms")
	l.end("exit 0 " + context.DeadlineExceeded.Error())
}

// TestJoinDeliversAll: no output before the end is lost.
func TestJoinDeliversAll(t *testing.T) {
	l := proxyIn(t, small, "far flood")
	l.await(fmt.Sprintf("line %06d.", floodLines-1))
	l.end("exit 0 <nil>")
	testkit.Same(t, "lines were shown", floodLines, strings.Count(string(l.Output()), "line "))
}

// TestJoinOfEndedTerminal: the closing of the user's terminal is reported.
func TestJoinOfEndedTerminal(t *testing.T) {
	l := proxyTo(t, "far away")
	l.await("size 80x24")
	l.HangUp()
	testkit.Must(l.Exit(l.ctx))(t)
	testkit.Same(t, "the proxy reports", "exit 0 "+ErrGone.Error(), l.report())
}
