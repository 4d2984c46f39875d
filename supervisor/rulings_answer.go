package supervisor

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/arbiter-cli/arbiter/supervisor/decider"
	"github.com/arbiter-cli/arbiter/supervisor/runconfig"
	"github.com/arbiter-cli/arbiter/supervisor/verdict"
)

// Unfit says why a decision cannot be acted on; empty: it can. Deciders check this themselves; this check
// guards against one that does not.
func Unfit(o *runconfig.Options, d decider.Decision) string {
	switch d.Decision {
	case verdict.SelectMode:
		if _, ok := o.ModeNamed(d.Mode); !ok {
			return fmt.Sprintf("there is no mode %q", d.Mode)
		}
	case verdict.Continue, verdict.Retry, verdict.Complete:
	default:
		return fmt.Sprintf("there is no decision %q", d.Decision)
	}
	return ""
}

// ByRules is the decision of the deterministic rules; why says why they decide. Its Decision is empty if there
// is not an agent that a rule could choose.
func (p *RulingRequest) ByRules(why string) decider.Decision {
	var rules decider.Rules
	var d decider.Decision
	if p.Point == decider.PointSelect {
		d, _ = rules.Select(p.Select)
	} else {
		d, _ = rules.Evaluate(p.Evaluate)
	}
	d.Source, d.Warnings = decider.ByFallback, append(d.Warnings, why)
	return d
}

// ContinueHandoff decides that another agent of the same mode continues what an agent hands off: the work is
// not done, and an agent of that mode has the tools for it. why says why the rules decide; empty: they do not.
func ContinueHandoff(name, why string) decider.Decision {
	d := decider.Decision{Decision: verdict.Continue, Reason: name +
		" hands off its work, and another of its mode takes it up.", Source: decider.ByRules}
	if why != "" {
		d.Source, d.Warnings = decider.ByFallback, []string{why}
	}
	return d
}

// GoOn determines who continues: the agent whose work was judged if it is alive, otherwise one of the same
// mode.
func (p *RulingRequest) GoOn(w RulingStanding, v verdict.Arbiter) verdict.Arbiter {
	about := p.About
	if about == "" {
		about = w.Task.LastWorked()
	}
	if a, ok := w.Roster.Agent(about); ok && a.Alive() && a.Standing != HandedOff {
		v.To = about
		v.Message = cmp.Or(v.Message, goOnText(w.Task, v))
		return v
	}
	mode := ""
	if a, ok := w.Roster.Agent(about); ok {
		mode = a.Mode
	} else if last := w.Task.History.Last(1); len(last) > 0 && last[0].Agent != AnyMode {
		mode = last[0].Agent
	}
	if _, known := w.Options.ModeNamed(mode); !known {
		mode = ""
	}
	v.Decision, v.Mode = verdict.SelectMode, mode
	return v
}

// goOnText is the message to an agent that continues.
func goOnText(t *TaskState, v verdict.Arbiter) string {
	text := "Go on with the task."
	if v.Decision == verdict.Retry {
		text = "It failed. Try again, another way."
	}
	if i := t.StepAtHand(); i >= 0 {
		text += fmt.Sprintf(" At hand is step %d of the plan: %s", i+1, t.Plan[i].Text)
	}
	return text + "\n\n" + v.Reason
}

// Brief is the brief of an Orchestrator that was not spawned by the Arbiter. aside: its work is not part of
// the plan. The error says why the user's template could not be used; the brief is usable all the same.
func (s *RulingState) Brief(w RulingStanding, v verdict.Arbiter, aside bool) (text string, err error) {
	set, err := decider.NewSet(w.Options.Templates)
	if err == nil {
		text, err = set.Brief(decider.BriefPrompt{Input: s.briefed(w), Mode: v.Mode, Reason: v.Reason, Message: v.Message,
			Aside: aside})
	}
	if err != nil || strings.TrimSpace(text) == "" {
		return w.Task.Text + "\n\n" + PlanText(w.Task.Plan),
			fmt.Errorf("the template of briefs cannot be used: %v", err)
	}
	return text, nil
}

// briefed is the data for a brief. A document that is handed over with the brief is not included.
func (s *RulingState) briefed(w RulingStanding) decider.SelectAgentInput {
	in := decider.SelectInput(s.Record(w))
	last := w.Task.History.Last(1)
	if len(last) == 0 || last[0].ID != w.Handoff.NextPredecessor() {
		return in
	}
	in.History[len(in.History)-1].Document = nil
	in.OpenPoints = slices.DeleteFunc(in.OpenPoints, func(p decider.OpenPoint) bool { return p.Agent == last[0].Agent })
	return in
}
