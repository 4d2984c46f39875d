package transcript

import (
	"bytes"
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

	"github.com/arbiter-cli/arbiter/internal/testkit"
	"github.com/arbiter-cli/arbiter/transcript/jsonl"
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
	var err error
	switch op {
	case "append":
		testkit.Append(t, path, testkit.Must(strconv.Unquote(arg))(t))
	case "write":
		err = os.WriteFile(path, []byte(testkit.Must(strconv.Unquote(arg))(t)), 0o600)
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
	testkit.Need(t, err == nil, "%s: %v", line, err)
}

// reportChanges makes f report everything by calling report.
func reportChanges(f *Follower, report func(string)) {
	f.OnLine = func(l jsonl.Line) {
		if l.Oversize {
			report(fmt.Sprintf("over %d-%d", l.Start, l.End))
			return
		}
		report(fmt.Sprintf("%q", l.Data))
	}
	f.OnAgain = func() { report("again") }
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
				f := &Follower{Path: filepath.Join(root, "d", "f"), Bell: bell, MaxLine: maxLineOf(s.name)}
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
					testkit.Need(t, len(got) != 0, "nothing reported, want %s", want)
					testkit.Same(t, "reported", want, got[0])
					got = got[1:]
				})
				testkit.Empty(t, "reported, too", got)
				cancel()
				err := <-done
				testkit.Check(t, err == context.Canceled, "ended with %v", err)
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

// TestFollowerWatching plays the same scripts with a watcher.
func TestFollowerWatching(t *testing.T) {
	for _, s := range scripts {
		t.Run(s.name, func(t *testing.T) {
			defer goleak.VerifyNone(t)
			root := t.TempDir()
			change(t, root, "mkdir d")
			w := NewWatcher(time.Millisecond, time.Millisecond)
			defer w.Close()
			watch, _ := w.Watch(filepath.Join(root, "d", "f"))
			reports := make(chan string, 100)
			f := &Follower{Path: filepath.Join(root, "d", "f"), Bell: watch, MaxLine: maxLineOf(s.name)}
			reportChanges(f, func(s string) { reports <- s })
			ctx, cancel := context.WithCancel(t.Context())
			done := make(chan struct{})
			start := func() {
				go func() { defer close(done); f.Run(ctx) }()
			}
			play(t, root, s.text, start, func() {}, func(want string) {
				got := testkit.Receive(t, "event", reports)
				testkit.Need(t, got == want, "reported %s, want %s", got, want)
			})
			cancel()
			<-done
			for len(reports) > 0 {
				t.Errorf("reported %s, too", <-reports)
			}
		})
	}
}

