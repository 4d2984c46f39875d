package claude

import (
	"maps"
	"slices"
	"strings"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/transcript/jsonl"
)

// result ends a turn of the agent, or reports one that Arbiter did not ask for.
func (r *reader) result(f resultFrame) {
	a := r.a
	a.gauge.turnEnded(f.ModelUsage)
	r.costAccount.closed(f.ModelUsage)
	r.spending.closed(f)
	r.blocked = false
	a.follow.look.Ring() // a whole turn is on disk by now
	r.costs.add(f)
	defer r.consult()
	tr := r.priorErrors
	r.priorErrors = priorErrors{rejected: tr.rejected, resetsAt: tr.resetsAt}
	for _, id := range f.MessageUUIDs {
		r.delivered(id, proofResult)
	}
	ids := a.turns.finish(f)
	if len(ids) == 0 {
		a.unasked(f)
		return
	}
	r.subs.end("stopped")
	o := judge(f, tr)
	turn := bridge.Turn{
		Verdict: f.Verdict, MessageIDs: ids, NumTurns: f.NumTurns, DurationMS: f.DurationMS, Outcome: o.outcome,
		Category: o.category, Error: jsonl.Cut(o.message, bridge.MaxTurnText), Reason: f.TerminalReason,
		ResetsAt: o.resetsAt,
	}
	r.costs.take(&turn)
	if o.category == bridge.CatPromptTooLong {
		turn.Model, turn.Window = a.gauge.modelName(), longestPrompt(f.Text)
	}
	if n := len(f.Verdict); n > bridge.MaxVerdict {
		turn.Verdict, turn.Oversize = nil, n
	}
	if f.Verdict == nil && o.outcome == bridge.TurnDone {
		turn.Text = jsonl.Cut(f.Text, bridge.MaxTurnText)
	}
	if o.outcome == bridge.TurnDone && refusedByHook(f) {
		turn.Outcome, turn.Category, turn.Text = bridge.TurnFailed, bridge.CatHook, ""
		reason, _, _ := strings.Cut(f.Text, "\n\nOriginal prompt: ") // the message itself is no reason
		turn.Error = jsonl.Cut(strings.TrimSpace(reason), bridge.MaxTurnText)
	}
	if turn.Outcome == bridge.TurnInterrupted || turn.Category == bridge.CatHook {
		turn.Unread = r.unread(ids)
	}
	for _, id := range ids {
		delete(r.echoed, id)
	}
	r.calls.closeTurn(&turn)
	a.Emit(turn)
	if o.outcome == bridge.TurnFailed {
		a.gauge.failed()
	}
}

// refusedByHook reports whether a UserPromptSubmit hook has kept the messages from the model: it exits with 2, says
// block, or stops the session. The CLI (2.1.329) has reported them as started by then. It asks the API nothing, and
// ends the turn as if all were well, with what the hook has said as its text. Only a session that is stopped keeps
// the message in its history.
func refusedByHook(f resultFrame) bool {
	return f.NoTurn && f.Usage == (bridge.Usage{}) && f.Verdict == nil
}

// unasked records a result that does not end a message of Arbiter. Before the agent is ready, it is the
// reason why the agent will not become ready.
func (a *agent) unasked(f resultFrame) {
	if text := failureText(f); f.IsError {
		a.startProblem.CompareAndSwap(nil, &text)
	}
	origin := "no origin"
	if f.Origin != nil {
		origin = "origin " + jsonl.Cut(string(f.Origin), 200)
	}
	a.notice("result of "+origin, "a turn that no message from Arbiter started ("+origin+")")
}

// costs adds up what the session has spent since the last turn of a message: with subagents, compaction, and turns that
// Arbiter did not ask for. The CLI's own usage of a turn has only the main thread's calls, and none if the turn failed.
type costs struct {
	spent bridge.Spent
	model map[string]bridge.ModelCost
}

func (c *costs) add(f resultFrame) {
	for name, u := range f.SinceLast {
		if c.model == nil {
			c.model = map[string]bridge.ModelCost{}
		}
		m := c.model[name]
		m.Model, m.CostUSD, m.Usage = name, m.CostUSD+u.CostUSD, m.Usage.Plus(u.tokens())
		m.Window = max(m.Window, u.ContextWindow, f.ModelUsage[name].ContextWindow)
		c.model[name] = m
	}
	since := totalsOf(f.SinceLast)
	c.spent.CostUSD, c.spent.Usage = c.spent.CostUSD+since.CostUSD, c.spent.Usage.Plus(since.Usage)
}

// closeUnended adds to a turn that has no result what it has done, and what it has cost as far as that is known: by the
// results of other turns since the last one, or by the last answer to get_usage, which includes them.
func (r *reader) closeUnended(t *bridge.Turn) {
	r.calls.closeTurn(t)
	r.costs.take(t)
	s := &r.spending
	if reported := s.reported; reported.CostUSD > t.CostUSD {
		s.base.CostUSD, s.base.Usage = s.base.CostUSD+reported.CostUSD-t.CostUSD, s.base.Usage.Plus(reported.Usage)
		t.CostUSD, t.Usage = reported.CostUSD, reported.Usage
	}
	s.reported = bridge.Spent{} // a turn that is lost later must not bear it again
}

// maxModels bounds how many models are reported for a turn.
const maxModels = 20

// take moves what was spent into a turn.
func (c *costs) take(t *bridge.Turn) {
	t.CostUSD, t.Usage = c.spent.CostUSD, c.spent.Usage
	for _, name := range slices.Sorted(maps.Keys(c.model)) {
		if m := c.model[name]; (m.CostUSD > 0 || m.Usage != bridge.Usage{}) && len(t.Models) < maxModels {
			t.Models = append(t.Models, m)
		}
	}
	*c = costs{}
}
