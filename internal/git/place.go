package git

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

var (
	// ErrNone reports a directory that is in no work tree.
	ErrNone = errors.New("not in a Git work tree")
	// ErrBare reports a bare repository. It wraps [ErrNone].
	ErrBare = fmt.Errorf("%w: the repository is bare", ErrNone)
)

// CommonDirFile is a file in a worktree's directory that names the repository, with its configuration. A repository
// itself has none.
const CommonDirFile = "commondir"

// maxModules bounds how many directories are searched for submodules. A test sets fewer.
var maxModules = 10_000

// maxPointer bounds a file that names a directory, in bytes.
const maxPointer = 4096

// Place is a work tree, and where its repository is. Its paths are absolute and without links.
type Place struct {
	Root      string `json:"root"`       // top of the work tree
	GitDir    string `json:"git_dir"`    // the work tree's own Git directory
	CommonDir string `json:"common_dir"` // the Git directory that all work trees of the repository share
}

// ChangedError reports a repository that is not, or no longer, where it has to be.
type ChangedError struct{ What string }

func (e *ChangedError) Error() string {
	return e.What + ". An agent or another program may have changed it: look at it, and put it back, before you run " +
		"git there"
}

// Locate finds the work tree of a directory, as git does, but runs nothing, and takes no directory that only looks
// like a repository for one. Errors: [ErrNone], [ErrBare], [*ChangedError], those of the file system.
func Locate(dir string) (Place, error) {
	dir, err := filepath.Abs(dir)
	if err == nil {
		dir, err = filepath.EvalSymlinks(dir)
	}
	if err != nil {
		return Place{}, err
	}
	none := ErrNone
	for at := dir; ; at = filepath.Dir(at) {
		p, err := placeAt(at)
		switch {
		case err == nil && within(p.GitDir, dir):
			return Place{}, ErrNone
		case err == nil || !errors.Is(err, ErrNone) || errors.Is(err, ErrBare):
			return p, err
		case LooksBare(at):
			none = ErrBare
		}
		if at == filepath.Dir(at) {
			return Place{}, none
		}
	}
}

func within(dir, path string) bool {
	return path == dir || strings.HasPrefix(path, strings.TrimSuffix(dir, "/")+"/")
}

// LooksBare reports whether git would take a directory for a bare repository.
func LooksBare(dir string) bool {
	for _, name := range []string{"HEAD", "objects", "refs"} {
		info, err := os.Lstat(filepath.Join(dir, name))
		if err != nil || name != "HEAD" && info.Mode().IsRegular() {
			_, err := os.Lstat(filepath.Join(dir, CommonDirFile)) // then they are elsewhere
			return name != "HEAD" && err == nil
		}
	}
	return true
}

// placeAt returns the place whose top is a directory.
func placeAt(root string) (Place, error) {
	dotGit := filepath.Join(root, ".git")
	info, err := os.Stat(dotGit)
	if errors.Is(err, fs.ErrNotExist) {
		return Place{}, ErrNone
	}
	if err != nil {
		return Place{}, err
	}
	p := Place{Root: root}
	named := dotGit
	if !info.IsDir() {
		named = pointer(dotGit, "gitdir:", root)
	}
	if p.GitDir, err = filepath.EvalSymlinks(named); named == "" || err != nil {
		return Place{}, fmt.Errorf("%s names no repository: correct or remove it", dotGit)
	}
	p.CommonDir = p.GitDir
	switch _, err := os.Lstat(filepath.Join(p.GitDir, CommonDirFile)); {
	case err == nil:
		p.CommonDir = filepath.Dir(filepath.Dir(p.GitDir))
		common, err := filepath.EvalSymlinks(pointer(filepath.Join(p.GitDir, CommonDirFile), "", p.GitDir))
		if filepath.Base(filepath.Dir(p.GitDir)) != "worktrees" || err != nil || common != p.CommonDir {
			return Place{}, &ChangedError{filepath.Join(p.GitDir, CommonDirFile) +
				" has git take its configuration from elsewhere"}
		}
	case !errors.Is(err, fs.ErrNotExist):
		return Place{}, err
	case info.IsDir() && !LooksBare(p.GitDir):
		return Place{}, ErrNone // git goes on above it, too
	}
	return p, p.checkTree()
}

// checkTree fails if the repository says that its files are elsewhere, or that it has none.
func (p Place) checkTree() error {
	if p.GitDir != p.CommonDir {
		return nil // in linked worktrees git does not ask
	}
	settings, err := p.all()
	if err != nil {
		return err
	}
	for _, s := range settings {
		switch {
		case s.Key == "core.bare" && s.True():
			return ErrBare
		case s.Key == "core.worktree":
			tree := s.Value
			if !filepath.IsAbs(tree) {
				tree = filepath.Join(p.GitDir, tree)
			}
			if real, err := filepath.EvalSymlinks(tree); err != nil || real != p.Root {
				return &ChangedError{fmt.Sprintf("core.worktree of the repository %s names %s, not %s", p.GitDir, tree, p.Root)}
			}
		}
	}
	return nil
}

// True reports whether a setting means true.
func (s Setting) True() bool {
	switch strings.ToLower(s.Value) {
	case "true", "yes", "on", "1":
		return true
	}
	return s.Bare
}

