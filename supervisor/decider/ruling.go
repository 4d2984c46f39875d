package decider

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/arbiter-cli/arbiter/supervisor/words"
)

// maxStretches is how often the rules let an agent continue after one spawn. Then they spawn it again, which
// counts as an iteration: so the limit of iterations ends every task that the rules lead.
const maxStretches = 4

// Rule chooses the agent that works next.
func (in SelectAgentInput) Rule() (d Decision, clear bool) {
	s := standing(in).whole()
	if len(s.AvailableAgents) == 0 {
		return Decision{}, false
	}
	if in.LastError != nil {
		return s.recover(troubleOf(in.LastError))
	}
	return s.onward("")
}

// Rule decides what follows from the last execution.
func (in EvaluateProgressInput) Rule() (d Decision, clear bool) {
	last := in.LastExecution
	history := in.History
	if n := len(history); last.Agent != "" && (n == 0 || !same(history[n-1], last)) {
		history = append(history[:n:n], last)
	}
	in.History = history
	s := standing{TaskInput: in.TaskInput}.whole()
	if failed(last.Status) {
		return s.recover(troubleIn(last))
	}
	if last.Status == StatusCancelled {
		return s.onward("") // a stopped agent does not continue by itself
	}
	return s.onward(last.Agent)
}

func same(a, b ExecutionSummary) bool {
	return a.Agent == b.Agent && a.Iteration == b.Iteration && a.Status == b.Status && a.StartedAt == b.StartedAt
}

// recover decides after a failure.
func (s standing) recover(t trouble) (d Decision, clear bool) {
	if s.spent() {
		return retry(t, fmt.Sprintf("%s in a row and %d in all are the limit: whether it is tried once more is for "+
			"the task machine to say.",
			words.Count(s.Constraints.ConsecutiveFailures, "failure"), s.Constraints.TotalFailures)), false
	}
	again := 0 // failures in a row of the same agent
	for _, agent := range s.failing() {
		if agent != t.agent {
			break
		}
		again++
	}
	gone := t.agent != "" && t.agent != modeless && !s.has(t.agent)
	switch other := s.other(t.agent); {
	case s.stretches() >= maxStretches:
		return s.instead(other, t, fmt.Sprintf("%s has worked %s under one summon, and failed at last", nameOf(t.agent),
			words.Count(s.stretches(), "time")))
	case t.passes():
		return retry(t, fmt.Sprintf("The provider failed under %s, and that passes: it tries again.", nameOf(t.agent))),
			true
	case gone && other != "":
		return s.instead(other, t, fmt.Sprintf("%s failed, and no longer exists", nameOf(t.agent)))
	case again >= 2 && other != "":
		return s.instead(other, t,
			fmt.Sprintf("%s has failed %s in a row", nameOf(t.agent), words.Count(again, "time")))
	case !t.retry && other != "":
		return s.instead(other, t, fmt.Sprintf("%s failed (%s), where trying again helps nothing", nameOf(t.agent),
			t.category))
	case s.Constraints.MaxConsecutiveFailures > 0 &&
		s.Constraints.ConsecutiveFailures >= s.Constraints.MaxConsecutiveFailures-1 &&
		other != "":
		return s.instead(other, t, fmt.Sprintf("%s failed, with one failure left to the limit of %d in a row",
			nameOf(t.agent), s.Constraints.MaxConsecutiveFailures))
	}
	return retry(t, fmt.Sprintf("%s failed (%s), with %s in a row of %d allowed: it tries again, in another way.",
		nameOf(t.agent), t.category, words.Count(s.Constraints.ConsecutiveFailures, "failure"),
		s.Constraints.MaxConsecutiveFailures)), false
}

// instead lets another agent continue where one failed. If there is no other, the same one is spawned again.
func (s standing) instead(other string, t trouble, why string) (Decision, bool) {
	message := "Go on where " + nameOf(t.agent) + " failed, in another way."
	switch {
	case other == "" && s.has(t.agent):
		other, why = t.agent, why+"; there is no other agent, so it is summoned again"
		message = "Begin again where you failed, in another way."
	case other == "" && len(s.AvailableAgents) == 0:
		return Decision{}, false
	default:
		why += fmt.Sprintf(": %s is to look at it", other)
	}
	return Decision{Decision: SelectMode, Mode: other, Reason: why + ".", Message: message + t.text(), Source: ByRules},
		false
}

func retry(t trouble, reason string) Decision {
	return Decision{Decision: Retry, Reason: reason, Source: ByRules,
		Message: "Your last try failed. Find out why before you try again, and take another way." + t.text()}
}

// text describes the failure for the next agent; empty if nothing is known.
func (t trouble) text() string {
	if strings.TrimSpace(t.message) == "" {
		return ""
	}
	where := ""
	if t.tool != "" {
		where = " in " + clip(t.tool, 60)
	}
	return fmt.Sprintf(" What went wrong%s: %s", where, clip(oneLine(t.message), 300))
}

