//go:build !unix

package workspace

import (
	"context"
	"errors"
)

// Lock is not supported here.
func (r *Repo) Lock(context.Context) (locked *Repo, unlock func(), err error) {
	return nil, nil, errors.ErrUnsupported
}
