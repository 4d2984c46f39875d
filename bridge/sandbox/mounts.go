package sandbox

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
)

// view is how a path is seen from inside. If a path has several views, the greatest holds.
type view int

const (
	readOnly view = iota // as it is
	hidden               // empty
	private              // empty and writable, its own
	writable             // as it is
	shown                // as it is, even inside of a hidden directory
	guarded              // read-only, even inside of a writable directory
	secret               // empty, even inside of a shown directory
)

// mounts are the views of paths, by their names without symbolic links.
type mounts map[string]mount

type mount struct {
	view view
	dir  bool
}

// add resolves path and gives it a view. A path that does not exist is skipped, unless must is set.
func (m mounts) add(path string, v view, must bool) error {
	if !filepath.IsAbs(path) || strings.ContainsRune(path, 0) {
		return fmt.Errorf("%.200q is not an absolute path", path)
	}
	real, err := filepath.EvalSymlinks(path)
	if missing(err) && !must {
		return nil
	}
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	info, err := os.Stat(real)
	if missing(err) && !must {
		return nil
	}
	if err != nil {
		return err
	}
	if real == "/" {
		return fmt.Errorf("%s is the root of the file system", path)
	}
	if old, ok := m[real]; !ok || v > old.view {
		m[real] = mount{v, info.IsDir()}
	}
	return nil
}

// pin makes each directory between a writable mount and a hidden or guarded path in it a mount of its own.
// Otherwise an agent could move the directory away and create it anew with other content, or read what is
// hidden in it under its new name.
func (m mounts) pin() {
	for _, path := range m.paths(hidden, guarded, secret) {
		if m.above(path) != writable {
			continue
		}
		for dir := filepath.Dir(path); ; dir = filepath.Dir(dir) {
			if _, ok := m[dir]; ok {
				break
			}
			m[dir] = mount{writable, true}
		}
	}
}

// missing reports whether an error means that no process of this user can reach a path.
func missing(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) || errors.Is(err, syscall.ELOOP) ||
		errors.Is(err, fs.ErrPermission)
}

// paths returns the paths with these views, parents before what is in them.
func (m mounts) paths(views ...view) []string {
	var list []string
	for path, at := range m {
		if slices.Contains(views, at.view) {
			list = append(list, path)
		}
	}
	slices.SortFunc(list, byDepth)
	return list
}

// byDepth orders parents before their children.
func byDepth(a, b string) int {
	return slices.Compare(strings.Split(a, "/"), strings.Split(b, "/"))
}

// args returns bubblewrap's arguments for all views. Empty directories are made read-only at the end, when
// the paths that are shown in them exist.
func (m mounts) args() []string {
	var args, readOnlyArgs []string
	for _, path := range m.paths(readOnly, hidden, private, writable, shown, guarded, secret) {
		at := m[path]
		switch at.view {
		case readOnly, guarded:
			args = append(args, "--ro-bind", path, path)
		case writable, shown:
			args = append(args, "--bind", path, path)
		case private:
			args = append(args, "--tmpfs", path)
		case hidden, secret:
			if !at.dir {
				args = append(args, "--ro-bind", "/dev/null", path)
				continue
			}
			args, readOnlyArgs = append(args, "--tmpfs", path), append(readOnlyArgs, "--remount-ro", path)
		}
	}
	return append(args, readOnlyArgs...)
}

// under reports whether path is dir or below it.
func under(path, dir string) bool {
	return path == dir || strings.HasPrefix(path, strings.TrimSuffix(dir, "/")+"/")
}

// above returns the view of the nearest parent of path that has one; otherwise readOnly.
func (m mounts) above(path string) view {
	for dir := filepath.Dir(path); ; dir = filepath.Dir(dir) {
		if at, ok := m[dir]; ok {
			return at.view
		}
		if dir == "/" {
			return readOnly
		}
	}
}
