package git

import (
	"cmp"
	"errors"
	"os"
	"path/filepath"
)

// ViewPrefix begins the names of directories that [Place.View] makes.
const ViewPrefix = "arbiter-git-"

// shared are the parts of a repository that a view shows. None of them names a program.
var shared = []string{"objects", "refs", "packed-refs", "shallow", "info", "worktrees", "reftable", "logs"}

// View is a directory that takes the place of a repository's common directory: it has links to the parts of the
// repository, and a configuration of its own, with the harmless settings of the repository's. It has no hooks. git
// looks for configuration, hooks and objects there, whatever is in the repository meanwhile.
type View struct {
	Dir   string
	place Place
}

// View makes a view in a directory; os.TempDir() if that is empty. The caller removes it.
func (p Place) View(parent string) (*View, error) {
	settings, err := p.harmless()
	if err != nil {
		return nil, err
	}
	// Git LFS would otherwise keep its objects in the view.
	settings = append(settings, Setting{Key: "lfs.storage", Value: filepath.Join(p.CommonDir, "lfs")})
	dir, err := os.MkdirTemp(parent, ViewPrefix+"*")
	if err != nil {
		return nil, err
	}
	v := &View{Dir: dir, place: p}
	err = os.WriteFile(filepath.Join(dir, "config"), format(settings), 0o600)
	for _, name := range shared {
		from := filepath.Join(p.CommonDir, name)
		if _, missing := os.Lstat(from); missing != nil && name == "logs" {
			continue // git makes no directories where a link leads nowhere
		}
		err = cmp.Or(err, os.Symlink(from, filepath.Join(dir, name)))
	}
	if err != nil {
		return nil, errors.Join(err, v.Close())
	}
	return v, nil
}

// Env returns the variables that make git use the view.
func (v *View) Env() []string {
	return []string{"GIT_DIR=" + v.place.GitDir, "GIT_COMMON_DIR=" + v.Dir, "GIT_WORK_TREE=" + v.place.Root}
}

// Source makes the view a repository from which git can fetch.
func (v *View) Source() error {
	head, err := read(filepath.Join(v.place.GitDir, "HEAD"), maxPointer)
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(v.Dir, "HEAD"), head, 0o600)
}

// Close removes the view.
func (v *View) Close() error { return os.RemoveAll(v.Dir) }
