package localbridge

import (
	"sync"

	"github.com/arbiter-cli/arbiter/bridge"
)

// Present is the bridge that a run uses at present: another one replaces it when it is lost. The zero value has none.
type Present struct {
	mu     sync.Mutex
	client *bridge.Client
	opened bool // it has been tried, and may be used
}

// Keep makes a bridge the present one: from its start on, so that it can be closed. opened is set once its sandbox was
// tried.
func (p *Present) Keep(c *bridge.Client, opened bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.client, p.opened = c, opened
}

// Client is the present bridge; nil: none was started.
func (p *Present) Client() *bridge.Client {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.client
}

// Opened is the present bridge once it may be used; nil before.
func (p *Present) Opened() *bridge.Client {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.opened {
		return nil
	}
	return p.client
}
