package workspace

import (
	"cmp"
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path"
	"strings"

	"github.com/arbiter-cli/arbiter/internal/git"
)

// includeFile names, in the syntax of .gitignore, ignored files of which a worktree gets copies.
const includeFile = ".worktreeinclude"

// include copies the files of the user's work tree that Git ignores and that .worktreeinclude names.
// Existing files are kept. It returns how many were copied. Links are copied as links, and not followed.
func include(ctx context.Context, r *Repo, dir string) (copied int, err error) {
	from, err := os.OpenRoot(r.Root)
	if err != nil {
		return 0, err
	}
	defer from.Close()
	if info, err := from.Lstat(includeFile); err != nil || !info.Mode().IsRegular() {
		return 0, nil // there is none
	}
	out, err := r.Git.Do(ctx,
		git.Call{Args: []string{"ls-files", "-z", "--others", "--ignored", "--exclude-from=" + includeFile}})
	if err != nil || len(out) == 0 {
		return 0, err
	}
	out, err = r.Git.Do(ctx, git.Call{Args: []string{"check-ignore", "-z", "--stdin"}, Stdin: out})
	if git.Exit(err) == 1 { // none of them is ignored
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	to, err := os.OpenRoot(dir)
	if err != nil {
		return 0, err
	}
	defer to.Close()
	for _, name := range Fields(out) {
		if strings.HasSuffix(name, "/") {
			continue // a nested repository
		}
		done, err := duplicate(from, to, name)
		if err != nil {
			return copied, err
		}
		if done {
			copied++
		}
	}
	return copied, ctx.Err()
}

// duplicate copies a file or a link; false if it is neither, or if the target exists.
func duplicate(from, to *os.Root, name string) (bool, error) {
	info, err := from.Lstat(name)
	if err != nil {
		return false, err
	}
	if err := to.MkdirAll(path.Dir(name), 0o777); err != nil {
		return false, err
	}
	if info.Mode()&fs.ModeSymlink != 0 {
		target, err := from.Readlink(name)
		if err == nil {
			err = to.Symlink(target, name)
		}
		return there(err)
	}
	if !info.Mode().IsRegular() {
		return false, nil
	}
	source, err := from.Open(name)
	if err != nil {
		return false, err
	}
	defer source.Close()
	file, err := to.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, info.Mode().Perm())
	if err != nil {
		return there(err)
	}
	_, err = io.Copy(file, source)
	err = cmp.Or(err, file.Chmod(info.Mode().Perm()))
	return true, errors.Join(err, file.Close())
}

func there(err error) (bool, error) {
	if errors.Is(err, fs.ErrExist) {
		return false, nil
	}
	return err == nil, err
}
