package runfiles

import (
	"context"
	"errors"

	"github.com/arbiter-cli/arbiter/internal/git"
)

// again does something with Git, once more if Git failed: a halt, or the end of a bridge, may have killed a Git that
// was at work. Whatever is done here can be repeated.
func again[T any](ctx context.Context, do func() (T, error)) (T, error) {
	done, err := do()
	var failed *git.Error
	if errors.As(err, &failed) && ctx.Err() == nil {
		return do()
	}
	return done, err
}
