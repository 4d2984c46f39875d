//go:build linux || darwin

package journal

import (
	"context"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/sys/unix"

	"github.com/arbiter-cli/arbiter/internal/testkit"
)

// TestCrashPointsAreListed compares the list with the calls in the source.
func TestCrashPointsAreListed(t *testing.T) {
	names := testkit.Must(filepath.Glob("*.go"))(t)
	var called []string
	for _, name := range names {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		file := testkit.Must(parser.ParseFile(token.NewFileSet(), name, nil, 0))(t)
		ast.Inspect(file, func(n ast.Node) bool {
			call, ok := n.(*ast.CallExpr)
			if !ok {
				return true
			}
			f, ok := call.Fun.(*ast.Ident)
			if !ok || f.Name != "crash" {
				return true
			}
			kinds, point := []string{""}, call.Args[0]
			if sum, ok := point.(*ast.BinaryExpr); ok { // of publish, for both kinds of files
				kinds, point = []string{"journal.meta", "journal.segment"}, sum.Y
			}
			for _, kind := range kinds {
				called = append(called, kind+testkit.Must(strconv.Unquote(point.(*ast.BasicLit).Value))(t))
			}
			return true
		})
	}
	slices.Sort(called)
	testkit.Same(t, "points (-listed +called)", slices.Sorted(slices.Values(CrashPoints)), called)
}

// TestKilledAtEachPoint kills a process at the first, second and third time that it passes each point, and then
// checks that everything it reported as durable exists.
func TestKilledAtEachPoint(t *testing.T) {
	testkit.WithoutRace(t)
	times := 2
	if testkit.AtNight() {
		times = 5
	}
	hit := hitPoints(t)
	for _, point := range CrashPoints {
		testkit.Check(t, hit[point] != 0, "%s is never passed", point)
		for nth := 1; nth <= min(times, hit[point]); nth++ {
			t.Run(fmt.Sprintf("%s/%d", point, nth), func(t *testing.T) { killAt(t, point, nth) })
		}
	}
}

// hitPoints runs one process without a kill, and counts the points it passes.
func hitPoints(t *testing.T) map[string]int {
	c := startChild(t, "process run", filepath.Join(t.TempDir(), "state"), "")
	hit := map[string]int{}
	before, _ := c.until("done")
	for _, line := range before {
		if point, ok := strings.CutPrefix(line, "hit "); ok {
			hit[point]++
		}
	}
	return hit
}

func killAt(t *testing.T, point string, nth int) {
	dir := filepath.Join(t.TempDir(), "state")
	c := startChild(t, "process run", dir, fmt.Sprintf("%s %d", point, nth))
	<-c.ended
	var promised uint64
	for line := range c.lines {
		testkit.Need(t, line != "done" && !strings.HasPrefix(line, "error"), "it was not killed: %s", line)
		fmt.Sscanf(line, "committed %d", &promised)
	}
	s := openTestStore(t, dir)
	testkit.Must(s.List())(t)
	r, rec, err := s.Open(testRun, 0, Options{}, resumeTest)
	if err != nil {
		testkit.Need(t, promised <= 0 && errors.Is(err, ErrNotFound), "%v", err)
		return
	}
	testkit.Check(t, rec.Records >= promised && !rec.Harmed(), "%+v, want at least %d records", rec, promised)
	closeRun(t, r)
	if strings.Contains(point, ".remove.") {
		s.Remove("hurt")
		testkit.Must(s.Prune(Retention{Runs: 1}))(t)
		entries, err := os.ReadDir(filepath.Join(dir, runsName))
		testkit.Check(t, err == nil && len(entries) == 1, "left: %v, %v", entries, err)
	}
	c = startChild(t, "process run", dir, "") // and it continues from there
	c.until("done")
	<-c.ended
	checkRecords(t, s, rec.Records+25)
}

// playProcessRun passes all crash points, once or more, and kills itself at the requested one.
func playProcessRun(dir, arg string, say func(string, ...any)) {
	point, nth := "", 0
	fmt.Sscan(arg, &point, &nth)
	CrashPoint = func(name string) {
		say("hit %s", name)
		if name == point {
			if nth--; nth == 0 {
				unix.Kill(os.Getpid(), unix.SIGKILL)
				select {}
			}
		}
	}
	s := must(OpenStore(dir))
	defer s.Close()
	liveMain(s, say)
	liveHurt(s)
}

