package workspace

// This part of the package brings files of a work tree from one tree of Git to another, without touching what
// differs from both.
//
// [PrepareApply] compares the files with both trees and sorts the paths; it changes nothing. [ApplyPlan.Run] then
// deletes and writes, one rename for each file, so that a file is always as in one tree or the other: after a crash,
// Prepare and Run finish the work. A file that changes between Prepare and Run is left alone, and reported.
//
// No link is followed: the work tree is an [os.Root], and a directory that was replaced by a link is in the way. The
// index and all references stay as they are. The caller holds [Repo.Lock].

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

// Why a path is left alone.
const (
	ApplyModified = "it was modified since"
	ApplyIgnored  = "an ignored file is there"
	InTheWay      = "other files are in the way"
	ApplyModule   = "it is a submodule or a nested repository"
)

// Blocked is a path that is left alone, and why.
type Blocked struct {
	Path   string `json:"path"`
	Reason string `json:"reason"`
}

// ApplyPlan is what has to be done.
type ApplyPlan struct {
	Write   []Change  // files to write or to replace
	Delete  []Change  // files to delete
	Done    []string  // paths that are already in the wanted state
	Blocked []Blocked // paths that are neither in the old state nor in the wanted one
	Modules []Change  // submodules and nested repositories that differ
	Changes []Change  // all paths that differ between the two trees

	repo *Repo
	to   string
	seen map[string]fs.FileInfo // files when Prepare read them; nil: there was none
}

// PrepareApply determines what brings the files of the work tree from one tree or commit to another. keep names
// paths that must be left alone, with the reason.
func PrepareApply(ctx context.Context, r *Repo, from, to string, keep map[string]string) (*ApplyPlan, error) {
	delta, err := r.Delta(ctx, from, to)
	if err != nil {
		return nil, err
	}
	root, err := os.OpenRoot(r.Root)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	p := &ApplyPlan{Changes: delta, repo: r, to: to, seen: map[string]fs.FileInfo{}}
	for _, c := range delta { // before the files are compared: a later change has another time
		info, err := lstat(root, c.Path)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
		p.seen[c.Path] = info
	}
	s := sorter{plan: p, root: root, keep: keep}
	if err := s.compare(ctx, from, to); err != nil {
		return nil, err
	}
	s.sort(delta)
	return p, nil
}

// left returns all paths that the plan does not bring to the wanted state.
func (p *ApplyPlan) left() []Blocked {
	list := slices.Clone(p.Blocked)
	for _, c := range p.Modules {
		list = append(list, Blocked{c.Path, ApplyModule})
	}
	return list
}

// sorter decides what to do with each path.
type sorter struct {
	plan     *ApplyPlan
	root     *os.Root
	keep     map[string]string
	notFrom  map[string]bool // paths that are not in the old state
	notTo    map[string]bool // paths that are not in the wanted state
	vanishes map[string]bool // paths of files that do not exist in the end
}

func (s *sorter) compare(ctx context.Context, from, to string) error {
	now, _, err := s.plan.repo.Tree(ctx)
	if err != nil {
		return err
	}
	s.notFrom, err = paths(ctx, s.plan.repo, from, now)
	if err == nil {
		s.notTo, err = paths(ctx, s.plan.repo, to, now)
	}
	return err
}

func paths(ctx context.Context, r *Repo, from, to string) (map[string]bool, error) {
	delta, err := r.Delta(ctx, from, to)
	set := map[string]bool{}
	for _, c := range delta {
		set[c.Path] = true
	}
	return set, err
}

// sort begins with deletions, because they make room.
func (s *sorter) sort(delta []Change) {
	p := s.plan
	s.vanishes = map[string]bool{}
	var rest []Change
	for _, c := range delta {
		reason := s.keep[c.Path]
		switch {
		case c.From.Mode == ModeModule || c.To.Mode == ModeModule:
			p.Modules = append(p.Modules, c)
		case reason != "":
			p.Blocked = append(p.Blocked, Blocked{c.Path, reason})
		case c.To.Mode == "":
			s.deletion(c)
		default:
			rest = append(rest, c)
		}
	}
	for _, c := range rest {
		switch reason := s.obstacle(c); {
		case !s.notTo[c.Path], s.outside(c):
			p.Done = append(p.Done, c.Path)
		case s.notFrom[c.Path]:
			p.Blocked = append(p.Blocked, Blocked{c.Path, ApplyModified})
		case reason != "":
			p.Blocked = append(p.Blocked, Blocked{c.Path, reason})
		default:
			p.Write = append(p.Write, c)
		}
	}
}

func (s *sorter) deletion(c Change) {
	p := s.plan
	info := p.seen[c.Path]
	switch {
	case !s.notTo[c.Path] && (info == nil || info.IsDir()):
		p.Done = append(p.Done, c.Path)
		s.vanishes[c.Path] = true
	case !s.notTo[c.Path]: // Git ignores the file that is there
		p.Blocked = append(p.Blocked, Blocked{c.Path, ApplyIgnored})
	case s.notFrom[c.Path]:
		p.Blocked = append(p.Blocked, Blocked{c.Path, ApplyModified})
	case s.outside(c):
		p.Done = append(p.Done, c.Path)
	default:
		p.Delete = append(p.Delete, c)
		s.vanishes[c.Path] = true
	}
}

// outside reports whether a file counts as unchanged although it does not exist: a sparse checkout omits
// it.
func (s *sorter) outside(c Change) bool {
	return c.From.Mode != "" && !s.notFrom[c.Path] && s.plan.seen[c.Path] == nil
}

// obstacle returns what prevents a file from being written, once the deletions are done.
func (s *sorter) obstacle(c Change) string {
	info := s.plan.seen[c.Path]
	switch {
	case info != nil && info.IsDir(): // the deletions may empty it
		err := fs.WalkDir(s.root.FS(), c.Path, func(name string, d fs.DirEntry, err error) error {
			if err == nil && !d.IsDir() && !s.vanishes[name] {
				return fs.ErrExist
			}
			return err
		})
		if err != nil {
			return InTheWay
		}
	case info != nil && c.From.Mode == "":
		return ApplyIgnored
	}
	for dir := path.Dir(c.Path); dir != "."; dir = path.Dir(dir) {
		if info, err := s.root.Lstat(dir); err == nil && !info.IsDir() && !s.vanishes[dir] {
			return InTheWay
		}
	}
	return ""
}

// lstat returns information about a file whose parents are directories, not links.
func lstat(root *os.Root, name string) (fs.FileInfo, error) {
	for dir := path.Dir(name); dir != "."; dir = path.Dir(dir) {
		info, err := root.Lstat(dir)
		if err == nil && !info.IsDir() {
			return nil, fs.ErrNotExist
		}
		if err == nil {
			break
		}
	}
	info, err := root.Lstat(name)
	if errors.Is(err, syscall.ENOTDIR) {
		err = fs.ErrNotExist
	}
	return info, err
}

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
	for dir := path.Dir(c.Path); dir != "."; dir = path.Dir(dir) {
		if strings.HasPrefix(w.plan.repo.Prefix+"/", dir+"/") || w.root.Remove(dir) != nil {
			break // shells may be in the run's directory and those above it, or this one is not empty
		}
	}
	return nil
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