// A script changes files and lists what the follower of d/f reports:
//
//	append FILE "TEXT"   write FILE "TEXT" (anew, in place)   truncate FILE SIZE
//	mkdir DIR   rename OLD NEW   remove FILE   rmdir DIR (with all in it)
//	symlink TARGET NAME   fifo NAME
//
// and, indented, each report: `"line"`, `again`, `problem`, `fine`. The follower must report nothing else in between.
var scripts = []struct{ name, text string }{
	{"there from the beginning", `
		+ append d/f "a\nb\n"
			"a"
			"b"
		append d/f "c\n"
			"c"`},
	{"comes later", `
		append d/other "x\n"
		append d/f "a\n"
			"a"`},
	{"partial lines", `
		append d/f "a"
		append d/f "b"
		append d/f "\r"
		append d/f "\nc\nd"
			"ab"
			"c"
		append d/f "\n"
			"d"`},
	{"nothing is sacred but the end of a line", `
		append d/f "\xef\xbb\xbfa\n\x00\x00{}\n\xff\xfe\n\n"
			"a"
			"\x00\x00{}"
			"\xff\xfe"
			""
		append d/f "\xef\xbb\xbfb\n"
			"\ufeffb"`},
	{"a splice, and what follows", `
		append d/f "{\"type\":\"user\",\"mess"
		append d/f "{\"type\":\"user\"}\n{\"type\":\"assistant\"}\n"
			"{\"type\":\"user\",\"mess{\"type\":\"user\"}"
			"{\"type\":\"assistant\"}"`},
	{"an over-long line", `
		append d/f "a\n0123456789"
			"a"
		append d/f "0123456789\nb\n"
			over 2-23
			"b"`},
	{"truncated", `
		append d/f "a\nb\nrest"
			"a"
			"b"
		truncate d/f 0
			again
		append d/f "c\n"
			"c"`},
	{"truncated and written anew", `
		append d/f "a\nbbbb\n"
			"a"
			"bbbb"
		write d/f "c\n"
			again
			"c"
		append d/f "d\n"
			"d"`},
	{"cut back within a line", `
		append d/f "a\nbbbb\n"
			"a"
			"bbbb"
		truncate d/f 4
			again
			"a"
		append d/f "x\n"
			"bbx"`},
	{"cut back within what is not a line yet", `
		append d/f "a\nrest"
			"a"
		truncate d/f 4
			again
			"a"
		append d/f "d\n"
			"red"`},
	{"replaced", `
		append d/f "a\nrest"
			"a"
		append d/new "b\nc\n"
		rename d/new d/f
			again
			"b"
			"c"
		append d/f "d\n"
			"d"`},
	{"replaced three times", `
		append d/f "a\n"
			"a"
		append d/g "b\n"
		rename d/g d/f
			again
			"b"
		append d/g "c\n"
		rename d/g d/f
			again
			"c"
		append d/g "d\n"
		rename d/g d/f
			again
			"d"`},
	{"moved away, and back", `
		append d/f "a\n"
			"a"
		rename d/f d/g
			problem file does not exist
		rename d/g d/f
			fine
		append d/f "c\n"
			"c"`},
	{"rotated", `
		append d/f "a\n"
			"a"
		rename d/f d/f.1
			problem file does not exist
		append d/f "b\n"
			fine
			again
			"b"`},
	{"removed and created again", `
		append d/f "a\n"
			"a"
		remove d/f
			problem file does not exist
		append d/f "b\n"
			fine
			again
			"b"

		append d/f "c\n"
			"c"`},
	{"the directory comes later", `
		rmdir d
		mkdir d
		append d/f "a\n"
			"a"
		append d/f "b\n"
			"b"`},
	{"the directory goes and comes", `
		append d/f "a\n"
			"a"
		rmdir d
			problem file does not exist
		mkdir d
		append d/f "b\n"
			fine
			again
			"b"

		append d/f "c\n"
			"c"
		rmdir d
			problem file does not exist
		mkdir d
		append d/f "d\n"
			fine
			again
			"d"`},
	{"a directory full is moved there", `
		rmdir d
		mkdir e
		append e/f "a\n"
		rename e d
			"a"
		append d/f "b\n"
			"b"`},
	{"the directory is replaced", `
		append d/f "a\n"
			"a"
		mkdir e
		append e/f "b\n"
		rename d gone
			problem file does not exist
		rename e d
			fine
			again
			"b"

		append d/f "c\n"
			"c"`},
	{"a directory stands in its place", `
		mkdir d/f
			problem not a regular file
		rmdir d/f
			fine
		append d/f "a\n"
			"a"`},
	{"a FIFO and a link stand in its place", `
		fifo d/f
			problem not a regular file
		remove d/f
			fine
		append d/g "x\n"
		symlink g d/f
			problem not a regular file
		append d/h "a\n"
		rename d/h d/f
			fine
			"a"`},
	{"replaced by what cannot be read", `
		append d/f "a\n"
			"a"
		symlink nowhere d/g
		rename d/g d/f
			problem not a regular file
		append d/h "b\n"
		rename d/h d/f
			fine
			again
			"b"`},
}

// followed returns the lines that f delivers at its first look, and after each change.
func followed(t *testing.T, f *Follower, changes ...func()) (got []string) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		bell := NewBell()
		f.Bell = bell
		reportChanges(f, func(s string) { got = append(got, s) })
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() { defer close(done); f.Run(ctx) }()
		synctest.Wait()
		for _, change := range changes {
			change()
			bell.Ring()
			synctest.Wait()
		}
		cancel()
		<-done
	})
	return got
}

