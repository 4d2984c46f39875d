package tui

import (
	"time"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/supervisor"
	"github.com/arbiter-cli/arbiter/tui/pages"
)

// stallWord says what an agent waits for that does not get through to the API; empty for one
// whose process is started again.
func stallWord(b *supervisor.Backoff) string {
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

// countdown says how soon the next attempt is.
func countdown(b *supervisor.Backoff, now time.Time) string {
	left := b.Until.Sub(now)
	if left <= 0 {
		return "trying again"
	}
	return "again in " + pages.Clock(left+time.Second-time.Nanosecond) // never 0:00
}

// stalled is the wait that ends first, if nobody works, and nobody is waited for but the API.
func stalled(s *supervisor.State) *supervisor.Backoff {
	if who, _, _ := awaited(s, time.Time{}); who != "" || s.Ending != nil || s.Halted {
		return nil
	}
	var first *supervisor.Backoff
	for i := range s.Agents {
		b := s.Agents[i].Waiting()
		if b != nil && stallWord(b) != "" && (first == nil || b.Until.Before(first.Until)) {
			first = b
		}
	}
	return first
}
