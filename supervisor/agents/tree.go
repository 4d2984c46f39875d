package agents

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
)

// Bounds of the search below one directory.
const (
	maxEntries = 5000
	maxFiles   = 500
	maxDown    = 8 // directories below it
)

// tree is a directory of agent files during the search.
type tree struct {
	dir
	root     *os.Root // the bound, or nil
	entries  int
	files    []string      // what was found, by path
	seen     []fs.FileInfo // directories visited, to detect circular links
	problems []Problem
}

func openTree(d dir) (t *tree, err error) {
	t = &tree{dir: d}
	if d.bound != "" {
		t.root, err = os.OpenRoot(d.bound)
	}
	return t, err
}

func (t *tree) close() {
	if t.root != nil {
		t.root.Close()
	}
}

// relative is a path relative to the bound.
func (t *tree) relative(path string) (string, error) { return filepath.Rel(t.bound, path) }

func (t *tree) stat(path string) (fs.FileInfo, error) {
	if t.root == nil {
		return os.Stat(path)
	}
	rel, err := t.relative(path)
	if err != nil {
		return nil, err
	}
	return t.root.Stat(rel)
}

// open never blocks: a pipe without a writer is opened at once.
func (t *tree) open(path string) (*os.File, error) {
	const flags = os.O_RDONLY | syscall.O_NONBLOCK
	if t.root == nil {
		return os.OpenFile(path, flags, 0)
	}
	rel, err := t.relative(path)
	if err != nil {
		return nil, err
	}
	return t.root.OpenFile(rel, flags, 0)
}

// find lists the agent files below the directory, sorted by path. It also searches hidden directories and those
// that a link leads to, as CLI 2.1.329 does.
func (t *tree) find() []string {
	info, err := t.stat(t.path)
	if os.IsNotExist(err) {
		return nil
	}
	if err != nil {
		t.problem(t.path, "cannot be looked at: %v", reason(err))
		return nil
	}
	if !info.IsDir() {
		t.problem(t.path, "is not a directory")
		return nil
	}
	t.walk(t.path, info, 0)
	slices.Sort(t.files)
	if len(t.files) > maxFiles {
		t.problem(t.path, "holds %d agent files; those after the %dth are not read", len(t.files), maxFiles)
		t.files = t.files[:maxFiles]
	}
	return t.files
}

func (t *tree) walk(path string, info fs.FileInfo, down int) {
	if slices.ContainsFunc(t.seen, func(other fs.FileInfo) bool { return os.SameFile(info, other) }) {
		return
	}
	t.seen = append(t.seen, info)
	if down > maxDown {
		t.problem(path, "is more than %d directories deep and was not read", maxDown)
		return
	}
	f, err := t.open(path)
	if err != nil {
		t.problem(path, "cannot be looked into: %v", reason(err))
		return
	}
	defer f.Close()
	names, err := f.Readdirnames(maxEntries - t.entries + 1)
	if err != nil && !errors.Is(err, io.EOF) {
		t.problem(path, "cannot be looked into: %v", reason(err))
		return
	}
	if t.entries += len(names); t.entries > maxEntries {
		t.problem(path, "more than %d entries are below %s; the rest is not read", maxEntries, t.path)
		names = names[:len(names)-1]
	}
	slices.Sort(names)
	for _, name := range names {
		t.entry(filepath.Join(path, name), down)
	}
}

func (t *tree) entry(path string, down int) {
	agentFile := strings.HasSuffix(path, ".md")
	info, err := t.stat(path)
	switch {
	case err != nil && (agentFile || escapes(err)):
		t.problem(path, "cannot be looked at: %v", reason(err))
	case err != nil:
	case info.IsDir():
		if t.entries <= maxEntries {
			t.walk(path, info, down+1)
		}
	case agentFile && !info.Mode().IsRegular():
		t.problem(path, "is not a regular file")
	case agentFile:
		t.files = append(t.files, path)
	}
}

// read returns the beginning of a file, up to one byte more than the maximal size.
func (t *tree) read(path string) ([]byte, error) {
	f, err := t.open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() { // it may have been replaced
		return nil, errors.New("not a regular file")
	}
	return io.ReadAll(io.LimitReader(f, MaxFile+1))
}

func (t *tree) problem(path, format string, args ...any) {
	t.problems = append(t.problems, Problem{File: path, Text: fmt.Sprintf(format, args...)})
}

// reason is an error without the path, which the message contains already.
func reason(err error) error {
	var path *fs.PathError
	switch {
	case escapes(err):
		return errors.New("a link leads out of the workspace")
	case errors.As(err, &path):
		return path.Err
	}
	return err
}

// escapes recognises the error of an [os.Root] for a path that leads out of it; that error has no name of its
// own.
func escapes(err error) bool {
	var path *fs.PathError
	return errors.As(err, &path) && strings.Contains(path.Err.Error(), "escapes")
}
