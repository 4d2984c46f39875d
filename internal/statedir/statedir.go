// Package statedir keeps small files that no other user may read, write or replace: records of trust,
// grants, notes, caches. A [Dir] is an [os.Root], opened once and accessed by name, so that no other
// directory can be substituted for it.
//
//   - Directories are 0700 and files 0600, whatever the umask. Access by others is
//     revoked, and a file that others could have written is refused.
//   - Links, hard links, files that are not regular and files of other users are refused
//     ([UnsafeError]), and left unchanged.
//   - A file is replaced as a whole or not at all.
//   - Reads are bounded, and no operation waits for the other end of a pipe.
//
// It starts no goroutine. A Dir is safe for concurrent use.
package statedir

import (
	"bytes"
	"cmp"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"time"
)

const (
	// lockPoll is how often a lock that another holds is tried again.
	lockPoll = 5 * time.Millisecond
	// openAttempts bounds how often an open is tried again because the file was just replaced.
	openAttempts = 100
)

// ErrTooLarge reports a file that is longer than the reader allows.
var ErrTooLarge = errors.New("the file is too large")

// UnsafeError reports a path that another user could have created or changed.
type UnsafeError struct{ Path, Reason string }

func (e *UnsafeError) Error() string {
	return fmt.Sprintf("%s is not safe to use: %s", e.Path, e.Reason)
}

const isLink = "it is a symbolic link"

// Dir is a directory of the user. Methods that it inherits from os.Root neither check files nor sync.
type Dir struct {
	*os.Root
	path string
}

// Open opens a directory, and creates it and its parents if they are missing. The caller must close it.
func Open(path string) (*Dir, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return nil, err
	}
	made := os.MkdirAll(path, 0o700) // an error is detected below
	d, err := open(path, os.Lstat, os.OpenRoot, path)
	if errors.Is(err, fs.ErrNotExist) {
		err = cmp.Or(made, err)
	}
	return d, err
}

// Dir opens a directory in d, and creates it if it is missing. The caller must close it.
func (d *Dir) Dir(name string) (*Dir, error) {
	switch err := d.Mkdir(name, 0o700); {
	case errors.Is(err, fs.ErrExist):
	case err != nil:
		return nil, err
	default:
		// A umask that removes our own access bits would lock us out.
		if err := errors.Join(d.Chmod(name, 0o700), d.Sync()); err != nil {
			return nil, err
		}
	}
	return d.Existing(name)
}

// Existing opens a directory in d. The caller must close it.
func (d *Dir) Existing(name string) (*Dir, error) {
	return open(name, d.Lstat, d.OpenRoot, d.Path(name))
}

func open(name string, stat func(string) (fs.FileInfo, error), root func(string) (*os.Root, error),
	path string) (*Dir, error) {
	before, err := stat(name)
	if err != nil {
		return nil, err
	}
	switch {
	case before.Mode()&fs.ModeSymlink != 0:
		return nil, &UnsafeError{path, isLink}
	case !before.IsDir():
		return nil, &UnsafeError{path, "it is not a directory"}
	case !owned(before):
		return nil, &UnsafeError{path, "it belongs to another user"}
	}
	r, err := root(name)
	if err != nil {
		return nil, err
	}
	d := &Dir{r, path}
	info, err := d.Stat(".")
	switch {
	case err != nil:
	case !os.SameFile(before, info):
		err = &UnsafeError{path, "another one took its place"}
	case info.Mode().Perm()&0o077 != 0:
		err = revoked(d.Chmod(".", 0o700))
	}
	if err != nil {
		r.Close()
		return nil, err
	}
	return d, nil
}

// Path returns the path of a file in d, for messages.
func (d *Dir) Path(name string) string { return filepath.Join(d.path, name) }

