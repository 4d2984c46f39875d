package supervisor

import (
	"time"

	"github.com/arbiter-cli/arbiter/bridge"
)

// Waiting is the wait that an agent is in, nil for none.
func (a *Agent) Waiting() *Backoff {
	switch a.Status {
	case Ready, Busy, Down:
		return a.Backoff
	}
	return nil
}

// Trouble names what keeps an agent from getting through to the API; empty for one whose process
// is started again.
func (b *Backoff) Trouble() string {
	switch b.Category {
	case bridge.CatOverloaded:
		return "API overloaded"
	case bridge.CatRateLimit:
		return "rate limited"
	case bridge.CatUsageLimit:
		return "usage limit"
	case bridge.CatServer, bridge.CatTimeout:
		return "API error"
	}
	return ""
}

// backOff notes the wait of an agent.
func (st *step) backOff(a *Agent, c bridge.Category, attempt int, delay time.Duration) {
	a.Backoff = &Backoff{Category: c, Attempt: attempt, Until: st.at.Add(delay)}
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
