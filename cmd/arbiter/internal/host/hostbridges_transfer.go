package host

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/arbiter-cli/arbiter/bridge"
	workspaces "github.com/arbiter-cli/arbiter/internal/workspace"
	"github.com/arbiter-cli/arbiter/internal/workspace/remote"
)

// push sends a commit to a host.
func (h *hostBridge) push(ctx context.Context, link remote.Link, commit string) error {
	return h.transfer(ctx, func(ctx context.Context) error {
		_, err := link.Push(ctx, commit)
		return err
	})
}

// Git opens a separate connection to a host for each transfer. It can break while the bridge stays up.
const (
	transferAttempts = 4
	transferPause    = time.Second // before the second attempt; it doubles
)

// transfer moves commits to or from a host, as [retried] does. If the bridge ends, it returns an error that wraps
// [bridge.ErrClosed].
func (h *hostBridge) transfer(ctx context.Context, move func(context.Context) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	var watch sync.WaitGroup
	watch.Go(func() {
		select {
		case <-h.client.Done():
			cancel(bridge.ErrClosed)
		case <-ctx.Done():
		}
	})
	defer watch.Wait()
	defer cancel(nil)
	err := retried(ctx, move)
	if ctx.Err() != nil && errors.Is(context.Cause(ctx), bridge.ErrClosed) {
		return fmt.Errorf("host %s: %w", h.host.Name, bridge.ErrClosed)
	}
	return err
}

// retried calls move again after a broken connection, and at once if another transfer moved the same branch
// meanwhile: the merge of an agent's work and the snapshot of its turn fetch at the same time.
func retried(ctx context.Context, move func(context.Context) error) error {
	pause := transferPause
	for attempt := 1; ; attempt++ {
		err := move(ctx)
		switch {
		case ctx.Err() != nil, err == nil, attempt == transferAttempts, errors.Is(err, remote.ErrNoBranch),
			errors.Is(err, remote.ErrTooLarge):
			return err
		case errors.Is(err, workspaces.ErrMoved):
			continue
		}
		select {
		case <-ctx.Done():
			return err
		case <-time.After(pause):
			pause *= 2
		}
	}
}
