package supervisor

import (
	"fmt"
	"time"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/supervisor/agents"
	"github.com/arbiter-cli/arbiter/supervisor/words"
)

// ContextLevel is how full a context is: one of the levels of package roster, or empty below the first.
func ContextLevel(c bridge.Context, warn, critical float64) string {
	switch {
	case c.Window <= 0:
		return ""
	case c.Pct >= critical:
		return LevelCritical
	case c.Pct >= warn:
		return AgentLevelWarn
	}
	return ""
}

// ReachedLimit says which limit of its mode an agent has reached by its turns or its cost; empty: none.
func ReachedLimit(a *Agent, limits agents.Limits) string {
	switch {
	case limits.MaxTurns > 0 && a.Turns >= limits.MaxTurns:
		return fmt.Sprintf("it has answered %s, the limit of a %s", words.Count(a.Turns, "message"), a.Mode)
	case limits.MaxCostUSD > 0 && a.CostUSD >= limits.MaxCostUSD:
		return fmt.Sprintf("it has cost $%.4f of the $%.4f of a %s", a.CostUSD, limits.MaxCostUSD, a.Mode)
	}
	return ""
}

// RetryDelay is the wait before the next attempt after a number of API failures in a row: it begins with base
// and is multiplied by four each time, until it has passed atMost.
func RetryDelay(failures int, base, atMost time.Duration) time.Duration {
	delay := base
	for n := 1; n < failures && delay < atMost; n++ {
		delay *= 4
	}
	return delay
}
