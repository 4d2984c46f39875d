package journal

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/arbiter-cli/arbiter/internal/testkit"
)

func TestSecondOwnerIsRefused(t *testing.T) {
	s, r := newRun(t)
	err := opening(s, testRun, 0)
	var held *HeldError
	testkit.Check(t, errors.As(err, &held) && held.PID == os.Getpid() && held.Run == testRun && !held.Gone, "%v, %+v",
		err, held)
	err = s.Remove(testRun)
	testkit.Check(t, isHeld(err), "remove: %v", err)
	info, err := s.Find(testRun)
	testkit.Check(t, err == nil && info.Live && info.PID == os.Getpid(), "%+v, %v", info, err)
	closeRun(t, r)
	testkit.Check(t, !testkit.Must(s.Find(testRun))(t).Live, "it is live after close")
}

// TestLockOfAnotherProcess: while the other process is running, the lock is refused with its name; when it was
// killed, the lock can be taken at once.
func TestLockOfAnotherProcess(t *testing.T) {
	dir := t.TempDir()
	s := openTestStore(t, dir)
	c := startChild(t, "hold", dir, "")
	c.until("holding")
	err := opening(s, testRun, 0)
	var held *HeldError
	testkit.Need(t, errors.As(err, &held) && held.PID == c.cmd.Process.Pid &&
		strings.Contains(err.Error(), fmt.Sprint("process ", held.PID)), "%v", err)
	c.kill()
	r, rec := openRun(t, s, testRun, Options{}) // at once: a held lock would be an error
	testkit.Check(t, !rec.Harmed() && rec.MetaLost == "", "%+v", rec)
	// And the other way round: the child is refused.
	testkit.Same(t, "the other process", fmt.Sprintf("held %d %s false", os.Getpid(), testRun),
		startChild(t, "open", dir, "").next())
	closeRun(t, r)
	testkit.Same(t, "the other process, after close", "opened 0", startChild(t, "open", dir, "").next())
}

// TestInheritedLock: a child that inherited the lock keeps it when its parent is killed. Open waits for its end.
func TestInheritedLock(t *testing.T) {
	dir := t.TempDir()
	s := openTestStore(t, dir)
	c := startChild(t, "parent", dir, "")
	c.until("holding") // says the grandchild, on the same stdout
	c.cmd.Process.Kill()
	c.cmd.Process.Wait()
	err := opening(s, testRun, 200*time.Millisecond)
	held, ok := errors.AsType[*HeldError](err)
	testkit.Check(t, ok && held.PID == c.cmd.Process.Pid && held.Gone, "%v, %+v", err, held)
	result := make(chan error, 1)
	go func() { result <- opening(s, testRun, failAfter) }()
	fmt.Fprintln(c.in) // the grandchild ends
	testkit.OK(t, <-result)
}

func TestLockDir(t *testing.T) {
	s := newTestStore(t)
	cwd := t.TempDir()
	link := filepath.Join(t.TempDir(), "link")
	testkit.OK(t, os.Symlink(cwd, link))
	l, err := s.LockDir(cwd, testRun)
	testkit.OK(t, err)
	_, err = s.LockDir(link, "second")
	var held *HeldError
	testkit.Check(t, errors.As(err, &held) && held.PID == os.Getpid() && held.Run == testRun,
		"by another name: %v", err)
	testkit.Must(s.LockDir(t.TempDir(), "second"))(t).Close() // another directory
	testkit.Check(t, l.File() != nil, "the lock has no file")
	l.Close()

	dir := s.root.Path()
	c := startChild(t, "lockdir", dir, cwd)
	c.until("holding")
	_, err = s.LockDir(cwd, testRun)
	testkit.Check(t, errors.As(err, &held) && held.PID == c.cmd.Process.Pid && held.Run == "other",
		"held by another process: %v", err)
	c.kill()
	testkit.Must(s.LockDir(cwd, testRun))(t).Close() // the lock is stale
}