// tellAndSnapshot adds lines to the event log, and then requests a snapshot. It returns when the lines and the
// snapshot are written, so that a process passes the same crash points each time, however the writer groups its
// work.
func tellAndSnapshot(r *Run) {
	upTo := r.Durable()
	check(r.AppendEvents(linesOf(upTo)...))
	underWay := func() bool {
		r.mu.Lock()
		defer r.mu.Unlock()
		return r.st.snapshots > 0
	}
	for made := false; !made; {
		r.Snapshot(func() ([]byte, error) { made = true; return snapshotAt(upTo, upTo), nil })
		for underWay() { // the writer handles an update between two steps
			check(r.Update(context.Background(), func(*Meta) {}))
		}
	}
}

func liveMain(s *Store, say func(string, ...any)) {
	o := Options{Committed: func(upTo uint64) { say("committed %d", upTo) }}
	r, _, err := s.Open(testRun, failAfter, o, resumeTest)
	if errors.Is(err, ErrNotFound) {
		r, err = s.Create(Meta{Run: testRun}, o)
	}
	check(err)
	say("committed %d", r.Durable())
	for range 3 {
		addSome(r, 5)
	}
	var old unix.Rlimit // the current segment grows by only 300 bytes, as on a full disk
	check(unix.Getrlimit(unix.RLIMIT_FSIZE, &old))
	size := must(os.Stat(slices.Max(must(filepath.Glob(filepath.Join(r.Dir(), "journal-*")))))).Size()
	check(unix.Setrlimit(unix.RLIMIT_FSIZE, &unix.Rlimit{Cur: uint64(size) + 300, Max: old.Max}))
	addSome(r, 5)
	check(unix.Setrlimit(unix.RLIMIT_FSIZE, &old))
	for range 3 { // the third removes a segment
		tellAndSnapshot(r)
		check(r.Update(context.Background(), func(*Meta) {}))
	}
	check(r.Update(context.Background(), func(m *Meta) { m.Title = "still alive" }))
	addSome(r, 5)
	check(r.Close())
}

func addSome(r *Run, n uint64) {
	for seq := r.Durable() + 1; n > 0; seq, n = seq+1, n-1 {
		must(r.Append(kindOf(seq), payload(seq)))
	}
	check(r.Sync(context.Background()))
}

// liveHurt creates a run, damages it, opens it, and removes it.
func liveHurt(s *Store) {
	if err := s.Remove("hurt"); !errors.Is(err, ErrNotFound) {
		check(err)
	}
	r := must(s.Create(Meta{Run: "hurt"}, Options{}))
	addSome(r, 10)
	check(r.Close())
	b := must(os.ReadFile(filepath.Join(r.Dir(), segmentName(1))))
	b[len(b)/2] ^= 1
	for name, content := range map[string][]byte{segmentName(1): b, metaName + scratchSuffix: nil,
		LogName: []byte(`{"torn":`)} {
		check(os.WriteFile(filepath.Join(r.Dir(), name), content, 0o600))
	}
	check(opening(s, "hurt", 0))
	check(s.Remove("hurt"))
}

// withDeadline fails a test whose call hangs.
func withDeadline(t *testing.T, call func() error) error {
	t.Helper()
	done := make(chan error, 1)
	go func() { done <- call() }()
	return testkit.Receive(t, "its end", done)
}

func TestUnsafeStateDirectory(t *testing.T) {
	tmp := t.TempDir()
	target := filepath.Join(tmp, "target")
	testkit.OK(t, os.Mkdir(target, 0o777), os.Chmod(target, 0o777))
	link := filepath.Join(tmp, "link")
	testkit.OK(t, os.Symlink(target, link))
	fifo, plain := filepath.Join(tmp, "fifo"), filepath.Join(tmp, "plain")
	testkit.OK(t, unix.Mkfifo(fifo, 0o600), os.WriteFile(plain, nil, 0o600))
	for _, dir := range []string{link, fifo, plain} {
		err := withDeadline(t, func() error { return testkit.Err(OpenStore(dir)) })
		var unsafe *UnsafeError
		testkit.Check(t, (errors.As(err, &unsafe) || dir != link) && err != nil, "%s: %v", dir, err)
	}
	if os.Geteuid() == 0 {
		testkit.OK(t, os.Chown(target, 4242, -1))
		var unsafe *UnsafeError
		_, err := OpenStore(target)
		testkit.Check(t, errors.As(err, &unsafe), "another's directory: %v", err)
		testkit.OK(t, os.Chown(target, 0, -1))
	} else {
		t.Log("not root: a directory of another user is not tried")
	}
	openTestStore(t, target)
	wantMode(t, target, 0o700)
}

