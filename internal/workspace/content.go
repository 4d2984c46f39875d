package workspace

import (
	"context"
	"errors"

	"github.com/arbiter-cli/arbiter/internal/git"
)

// Content returns a file of a tree, at most most bytes of it. The zero Entry and a submodule have no
// content.
func (r *Repo) Content(ctx context.Context, e Entry, most int) (text []byte, cut bool, err error) {
	if e.ID == "" || e.Mode == ModeModule {
		return nil, false, nil
	}
	text, err = r.Git.Do(ctx, git.Call{Args: []string{"cat-file", "blob", e.ID}, Max: most})
	if errors.Is(err, git.ErrTooMuch) {
		return text, true, nil
	}
	return text, false, err
}