func TestOver(t *testing.T) {
	s, r := newRun(t)
	for _, run := range []string{testRun, "another", "../runs/" + testRun, ""} {
		testkit.Check(t, !s.Over(run), "%q is over", run)
	}
	closeRun(t, r)
	testkit.Check(t, s.Over(testRun), "a run without a lock holder is not over")
}

// forgedFrame is a record that continues a run, forged with a correct
// checksum.
func forgedFrame(seq uint64, prev uint32) []byte {
	b := appendFrame(nil, seq, Input, []byte("FORGED"))
	chainBatch(b, seedOf(testRun), prev)
	return b
}

// TestForgedWhileRunning: another process adds to the journal of a live run. The run notices at the next write,
// or at its end; the addition never counts.
func TestForgedWhileRunning(t *testing.T) {
	for name, atEnd := range map[string]bool{"noticed by the next write": false, "noticed at the end": true} {
		t.Run(name, func(t *testing.T) {
			s := newTestStore(t)
			var told []error
			r := createRun(t, s, testRun, Options{Trouble: func(err error) { told = append(told, err) }})
			addBatches(t, r, 6, 2)
			whole, _ := journalOf(2, 2, 2)
			testkit.Append(t, filepath.Join(r.Dir(), segmentName(1)), forgedFrame(7, crcAfter(whole, 6)))
			want := uint64(6)
			if !atEnd {
				want = 9
				addBatches(t, r, want, 3)
			}
			closeRun(t, r)
			testkit.Check(t, len(told) != 0 && errors.Is(told[0], ErrForeignWrite), "told: %v", told)
			checkRecords(t, s, want)
			resumes(t, s, want)
		})
	}
}

// TestCutOffWhileRunning: durable records of a live run were removed. The run reports it, and reports nothing
// as durable from then on.
func TestCutOffWhileRunning(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var told []error
		m, s, r := runInMemory(t, Options{Trouble: func(err error) { told = append(told, err) }})
		addBatches(t, r, 6, 2)
		n := m.fileOf(segmentName(1))
		n.data = n.data[:len(n.data)-30]
		add(t, r, 7, 8)
		synctest.Wait()
		testkit.Check(t, len(told) != 0 && errors.Is(told[0], ErrForeignWrite) && r.Durable() == 6,
			"told: %v, %d are durable", told, r.Durable())
		testkit.Fails(t, "close", r.Close(), ErrForeignWrite)
		rec, err := s.Read(testRun, nil)
		testkit.Check(t, err == nil && rec.Records == 5, "%+v, %v", rec, err)
	})
}

// TestForeignLines: another process adds to the event log of a live run, or cuts lines off. The journal reports
// it, removes the addition, and writes again what is not durable yet.
func TestForeignLines(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newMemFS()
		s := freshStore(t, m)
		var told []error
		m.trouble = func(err error) { told = append(told, err) }
		r := createOn(t, m, s)
		log := func() *memNode { return m.fileOf(LogName) }
		addBatches(t, r, 4, 2)
		time.Sleep(2 * eventSync) // everything is durable
		synctest.Wait()
		log().data = append(bytes.Clone(log().data), "{\"forged\":true}\n"...)
		addBatches(t, r, 8, 2)
		time.Sleep(2 * eventSync)
		synctest.Wait()
		testkit.Check(t, len(told) == 2 && errors.Is(told[0], ErrForeignWrite) && told[1] == nil,
			"lines were added, and told is %v", told)
		checkTold(t, s, 8)
		addBatches(t, r, 10, 2)
		time.Sleep(SoonDelay)
		synctest.Wait()
		log().data = log().data[:len(log().data)-5] // of lines that are not durable
		addBatches(t, r, 12, 2)
		time.Sleep(2 * eventSync)
		synctest.Wait()
		testkit.Check(t, len(told) == 4 && errors.Is(told[2], ErrForeignWrite) && told[3] == nil,
			"lines were cut off, and told is %v", told)
		closeRun(t, r)
		checkTold(t, s, 12)
	})
}

