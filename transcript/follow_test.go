package transcript

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"
)

// play runs a script below root. It calls sync after each change, and expect with each expected report.
func play(t *testing.T, root, text string, start, sync func(), expect func(string)) {
	started := false
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\n")
		words := strings.TrimLeft(line, "\t")
		switch {
		case words == "":
			continue
		case len(line)-len(words) > 2:
			expect(words)
			continue
		}
		before, isBefore := strings.CutPrefix(words, "+ ")
		if !isBefore && !started {
			started = true
			start()
		}
		change(t, root, before)
		if !isBefore {
			sync()
			continue
		}
		started = true
		start()
	}
}

// change makes one change of a script.
func change(t *testing.T, root, line string) {
	t.Helper()
	op, rest, _ := strings.Cut(line, " ")
	name, arg, _ := strings.Cut(rest, " ")
	path := filepath.Join(root, name)
	put := func(flag int) error {
		text, err := strconv.Unquote(arg)
		if err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		f, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY|flag, 0o600)
		if err != nil {
			return err
		}
		defer f.Close()
		_, err = f.WriteString(text)
		return err
	}
	var err error
	switch op {
	case "append":
		err = put(os.O_APPEND)
	case "write":
		err = put(os.O_TRUNC)
	case "truncate":
		size, _ := strconv.Atoi(arg)
		err = os.Truncate(path, int64(size))
	case "mkdir":
		err = os.Mkdir(path, 0o700)
	case "rename":
		err = os.Rename(path, filepath.Join(root, arg))
	case "remove":
		err = os.Remove(path)
	case "rmdir":
		err = os.RemoveAll(path)
	case "symlink":
		err = os.Symlink(name, filepath.Join(root, arg))
	case "fifo":
		err = syscall.Mkfifo(path, 0o600)
	default:
		t.Fatalf("no such change: %s", line)
	}
	if err != nil {
		t.Fatalf("%s: %v", line, err)
	}
}

// reportChanges makes f report everything by calling report.
func reportChanges(f *Follower, report func(string)) {
	f.OnLine = func(l Followed) {
		if l.Oversize {
			report(fmt.Sprintf("%d over %d-%d", l.Generation, l.Start, l.End))
			return
		}
		report(fmt.Sprintf("%d %q", l.Generation, l.Data))
	}
	f.OnTurn = func(turn Turn) {
		s := fmt.Sprintf("turn %d %s %d", turn.Generation, turn.Cause, turn.Offset)
		if turn.Lost > 0 {
			s += fmt.Sprintf(" lost %d", turn.Lost)
		}
		report(s)
	}
	f.OnProblem = func(err error) {
		switch {
		case err == nil:
			report("fine")
		case errors.Is(err, fs.ErrNotExist):
			report("problem " + fs.ErrNotExist.Error())
		case errors.Is(err, ErrNotRegular):
			report("problem " + ErrNotRegular.Error())
		default:
			report("problem " + err.Error())
		}
	}
}

const scriptMaxLine = 64

// TestFollower plays each script with a bell that rings after each change, so that the follower sees every
// state.
func TestFollower(t *testing.T) {
	for _, s := range scripts {
		t.Run(s.name, func(t *testing.T) {
			root := t.TempDir()
			change(t, root, "mkdir d")
			synctest.Test(t, func(t *testing.T) {
				bell := NewBell()
				var got []string
				f := &Follower{Path: filepath.Join(root, "d", "f"), Waker: bell, MaxLine: maxLineOf(s.name)}
				reportChanges(f, func(s string) { got = append(got, s) })
				ctx, cancel := context.WithCancel(t.Context())
				done := make(chan error, 1)
				start := func() {
					go func() { done <- f.Run(ctx) }()
					synctest.Wait()
				}
				sync := func() {
					if len(got) > 0 {
						t.Errorf("reported %q, which was not expected", got)
						got = nil
					}
					bell.Ring()
					synctest.Wait()
				}
				play(t, root, s.text, start, sync, func(want string) {
					if len(got) == 0 {
						t.Fatalf("nothing reported, want %s", want)
					}
					if got[0] != want {
						t.Errorf("reported %s, want %s", got[0], want)
					}
					got = got[1:]
				})
				if len(got) > 0 {
					t.Errorf("reported %q, too", got)
				}
				cancel()
				if err := <-done; err != context.Canceled {
					t.Errorf("ended with %v", err)
				}
			})
		})
	}
}

func maxLineOf(script string) int {
	if script == "an over-long line" {
		return 12
	}
	return scriptMaxLine
}

// TestFollowerWatching plays the same scripts with only the kernel's notifications, and with only polling.
func TestFollowerWatching(t *testing.T) {
	for kind, o := range map[string]WatchOptions{
		"notified": {Interval: time.Hour},
		"polling":  {Interval: time.Millisecond, Poll: true},
	} {
		for _, s := range scripts {
			t.Run(kind+"/"+s.name, func(t *testing.T) {
				defer goleak.VerifyNone(t)
				root := t.TempDir()
				change(t, root, "mkdir d")
				o.OnProblem = func(err error) { t.Errorf("the watcher: %v", err) }
				w := NewWatcher(o)
				defer w.Close()
				watch := w.File(filepath.Join(root, "d", "f"))
				defer watch.Close()
				reports := make(chan string, 100)
				f := &Follower{Path: filepath.Join(root, "d", "f"), Waker: watch, MaxLine: maxLineOf(s.name)}
				reportChanges(f, func(s string) { reports <- s })
				ctx, cancel := context.WithCancel(t.Context())
				done := make(chan struct{})
				start := func() {
					go func() { defer close(done); f.Run(ctx) }()
				}
				play(t, root, s.text, start, func() {}, func(want string) {
					if got := receive(t, reports); got != want {
						t.Fatalf("reported %s, want %s", got, want)
					}
				})
				cancel()
				<-done
				for len(reports) > 0 {
					t.Errorf("reported %s, too", <-reports)
				}
			})
		}
	}
}

// waitTimeout ends a test that hangs. No test measures it.
const waitTimeout = 2 * time.Minute

func receive[T any](t *testing.T, c <-chan T) T {
	t.Helper()
	select {
	case v := <-c:
		return v
	case <-time.After(waitTimeout):
		t.Fatal("nothing came")
		panic("unreachable")
	}
}
