package host

import (
	"sync"

	"github.com/arbiter-cli/arbiter/bridge"
)

// BridgePresent holds the bridge that a run currently uses. A lost bridge is replaced by another. The zero value holds
// none.
type BridgePresent struct {
	mu     sync.Mutex
	client *bridge.Client
	opened bool // its sandbox was tried; it may be used
}

// Keep sets the current bridge, as soon as it has started, so that it can be closed. opened is set once its sandbox
// was tried.
func (p *BridgePresent) Keep(c *bridge.Client, opened bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.client, p.opened = c, opened
}

// Client returns the current bridge; nil: none was started.
func (p *BridgePresent) Client() *bridge.Client {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.client
}

// Opened returns the current bridge if it may be used, or nil.
func (p *BridgePresent) Opened() *bridge.Client {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.opened {
		return nil
	}
	return p.client
}
