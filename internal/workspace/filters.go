package workspace

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/arbiter-cli/arbiter/internal/git"
)

// findSkipped finds out which filters do not run.
func (r *Repo) findSkipped(ctx context.Context) error {
	own, err := r.Drivers("filter")
	if err != nil || len(own) == 0 {
		return err
	}
	users, err := r.filters(ctx, `(clean|smudge|process)`, nil)
	r.Skipped = slices.DeleteFunc(own, func(name string) bool { return slices.Contains(users, name) })
	return err
}

// Notice says which programs of the repository's own configuration do not run although attributes may name them; empty
// if there are none.
func (r *Repo) Notice() string {
	names := []string{}
	for _, name := range r.Skipped {
		names = append(names, fmt.Sprintf("filter %q", name))
	}
	merges, err := r.Drivers("merge")
	if err != nil {
		return err.Error()
	}
	for _, name := range merges {
		names = append(names, fmt.Sprintf("merge driver %q", name))
	}
	if len(names) == 0 {
		return ""
	}
	return fmt.Sprintf("Arbiter does not run what the repository's own configuration defines (%s): it takes the files as "+
		"they are. To have it run them, define them in your own configuration (git config --global).",
		strings.Join(names, ", "))
}

// forgetContents makes git add record all files of skipped filters anew. Those that have not changed would otherwise
// keep the contents that a filter has made of them.
func (r *Repo) forgetContents(ctx context.Context, env []string) error {
	if len(r.Skipped) == 0 {
		return nil
	}
	entries, err := r.entries(ctx, env)
	if err != nil {
		return err
	}
	paths := make([]string, len(entries))
	for i, e := range entries {
		paths[i] = e.path
	}
	under, err := r.under(ctx, r.Skipped, paths, env)
	if err != nil || len(under) == 0 {
		return err
	}
	var lines []string
	for _, e := range entries {
		if under[e.path] != "" {
			lines = append(lines, e.line)
		}
	}
	_, err = r.Git.Do(ctx, git.Call{Args: []string{"update-index", "-z", "--index-info"}, Env: env, Stdin: list(lines),
		Writes: true})
	return err
}

// Unfiltered returns the paths whose filter is one of [Repo.Skipped], each with the filter.
func (r *Repo) Unfiltered(ctx context.Context, paths []string) (map[string]string, error) {
	return r.under(ctx, r.Skipped, paths, nil)
}

// under returns the paths that some filters apply to, each with the filter.
func (r *Repo) under(ctx context.Context, filters, paths, env []string) (map[string]string, error) {
	if len(filters) == 0 || len(paths) == 0 {
		return nil, nil
	}
	out, err := r.Git.Do(ctx, git.Call{Args: []string{"check-attr", "-z", "--stdin", "filter"}, Env: env,
		Stdin: list(paths)})
	if err != nil {
		return nil, err
	}
	under := map[string]string{}
	for f := Fields(out); len(f) >= 3; f = f[3:] { // path, "filter", its value
		if slices.Contains(filters, f[2]) {
			under[f[0]] = f[2]
		}
	}
	return under, nil
}

// addWithoutFilters adds all files except those that a required filter would have to clean: git adds nothing if the
// program of such a filter, for example git-lfs, is missing or fails. The files stay as they are in the
// index. It returns them, and fails with errNoFilter if there are none.
func (r *Repo) addWithoutFilters(ctx context.Context, omit, env []string) (left []string, err error) {
	names, err := r.filters(ctx, "required", env)
	if err != nil {
		return nil, err
	}
	changed, err := r.changedUnder(ctx, names, env)
	if err != nil {
		return nil, err
	}
	for path, filter := range changed {
		omit = append(omit, path)
		left = append(left, fmt.Sprintf("%q, because the filter %q fails", path, filter))
	}
	if len(left) == 0 {
		return nil, errNoFilter
	}
	slices.Sort(left)
	return left, r.add(ctx, omit, env)
}

var errNoFilter = errors.New("no filter is in the way")

// changedUnder lists the new and changed files that some filters apply to, each with the filter. No filter runs.
func (r *Repo) changedUnder(ctx context.Context, filters, env []string) (map[string]string, error) {
	var off []string // without these, git would run the filters to find out what has changed
	for _, name := range filters {
		for _, setting := range []string{".required=false", ".clean=", ".process="} {
			if !strings.Contains(name, "=") { // an option of git cannot contain such a name
				off = append(off, "-c", "filter."+name+setting)
			}
		}
	}
	// Mark entries of files that may have changed in the second in which the index was written. Otherwise
	// git would compare the files when it writes the index, and run the filters.
	mark := append(slices.Clone(off), "update-index", "--force-write-index")
	if _, err := r.Git.Do(ctx, git.Call{Args: mark, Env: env, Writes: true}); err != nil {
		return nil, err
	}
	var changed []string
	for _, call := range [][]string{
		{"diff-files", "--name-only", "-z", "--diff-filter=d", "--no-renames", "--ignore-submodules=all"},
		{"ls-files", "-z", "--others", "--exclude-standard"},
	} {
		out, err := r.Git.Do(ctx, git.Call{Args: append(slices.Clone(off), call...), Env: env})
		if err != nil {
			return nil, err
		}
		changed = append(changed, Fields(out)...)
	}
	return r.under(ctx, filters, changed, env)
}

// filters returns the names of the filters for which the user's configuration has a setting; of "required", those for
// which it is true.
func (r *Repo) filters(ctx context.Context, setting string, env []string) ([]string, error) {
	args := []string{"config", "-z", "--get-regexp", `^filter\..*\.` + setting + "$"}
	if setting == "required" {
		args = slices.Insert(args, 1, "--type=bool")
	}
	out, err := r.Git.Do(ctx, git.Call{Args: args, Env: env})
	if git.Exit(err) == 1 {
		return nil, nil
	}
	var names []string
	for _, line := range Fields(out) {
		key, value, _ := strings.Cut(line, "\n")
		name := strings.TrimPrefix(key[:strings.LastIndexByte(key, '.')], "filter.")
		if (setting != "required" || value == "true") && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names, err
}
