package workspace

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
	"syscall"
)

// Run executes the plan. It returns the paths that were left alone because they changed since Prepare.
// After an error, or a crash, a new Prepare and Run finish the work.
func (p *ApplyPlan) Run(ctx context.Context) (late []Blocked, err error) {
	names := make([]string, len(p.Write))
	for i, c := range p.Write {
		names[i] = c.Path
	}
	// All files are created before the first one is replaced: if a filter fails, everything is unchanged.
	stage, err := p.repo.Stage(ctx, p.to, names)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, stage.Close()) }()
	w := &writer{plan: p, temp: ".arbiter-" + p.repo.Run + ".tmp"}
	if w.root, err = os.OpenRoot(p.repo.Root); err != nil {
		return nil, err
	}
	defer w.root.Close()
	if w.stage, err = os.OpenRoot(stage.Dir); err != nil {
		return nil, err
	}
	defer w.stage.Close()

	deepestFirst := slices.Clone(p.Delete)
	slices.SortFunc(deepestFirst, func(a, b Change) int { return cmp.Compare(b.Path, a.Path) })
	for _, step := range []struct {
		changes []Change
		do      func(Change) error
	}{{deepestFirst, w.delete}, {p.Write, w.write}} {
		for _, c := range step.changes {
			err := cmp.Or(ctx.Err(), step.do(c))
			if errors.Is(err, errChanged) {
				late = append(late, Blocked{c.Path, ApplyModified})
				continue
			}
			if err != nil {
				return late, fmt.Errorf("%s: %w", c.Path, err)
			}
			p.repo.Step("file")
		}
	}
	return late, nil
}

var errChanged = errors.New("it changed meanwhile")

// writer replaces files in root by those in stage.
type writer struct {
	plan        *ApplyPlan
	root, stage *os.Root
	temp        string // name of the file being written, in the directory of the one it replaces
}

func (w *writer) delete(c Change) error {
	if err := w.unchanged(c.Path); err != nil {
		return err
	}
	if err := w.root.Remove(c.Path); err != nil {
		return err
	}
	for dir := path.Dir(c.Path); dir != "." && !w.runsIn(dir); dir = path.Dir(dir) {
		if w.root.Remove(dir) != nil {
			break // not empty
		}
	}
	return nil
}

// runsIn reports whether dir is the run's directory or one above it, in which shells may be.
func (w *writer) runsIn(dir string) bool {
	prefix := w.plan.repo.Prefix
	return prefix == dir || strings.HasPrefix(prefix, dir+"/")
}

func (w *writer) write(c Change) error {
	if err := w.parents(c.Path); err != nil {
		return err
	}
	temp := path.Join(path.Dir(c.Path), w.temp)
	if err := w.root.Remove(temp); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	err := w.fill(c, temp)
	if err == nil {
		err = w.unchanged(c.Path)
	}
	if info := w.plan.seen[c.Path]; err == nil && info != nil && info.IsDir() {
		err = w.clear(c.Path)
	}
	if err == nil {
		err = w.root.Rename(temp, c.Path)
	}
	if err != nil {
		_ = w.root.Remove(temp) // the error that led here says more
	}
	return err
}

// clear removes a directory that contains only empty directories.
func (w *writer) clear(dir string) error {
	var dirs []string
	err := fs.WalkDir(w.root.FS(), dir, func(name string, d fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) {
			return nil // the deletions have removed it
		}
		dirs = append(dirs, name)
		return err
	})
	for _, name := range slices.Backward(dirs) {
		err = cmp.Or(err, w.root.Remove(name))
	}
	return err
}

// fill makes the new file, with the permissions of the one it replaces.
func (w *writer) fill(c Change, temp string) error {
	staged, err := w.stage.Lstat(c.Path)
	if err != nil {
		return err
	}
	if staged.Mode()&fs.ModeSymlink != 0 {
		target, err := w.stage.Readlink(c.Path)
		if err != nil {
			return err
		}
		return w.root.Symlink(target, temp)
	}
	executable := staged.Mode().Perm()&0o111 != 0
	perm := fs.FileMode(0o666)
	if executable {
		perm = 0o777
	}
	from, err := w.stage.Open(c.Path)
	if err != nil {
		return err
	}
	defer from.Close()
	to, err := w.root.OpenFile(temp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, perm)
	if err != nil {
		return err
	}
	_, err = io.Copy(to, from)
	if old := w.plan.seen[c.Path]; err == nil && old != nil && old.Mode().IsRegular() {
		err = to.Chmod(permissions(old.Mode().Perm(), executable))
	}
	return errors.Join(err, to.Close())
}

// permissions are those of the old file, executable or not.
func permissions(old fs.FileMode, executable bool) fs.FileMode {
	switch {
	case !executable:
		return old &^ 0o111
	case old&0o111 != 0:
		return old
	}
	return old | (old&0o444)>>2
}

// parents makes the directories above a file.
func (w *writer) parents(name string) error {
	dir := path.Dir(name)
	if dir == "." {
		return nil
	}
	if err := w.parents(dir); err != nil {
		return err
	}
	err := w.root.Mkdir(dir, 0o777)
	if !errors.Is(err, fs.ErrExist) {
		return err
	}
	if info, err := w.root.Lstat(dir); err != nil || !info.IsDir() {
		return errChanged
	}
	return nil
}

// unchanged fails with errChanged if a file has changed since Prepare.
func (w *writer) unchanged(name string) error {
	before := w.plan.seen[name]
	now, err := lstat(w.root, name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		if before != nil && !before.IsDir() {
			return errChanged
		}
		return nil
	case err != nil:
		return err
	case before == nil, before.IsDir() != now.IsDir():
		return errChanged
	case before.IsDir():
		return nil
	case !os.SameFile(before, now), before.Size() != now.Size(), !before.ModTime().Equal(now.ModTime()),
		before.Mode() != now.Mode():
		return errChanged
	}
	return nil
}

func isNotDir(err error) bool { return errors.Is(err, syscall.ENOTDIR) }
