package decider

import (
	"fmt"
	"slices"
	"strings"
)

// brief is the rules' message to an agent. The task, the plan and earlier work are
// in the brief around it.
func (s standing) brief(agent string) string {
	if step := s.step(); step != nil {
		text := fmt.Sprintf("Do step %d of the plan: %s", step.Index, clip(oneLine(step.Description), 300))
		if step.Status == "failed" {
			text += "\nIt has failed before: do it in another way."
		}
		return text + "\nMark the step with update_plan when it is finished."
	}
	switch agent {
	case planner:
		return "Make a plan of the task: steps in order, each of which one agent can do and prove, and for each step the " +
			"agent that does it."
	case tester:
		return "Test what was done: run it and its tests, and report what fails."
	case reviewer:
		return "Review what was done against the task, and report what is wrong or missing."
	default:
		return "Do the task, as far as it is not done yet, and prove the result."
	}
}

// finish ends the task, and says what was achieved.
func (s standing) finish(why string) Decision {
	var parts []string
	if s.Plan != nil {
		parts = append(parts, reached(s.Plan))
	}
	if n := len(s.History); n > 0 {
		last := s.History[n-1]
		said := nameOf(last.Agent) + " was the last to work"
		if last.Output != nil && strings.TrimSpace(last.Output.Summary) != "" {
			said += ", and said: " + clip(oneLine(last.Output.Summary), 600)
		}
		parts = append(parts, sentence(said))
	}
	if files := s.files(); len(files) > 0 {
		parts = append(parts, "Files changed of late: "+clip(strings.Join(files, ", "), 400)+".")
	}
	if left := s.leftOpen(); left != "" {
		parts = append(parts, left)
	}
	if len(parts) == 0 {
		parts = append(parts, "Nothing was left to do.")
	}
	return Decision{Decision: Complete, Reason: sentence(why), Summary: strings.Join(parts, " "), Source: ByRules}
}

// leftOpen reports what the last documents leave open that does not prevent the task's end.
func (s standing) leftOpen() string {
	var left []string
	for _, p := range s.OpenPoints {
		for _, text := range slices.Concat(p.Remaining, p.OpenQuestions) {
			left = append(left, clip(oneLine(text), 160)+" ("+nameOf(p.Agent)+")")
		}
	}
	if len(left) == 0 {
		return ""
	}
	return sentence("Left open: " + clip(strings.Join(left, "; "), 600))
}

// reached describes a finished plan.
func reached(p *DecisionPlan) string {
	done, skipped := 0, 0
	var steps []string
	for _, step := range p.Steps {
		text := clip(oneLine(step.Description), 80)
		if step.Status == "skipped" {
			skipped++
			text += " (skipped)"
		} else {
			done++
		}
		steps = append(steps, text)
	}
	return fmt.Sprintf("Of %d steps %d were completed and %d skipped: %s.", len(p.Steps), done, skipped,
		clip(strings.Join(steps, "; "), 600))
}

// files are the files changed within the window, each once, in the order of the changes.
func (s standing) files() []string {
	var list []string
	for _, e := range s.History {
		if e.Output == nil {
			continue
		}
		for _, f := range e.Output.FilesModified {
			if f = oneLine(f); !slices.Contains(list, f) {
				list = append(list, f)
			}
		}
	}
	return list
}

func nameOf(agent string) string {
	if agent == "" {
		return "the agent"
	}
	return clip(oneLine(agent), 60)
}

func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }

// sentence ends a text with a full stop unless it ends already.
func sentence(s string) string {
	if s = strings.TrimSpace(s); s == "" || strings.ContainsAny(s[len(s)-1:], ".!?") || strings.HasSuffix(s, "…") {
		return s
	}
	return s + "."
}
