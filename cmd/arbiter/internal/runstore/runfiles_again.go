package runstore

import (
	"context"
	"errors"

	"github.com/arbiter-cli/arbiter/internal/git"
)

// again calls do, and calls it once more if Git failed: a halt or the end of a bridge may have killed a running
// Git. do must be repeatable.
func again[T any](ctx context.Context, do func() (T, error)) (T, error) {
	done, err := do()
	var failed *git.Error
	if errors.As(err, &failed) && ctx.Err() == nil {
		return do()
	}
	return done, err
}
