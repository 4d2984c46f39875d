package claude

import (
	"encoding/json"
	"time"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/internal/backlog"
)

// spendingPause is the time between a sign of work and the request for the cost of the turn so far: the CLI
// books a message only after it has ended, a moment after its frames. The CLI answers in milliseconds, and
// gets at most one request in this time.
const spendingPause = time.Second

// usageOfSession restricts the answer to get_usage to the session. Otherwise the CLI may read all
// transcripts of its user.
var usageOfSession = map[string]any{"skip_behaviors": true}

// spending records what the running turn has cost so far. The CLI reports at any time what the session has
// cost; the share of the turn is the difference to the last result. The reader owns all fields except ring.
type spending struct {
	ring     chan struct{} // capacity 1: there was work that costs
	known    bool          // base is known: the driver asks for the cost of a resumed session
	base     bridge.Spent  // of the session when the running turn began
	reported bridge.Spent  // of the running turn
	off      bool          // the CLI does not report costs
}

// totalsOf adds up what a session has spent on each model.
func totalsOf(models map[string]modelUsage) (t bridge.Spent) {
	for _, u := range models {
		t.CostUSD, t.Usage = t.CostUSD+u.CostUSD, t.Usage.Plus(u.tokens())
	}
	return t
}

// worked signals that there was work that costs.
func (s *spending) worked() { backlog.Hint(s.ring) }

// since returns the spending since the turn began, given the session's current totals. All spending before
// the first answer of a resumed session belongs to earlier turns.
func (s *spending) since(now bridge.Spent) bridge.Spent {
	if !s.known {
		s.known, s.base = true, now
	}
	u, b := now.Usage, s.base.Usage
	return bridge.Spent{CostUSD: max(now.CostUSD-s.base.CostUSD, 0), Usage: bridge.Usage{
		Input: max(u.Input-b.Input, 0), Output: max(u.Output-b.Output, 0),
		CacheRead: max(u.CacheRead-b.CacheRead, 0), CacheCreation: max(u.CacheCreation-b.CacheCreation, 0),
	}}
}

// closed records the figures of a result, from which the next turn is counted.
func (s *spending) closed(f resultFrame) {
	s.known, s.base, s.reported = true, totalsOf(f.ModelUsage), bridge.Spent{}
}

// followSpending makes the reader request the cost of the turn after each sign of work, until the process
// has ended.
func (a *agent) followSpending() {
	for {
		select {
		case <-a.reader.spending.ring:
		case <-a.Ctx.Done():
			return
		}
		select {
		case <-time.After(spendingPause):
		case <-a.Ctx.Done():
			return
		}
		if a.turns.busy() {
			a.calls.post(a.Ctx, "get_usage", usageOfSession, a.reader.spent)
		}
	}
}

// read reads an answer to get_usage: what the session has spent on each model.
func (s *spending) read(res controlResponse) (models map[string]modelUsage, ok bool) {
	var u struct {
		Session *struct {
			ModelUsage map[string]modelUsage `json:"model_usage"`
		} `json:"session"`
	}
	if s.off || res.Error != "" || json.Unmarshal(res.Response, &u) != nil || u.Session == nil {
		s.off = true // an older CLI reports the cost only at the turn's end
		return nil, false
	}
	return u.Session.ModelUsage, true
}

// spent handles the CLI's answer.
func (r *reader) spent(res controlResponse) {
	s := &r.spending
	models, ok := s.read(res)
	if !ok {
		r.subs.end("")
		return
	}
	r.charged(models)
	now := s.since(totalsOf(models))
	now.CostUSD, now.Usage = now.CostUSD+r.costs.spent.CostUSD, now.Usage.Plus(r.costs.spent.Usage)
	if now == s.reported || !r.a.turns.busy() {
		return
	}
	s.reported = now
	r.a.Emit(now)
}
