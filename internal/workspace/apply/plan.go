package apply

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path"

	"github.com/arbiter-cli/arbiter/internal/workspace"
)

// Why a path is left alone.
const (
	Modified = "it was modified since"
	Ignored  = "an ignored file is there"
	InTheWay = "other files are in the way"
	Module   = "it is a submodule or a nested repository"
)

// Blocked is a path that is left alone, and why.
type Blocked struct {
	Path   string `json:"path"`
	Reason string `json:"reason"`
}

// Plan is what has to be done.
type Plan struct {
	Write   []workspace.Change // files to write or to replace
	Delete  []workspace.Change // files to delete
	Done    []string           // paths that are already in the wanted state
	Blocked []Blocked          // paths that are neither in the old state nor in the wanted one
	Modules []workspace.Change // submodules and nested repositories that differ
	Changes []workspace.Change // all paths that differ between the two trees

	repo *workspace.Repo
	to   string
	seen map[string]fs.FileInfo // files when Prepare read them; nil: there was none
}

// Prepare determines what brings the files of the work tree from one tree or commit to another. keep names
// paths that must be left alone, with the reason.
func Prepare(ctx context.Context, r *workspace.Repo, from, to string, keep map[string]string) (*Plan, error) {
	delta, err := r.Delta(ctx, from, to)
	if err != nil {
		return nil, err
	}
	root, err := os.OpenRoot(r.Root)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	p := &Plan{Changes: delta, repo: r, to: to, seen: map[string]fs.FileInfo{}}
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
	plan     *Plan
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

func paths(ctx context.Context, r *workspace.Repo, from, to string) (map[string]bool, error) {
	delta, err := r.Delta(ctx, from, to)
	set := map[string]bool{}
	for _, c := range delta {
		set[c.Path] = true
	}
	return set, err
}

// sort begins with deletions, because they make room.
func (s *sorter) sort(delta []workspace.Change) {
	p := s.plan
	s.vanishes = map[string]bool{}
	var rest []workspace.Change
	for _, c := range delta {
		reason := s.keep[c.Path]
		switch {
		case c.From.Mode == workspace.ModeModule || c.To.Mode == workspace.ModeModule:
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
			p.Blocked = append(p.Blocked, Blocked{c.Path, Modified})
		case reason != "":
			p.Blocked = append(p.Blocked, Blocked{c.Path, reason})
		default:
			p.Write = append(p.Write, c)
		}
	}
}

func (s *sorter) deletion(c workspace.Change) {
	p := s.plan
	info := p.seen[c.Path]
	switch {
	case !s.notTo[c.Path] && (info == nil || info.IsDir()):
		p.Done = append(p.Done, c.Path)
		s.vanishes[c.Path] = true
	case !s.notTo[c.Path]: // Git ignores the file that is there
		p.Blocked = append(p.Blocked, Blocked{c.Path, Ignored})
	case s.notFrom[c.Path]:
		p.Blocked = append(p.Blocked, Blocked{c.Path, Modified})
	case s.outside(c):
		p.Done = append(p.Done, c.Path)
	default:
		p.Delete = append(p.Delete, c)
		s.vanishes[c.Path] = true
	}
}

// outside reports whether a file counts as unchanged although it does not exist: a sparse checkout omits
// it.
func (s *sorter) outside(c workspace.Change) bool {
	return c.From.Mode != "" && !s.notFrom[c.Path] && s.plan.seen[c.Path] == nil
}

// obstacle returns what prevents a file from being written, once the deletions are done.
func (s *sorter) obstacle(c workspace.Change) string {
	info := s.plan.seen[c.Path]
	switch {
	case info != nil && info.IsDir():
		if !s.empties(c.Path) {
			return InTheWay
		}
	case info != nil && c.From.Mode == "":
		return Ignored
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