func wantMode(t *testing.T, path string, want fs.FileMode) {
	t.Helper()
	info := testkit.Must(os.Lstat(path))(t)
	testkit.Same(t, fmt.Sprintf("%s has mode %v", path, info.Mode()), want, info.Mode().Perm())
}

// TestUnsafeFiles: a file that another user put in the place of a journal file is not used, changed or waited
// for.
func TestUnsafeFiles(t *testing.T) {
	victim := filepath.Join(t.TempDir(), "victim")
	for what, put := range map[string]func(path string) error{
		"link":      func(path string) error { return os.Symlink(victim, path) },
		"dangling":  func(path string) error { return os.Symlink("/nonexistent", path) },
		"pipe":      func(path string) error { return unix.Mkfifo(path, 0o600) },
		"directory": func(path string) error { return os.Mkdir(path, 0o700) },
		"device":    func(path string) error { return unix.Mknod(path, unix.S_IFCHR|0o600, int(unix.Mkdev(1, 3))) },
		"hard link": func(path string) error { return os.Link(victim, path) },
		"owner": func(path string) error {
			return errors.Join(os.WriteFile(path, nil, 0o600), os.Chown(path, 4242, -1))
		},
	} {
		for _, name := range []string{segmentName(1), metaName, lockName} {
			t.Run(what+" as "+name, func(t *testing.T) {
				testkit.OK(t, os.WriteFile(victim, []byte("precious"), 0o644), os.Chmod(victim, 0o644))
				s, r := newRun(t)
				add(t, r, 1, 3)
				closeRun(t, r)
				path := filepath.Join(r.Dir(), name)
				testkit.OK(t, os.Remove(path))
				if err := put(path); errors.Is(err, fs.ErrPermission) {
					t.Skipf("not root: %v", err)
				} else if err != nil {
					t.Fatal(err)
				}
				err := withDeadline(t, func() error { return opening(s, testRun, 0) })
				_, ok := errors.AsType[*UnsafeError](err)
				testkit.Check(t, ok, "open: %v", err)
				if all, err := s.List(); err != nil || len(all) != 1 || name == metaName && !all[0].Damaged {
					t.Errorf("list: %+v, %v", all, err)
				}
				if i, err := s.Find(testRun); err != nil || !i.Damaged { // it looks at all files
					t.Errorf("find: %+v, %v", i, err)
				}
				b, err := os.ReadFile(victim)
				testkit.Check(t, err == nil && string(b) == "precious", "the victim: %q, %v", b, err)
				wantMode(t, victim, 0o644)
			})
		}
	}
}

// TestModes: with any umask, only the user can open the files that the journal creates, and files that have become
// open are closed again.
func TestModes(t *testing.T) {
	for _, umask := range []int{0, 0o777} {
		dir := filepath.Join(t.TempDir(), "state")
		old := unix.Umask(umask & 0o077) // the test's own files need theirs
		s := openTestStore(t, dir)
		unix.Umask(umask)
		r := testkit.Must(s.Create(Meta{Run: testRun}, Options{}))(t)
		add(t, r, 1, 3)
		syncRun(t, r)
		l, err := s.LockDir("/", testRun)
		unix.Umask(old)
		testkit.OK(t, err)
		l.Close()
		closeRun(t, r)
		allOurs(t, dir)
		testkit.OK(t, filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
			mode := fs.FileMode(0o644)
			if d.IsDir() {
				mode = 0o755
			}
			return errors.Join(err, os.Chmod(path, mode))
		}))
		s = openTestStore(t, dir)
		resumes(t, s, 3)
		l, err = s.LockDir("/", testRun)
		testkit.Need(t, err == nil, "%v", err)
		l.Close()
		allOurs(t, dir)
	}
}

