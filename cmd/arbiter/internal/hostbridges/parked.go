package hostbridges

import (
	"context"
	"errors"
	"sync"

	"github.com/arbiter-cli/arbiter/supervisor/contract"
)

// errParked is why a host is not waited for.
var errParked = errors.New("it is parked until a person has it tried again")

// untilParked is a context that ends when a host is parked, or is parked already: others wait for what needs that host,
// such as the merges behind one. The caller releases it.
func (b *Bridges) untilParked(ctx context.Context, host string) (usable context.Context, release func()) {
	usable, cancel := context.WithCancelCause(ctx)
	news := b.run.Board.Subscribe(func(e contract.Event) bool {
		b, ok := e.Body.(contract.Host)
		return ok && b.Name == host
	})
	var watch sync.WaitGroup
	watch.Go(func() {
		for !b.run.Loop.Snapshot().Lifecycle.Bridge(host).Parked {
			select {
			case <-news.News():
			case <-usable.Done():
				return
			}
		}
		cancel(errParked)
	})
	return usable, func() {
		cancel(nil)
		news.Close()
		watch.Wait()
	}
}
