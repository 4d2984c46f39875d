package host

import (
	"context"
	"errors"
	"sync"

	"github.com/arbiter-cli/arbiter/supervisor/contract"
)

// errParked is the error of an operation that does not wait for a parked host.
var errParked = errors.New("it is parked until a person has it tried again")

// untilParked returns a context that ends when a host is parked, at once if it is parked already. An operation that
// needs that host can block others: merges, for example, are done one after another. The caller calls release.
func (b *Bridges) untilParked(ctx context.Context, host string) (usable context.Context, release func()) {
	usable, cancel := context.WithCancelCause(ctx)
	hostEvents := b.run.Board.Subscribe(func(e contract.Event) bool {
		b, ok := e.Body.(contract.Host)
		return ok && b.Name == host
	})
	var watch sync.WaitGroup
	watch.Go(func() {
		for !b.run.Loop.Snapshot().Lifecycle.Bridge(host).Parked {
			select {
			case <-hostEvents.Events():
			case <-usable.Done():
				return
			}
		}
		cancel(errParked)
	})
	return usable, func() {
		cancel(nil)
		hostEvents.Close()
		watch.Wait()
	}
}