// all reads the repository's configuration, with that of the work tree.
func (p Place) all() ([]Setting, error) {
	all, err := Settings(filepath.Join(p.CommonDir, "config"))
	if err != nil {
		return nil, err
	}
	for _, s := range all {
		if s.Key == "extensions.worktreeconfig" && s.True() {
			own, err := Settings(filepath.Join(p.GitDir, "config.worktree"))
			return append(all, own...), err
		}
	}
	return all, nil
}

// harmless returns the settings of the repository that git may use.
func (p Place) harmless() ([]Setting, error) {
	all, err := p.all()
	return slices.DeleteFunc(all, func(s Setting) bool { return !s.Keeps() }), err
}

// Carried returns the settings of the repository that a clone of it gets, besides those of its own format.
func (p Place) Carried() ([]Setting, error) {
	settings, err := p.harmless()
	return slices.DeleteFunc(settings, func(s Setting) bool {
		section, _, _ := s.parts()
		return slices.Contains([]string{"extensions", "remote", "index", "feature"}, section) ||
			strings.HasPrefix(s.Key, "core.repository") || strings.HasPrefix(s.Key, "core.sparse")
	}), err
}

// Check fails with [*ChangedError] if the work tree does not lead to its repository any more.
func (p Place) Check() error {
	now, err := placeAt(p.Root)
	switch _, ok := errors.AsType[*ChangedError](err); {
	case ok:
		return err
	case err != nil:
		return &ChangedError{fmt.Sprintf("%s does not lead to the repository %s any more (%v)",
			filepath.Join(p.Root, ".git"), p.GitDir, err)}
	case now != p:
		return &ChangedError{fmt.Sprintf("%s leads to the repository %s, and no longer to %s",
			filepath.Join(p.Root, ".git"), now.GitDir, p.GitDir)}
	}
	return nil
}

// CheckLogs fails with [*ChangedError] unless the logs of references are files in directories. git follows a link
// there, and what it appends contains settings of the repository, such as user.name: a line for a shell to run.
func (p Place) CheckLogs() error {
	for _, dir := range slices.Compact([]string{p.GitDir, p.CommonDir}) {
		if err := checkFiles(filepath.Join(dir, "logs")); err != nil {
			return err
		}
	}
	return nil
}

// CheckIndex fails with [*ChangedError] unless the index is a file. git replaces the file to which a link there leads.
func (p Place) CheckIndex() error { return checkFiles(filepath.Join(p.GitDir, "index")) }

// checkFiles fails if there is anything but files and directories at a path and below it.
func checkFiles(root string) error {
	return filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() && !d.Type().IsRegular() {
			return &ChangedError{path + " is neither a file nor a directory, and git would write there"}
		}
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		return err
	})
}

// pointer reads a path from a small file; "" if there is none.
func pointer(file, prefix, base string) string {
	text, err := read(file, maxPointer)
	if err != nil {
		return ""
	}
	path, ok := strings.CutPrefix(strings.TrimSpace(string(text)), prefix)
	if path = strings.TrimSpace(path); !ok || path == "" || strings.Contains(path, "\x00") {
		return ""
	}
	if !filepath.IsAbs(path) {
		path = filepath.Join(base, path)
	}
	return filepath.Clean(path)
}

// Worktree reads the .git file of a linked worktree and returns the worktree's own directory and the repository's. It
// returns empty paths if the two do not name each other: the file's author must not choose the repository.
func Worktree(dotGit string) (dir, common string) {
	dir = pointer(dotGit, "gitdir:", filepath.Dir(dotGit))
	if dir == "" || filepath.Base(filepath.Dir(dir)) != "worktrees" {
		return "", ""
	}
	back := pointer(filepath.Join(dir, "gitdir"), "", dir)
	common = pointer(filepath.Join(dir, CommonDirFile), "", dir)
	real, err := filepath.EvalSymlinks(dotGit)
	if err != nil || back == "" || common == "" || common != filepath.Dir(filepath.Dir(dir)) {
		return "", ""
	}
	if back, err = filepath.EvalSymlinks(back); err != nil || back != real {
		return "", ""
	}
	return dir, common
}

// Submodules returns the repositories below a directory: their names may contain slashes.
func Submodules(dir string) ([]string, error) { return submodules(dir, new(int)) }

// submodules counts in seen what it has looked at, also in the repositories themselves.
func submodules(dir string, seen *int) (list []string, err error) {
	err = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		switch *seen++; {
		case errors.Is(err, fs.ErrNotExist):
			return nil
		case err != nil:
			return err
		case *seen > maxModules:
			return fmt.Errorf("%s: too much to be searched for submodules", dir)
		case !d.IsDir():
			return nil
		}
		_, noConfig := os.Lstat(filepath.Join(path, "config")) // an agent in a sandbox cannot remove it
		if _, noHead := os.Lstat(filepath.Join(path, "HEAD")); noConfig != nil && noHead != nil {
			return nil
		}
		list = append(list, path)
		below, err := submodules(filepath.Join(path, "modules"), seen)
		list = append(list, below...)
		if err != nil {
			return err
		}
		return fs.SkipDir
	})
	return list, err
}
