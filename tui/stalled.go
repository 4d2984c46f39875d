package tui

import (
	"time"

	"github.com/arbiter-cli/arbiter/supervisor"
	"github.com/arbiter-cli/arbiter/supervisor/roster"
	"github.com/arbiter-cli/arbiter/tui/pages"
)

// countdown says how soon the next attempt is.
func countdown(b *roster.Backoff, now time.Time) string {
	left := b.Until.Sub(now)
	if left <= 0 {
		return "trying again"
	}
	return "again in " + pages.Clock(left+time.Second-time.Nanosecond) // never 0:00
}

// stalled is the wait that ends first, if nobody works, and nobody is waited for but the API.
func stalled(s *supervisor.State) *roster.Backoff {
	if who, _, _ := awaited(s, time.Time{}); who != "" || s.Ending != nil || s.Halted {
		return nil
	}
	var first *roster.Backoff
	for i := range s.Agents {
		b := s.Agents[i].Waiting()
		if b != nil && b.Trouble() != "" && (first == nil || b.Until.Before(first.Until)) {
			first = b
		}
	}
	return first
}