// onward decides the next step when nothing is wrong. current is the agent that works and can continue, empty
// if there is none.
func (s standing) onward(current string) (d Decision, clear bool) {
	if len(s.FailedChecks) > 0 {
		return s.fixCompletion(current)
	}
	if p := s.unresolvedPoint(); p != nil {
		return s.resolvePoint(p, current)
	}
	switch step := s.step(); {
	case step != nil && s.has(step.Mode):
		reason := fmt.Sprintf("Step %d of the plan is next, and names %s.", step.Index, step.Mode)
		d, whole := s.hand(step.Mode, current, reason)
		return d, whole && s.succeeded()
	case step != nil:
		return s.unnamed(step, current)
	case s.Plan != nil && !s.checked():
		return s.first(s.pick(tester, reviewer), current,
			"Every step of the plan is over, and nobody has checked the result since the last change.")
	case s.Plan != nil:
		return s.finish("Every step of the plan is over"), false
	}
	return s.withoutPlan(current)
}

// unnamed decides about a step that names no existing agent: developers do such steps themselves, planners,
// testers and reviewers hand them over.
func (s standing) unnamed(step *DecisionStep, current string) (Decision, bool) {
	reason := fmt.Sprintf("Step %d of the plan is next, and names no agent there is.", step.Index)
	name := current
	switch current {
	case "", planner, tester, reviewer:
		name = s.pick(developer)
	}
	return s.first(name, current, reason)
}

// withoutPlan follows the order of roles: planner, developer, tester, reviewer.
func (s standing) withoutPlan(current string) (d Decision, clear bool) {
	if len(s.History) == 0 {
		d, _ := s.first(s.pick(planner, developer), current, "There is no plan, and nothing has been done yet.")
		return d, d.Mode == planner
	}
	switch done := s.lastSuccess(); {
	case done == "":
		return s.first(s.pick(planner, developer), current, "There is no plan, and nothing has succeeded of late.")
	case done == planner && s.worker() != "":
		return s.first(s.worker(), current, "The planner has left no plan to follow: the task itself is next.")
	case done != tester && done != reviewer && done != planner && s.has(tester):
		return s.first(tester, current, fmt.Sprintf("There is no plan, and %s has worked: the result is to be tested.",
			nameOf(done)))
	case done != reviewer && s.has(reviewer):
		return s.first(reviewer, current,
			fmt.Sprintf("There is no plan, and %s has worked: the result is to be reviewed.", nameOf(done)))
	default:
		return s.finish(fmt.Sprintf("There is no plan, and after %s nobody is left who has something to do",
			nameOf(done))), false
	}
}

// worker is the agent that does the work, empty if all agents plan or check.
func (s standing) worker() string {
	if s.has(developer) {
		return developer
	}
	return s.soundest([]string{planner, tester, reviewer})
}

// first is like hand, for a choice that a human or a model may want to consider.
func (s standing) first(name, current, reason string) (Decision, bool) {
	d, _ := s.hand(name, current, reason)
	return d, false
}

// hand gives the work to an agent: with CONTINUE if it is the current one, unless it has continued too often.
// whole: there was no such doubt.
func (s standing) hand(name, current, reason string) (d Decision, whole bool) {
	n, goesOn := s.stretches(), name == current && name != ""
	switch {
	case goesOn && n < maxStretches:
		reason += fmt.Sprintf(" %s has succeeded so far, and goes on.", name)
		return Decision{Decision: Continue, Reason: reason, Message: s.brief(name), Source: ByRules}, true
	case goesOn:
		reason += fmt.Sprintf(" %s has worked %s under one summon, and is followed by another.", current,
			words.Count(n, "time"))
		if !s.has(name) {
			name = s.pick(developer)
		}
	}
	if name == "" {
		return Decision{}, false
	}
	return Decision{Decision: SelectMode, Mode: name, Reason: reason, Message: s.brief(name), Source: ByRules}, !goesOn
}

// errNoAgents says that there is no agent to choose.
var errNoAgents = errors.New("decider: there is no agent to choose")

// Rules decide deterministically: the same input always leads to the same decision. They lead a task to its end
// on their own (planner, developer, tester, reviewer), and they always reach an end: see [maxStretches].
type Rules struct{}

func (Rules) Decide(ctx context.Context, in Input) (Decision, error) {
	if err := ctx.Err(); err != nil {
		return Decision{}, err
	}
	d, _ := in.Rule()
	if d.Decision == "" {
		return Decision{}, errNoAgents
	}
	return d, nil
}

// unresolvedPoint returns an open point in the last document of a tester or reviewer, or nil. While there is
// such a point, the rules complete no task.
func (s standing) unresolvedPoint() *OpenPoint {
	i := slices.IndexFunc(s.OpenPoints, func(p OpenPoint) bool { return looks(p.Agent) && len(p.Remaining) > 0 })
	if i < 0 {
		return nil
	}
	return &s.OpenPoints[i]
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
	points := make([]string, len(s.FailedChecks))
	for i, c := range s.FailedChecks {
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
