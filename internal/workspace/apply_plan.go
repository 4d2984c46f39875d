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
	"context"
	"errors"
	"io/fs"
	"os"
	"path"
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
	case info != nil && info.IsDir():
		if !s.empties(c.Path) {
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

// empties reports whether a directory is empty once the deletions are done.
func (s *sorter) empties(dir string) bool {
	err := fs.WalkDir(s.root.FS(), dir, func(name string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() && !s.vanishes[name] {
			return fs.ErrExist
		}
		return err
	})
	return err == nil
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
	if isNotDir(err) {
		err = fs.ErrNotExist
	}
	return info, err
}
