package transcript

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/arbiter-cli/arbiter/internal/testkit"

	"github.com/google/go-cmp/cmp"

	"github.com/arbiter-cli/arbiter/transcript/jsonl"
)

// followed returns the lines that f delivers at its first look, and after each change.
func followed(t *testing.T, f *Follower, changes ...func()) (got []string) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		bell := NewBell()
		f.Waker = bell
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

func TestFollowerStart(t *testing.T) {
	root := t.TempDir()
	path := filepath.Join(root, "f")
	change(t, root, `append f "one\ntwo\nthr"`)
	for _, tc := range []struct {
		name  string
		atEnd bool
		want  []string
	}{
		{"from the beginning", false, []string{"turn 1 opened 0", `1 "one"`, `1 "two"`, `1 "three"`}},
		{"at the end", true, []string{"turn 1 opened 8", `1 "three"`}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			f := &Follower{Path: path, AtEnd: tc.atEnd}
			got := followed(t, f, func() { change(t, root, `append f "ee\n"`) })
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
			if err := os.Truncate(path, 11); err != nil {
				t.Fatal(err)
			}
		})
	}
}

// A follower that begins at the end leaves out nothing that is written after it began.
func TestFollowerAtTheEndOfNothing(t *testing.T) {
	root := t.TempDir()
	f := &Follower{Path: filepath.Join(root, "f"), AtEnd: true}
	got := followed(t, f, func() { change(t, root, `append f "a\nb\n"`) })
	if diff := cmp.Diff([]string{"turn 1 opened 0", `1 "a"`, `1 "b"`}, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
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
		if err != nil || got != want {
			t.Errorf("%.10q (%d bytes): %d, %v, want %d", in, len(in), got, err, want)
		}
	}
}

// What was written after the last read and before the file was replaced is delivered before the new file.
func TestFollowerFinishesTheOldFile(t *testing.T) {
	root := t.TempDir()
	change(t, root, `append f "a\n"`)
	change(t, root, `append new "c\n"`)
	var got []string
	ctx, cancel := context.WithCancel(t.Context())
	f := &Follower{Path: filepath.Join(root, "f"), Waker: NewBell(), OnIdle: cancel, OnLine: func(l Followed) {
		got = append(got, string(l.Data))
		if len(got) == 1 { // the follower has seen the end of the file
			change(t, root, `append f "b\n"`)
			change(t, root, "rename new f")
		}
	}}
	f.Run(ctx)
	if diff := cmp.Diff([]string{"a", "b", "c"}, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// A file that cannot be read is reported once, however often it is looked at.
func TestFollowerReportsProblemOnce(t *testing.T) {
	root := t.TempDir()
	change(t, root, "mkdir f")
	nothing := func() {}
	got := followed(t, &Follower{Path: filepath.Join(root, "f")}, nothing, nothing, nothing)
	if diff := cmp.Diff([]string{"problem " + ErrNotRegular.Error()}, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// TestFollowerOfDamage: joined lines, runs of NULs, a missing newline and cut ends, as users reported them of
// real transcripts. However the text is divided into writes, the good lines on both sides of the damage are
// delivered whole.
func TestFollowerOfDamage(t *testing.T) {
	const good = `{"type":"user","uuid":"u1"}`
	text := good + "\n" + good[:12] + good + "\n" + strings.Repeat("\x00", 300) + good + "\n" +
		good + good + "\n\n" + good + "\r\n" + good[:5] + "\n" + good + "\n" + good[:20]
	want := strings.Split(text, "\n")
	want = want[:len(want)-1] // cut off: not a line yet
	for i := range want {
		want[i] = strings.TrimSuffix(want[i], "\r")
	}
	for _, size := range []int{1, 7, 64, 1000} {
		path := filepath.Join(t.TempDir(), "f")
		var got []string
		var changes []func()
		for rest := text; rest != ""; {
			piece := rest[:min(size, len(rest))]
			rest = rest[len(piece):]
			changes = append(changes, func() { appendTo(t, path, piece) })
		}
		f := &Follower{Path: path}
		synctest.Test(t, func(t *testing.T) {
			bell := NewBell()
			f.Waker, f.OnLine = bell, func(l Followed) { got = append(got, string(l.Data)) }
			ctx, cancel := context.WithCancel(t.Context())
			done := make(chan struct{})
			go func() { defer close(done); f.Run(ctx) }()
			for _, change := range changes {
				change()
				bell.Ring()
				synctest.Wait()
			}
			cancel()
			<-done
		})
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("in pieces of %d (-want +got):\n%s", size, diff)
		}
	}
}

func appendTo(t testing.TB, path, text string) {
	t.Helper()
	f, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err == nil {
		_, err = f.WriteString(text)
		err = errors.Join(err, f.Close())
	}
	if err != nil {
		t.Fatal(err)
	}
}

// A file that cannot be read any more, because another machine has replaced it, blocks nothing.
func TestReplacedUnreadably(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "a.jsonl")
	write := func(name, text string) {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	var got []string
	l := &looker{Follower: &Follower{Path: path, OnLine: func(f Followed) { got = append(got, string(f.Data)) },
		OnProblem: func(err error) { got = append(got, fmt.Sprint("problem ", err != nil)) }}}
	defer l.close()
	write("a.jsonl", "one\n")
	l.look(t.Context())
	l.file.Close()
	l.look(t.Context())
	l.look(t.Context()) // reported once
	write("b.jsonl", "two\n")
	if err := os.Rename(filepath.Join(dir, "b.jsonl"), path); err != nil {
		t.Fatal(err)
	}
	l.look(t.Context())
	if diff := cmp.Diff([]string{"one", "problem true", "problem false", "two"}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