func allOurs(t *testing.T, dir string) {
	t.Helper()
	testkit.OK(t, filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		want := fs.FileMode(0o600)
		if d.IsDir() {
			want = 0o700
		}
		wantMode(t, path, want)
		return err
	}))
}

// TestMovedAway: a run whose directory is moved, replaced or made read-only stops reporting records as durable,
// follows no link, and continues when everything is as before.
func TestMovedAway(t *testing.T) {
	for what, swap := range map[string]func(t *testing.T, dir, aside string){
		"gone": func(t *testing.T, dir, aside string) { testkit.OK(t, os.Rename(dir, aside)) },
		"replaced": func(t *testing.T, dir, aside string) {
			testkit.OK(t, os.Rename(dir, aside), os.Mkdir(dir, 0o700))
		},
		"linked": func(t *testing.T, dir, aside string) {
			elsewhere := t.TempDir()
			testkit.OK(t, os.Rename(dir, aside), os.Symlink(elsewhere, dir))
			t.Cleanup(func() {
				entries, err := os.ReadDir(elsewhere)
				testkit.Check(t, err == nil && len(entries) == 0, "the link was followed: %v, %v", entries, err)
			})
		},
		"linked to where it is": func(t *testing.T, dir, aside string) {
			testkit.OK(t, os.Rename(dir, aside), os.Symlink(aside, dir))
		},
		"read-only": func(t *testing.T, dir, aside string) { testkit.OK(t, os.Chmod(dir, 0o500)) },
	} {
		for level := range 3 {
			t.Run(what, func(t *testing.T) {
				s := newTestStore(t)
				told := make(chan error, 100)
				r := createRun(t, s, testRun, Options{Retry: 20 * time.Millisecond, Trouble: func(err error) {
					told <- err
				}})
				addBatches(t, r, 4, 2)
				dir := r.Dir()
				for range level {
					dir = filepath.Dir(dir)
				}
				aside := filepath.Join(t.TempDir(), "aside")
				swap(t, dir, aside)
				add(t, r, 5, 6)
				err := testkit.Receive(t, "signal", told)
				testkit.Need(t, errors.Is(err, ErrVanished), "trouble: %v", err)
				testkit.Same(t, "records are called durable", 4, r.Durable())
				if what == "read-only" {
					testkit.OK(t, os.Chmod(dir, 0o700))
				} else {
					os.Remove(dir)
					testkit.OK(t, os.Rename(aside, dir))
				}
				for err := testkit.Receive(t, "signal", told); err != nil; err = testkit.Receive(t, "signal", told) {
					testkit.Fails(t, "trouble", err, ErrVanished) // the cause may change in between
				}
				syncRun(t, r)
				closeRun(t, r)
				checkRecords(t, s, 6)
			})
		}
	}
}

// TestDeletedIdle: a run that writes nothing reports that its directory was deleted, once.
func TestDeletedIdle(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newTestStore(t)
		told := make(chan error, 100)
		r := createRun(t, s, testRun, Options{Trouble: func(err error) { told <- err }})
		aside := filepath.Join(t.TempDir(), "aside")
		testkit.OK(t, os.Rename(r.Dir(), aside))
		time.Sleep(3 * lookEvery)
		testkit.OK(t, os.Rename(aside, r.Dir()))
		testkit.Check(t, len(told) == 0, "a run that was moved, and came back, is reported: %d", len(told))
		testkit.OK(t, os.RemoveAll(r.Dir()))
		testkit.Fails(t, "trouble", <-told, ErrDeleted)
		time.Sleep(3 * lookEvery)
		testkit.Check(t, len(told) == 0, "reported again: %d", len(told))
		r.Close()
	})
}

// TestDeleted: when the files are lost for good, nothing more is reported as durable, and Close says at once what is
// lost.
func TestDeleted(t *testing.T) {
	s := newTestStore(t)
	told := make(chan error, 100)
	r := createRun(t, s, testRun, Options{Retry: 20 * time.Millisecond, CloseWait: time.Hour, // for nothing
		Trouble: func(err error) { told <- err }})
	addBatches(t, r, 4, 2)
	testkit.OK(t, os.RemoveAll(r.Dir()))
	add(t, r, 5, 6)
	testkit.Fails(t, "trouble", testkit.Receive(t, "signal", told), ErrVanished, ErrDeleted)
	testkit.Fails(t, "close", r.Close(), ErrVanished)
}
