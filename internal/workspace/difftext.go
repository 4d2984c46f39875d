package workspace

import (
	"bytes"
	"context"
	"errors"
	"fmt"

	"github.com/arbiter-cli/arbiter/internal/git"
)

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
