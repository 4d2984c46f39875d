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

// view is how a path is seen from inside. Of several views of one path the greatest
// holds.
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

// add resolves path and gives it a view. What is not there needs none, unless it must
// be there.
func (m mounts) add(path string, v view, must bool) error {
	if !filepath.IsAbs(path) || strings.ContainsRune(path, 0) {
		return fmt.Errorf("%.200q is no absolute path", path)
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

// pin makes the directories between a writable mount and what is hidden or guarded in it
// mounts of their own. A directory that is none could be moved away, and made anew with
// something else in it; or what is hidden in it seen later, under its new name.
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

// missing reports that no process of this user can reach it.
func missing(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) || errors.Is(err, syscall.ELOOP) ||
		errors.Is(err, fs.ErrPermission)
}

// paths of these views, parents before what is in them.
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

// args are bubblewrap's, for all views. Empty directories are sealed at the end, when
// what is shown in them has its place.
func (m mounts) args() []string {
	var args, seal []string
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
			args, seal = append(args, "--tmpfs", path), append(seal, "--remount-ro", path)
		}
	}
	return append(args, seal...)
}

// under reports whether path is dir or below it.
func under(path, dir string) bool {
	return path == dir || strings.HasPrefix(path, strings.TrimSuffix(dir, "/")+"/")
}

// above is the view of what path lies in; readOnly where nothing was said of it.
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