// Read returns a file of at most limit bytes; ErrTooLarge if it is longer.
func (d *Dir) Read(name string, limit int64) ([]byte, error) {
	f, err := d.open(name, os.O_RDONLY, refuseWritable)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, limit+1))
	if err == nil && int64(len(b)) > limit {
		err = fmt.Errorf("%s: %w", d.Path(name), ErrTooLarge)
	}
	return b, err
}

// Replace replaces the file of that name, and returns when the new one is on disk. Several callers may
// replace it at once: the last one wins.
func (d *Dir) Replace(name string, b []byte) error {
	return d.replace(name, name+"."+rand.Text()+".tmp", b, true)
}

// ReplaceUnsynced is Replace for files that may be lost: it does not wait for the disk.
func (d *Dir) ReplaceUnsynced(name string, b []byte) error {
	return d.replace(name, name+"."+rand.Text()+".tmp", b, false)
}

func (d *Dir) replace(name, temp string, b []byte, durable bool) error {
	f, err := d.open(temp, os.O_RDWR|os.O_CREATE|os.O_EXCL, refuseWritable)
	if err != nil {
		return err
	}
	_, err = f.Write(b)
	if err == nil && durable {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err == nil {
		err = d.Rename(temp, name)
	}
	if err != nil {
		return errors.Join(fmt.Errorf("write %s: %w", d.Path(name), err), d.Remove(temp))
	}
	if durable {
		return d.Sync()
	}
	return nil
}

// RemoveSynced removes a file, and returns when the removal is on disk. It does not check who owns the file.
func (d *Dir) RemoveSynced(name string) error {
	if err := d.Remove(name); err != nil {
		return err
	}
	return d.Sync()
}

// Sync returns when the names in d are on disk.
func (d *Dir) Sync() error { return syncNames(d.Root.Open(".")) }

func syncNames(dir *os.File, err error) error {
	if err != nil {
		return err
	}
	return errors.Join(dir.Sync(), dir.Close())
}

// Lock takes the lock file of that name, which it creates. It excludes other processes, and other users of
// the directory in this process. It gives up after wait.
func (d *Dir) Lock(name string, wait time.Duration) (unlock func(), err error) {
	f, err := d.open(name, os.O_RDWR|os.O_CREATE, refuseWritable)
	if err != nil {
		return nil, err
	}
	if err := LockWithin(f, wait); err != nil {
		f.Close()
		return nil, fmt.Errorf("lock %s: %w", d.Path(name), err)
	}
	return func() { f.Close() }, nil
}

var errReplaced = errors.New("it was replaced")

// File opens a regular file that belongs to this user, has only one name and is not a link. It revokes the access of
// others, but does not refuse a file that they could have written: the caller can tell whether its content is right.
func (d *Dir) File(name string, flags int) (*os.File, error) { return d.open(name, flags, 0) }

// refuseWritable are the permissions with which a file is refused.
const refuseWritable fs.FileMode = 0o022

// open is [Dir.File], and refuses files with some permissions.
func (d *Dir) open(name string, flags int, refused fs.FileMode) (*os.File, error) {
	for range openAttempts {
		f, err := d.openOnce(name, flags, refused)
		if !errors.Is(err, errReplaced) {
			return f, err
		}
	}
	return nil, &UnsafeError{d.Path(name), "another file takes its place again and again"}
}

// openOnce fails with errReplaced if the file is not the one that had the name just before: it was replaced
// in between, or the name is a link within the directory, which a root follows.
func (d *Dir) openOnce(name string, flags int, refused fs.FileMode) (*os.File, error) {
	before, err := d.Lstat(name)
	switch {
	case errors.Is(err, fs.ErrNotExist) && flags&os.O_CREATE != 0:
	case err != nil:
		return nil, err
	case before.Mode()&fs.ModeSymlink != 0:
		return nil, &UnsafeError{d.Path(name), isLink}
	case !before.Mode().IsRegular():
		return nil, &UnsafeError{d.Path(name), "it is not a regular file"}
	}
	f, err := d.OpenFile(name, flags|nonblock, 0o600)
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err == nil && before == nil {
		before, err = d.Lstat(name)
	}
	switch {
	case err != nil:
	case !os.SameFile(before, info):
		err = errReplaced
	default:
		err = d.check(f, name, info, flags, refused)
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

// check refuses a file that others could have created, and revokes their access.
func (d *Dir) check(f *os.File, name string, info fs.FileInfo, flags int, refused fs.FileMode) error {
	perm := info.Mode().Perm()
	switch {
	case !owned(info):
		return &UnsafeError{d.Path(name), "it belongs to another user"}
	case names(info) > 1:
		return &UnsafeError{d.Path(name), "it has more than one name"}
	case flags&os.O_CREATE != 0 && info.Size() == 0:
		return f.Chmod(0o600) // whatever the umask was
	case perm&refused != 0:
		return &UnsafeError{d.Path(name), fmt.Sprintf("others may write it (%v); look at it, then remove it, or "+
			"give it back to you alone: chmod go= %s", perm, d.Path(name))}
	case perm&0o077 != 0:
		return revoked(f.Chmod(0o600))
	}
	return nil
}

// revoked accepts that a file system is read-only: nobody changes what is there.
func revoked(err error) error {
	if errors.Is(err, syscall.EROFS) {
		return nil
	}
	return err
}

// WriteWhole writes a file outside of a [Dir] and returns when it is on disk, with its name: the caller may remove what
// it was made from. The file appears as a whole or stays unchanged. It is first written to the same directory, under a
// hidden name.
func WriteWhole(path string, perm fs.FileMode, fill func(*os.File) error) error {
	temp := filepath.Join(filepath.Dir(path), ".arbiter-"+rand.Text()+".tmp")
	f, err := os.OpenFile(temp, os.O_RDWR|os.O_CREATE|os.O_EXCL, perm)
	if err != nil {
		return err
	}
	if err = fill(f); err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err == nil {
		err = os.Rename(temp, path)
	}
	if err != nil {
		return errors.Join(err, os.Remove(temp))
	}
	switch err := syncNames(os.Open(filepath.Dir(path))); {
	case errors.Is(err, syscall.EINVAL), errors.Is(err, errors.ErrUnsupported), errors.Is(err, fs.ErrPermission):
		return nil // the file system, or the user's own directory, does not allow it
	default:
		return err
	}
}

// ReadJSON reads a file of at most limit bytes that [Decode] decodes. found is false if there is no such
// file. problem is a clause that says why its content cannot be used; an error means that it could not be
// read.
func (d *Dir) ReadJSON(name string, limit int64, version int, into any) (found bool, problem string, err error) {
	b, err := d.Read(name, limit)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return false, "", nil
	case errors.Is(err, ErrTooLarge):
		return true, fmt.Sprintf("it is over %d KiB", limit>>10), nil
	case err != nil:
		return true, "", err
	}
	if err := Decode(b, version, into); err != nil {
		return true, err.Error(), nil
	}
	return true, "", nil
}

// Decode decodes the JSON object of a file whose member "v" is its version. The error is a clause that says
// what is wrong: another version, an unknown member, or data after the object.
func Decode(b []byte, version int, into any) error {
	var head struct{ V *int }
	if err := json.Unmarshal(b, &head); err != nil {
		return fmt.Errorf("it is not a JSON object (%w)", err)
	}
	if head.V == nil || *head.V != version {
		return fmt.Errorf("it does not have version %d, the one that this arbiter reads", version)
	}
	return DecodeStrict(b, into)
}

// DecodeStrict decodes one JSON value. An unknown member, or data after the value, is an error.
func DecodeStrict(b []byte, into any) error {
	dec := json.NewDecoder(bytes.NewReader(b))
	dec.DisallowUnknownFields()
	if err := dec.Decode(into); err != nil {
		return err
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return errors.New("there is more data after its end")
	}
	return nil
}

// Workspace is the JSON file of one workspace, in a directory that all workspaces share.
type Workspace struct {
	*Dir        // the caller must close it
	CWD  string // the workspace's directory, absolute and without links, as JSON preserves it: valid UTF-8
	Name string // of the file, without an extension: the SHA-256 of the directory, in hex
}

// OpenWorkspace opens the directory name in the state directory dir, for the workspace cwd, and creates
// missing directories. Error: *UnsafeError if one of them is a link or another user's.
func OpenWorkspace(dir, name, cwd string) (*Workspace, error) {
	resolved, err := filepath.Abs(cwd)
	if err == nil {
		resolved, err = filepath.EvalSymlinks(resolved)
	}
	if err != nil {
		return nil, fmt.Errorf("resolve the workspace: %w", err)
	}
	state, err := Open(dir)
	if err != nil {
		return nil, err
	}
	defer state.Close()
	own, err := state.Dir(name)
	if err != nil {
		return nil, err
	}
	sum := sha256.Sum256([]byte(resolved))
	w := &Workspace{Dir: own, Name: hex.EncodeToString(sum[:])}
	b, err := json.Marshal(resolved)
	return w, errors.Join(err, json.Unmarshal(b, &w.CWD))
}

func (w *Workspace) file() string { return w.Name + ".json" }

// Path returns the path of the file.
func (w *Workspace) Path() string { return w.Dir.Path(w.file()) }

// Load is [Dir.ReadJSON] of the file.
func (w *Workspace) Load(limit int64, version int, into any) (found bool, problem string, err error) {
	return w.ReadJSON(w.file(), limit, version, into)
}

// ChangeWait bounds how long a change waits for a change by another process, which takes milliseconds.
const ChangeWait = 5 * time.Second

// Change replaces the file by what edit returns, which is at most limit bytes long as JSON; nil: the file stays. It
// excludes other changes. A partial file that a killed process left is removed.
func (w *Workspace) Change(limit int64, edit func() (any, error)) error {
	unlock, err := w.Lock(w.Name+".lock", ChangeWait)
	if err != nil {
		return err
	}
	defer unlock()
	content, err := edit()
	if content == nil || err != nil {
		return err
	}
	b, err := json.MarshalIndent(content, "", " ")
	if err != nil {
		return err
	}
	if b = append(b, '\n'); int64(len(b)) > limit {
		return fmt.Errorf("%s would be over %d KiB: remove what is no longer needed", w.Path(), limit>>10)
	}
	temp := w.Name + ".tmp"
	if err := w.Remove(temp); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return w.replace(w.file(), temp, b, true)
}

// nonblock keeps an open from waiting for the other end of a pipe.
const nonblock = syscall.O_NONBLOCK

// owned reports whether a file belongs to the user.
func owned(info fs.FileInfo) bool {
	st, ok := info.Sys().(*syscall.Stat_t)
	return ok && int(st.Uid) == os.Geteuid()
}

func names(info fs.FileInfo) int {
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		return int(st.Nlink)
	}
	return 0
}

// ErrHeld reports a lock that another holds.
const ErrHeld = syscall.EWOULDBLOCK

// LockWithin is TryLock of an exclusive lock, for which it waits.
func LockWithin(f *os.File, wait time.Duration) error {
	for deadline := time.Now().Add(wait); ; time.Sleep(lockPoll) {
		if err := TryLock(f, true); !errors.Is(err, ErrHeld) || !time.Now().Before(deadline) {
			return err
		}
	}
}

// TryLock takes a lock on a file or a directory, which lasts until f is closed.
func TryLock(f *os.File, exclusive bool) error {
	how := syscall.LOCK_SH
	if exclusive {
		how = syscall.LOCK_EX
	}
	conn, err := f.SyscallConn()
	if err != nil {
		return err
	}
	var failed error
	err = conn.Control(func(fd uintptr) {
		for failed = syscall.EINTR; errors.Is(failed, syscall.EINTR); {
			failed = syscall.Flock(int(fd), how|syscall.LOCK_NB)
		}
	})
	return errors.Join(err, failed)
}
