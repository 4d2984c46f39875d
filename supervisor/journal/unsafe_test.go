//go:build linux || darwin

package journal

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/arbiter-cli/arbiter/internal/testkit"
)

// withDeadline fails a test whose call hangs.
func withDeadline(t *testing.T, call func() error) error {
	t.Helper()
	done := make(chan error, 1)
	go func() { done <- call() }()
	select {
	case err := <-done:
		return err
	case <-time.After(failAfter):
		t.Fatal("it hangs")
		return nil
	}
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
		err := withDeadline(t, func() error {
			s, err := OpenStore(dir)
			if err == nil {
				s.Close()
			}
			return err
		})
		var unsafe *UnsafeError
		if !errors.As(err, &unsafe) && dir == link || err == nil {
			t.Errorf("%s: %v", dir, err)
		}
	}
	if os.Geteuid() == 0 {
		testkit.OK(t, os.Chown(target, 4242, -1))
		var unsafe *UnsafeError
		if _, err := OpenStore(target); !errors.As(err, &unsafe) {
			t.Errorf("another's directory: %v", err)
		}
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
	if info.Mode().Perm() != want {
		t.Errorf("%s has mode %v, want %v", path, info.Mode(), want)
	}
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
				s := newTestStore(t)
				r := createRun(t, s, testRun, Options{})
				add(t, r, 1, 3)
				closeRun(t, r)
				path := filepath.Join(r.Dir(), name)
				testkit.OK(t, os.Remove(path))
				if err := put(path); errors.Is(err, fs.ErrPermission) {
					t.Skipf("not root: %v", err)
				} else if err != nil {
					t.Fatal(err)
				}
				err := withDeadline(t, func() error {
					r, _, err := s.Open(testRun, 0, Options{}, resumeTest)
					if err == nil {
						r.Close()
					}
					return err
				})
				var unsafe *UnsafeError
				if !errors.As(err, &unsafe) {
					t.Errorf("open: %v", err)
				}
				if all, err := s.List(); err != nil || len(all) != 1 || name == metaName && !all[0].Damaged {
					t.Errorf("list: %+v, %v", all, err)
				}
				if i, err := s.Find(testRun); err != nil || !i.Damaged { // it looks at all files
					t.Errorf("find: %+v, %v", i, err)
				}
				if b, err := os.ReadFile(victim); err != nil || string(b) != "precious" {
					t.Errorf("the victim: %q, %v", b, err)
				}
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
		r := createRunAt(t, s)
		add(t, r, 1, 3)
		syncRun(t, r)
		l, err := s.LockDir("/", testRun)
		unix.Umask(old)
		if err != nil {
			t.Fatal(err)
		}
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
		r, _ = openRun(t, s, testRun, Options{})
		closeRun(t, r)
		if l, err = s.LockDir("/", testRun); err != nil {
			t.Fatal(err)
		}
		l.Close()
		allOurs(t, dir)
	}
}

func createRunAt(t *testing.T, s *Store) *Run {
	t.Helper()
	r := testkit.Must(s.Create(Meta{Run: testRun}, Options{}))(t)
	return r
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
		"gone":     func(t *testing.T, dir, aside string) { testkit.OK(t, os.Rename(dir, aside)) },
		"replaced": func(t *testing.T, dir, aside string) { testkit.OK(t, os.Rename(dir, aside), os.Mkdir(dir, 0o700)) },
		"linked": func(t *testing.T, dir, aside string) {
			elsewhere := t.TempDir()
			testkit.OK(t, os.Rename(dir, aside), os.Symlink(elsewhere, dir))
			t.Cleanup(func() {
				if entries, err := os.ReadDir(elsewhere); err != nil || len(entries) > 0 {
					t.Errorf("the link was followed: %v, %v", entries, err)
				}
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
				if err := receive(t, told); !errors.Is(err, ErrVanished) {
					t.Fatalf("trouble: %v", err)
				}
				if d := r.Durable(); d != 4 {
					t.Errorf("%d records are called durable", d)
				}
				if what == "read-only" {
					testkit.OK(t, os.Chmod(dir, 0o700))
				} else {
					os.Remove(dir)
					testkit.OK(t, os.Rename(aside, dir))
				}
				for err := receive(t, told); err != nil; err = receive(t, told) {
					if !errors.Is(err, ErrVanished) { // the cause may change in between
						t.Errorf("trouble: %v", err)
					}
				}
				syncRun(t, r)
				closeRun(t, r)
				checkRecords(t, reader(s, testRun), 6)
			})
		}
	}
}

func receive[T any](t *testing.T, from <-chan T) (v T) {
	t.Helper()
	select {
	case v = <-from:
	case <-time.After(failAfter):
		t.Fatal("nothing came")
	}
	return v
}

// TestDeleted: when the files are lost for good, nothing more is reported as durable, and Close says what is
// lost.
func TestDeleted(t *testing.T) {
	s := newTestStore(t)
	told := make(chan error, 100)
	r := createRun(t, s, testRun, Options{Retry: 20 * time.Millisecond, CloseWait: 100 * time.Millisecond,
		Trouble: func(err error) { told <- err }})
	addBatches(t, r, 4, 2)
	testkit.OK(t, os.RemoveAll(r.Dir()))
	add(t, r, 5, 6)
	if err := receive(t, told); !errors.Is(err, ErrVanished) {
		t.Errorf("trouble: %v", err)
	}
	if err := r.Close(); !errors.Is(err, ErrVanished) {
		t.Errorf("close: %v", err)
	}
}
