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
	under, err := r.under(ctx, "filter", r.skips, paths, env)
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
	if len(r.Skipped) == 0 {
		return nil, nil
	}
	return r.under(ctx, "filter", r.skips, paths, nil)
}

func (r *Repo) skips(filter string) bool { return slices.Contains(r.Skipped, filter) }

// under returns the paths with an attribute whose value fits, each with the value.
func (r *Repo) under(ctx context.Context, attribute string, fits func(string) bool, paths, env []string) (
	map[string]string, error) {
	if len(paths) == 0 {
		return nil, nil
	}
	out, err := r.Git.Do(ctx, git.Call{Args: []string{"check-attr", "-z", "--stdin", attribute}, Env: env,
		Stdin: list(paths)})
	if err != nil {
		return nil, err
	}
	under := map[string]string{}
	for f := Fields(out); len(f) >= 3; f = f[3:] { // path, attribute, its value
		if fits(f[2]) {
			under[f[0]] = f[2]
		}
	}
	return under, nil
}

// addConverted adds all files except those that git cannot convert, since it then adds nothing: files of a required
// filter whose program, for example git-lfs, is missing or fails, or text that is not in its working-tree-encoding, or
// both. They stay as they are in the index. It returns them, and fails with errConverted if there are none.
func (r *Repo) addConverted(ctx context.Context, omit, env []string) (left []string, err error) {
	names, err := r.filters(ctx, "required", env)
	if err != nil {
		return nil, err
	}
	changed, err := r.changed(ctx, names, env)
	if err != nil {
		return nil, err
	}
	filtered, err := r.under(ctx, "filter", func(v string) bool { return slices.Contains(names, v) }, changed, env)
	if err != nil {
		return nil, err
	}
	encoded, err := r.under(ctx, "working-tree-encoding",
		func(v string) bool { return v != "unspecified" && v != "unset" }, changed, env)
	if err != nil {
		return nil, err
	}
	err = errConverted
	for _, leave := range []struct{ filtered, encoded bool }{{true, false}, {false, true}, {true, true}} {
		if leave.filtered && len(filtered) == 0 || leave.encoded && len(encoded) == 0 {
			continue
		}
		all := slices.Clone(omit)
		left = nil
		without := func(under map[string]string, why string) {
			for path, value := range under {
				all, left = append(all, path), append(left, fmt.Sprintf("%q, because "+why, path, value))
			}
		}
		if leave.filtered {
			without(filtered, "the filter %q fails")
		}
		if leave.encoded {
			without(encoded, "text of the working-tree-encoding %q cannot be converted")
		}
		if err = r.add(ctx, all, env); git.Exit(err) <= 1 {
			break
		}
	}
	slices.Sort(left)
	return left, err
}

var errConverted = errors.New("no conversion is in the way")

// changed lists the new and changed files. None of the filters runs.
func (r *Repo) changed(ctx context.Context, filters, env []string) ([]string, error) {
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
	return changed, nil
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
