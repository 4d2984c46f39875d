package journal

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/arbiter-cli/arbiter/internal/testkit"
)

// The test binary, run again, is the other process. It reports on stdout what it did, one line each, and
// continues when it reads a line.
const (
	childRole = "JOURNAL_TEST_ROLE"
	childDir  = "JOURNAL_TEST_DIR"
	childArg  = "JOURNAL_TEST_ARG"
)

func playChild(role string) int {
	in := bufio.NewReader(os.Stdin)
	say := func(format string, args ...any) { fmt.Printf(format+"\n", args...) }
	wait := func() { in.ReadString('\n') }
	fail := func(err error) int {
		var held *HeldError
		if errors.As(err, &held) {
			say("held %d %s %t", held.PID, held.Run, held.Gone)
			return 3
		}
		say("error %v", err)
		return 1
	}
	if role == "inherit" { // has the lock from its parent, as descriptor 3
		say("holding")
		wait()
		return 0
	}
	if role == "process run" {
		if err := playProcessRun(os.Getenv(childDir), say); err != nil {
			return fail(err)
		}
		say("done")
		return 0
	}
	s, err := OpenStore(os.Getenv(childDir))
	if err != nil {
		return fail(err)
	}
	switch role {
	case "hold":
		r, err := s.Create(Meta{Run: testRun}, Options{})
		if err != nil {
			return fail(err)
		}
		say("holding")
		wait()
		r.Close()
	case "open":
		r, rec, err := s.Open(testRun, 0, Options{}, resumeTest)
		if err != nil {
			return fail(err)
		}
		say("opened %d", rec.Records)
		wait()
		r.Close()
	case "lockdir":
		if _, err := s.LockDir(os.Getenv(childArg), "other"); err != nil {
			return fail(err)
		}
		say("holding")
		wait()
	case "parent":
		return playParent(s, say)
	case "stream":
		o := Options{Committed: func(upTo uint64) { say("committed %d", upTo) }}
		r, _, err := s.Open(testRun, failAfter, o, resumeTest)
		if errors.Is(err, ErrNotFound) {
			r, err = s.Create(Meta{Run: testRun}, o)
		}
		for n := uint64(1); err == nil; n++ {
			err = addSome(r, n%40+1)
		}
		return fail(err)
	case "slow":
		r, err := s.Create(Meta{Run: testRun}, Options{CloseWait: failAfter})
		if err != nil {
			return fail(err)
		}
		for seq := uint64(1); seq <= 1000; seq++ {
			if _, err := r.Append(kindOf(seq), payload(seq)); err != nil {
				return fail(err)
			}
		}
		say("appended 1000, %d durable", r.Durable())
		if err := r.Close(); err != nil {
			return fail(err)
		}
		say("done")
	case "write":
		return playWriter(s, say, fail)
	default:
		say("no such role: %s", role)
		return 1
	}
	return 0
}

// playParent opens a run, passes its lock to a child and waits to be killed.
func playParent(s *Store, say func(string, ...any)) int {
	r, err := s.Create(Meta{Run: testRun}, Options{})
	if err != nil {
		say("error %v", err)
		return 1
	}
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), childRole+"=inherit")
	cmd.ExtraFiles = []*os.File{r.LockFile()}
	cmd.Stdin, cmd.Stdout = os.Stdin, os.Stdout
	if err := cmd.Start(); err != nil {
		say("error %v", err)
		return 1
	}
	say("child %d", cmd.Process.Pid)
	cmd.Wait()
	return 0
}

// playWriter appends records of 100 bytes until it cannot, one at a time, and reports what was committed, what
// the trouble is, and finally the result.
func playWriter(s *Store, say func(string, ...any), fail func(error) int) int {
	o := Options{
		Committed: func(upTo uint64) { say("committed %d", upTo) },
		Trouble:   func(err error) { say("trouble %v", err) },
		Retry:     50 * time.Millisecond,
	}
	r, err := s.Create(Meta{Run: testRun}, o)
	if err != nil {
		return fail(err)
	}
	var n int
	fmt.Sscan(os.Getenv(childArg), &n)
	for i := 1; i <= n; i++ {
		if _, err := r.Append(Input, payload(uint64(i))); err != nil {
			return fail(err)
		}
		ctx, cancel := context.WithTimeout(context.Background(), failAfter)
		err := r.Sync(ctx)
		cancel()
		if err != nil {
			return fail(err)
		}
	}
	if err := r.Close(); err != nil {
		return fail(err)
	}
	say("done")
	return 0
}

// child is a process of the test binary.
type child struct {
	t     *testing.T
	cmd   *exec.Cmd
	in    io.WriteCloser
	lines chan string
	ended chan struct{}
}

// startChild runs a role in another process. The command may be wrapped, as in prlimit … test binary.
func startChild(t *testing.T, role, dir, arg string, wrap ...string) *child {
	t.Helper()
	argv := append(wrap, os.Args[0])
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Env = append(os.Environ(), childRole+"="+role, childDir+"="+dir, childArg+"="+arg)
	cmd.Stderr = os.Stderr
	in := testkit.Must(cmd.StdinPipe())(t)
	out := testkit.Must(cmd.StdoutPipe())(t)
	testkit.OK(t, cmd.Start())
	c := &child{t: t, cmd: cmd, in: in, lines: make(chan string, 1<<16), ended: make(chan struct{})}
	go func() {
		defer close(c.ended)
		defer close(c.lines)
		for sc := bufio.NewScanner(out); sc.Scan(); {
			c.lines <- sc.Text()
		}
		cmd.Wait()
	}()
	t.Cleanup(c.end)
	return c
}

// next returns the next line, or fails.
func (c *child) next() string {
	c.t.Helper()
	select {
	case line, ok := <-c.lines:
		if !ok {
			c.t.Fatal("the child ended without a word")
		}
		return line
	case <-time.After(failAfter):
		c.t.Fatal("the child says nothing")
	}
	return ""
}

// until returns the first line that begins with prefix, and those before it.
func (c *child) until(prefix string) (before []string, line string) {
	c.t.Helper()
	for {
		line = c.next()
		if strings.HasPrefix(line, prefix) {
			return before, line
		}
		before = append(before, line)
	}
}

// kill kills the child, and waits until it has ended.
func (c *child) kill() {
	c.cmd.Process.Kill()
	<-c.ended
}

// end lets the child end by itself, or kills it.
func (c *child) end() {
	c.in.Close()
	select {
	case <-c.ended:
	case <-time.After(failAfter):
		c.kill()
	}
}