// TestFollowerStart: a follower that begins at the end leaves out nothing that is written after it began, and a file
// that cannot be read is reported once, however often it is looked at.
func TestFollowerStart(t *testing.T) {
	const there, more = `append f "one\ntwo\nthr"`, `append f "ee\n"`
	for _, tc := range []struct {
		name, before string
		atEnd        bool
		changes      []string
		want         []string
	}{
		{"from the beginning", there, false, []string{more},
			[]string{`"one"`, `"two"`, `"three"`}},
		{"at the end", there, true, []string{more}, []string{`"three"`}},
		{"at the end of nothing", "append other \"\"", true, []string{`append f "a\nb\n"`},
			[]string{`"a"`, `"b"`}},
		{"no file", "mkdir f", false, []string{"mkdir a", "mkdir b", "mkdir c"},
			[]string{"problem " + ErrNotRegular.Error()}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			root := t.TempDir()
			change(t, root, tc.before)
			changes := testkit.Each(tc.changes, func(line string) func() { return func() { change(t, root, line) } })
			f := &Follower{Path: filepath.Join(root, "f"), AtEnd: tc.atEnd}
			testkit.Same(t, "", tc.want, followed(t, f, changes...))
		})
	}
}

func TestLastLineEnd(t *testing.T) {
	testkit.WithoutRace(t)
	for in, want := range map[string]int64{
		"": 0, "a": 0, "a\n": 2, "a\nb": 2, "\n": 1,
		"a\n" + strings.Repeat("x", backBuffer) + "\ny":      backBuffer + 3,
		"a\n" + strings.Repeat("x", 3*backBuffer):            2,
		strings.Repeat("x", 2*backBuffer):                    0,
		"\n" + strings.Repeat("x", jsonl.MaxLine+backBuffer): jsonl.MaxLine + backBuffer + 1,
	} {
		got, err := lastLineEnd(bytes.NewReader([]byte(in)), int64(len(in)))
		testkit.Check(t, err == nil && got == want, "%.10q (%d bytes): %d, %v, want %d", in, len(in), got, err, want)
	}
}

// What was written after the last read and before the file was replaced is delivered before the new file.
func TestFollowerFinishesTheOldFile(t *testing.T) {
	root := t.TempDir()
	change(t, root, `append f "a\n"`)
	change(t, root, `append new "c\n"`)
	var got []string
	ctx, cancel := context.WithCancel(t.Context())
	f := &Follower{Path: filepath.Join(root, "f"), Bell: NewBell(), OnIdle: cancel, OnLine: func(l jsonl.Line) {
		got = append(got, string(l.Data))
		if len(got) == 1 { // the follower has seen the end of the file
			change(t, root, `append f "b\n"`)
			change(t, root, "rename new f")
		}
	}}
	f.Run(ctx)
	testkit.Same(t, "", []string{"a", "b", "c"}, got)
}

// TestFollowerOfDamage: joined lines, runs of NULs, a missing newline and cut ends, as users reported them of
// real transcripts. However the text is divided into writes, the good lines on both sides of the damage are
// delivered whole.
func TestFollowerOfDamage(t *testing.T) {
	const good = `{"type":"user","uuid":"u1"}`
	text := good + "\n" + good[:12] + good + "\n" + strings.Repeat("\x00", 300) + good + "\n" +
		good + good + "\n\n" + good + "\r\n" + good[:5] + "\n" + good + "\n" + good[:20]
	var want []string
	for line := range strings.Lines(text) {
		if line, whole := strings.CutSuffix(line, "\n"); whole {
			want = append(want, fmt.Sprintf("%q", strings.TrimSuffix(line, "\r")))
		}
	}
	for _, size := range []int{1, 7, 64, 1000} {
		path := filepath.Join(t.TempDir(), "f")
		var changes []func()
		for rest := text; rest != ""; {
			piece := rest[:min(size, len(rest))]
			rest = rest[len(piece):]
			changes = append(changes, func() { testkit.Append(t, path, piece) })
		}
		testkit.Same(t, fmt.Sprintf("in pieces of %d", size), want, followed(t, &Follower{Path: path}, changes...))
	}
}

