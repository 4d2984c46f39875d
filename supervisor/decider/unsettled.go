package decider

import (
	"fmt"
	"slices"
	"strings"
)

// unresolvedPoint returns an open point in the last document of a tester or reviewer, or nil. While there is
// such a point, the rules complete no task.
func (s standing) unresolvedPoint() *OpenPoint {
	i := slices.IndexFunc(s.open, func(p OpenPoint) bool { return looks(p.Agent) && len(p.Remaining) > 0 })
	if i < 0 {
		return nil
	}
	return &s.open[i]
}

// looks reports whether an agent judges the work of others.
func looks(agent string) bool { return agent == tester || agent == reviewer }

// resolvePoint lets an agent fix an open point, and then lets the agent that raised it check again. A model may
// decide better, so the decision is not clear.
func (s standing) resolvePoint(p *OpenPoint, current string) (d Decision, clear bool) {
	mended := slices.ContainsFunc(p.Since, func(agent string) bool { return agent != planner && !looks(agent) })
	name, reason := p.Agent, fmt.Sprintf("%s left work open, and others have worked since: it is to look again.",
		p.Agent)
	message := "When you last handed over, or another " + p.Agent +
		" did, this was left open. See whether it is settled, and what else is wrong or missing:" + listed(p.Remaining)
	if !mended || !s.has(p.Agent) {
		name, reason = s.mender(p.Agent),
			fmt.Sprintf("%s left work open, which is to be done before the task is complete.", p.Agent)
		message = "The " + p.Agent + " has left this open. Do it, and prove that it is done:" + listed(p.Remaining)
	}
	d, _ = s.hand(name, current, reason)
	d.Message, d.Aside = message, true
	return d, false
}

// fixCompletion selects an agent to fix the problem that prevents a COMPLETE.
func (s standing) fixCompletion(current string) (d Decision, clear bool) {
	points := make([]string, len(s.failed))
	for i, c := range s.failed {
		points[i] = fmt.Sprintf("%s, of a document of %s: %s", c.Command, nameOf(c.Agent), c.Why)
	}
	d, _ = s.hand(s.mender(""), current, "Checks that proved the work fail at the end.")
	d.Message, d.Aside = "The supervisor has run the checks of the task's documents once more, and these fail. Find "+
		"out what broke them, and put it right:"+listed(points), true
	return d, false
}

// mender is the mode that fixes what another has found: the one that does the work, otherwise the finder.
func (s standing) mender(finder string) string {
	if name := s.worker(); name != "" {
		return name
	}
	if s.has(finder) {
		return finder
	}
	return s.pick()
}

// listed lists points for a message.
func listed(points []string) string {
	var b strings.Builder
	for _, p := range points {
		b.WriteString("\n- " + clip(oneLine(p), 300))
	}
	return b.String()
}
