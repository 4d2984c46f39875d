package workspace

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strconv"
	"strings"
)

// registry is the directory of the repository that has a directory for each linked worktree.
const registry = "worktrees"

// link makes a linked worktree, as git worktree add does, but with the filters and hooks of no repository: git would
// write the path of the view that it works on into the worktree. head is the text of its HEAD.
func (m *Worktrees) link(ctx context.Context, name, head string) error {
	root, err := os.OpenRoot(m.repo.CommonDir)
	if err != nil {
		return err
	}
	defer root.Close()
	if err := root.Mkdir(registry, 0o777); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	at := path.Join(registry, name)
	for n := 1; ; n++ { // another run may have one of the same name
		if err = root.Mkdir(at, 0o777); !errors.Is(err, fs.ErrExist) {
			break
		}
		at = path.Join(registry, name+strconv.Itoa(n))
	}
	write := func(file, text string) {
		err = cmp.Or(err, root.WriteFile(path.Join(at, file), []byte(text), 0o666))
	}
	write("gitdir", filepath.Join(m.dir(name), ".git")+"\n")
	write("commondir", "../..\n")
	write("HEAD", head+"\n")
	err = cmp.Or(err, m.sparse(root, at))
	err = cmp.Or(err, os.Mkdir(m.dir(name), 0o777))
	if err != nil {
		return err
	}
	m.repo.Step("register")
	err = os.WriteFile(filepath.Join(m.dir(name), ".git"),
		[]byte("gitdir: "+filepath.Join(m.repo.CommonDir, filepath.FromSlash(at))+"\n"), 0o666)
	if err != nil {
		return err
	}
	m.repo.Step("link")
	there, err := m.repo.At(ctx, m.dir(name))
	if err == nil {
		_, err = there.Git.Write(ctx, "read-tree", "-m", "-u", "HEAD")
	}
	return err
}

// sparse copies what says which files a sparse checkout has.
func (m *Worktrees) sparse(to *os.Root, at string) error {
	from, err := os.OpenRoot(m.repo.GitDir)
	if err != nil {
		return err
	}
	defer from.Close()
	for _, file := range []string{"config.worktree", "info/sparse-checkout"} {
		text, err := from.ReadFile(file)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err == nil {
			err = to.MkdirAll(path.Join(at, path.Dir(file)), 0o777)
		}
		if err == nil {
			err = to.WriteFile(path.Join(at, file), text, 0o666)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// unlink removes what the repository has of a linked worktree.
func (m *Worktrees) unlink(name string) error {
	root, err := os.OpenRoot(m.repo.CommonDir)
	if err != nil {
		return err
	}
	defer root.Close()
	all, err := fs.ReadDir(root.FS(), registry)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	for _, e := range all {
		of, readErr := root.ReadFile(path.Join(registry, e.Name(), "gitdir"))
		if readErr == nil && strings.TrimSuffix(string(of), "\n") == filepath.Join(m.dir(name), ".git") {
			err = errors.Join(err, root.RemoveAll(path.Join(registry, e.Name())))
			m.repo.Step("unlink")
		}
	}
	return err
}

// openClone opens a clone.
func (m *Worktrees) openClone(ctx context.Context, w Worktree) (*Repo, error) {
	there, err := m.repo.At(ctx, w.Dir)
	if err == nil && (there.Root != w.Dir || there.GitDir != filepath.Join(w.Dir, ".git")) {
		err = errNoClone(w)
	}
	return there, err
}
