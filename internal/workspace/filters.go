package workspace

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/arbiter-cli/arbiter/internal/git"
)

// addWithoutFilters adds all files except those that a required filter would have to clean: git adds nothing if the
// program of such a filter, for example git-lfs, is missing or fails. The files stay as they are in the
// index. It returns them, and fails with errNoFilter if there are none.
func (r *Repo) addWithoutFilters(ctx context.Context, env []string) (left []string, err error) {
	names, err := r.requiredFilters(ctx, env)
	if err != nil {
		return nil, err
	}
	var off []string // without these, git would run the filters to find out what has changed
	for _, name := range names {
		for _, setting := range []string{".required=false", ".clean=", ".process="} {
			off = append(off, "-c", "filter."+name+setting)
		}
	}
	// Mark entries of files that may have changed in the second in which the index was written. Otherwise
	// git would compare the files when it writes the index, and run the filters.
	mark := append(slices.Clone(off), "update-index", "--force-write-index")
	if _, err := r.Git.Do(ctx, git.Call{Args: mark, Env: env, Writes: true}); err != nil {
		return nil, err
	}
	var changed []string
	for _, list := range [][]string{
		{"diff-files", "--name-only", "-z", "--diff-filter=d", "--no-renames", "--ignore-submodules=all"},
		{"ls-files", "-z", "--others", "--exclude-standard"},
	} {
		out, err := r.Git.Do(ctx, git.Call{Args: append(slices.Clone(off), list...), Env: env})
		if err != nil {
			return nil, err
		}
		changed = append(changed, Fields(out)...)
	}
	out, err := r.Git.Do(ctx, git.Call{
		Args: []string{"check-attr", "-z", "--stdin", "filter"}, Env: env, Stdin: []byte(strings.Join(changed, "\x00")),
	})
	if err != nil {
		return nil, err
	}
	paths := "."
	for f := Fields(out); len(f) >= 3; f = f[3:] { // path, "filter", its value
		if slices.Contains(names, f[2]) {
			paths += "\x00:(top,literal,exclude)" + f[0]
			left = append(left, fmt.Sprintf("%q, because the filter %q fails", f[0], f[2]))
		}
	}
	if len(left) == 0 {
		return nil, errNoFilter
	}
	_, err = r.Git.Do(ctx, git.Call{
		Args: append(adding(), "--pathspec-from-file=-", "--pathspec-file-nul"), Env: env, Stdin: []byte(paths),
		Writes: true,
	})
	return left, err
}

var errNoFilter = errors.New("no filter is in the way")

// requiredFilters returns the names of the filters without which git adds no file.
func (r *Repo) requiredFilters(ctx context.Context, env []string) ([]string, error) {
	out, err := r.Git.Do(ctx, git.Call{
		Args: []string{"config", "-z", "--type=bool", "--get-regexp", `^filter\..*\.required$`}, Env: env,
	})
	if git.Exit(err) == 1 {
		return nil, errNoFilter
	}
	var names []string
	for _, setting := range Fields(out) {
		key, value, _ := strings.Cut(setting, "\n")
		name := strings.TrimSuffix(strings.TrimPrefix(key, "filter."), ".required")
		if value == "true" && !strings.Contains(name, "=") { // an option of git cannot contain such a name
			names = append(names, name)
		}
	}
	return names, err
}
