package driver

import (
	"os"
	"os/exec"
	"sync"
	"time"
)

// Tail reads a pipe of the child. While the process runs, a read waits without limit. After its end,
// reading is bounded, since another process may hold the pipe open. Time that the reader spends on what it
// has read (a slow client) does not count.
type Tail struct {
	f *os.File

	mu    sync.Mutex
	until time.Time // when reading ends in any case; zero while the process runs
}

func (t *Tail) Read(b []byte) (int, error) {
	t.mu.Lock()
	t.limit()
	t.mu.Unlock()
	return t.f.Read(b)
}

// Expire begins the end: reads no longer wait for new data, and reading ends altogether after the given
// time.
func (t *Tail) Expire(all time.Duration) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.until = time.Now().Add(all)
	t.limit()
}

// limit sets the read deadline. It is called with the lock held, so that a read in progress is cut too.
func (t *Tail) limit() {
	if t.until.IsZero() {
		return
	}
	deadline := time.Now().Add(tailGrace)
	if deadline.After(t.until) {
		deadline = t.until
	}
	_ = t.f.SetReadDeadline(deadline) // only fails when it is closed, and so does the read
}

func (t *Tail) Close() error { return t.f.Close() }

// Pipes are the three pipes of a child. Our ends are polled, so that reads and writes have deadlines; the
// child's ends are closed in this process once the child has them.
type Pipes struct {
	Stdin          *os.File
	Stdout, Stderr *Tail
	theirs         []*os.File
}

func NewPipes(cmd *exec.Cmd) (*Pipes, error) {
	p := &Pipes{}
	var files []*os.File
	for range 3 {
		r, w, err := os.Pipe()
		if err != nil {
			for _, f := range files {
				f.Close()
			}
			return nil, err
		}
		files = append(files, r, w)
	}
	cmd.Stdin, p.Stdin = files[0], files[1]
	p.Stdout, cmd.Stdout = &Tail{f: files[2]}, files[3]
	p.Stderr, cmd.Stderr = &Tail{f: files[4]}, files[5]
	p.theirs = []*os.File{files[0], files[3], files[5]}
	return p, nil
}

func (p *Pipes) CloseTheirs() {
	for _, f := range p.theirs {
		f.Close()
	}
}

func (p *Pipes) Close() {
	p.Stdin.Close()
	p.Stdout.Close()
	p.Stderr.Close()
}
