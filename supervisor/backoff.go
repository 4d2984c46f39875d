package supervisor

import (
	"time"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/supervisor/roster"
)

// backOff notes the wait of an agent.
func (st *step) backOff(a *roster.Agent, c bridge.Category, attempt int, delay time.Duration) {
	a.Backoff = &roster.Backoff{Category: c, Attempt: attempt, Until: st.at.Add(delay)}
}

// retryCategory is the category of what the CLI tries again by itself.
func retryCategory(r bridge.Retry) bridge.Category {
	switch {
	case r.Status == 529 || r.Reason == string(bridge.CatOverloaded):
		return bridge.CatOverloaded
	case r.Status == 429 || r.Reason == string(bridge.CatRateLimit):
		return bridge.CatRateLimit
	}
	return bridge.CatServer
}
