package contract

import (
	"maps"
	"slices"

	"github.com/arbiter-cli/arbiter/bridge"
)

// Charges tells readers of a run's events what each event adds to the cost of the run. A turn is charged when it ends;
// or, with what it had cost so far, when an event says that its process has ended without it. The zero value is ready
// for the first event of a run. It is not safe for concurrent use.
type Charges struct {
	Running map[string]Cost `json:"running"` // of running turns, by agent
}

// Charge is an amount that one event adds.
type Charge struct {
	ID      string // of the agent; [Supervisor]: the decider
	CostUSD float64
	Usage   bridge.Usage
	Turn    *Turn // that ended; nil for a lost turn, and for the decider
}

// Take takes the next event, and returns what it adds.
func (c *Charges) Take(e Event) []Charge {
	switch b := e.Body.(type) {
	case Session, Result: // no process of an earlier run process, or of the ended run, is left
		return c.lose(slices.Sorted(maps.Keys(c.Running))...)
	case Spawn, Done:
		return c.lose(e.ID)
	case Cost:
		if e.ID == Supervisor {
			return []Charge{{ID: Supervisor, CostUSD: b.CostUSD, Usage: b.Usage}}
		}
		if c.Running == nil {
			c.Running = map[string]Cost{}
		}
		c.Running[e.ID] = b
	case Turn:
		delete(c.Running, e.ID)
		return []Charge{{e.ID, b.CostUSD, b.Usage, &b}}
	case Decision:
		if b.CostUSD > 0 {
			return []Charge{{ID: Supervisor, CostUSD: b.CostUSD}}
		}
	}
	return nil
}

// lose returns what the running turns of agents have cost. They will not end any more.
func (c *Charges) lose(ids ...string) (lost []Charge) {
	for _, id := range ids {
		if b, ok := c.Running[id]; ok {
			delete(c.Running, id)
			lost = append(lost, Charge{ID: id, CostUSD: b.CostUSD, Usage: b.Usage})
		}
	}
	return lost
}

// Live returns what the running turns have cost so far. It is not charged yet.
func (c *Charges) Live() (usd float64) {
	for _, b := range c.Running {
		usd += b.CostUSD
	}
	return usd
}
