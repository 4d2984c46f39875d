package statedir

import (
	"bytes"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/arbiter-cli/arbiter/internal/testkit"
)

func openDir(t *testing.T, path string) *Dir {
	t.Helper()
	d := testkit.Must(Open(path))(t)
	t.Cleanup(func() { d.Close() })
	return d
}

// TestModes: directories are 0700 and files 0600 under any umask, and again after their modes were widened.
func TestModes(t *testing.T) {
	for _, umask := range []int{0, 0o777} {
		path := t.TempDir()
		testkit.OK(t, os.Chmod(path, 0o755))
		before := syscall.Umask(umask)
		d := openDir(t, path)
		sub, err := d.Dir("sub")
		if err == nil {
			defer sub.Close()
			err = errors.Join(sub.Replace("a", []byte("1")), sub.ReplaceUnsynced("b", nil))
		}
		if err == nil {
			var unlock func()
			if unlock, err = sub.Lock("lock", 0); err == nil {
				unlock()
			}
		}
		syscall.Umask(before)
		testkit.OK(t, err, os.Chmod(sub.Path("b"), 0o644))
		testkit.OK(t, testkit.Err(sub.Read("b", 0)))
		for name, want := range map[string]fs.FileMode{"": 0o700, "sub": 0o700, "sub/a": 0o600, "sub/b": 0o600,
			"sub/lock": 0o600} {
			if info, err := os.Stat(filepath.Join(path, name)); err != nil || info.Mode().Perm() != want {
				t.Errorf("umask %o: %q is %v, %v; want %v", umask, name, info.Mode().Perm(), err, want)
			}
		}
	}
}

// TestUnsafe: files that others may have put there are neither read, locked nor followed.
func TestUnsafe(t *testing.T) {
	for name, put := range map[string]func(d *Dir, path string) error{
		"link out": func(d *Dir, path string) error { return os.Symlink("/etc/passwd", path) },
		"link within": func(d *Dir, path string) error {
			return errors.Join(d.Replace("b", []byte("b")), os.Symlink("b", path))
		},
		"dangling link": func(d *Dir, path string) error { return os.Symlink("nowhere", path) },
		"hard link": func(d *Dir, path string) error {
			return errors.Join(d.Replace("b", []byte("b")), os.Link(d.Path("b"), path))
		},
		"pipe":      func(d *Dir, path string) error { return syscall.Mkfifo(path, 0o600) },
		"directory": func(d *Dir, path string) error { return os.Mkdir(path, 0o700) },
		"others may write": func(d *Dir, path string) error {
			return errors.Join(d.Replace("a", []byte("a")), os.Chmod(path, 0o622))
		},
		"another's": func(d *Dir, path string) error {
			if os.Geteuid() != 0 {
				return os.Symlink("nowhere", path) // only root can change a file's owner
			}
			return errors.Join(d.Replace("a", []byte("a")), os.Chown(path, 4242, -1))
		},
	} {
		d := openDir(t, t.TempDir())
		testkit.OK(t, put(d, d.Path("a")))
		var unsafe *UnsafeError
		b, err := d.Read("a", 100)
		testkit.Check(t, errors.As(err, &unsafe), "%s: read %q, %v", name, b, err)
		_, err = d.Lock("a", 0)
		testkit.Check(t, errors.As(err, &unsafe), "%s: lock: %v", name, err)
		if sub, err := d.Dir("a"); err == nil && name != "directory" {
			sub.Close()
			t.Errorf("%s: taken for a directory", name)
		}
	}
	link := filepath.Join(t.TempDir(), "link")
	testkit.OK(t, os.Symlink(t.TempDir(), link))
	testkit.Fails(t, "a link was taken for the directory", testkit.Err(Open(link)))
}

func TestRead(t *testing.T) {
	d := openDir(t, filepath.Join(t.TempDir(), "a", "b"))
	testkit.OK(t, d.Replace("a", []byte("four")))
	b, err := d.Read("a", 4)
	testkit.Check(t, string(b) == "four" && err == nil, "%q, %v", b, err)
	testkit.Fails(t, "over the limit", testkit.Err(d.Read("a", 3)), ErrTooLarge)
	testkit.Fails(t, "what is not there", testkit.Err(d.Read("b", 3)), fs.ErrNotExist)
}

// TestReplacedWhileRead: readers see one complete file or the other, and no temporary file remains.
func TestReplacedWhileRead(t *testing.T) {
	d := openDir(t, t.TempDir())
	texts := [][]byte{bytes.Repeat([]byte("a"), 5000), bytes.Repeat([]byte("b"), 5000)}
	testkit.OK(t, d.ReplaceUnsynced("f", texts[0]))
	var work sync.WaitGroup
	for _, text := range texts {
		work.Go(func() {
			for range 200 {
				testkit.Works(t, "ReplaceUnsynced", d.ReplaceUnsynced("f", text))
			}
		})
	}
	work.Go(func() {
		for range 400 {
			b, err := d.Read("f", 5000)
			testkit.Check(t, err == nil && (bytes.Equal(b, texts[0]) || bytes.Equal(b, texts[1])), "%.20q, %v", b, err)
		}
	})
	work.Wait()
	list, err := fs.ReadDir(d.FS(), ".")
	testkit.Check(t, len(list) == 1 && err == nil, "left: %v, %v", list, err)
}

// TestChange: a partial file from a killed writer is removed, and never written through.
func TestChange(t *testing.T) {
	w := testkit.Must(OpenWorkspace(t.TempDir(), "kept", t.TempDir()))(t)
	defer w.Close()
	change := func(limit int64) error { return w.Change(limit, func() (any, error) { return "new", nil }) }
	testkit.OK(t, w.Replace("target", []byte("mine")), os.Symlink("target", w.Dir.Path(w.Name+".tmp")), change(6))
	b, err := w.Read("target", 10)
	testkit.Check(t, string(b) == "mine" && err == nil, "it wrote through a link: %q, %v", b, err)
	testkit.Fails(t, "the piece is still there", testkit.Err(w.Lstat(w.Name+".tmp")), fs.ErrNotExist)
	testkit.Fails(t, "it is too large", change(5), w.Path()+" would be over")
	var got string
	b, err = os.ReadFile(w.Path())
	testkit.OK(t, err, json.Unmarshal(b, &got))
	testkit.Same(t, "it holds", "new", got)
}

func TestLock(t *testing.T) {
	d := openDir(t, t.TempDir())
	unlock := testkit.Must(d.Lock("lock", 0))(t)
	testkit.Fails(t, "taken twice", testkit.Err(d.Lock("lock", 0)), ErrHeld)
	time.AfterFunc(time.Millisecond, unlock)
	testkit.Must(d.Lock("lock", time.Minute))(t)()
}
