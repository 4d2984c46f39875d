package workspace

import (
	"context"
	"os"
	"path/filepath"
	"strings"

	"github.com/arbiter-cli/arbiter/internal/git"
)

// Stage is a directory with files of a tree, as git would check them out.
type Stage struct {
	Dir string
	env []string
}

// Stage checks out files of a tree or commit in a temporary directory, with the tree's own attributes, the
// user's filters and line ends. Paths that the tree does not have are skipped. Close removes the directory.
func (r *Repo) Stage(ctx context.Context, tree string, paths []string) (*Stage, error) {
	temp, err := r.Temp()
	if err != nil {
		return nil, err
	}
	s := &Stage{Dir: filepath.Join(temp, "files")}
	s.env = []string{"GIT_DIR=" + r.GitDir, "GIT_WORK_TREE=" + s.Dir, "GIT_INDEX_FILE=" + filepath.Join(temp, "index")}
	if err := s.fill(ctx, r, tree, paths); err != nil {
		s.Close()
		return nil, err
	}
	return s, nil
}

func (s *Stage) fill(ctx context.Context, r *Repo, tree string, paths []string) error {
	if err := os.Mkdir(s.Dir, 0o700); err != nil {
		return err
	}
	there := r.Git
	there.Dir = s.Dir
	read := git.Call{Args: []string{"read-tree", "--no-sparse-checkout", tree}, Env: s.env, Writes: true}
	if _, err := there.Do(ctx, read); err != nil || len(paths) == 0 {
		return err
	}
	_, err := there.Do(ctx, git.Call{
		Args: []string{"checkout-index", "--quiet", "-z", "--stdin"}, Env: s.env, Writes: true,
		Stdin: list(paths),
	})
	return err
}

// Ignored lists the given paths that the ignore rules of the staged files cover.
func (s *Stage) Ignored(ctx context.Context, r *Repo, paths []string) ([]string, error) {
	there := r.Git
	there.Dir = s.Dir
	out, err := there.Do(ctx, git.Call{
		Args: []string{"check-ignore", "-z", "--stdin", "--no-index"}, Env: s.env,
		Stdin: list(paths),
	})
	if git.Exit(err) == 1 { // none
		return nil, nil
	}
	return Fields(out), err
}

// Close removes the directory.
func (s *Stage) Close() error { return os.RemoveAll(filepath.Dir(s.Dir)) }

// Fields splits what git writes with -z.
func Fields(out []byte) []string {
	if len(out) == 0 {
		return nil
	}
	return strings.Split(strings.TrimSuffix(string(out), "\x00"), "\x00")
}