// TestOwnFaultsAreNotForeign: what a failed write or fsync of this process leaves in the event log is not blamed on
// another process: the error of the disk is returned.
func TestOwnFaultsAreNotForeign(t *testing.T) {
	for name, c := range map[string]struct {
		calls []string
		err   error
	}{
		"fsync":                                  {[]string{"sync"}, syscall.EIO},
		"fsync, and it cannot be cut back":       {[]string{"sync", "truncate"}, syscall.EIO},
		"short write":                            {[]string{"write"}, &errPartial{7, syscall.ENOSPC}},
		"short write, and it cannot be cut back": {[]string{"write", "truncate"}, &errPartial{7, syscall.ENOSPC}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				m := newMemFS()
				s := freshStore(t, m)
				var tr troubles
				m.trouble = tr.options().Trouble
				r := createOn(t, m, s)
				addBatches(t, r, 4, 2)
				time.Sleep(2 * eventSync)
				for _, call := range c.calls {
					failTimes(m, call, LogName, always, c.err)
				}
				addBatches(t, r, 8, 2)
				time.Sleep(10 * eventSync)
				synctest.Wait()
				testkit.Fails(t, "what was told last", testkit.Err(tr.last()), c.err)
				m.setFault(nil)
				addBatches(t, r, 10, 2)
				time.Sleep(10 * eventSync)
				synctest.Wait()
				testkit.Works(t, "it did not end", testkit.Err(tr.last()))
				testkit.Check(t, !slices.ContainsFunc(tr.told, func(err error) bool { return errors.Is(err, ErrForeignWrite) }),
					"told is %v", tr.told)
				closeRun(t, r)
				checkTold(t, s, 10)
			})
		})
	}
}

// The test binary, run again, is the other process. It reports on stdout what it did, one line each, and
// continues when it reads a line.
const (
	childRole = "JOURNAL_TEST_ROLE"
	childDir  = "JOURNAL_TEST_DIR"
	childArg  = "JOURNAL_TEST_ARG"
)

// check ends a role at an error, which playChild says.
func check(err error) {
	if err != nil {
		panic(err)
	}
}

func must[T any](v T, err error) T {
	check(err)
	return v
}

func playChild(role string) {
	in := bufio.NewReader(os.Stdin)
	say := func(format string, args ...any) { fmt.Printf(format+"\n", args...) }
	defer func() {
		p := recover()
		err, _ := p.(error)
		var held *HeldError
		switch {
		case p == nil:
			say("done")
		case errors.As(err, &held):
			say("held %d %s %t", held.PID, held.Run, held.Gone)
		default:
			say("error %v", p)
		}
	}()
	wait := func() {
		say("holding")
		in.ReadString('\n')
	}
	if role == "inherit" { // has the lock from its parent, as descriptor 3
		wait()
		return
	}
	dir, arg := os.Getenv(childDir), os.Getenv(childArg)
	if role == "process run" {
		playProcessRun(dir, arg, say)
		return
	}
	s := must(OpenStore(dir))
	switch role {
	case "hold":
		r := must(s.Create(Meta{Run: testRun}, Options{}))
		wait()
		check(r.Close())
	case "open":
		r, rec, err := s.Open(testRun, 0, Options{}, resumeTest)
		check(err)
		say("opened %d", rec.Records)
		wait()
		check(r.Close())
	case "lockdir":
		must(s.LockDir(arg, "other"))
		wait()
	case "parent": // opens a run, passes its lock to a child and waits to be killed
		cmd := exec.Command(os.Args[0])
		cmd.Env = append(os.Environ(), childRole+"=inherit")
		cmd.ExtraFiles = []*os.File{must(s.Create(Meta{Run: testRun}, Options{})).LockFile()}
		cmd.Stdin, cmd.Stdout = os.Stdin, os.Stdout
		check(cmd.Run())
	case "write": // so many records, one at a time
		r := must(s.Create(Meta{Run: testRun},
			Options{Trouble: func(err error) { say("trouble %v", err) }, Retry: 50 * time.Millisecond}))
		for range must(strconv.Atoi(arg)) {
			addSome(r, 1)
		}
		check(r.Close())
	}
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
		testkit.Need(c.t, ok, "the child ended without a word")
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
