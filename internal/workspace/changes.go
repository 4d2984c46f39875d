package workspace

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/arbiter-cli/arbiter/internal/git"
)

// Status reports what happened to a file.
type Status string

// What happened to a file. A retyped file has another type, such as a link.
const (
	Added    Status = "added"
	Modified Status = "modified"
	Deleted  Status = "deleted"
	Renamed  Status = "renamed"
	Retyped  Status = "retyped"
)

// statuses are Git's letters for them.
var statuses = map[byte]Status{'A': Added, 'M': Modified, 'D': Deleted, 'R': Renamed, 'T': Retyped}

// Entry is a file in a tree: its mode in Git's notation ("100644", "120000") and its object. The zero Entry
// means that there is no file.
type Entry struct{ Mode, ID string }

// ModeModule is the mode of a submodule, or of a nested repository.
const ModeModule = "160000"

// Change is a file that differs between two trees. Paths are relative to the top of the work tree, with slashes; they
// are bytes, not always UTF-8.
type Change struct {
	Path    string `json:"path"`
	Old     string `json:"old,omitempty"` // previous path of a renamed file
	Status  Status `json:"status"`
	Added   int    `json:"added"` // lines; 0 in a binary file
	Deleted int    `json:"deleted"`
	Binary  bool   `json:"binary,omitempty"`
	From    Entry  `json:"-"`
	To      Entry  `json:"-"`
}

var diffFlags = []string{
	"--no-ext-diff", "--no-textconv", "--no-color", "--no-relative", "--no-abbrev", "--ignore-submodules=dirty",
}

// Changes lists what differs between two trees or commits, with renames and line counts, in the order of paths.
func (r *Repo) Changes(ctx context.Context, from, to string) ([]Change, error) {
	return r.changes(ctx, []string{"diff-tree", "-r", "-z", "-M", "--raw", "--numstat"}, from, to)
}

// Delta lists the paths that differ between two trees or commits: without renames and line counts, which costs less.
func (r *Repo) Delta(ctx context.Context, from, to string) ([]Change, error) {
	return r.changes(ctx, []string{"diff-tree", "-r", "-z", "--no-renames", "--raw"}, from, to)
}

// Staged lists the paths in which the index differs from a tree or commit. An index with conflicts is an error.
func (r *Repo) Staged(ctx context.Context, tree string) ([]Change, error) {
	return r.changes(ctx, []string{"diff-index", "--cached", "-z", "--no-renames", "--raw"}, tree)
}

func (r *Repo) changes(ctx context.Context, command []string, trees ...string) ([]Change, error) {
	out, err := r.Git.Do(ctx, git.Call{Args: slices.Concat(command, diffFlags, trees, []string{"--"})})
	if err != nil {
		return nil, err
	}
	return parseChanges(string(out))
}

var errOutput = errors.New("git diff-tree: its output cannot be read")

// parseChanges reads what diff-tree -z --raw --numstat writes: all raw records, then all counts.
func parseChanges(out string) ([]Change, error) {
	fields := strings.Split(strings.TrimSuffix(out, "\x00"), "\x00")
	if out == "" {
		return nil, nil
	}
	next := func() string {
		if len(fields) == 0 {
			return ""
		}
		field := fields[0]
		fields = fields[1:]
		return field
	}
	var changes []Change
	at := map[string]int{}
	for len(fields) > 0 {
		field := next()
		if raw, ok := strings.CutPrefix(field, ":"); ok {
			c, renamed, err := parseRaw(raw)
			if err != nil {
				return nil, err
			}
			if renamed {
				c.Old = next()
			}
			c.Path = next()
			at[c.Path] = len(changes)
			changes = append(changes, c)
			continue
		}
		parts := strings.SplitN(field, "\t", 3)
		if len(parts) != 3 {
			return nil, fmt.Errorf("%w: %q", errOutput, field)
		}
		path := parts[2]
		if path == "" {
			next()
			path = next()
		}
		i, ok := at[path]
		if !ok {
			return nil, fmt.Errorf("%w: %q was not listed", errOutput, path)
		}
		if changes[i].Binary = parts[0] == "-"; !changes[i].Binary {
			changes[i].Added, _ = strconv.Atoi(parts[0])
			changes[i].Deleted, _ = strconv.Atoi(parts[1])
		}
	}
	slices.SortFunc(changes, func(a, b Change) int { return strings.Compare(a.Path, b.Path) })
	return changes, nil
}

// parseRaw reads "100644 100755 ID ID M": modes and objects before and after, and a letter.
func parseRaw(raw string) (c Change, renamed bool, err error) {
	parts := strings.Split(raw, " ")
	if len(parts) != 5 || parts[4] == "" {
		return Change{}, false, fmt.Errorf("%w: %q", errOutput, raw)
	}
	if strings.Trim(parts[0], "0") != "" {
		c.From = Entry{parts[0], parts[2]}
	}
	if strings.Trim(parts[1], "0") != "" {
		c.To = Entry{parts[1], parts[3]}
	}
	if c.Status = statuses[parts[4][0]]; c.Status == "" {
		return Change{}, false, fmt.Errorf("%w: %q", errOutput, raw)
	}
	return c, c.Status == Renamed, nil
}

// DiffOptions bound a diff. Zero values are the defaults.
type DiffOptions struct {
	Paths   []string // files, or directories; all if empty. They are names, not patterns
	Max     int      // bytes; 1 MiB
	Context int      // lines around a change; 3; -1 for none
}

const defaultDiff = 1 << 20

// Diff returns the difference between two trees or commits as a unified diff. A diff that exceeds the limit
// is cut at the end of a line. Names with control characters are quoted; contents are unchanged, so that
// they are not fit for a terminal.
func (r *Repo) Diff(ctx context.Context, from, to string, o DiffOptions) (text []byte, cut bool, err error) {
	lines := o.Context
	switch {
	case lines < 0:
		lines = 0
	case lines == 0:
		lines = 3
	}
	limit := o.Max
	if limit <= 0 {
		limit = defaultDiff
	}
	args := []string{"--literal-pathspecs", "diff-tree", "-r", "-p", "-M", fmt.Sprintf("-U%d", lines),
		"--src-prefix=a/", "--dst-prefix=b/"}
	args = append(append(args, diffFlags...), from, to, "--")
	args = append(args, o.Paths...)
	text, err = r.Git.Do(ctx, git.Call{Args: args, Max: limit})
	if errors.Is(err, git.ErrTooMuch) {
		return text[:bytes.LastIndexByte(text, '\n')+1], true, nil
	}
	return text, false, err
}