// A file that cannot be read any more, because another machine has replaced it, blocks nothing.
func TestReplacedUnreadably(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "a.jsonl")
	write := func(name, text string) {
		testkit.OK(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
	var got []string
	l := &looker{Follower: &Follower{Path: path, OnLine: func(l jsonl.Line) { got = append(got, string(l.Data)) },
		OnProblem: func(err error) { got = append(got, fmt.Sprint("problem ", err != nil)) }}}
	defer l.close()
	write("a.jsonl", "one\n")
	l.look(t.Context())
	l.file.Close()
	l.look(t.Context())
	l.look(t.Context()) // reported once
	write("b.jsonl", "two\n")
	testkit.OK(t, os.Rename(filepath.Join(dir, "b.jsonl"), path))
	l.look(t.Context())
	testkit.Same(t, "", []string{"one", "problem true", "problem false", "two"}, got)
}

// TestWatcherWithoutNotifications: every bell rings at the interval, until it is forgotten or the watcher is closed.
func TestWatcherWithoutNotifications(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWatcher(time.Second, time.Second, nil)
		first, forget := w.Watch("/a/file")
		second, _ := w.Watch("")
		time.Sleep(time.Second - time.Nanosecond)
		synctest.Wait()
		testkit.Check(t, len(first)+len(second) == 0, "a bell rang too early")
		time.Sleep(time.Nanosecond)
		synctest.Wait()
		<-first
		<-second
		forget()
		time.Sleep(2 * time.Second)
		if synctest.Wait(); len(first) != 0 || len(second) != 1 {
			t.Errorf("the forgotten bell rang %d times, the other %d times", len(first), len(second))
		}
		<-second
		w.Close()
		w.Close()
		time.Sleep(2 * time.Second)
		synctest.Wait()
		testkit.Check(t, len(second) == 0, "a bell rang after the end")
	})
}

// TestWatcherIsNotified: a bell rings for what happens in its directory, long before the interval, also after a pause;
// and a directory that appears, or is replaced, is watched from the next interval on.
func TestWatcherIsNotified(t *testing.T) {
	rings := func(b Bell, what string) {
		t.Helper()
		select {
		case <-b:
		case <-time.After(20 * time.Second):
			t.Fatalf("nothing rings when %s", what)
		}
	}
	dir := t.TempDir()
	w := NewWatcher(time.Millisecond, time.Hour)
	defer w.Close()
	path := filepath.Join(dir, "session.jsonl")
	bell, forget := w.Watch(path)
	other, _ := w.Watch(filepath.Join(t.TempDir(), "other.jsonl"))
	for _, what := range []string{"the file is created", "it grows", "it grows again"} {
		testkit.Append(t, path, "{}\n")
		rings(bell, what)
	}
	testkit.Check(t, len(other) == 0, "the bell of another directory rang")
	forget()
	again, _ := w.Watch(path)
	testkit.Append(t, path, "{}\n")
	rings(again, "it is watched again")

	soon := NewWatcher(time.Millisecond, 20*time.Millisecond)
	defer soon.Close()
	late := filepath.Join(dir, "projects", "p", "session.jsonl")
	bell, _ = soon.Watch(late)
	watched := func() bool {
		soon.mu.Lock()
		defer soon.mu.Unlock()
		return soon.added[filepath.Dir(late)]
	}
	for range 2 { // it appears, and is replaced
		testkit.OK(t, os.MkdirAll(filepath.Dir(late), 0o700))
		for !watched() {
			rings(bell, "the interval is over")
		}
		testkit.Append(t, late, "{}\n")
		rings(bell, "a file appears in a new directory")
		testkit.OK(t, os.RemoveAll(filepath.Dir(late)))
		for watched() {
			rings(bell, "the directory is removed")
		}
	}
}
