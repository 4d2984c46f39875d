package trust

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"syscall"
)

// Bounds of an inventory.
const (
	MaxFile    = 10 << 20  // bytes of one file that are read
	MaxTotal   = 256 << 20 // of all
	MaxFiles   = 10_000
	maxDepth   = 12      // directories below the starting directory
	maxEntries = 50_000  // of all directories
	maxParsed  = 1 << 20 // bytes of a file that is parsed
)

// look is an inventory that is being built.
type look struct {
	Listing
	own     []string // the user's own configuration, which does not belong to the workspace
	seen    map[string]bool
	walked  []fs.FileInfo
	files   int
	entries int
	bytes   int64
	full    bool
}

// file reads a file that may be missing. It reports false for a file that is missing, that was read before, or
// that cannot be read; the last becomes an item.
func (l *look) file(path string) (raw []byte, ok bool) {
	info, err := os.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) {
		return nil, false
	}
	if l.seen[path] {
		return nil, false
	}
	l.seen[path] = true
	if l.files++; l.files > MaxFiles {
		l.overfull(fmt.Sprintf("more than %d files", MaxFiles))
		return nil, false
	}
	if err != nil {
		l.unreadable(path, reason(err), "")
		return nil, false
	}
	if info.Mode()&fs.ModeSymlink != 0 {
		l.link(path)
	}
	raw, err = l.read(path)
	if err != nil {
		l.unreadable(path, reason(err), mark(path))
		return nil, false
	}
	return raw, true
}

// read reads a bounded number of bytes, never blocks, and reads no devices.
func (l *look) read(path string) ([]byte, error) {
	info, err := os.Stat(path) // before it is opened: opening a device may do something
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, errors.New("not a regular file")
	}
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK|syscall.O_NOCTTY, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if info, err = f.Stat(); err != nil {
		return nil, err
	}
	switch {
	case !info.Mode().IsRegular():
		return nil, errors.New("not a regular file")
	case info.Size() > MaxFile:
		return nil, fmt.Errorf("larger than %d MiB", MaxFile>>20)
	case l.bytes+info.Size() > MaxTotal:
		return nil, fmt.Errorf("with it there are more than %d MiB", MaxTotal>>20)
	}
	raw, err := io.ReadAll(io.LimitReader(f, MaxFile+1))
	l.bytes += int64(len(raw))
	if err == nil && len(raw) > MaxFile {
		err = errors.New("it grows while it is read")
	}
	return raw, err
}

// mark distinguishes a file that is not read from others, as well as possible.
func mark(path string) string {
	info, err := os.Stat(path)
	if err != nil || !info.Mode().IsRegular() {
		return ""
	}
	return fmt.Sprintf("%d bytes, %d %s", info.Size(), info.ModTime().UnixNano(), changed(info))
}

// tree calls f for the files below a directory, in order. Links to directories are
// followed once each.
func (l *look) tree(dir string, f func(path string, raw []byte)) { l.walk(dir, 0, f) }

func (l *look) walk(dir string, depth int, f func(path string, raw []byte)) {
	info, err := os.Stat(dir)
	if errors.Is(err, fs.ErrNotExist) && depth == 0 {
		if _, linked := os.Lstat(dir); linked == nil {
			l.link(dir)
		}
		return
	}
	if err != nil {
		l.unreadable(dir, reason(err), "")
		return
	}
	if !info.IsDir() {
		l.unreadable(dir, "not a directory", "")
		return
	}
	if slices.ContainsFunc(l.walked, func(other fs.FileInfo) bool { return os.SameFile(info, other) }) {
		return
	}
	l.walked = append(l.walked, info)
	if link, err := os.Lstat(dir); err == nil && link.Mode()&fs.ModeSymlink != 0 {
		l.link(dir)
	}
	if depth > maxDepth {
		l.unreadable(dir, "too deep", "")
		return
	}
	for _, name := range l.names(dir) {
		if l.full {
			return
		}
		path := filepath.Join(dir, name)
		if info, err := os.Stat(path); err == nil && info.IsDir() {
			l.walk(path, depth+1, f)
		} else if raw, ok := l.file(path); ok {
			f(path, raw)
		}
	}
}

// names are the names in a directory, in order.
func (l *look) names(dir string) []string {
	d, err := os.OpenFile(dir, os.O_RDONLY|syscall.O_NONBLOCK|syscall.O_DIRECTORY, 0)
	if err != nil {
		l.unreadable(dir, reason(err), "")
		return nil
	}
	defer d.Close()
	names, err := d.Readdirnames(maxEntries - l.entries + 1)
	if err != nil && !errors.Is(err, io.EOF) {
		l.unreadable(dir, reason(err), "")
	}
	if l.entries += len(names); l.entries > maxEntries {
		l.overfull(fmt.Sprintf("more than %d entries", maxEntries))
		return nil
	}
	slices.Sort(names)
	return names
}

// overfull reports once that the rest is not read.
func (l *look) overfull(why string) {
	if !l.full {
		l.full = true
		l.unreadable(l.Root, why+": the rest is not read", "")
	}
}

func (l *look) unreadable(path, why, mark string) {
	l.add(KindUnreadable, path, "", "unreadable: "+why, why+"\x00"+mark)
}

// link records where a symbolic link leads, step by step to the end.
func (l *look) link(path string) {
	to, err := os.Readlink(path)
	if err != nil {
		l.unreadable(path, reason(err), "")
		return
	}
	end, err := filepath.EvalSymlinks(path)
	if err != nil {
		end = reason(err)
	}
	what := "a link to " + to
	if _, inside := l.relative(end); err == nil && !inside {
		what += ", outside of the workspace"
	}
	l.add(KindLink, path, "", what, to+"\x00"+l.short(end)) // the same in a copy of the workspace
}

// add adds an item. Its hash is that of the text that counts.
func (l *look) add(kind, path, name, what, counts string) {
	l.Items = append(l.Items, Item{Kind: kind, File: l.short(path), Name: name, What: what,
		SHA256: fmt.Sprintf("%x", sha256.Sum256([]byte(counts)))})
}

// short is a path relative to the root, or an absolute one.
func (l *look) short(path string) string {
	if rel, inside := l.relative(path); inside {
		return rel
	}
	return path
}

// relative is a clean path relative to the root, and whether it lies in the workspace.
func (l *look) relative(path string) (string, bool) {
	rel, err := filepath.Rel(l.Root, path)
	return rel, err == nil && filepath.IsLocal(rel)
}

// reason is an error without the path.
func reason(err error) string {
	var path *fs.PathError
	if errors.As(err, &path) {
		return path.Err.Error()
	}
	return err.Error()
}
