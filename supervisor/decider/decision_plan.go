package decider

// plan returns the steps in the specification's terms, and the current one; nil: no steps.
func plan(steps []DecisionStep) *DecisionPlan {
	if len(steps) == 0 {
		return nil
	}
	p := &DecisionPlan{Steps: make([]DecisionStep, len(steps)), CurrentStepIndex: len(steps)}
	for i, s := range steps {
		s.Index = i + 1
		s.Description = Cut(s.Description, stepRunes)
		s.Status = stepStatus(s.Status)
		p.Steps[i] = s
		if p.CurrentStepIndex == len(steps) && !s.Over() {
			p.CurrentStepIndex = i
		}
	}
	p.IsComplete = p.CurrentStepIndex == len(steps)
	return p
}

// stepStatus translates the statuses of plan events into the specification's.
func stepStatus(word string) string {
	switch word {
	case "active":
		return "in_progress"
	case "done":
		return "complete"
	case "":
		return "pending"
	}
	return word
}

// Over reports whether nothing more has to be done about the step. A failed step is not over.
func (s DecisionStep) Over() bool { return s.Status == "complete" || s.Status == "skipped" }

// Current is the current step; nil: all are over, or there is no plan.
func (p *DecisionPlan) Current() *DecisionStep {
	if p == nil || p.CurrentStepIndex < 0 || p.CurrentStepIndex >= len(p.Steps) {
		return nil
	}
	return &p.Steps[p.CurrentStepIndex]
}

// Near returns at most n steps around the current one.
func (p *DecisionPlan) Near(n int) []DecisionStep {
	switch {
	case p == nil || n <= 0:
		return nil
	case len(p.Steps) <= n:
		return p.Steps
	}
	from := min(max(p.CurrentStepIndex-n/4, 0), len(p.Steps)-n)
	return p.Steps[from : from+n]
}
