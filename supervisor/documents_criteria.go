package supervisor

import (
	"fmt"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/input"
)

// SetCriteria sets the human's criteria.
func (c *DocumentContext) SetCriteria(ref string, given contract.SetAcceptance) {
	list := make([]AcceptanceGiven, 0, len(given.Criteria))
	for _, g := range given.Criteria {
		list = append(list, AcceptanceGiven{Text: g.Text, Command: g.Command, By: AcceptanceBy(g.By)})
	}
	origin := FromStdin
	if c.Channel == input.ChannelScreen {
		origin = FromScreen
	}
	err := c.Task.Acceptance.HumanSets(list, origin)
	if err != nil {
		c.Out.Reject(ref, "%s", err)
		return
	}
	c.Out.Accept(ref, fmt.Sprintf("acceptance criteria set: %d", len(c.Task.Acceptance.Criteria)))
	if c.Handoff.Completing != nil { // the Arbiter rules again when it has read the criteria
		c.DropRepetition()
		c.Out.Emit(contract.Supervisor, contract.Notice{
			Text: "COMPLETE did not take effect: the human changed the acceptance criteria.",
		})
	}
	if c.Task.Text != "" {
		text := "The human dropped all acceptance criteria."
		if criteria := c.Task.Acceptance.Text(); criteria != "" {
			text = "The human set the acceptance criteria:\n" + criteria
		}
		c.Notify(contract.Arbiter, KindNotice, text)
	}
}

// CriteriaFromOptions sets the criteria that the run is started with.
func (c *DocumentContext) CriteriaFromOptions() {
	for _, command := range c.Options.Accept {
		err := c.Task.Acceptance.HumanAdds(AcceptanceGiven{Command: command}, FromFlag)
		if err != nil { // the flags were checked; a run of another version may have had other bounds
			c.Out.Emit(contract.Supervisor, contract.Notice{Text: "an acceptance criterion is left out: " + err.Error()})
		}
	}
}

// CriterionChecked handles the result of the command of the next acceptance criterion.
func (c *DocumentContext) CriterionChecked(r bridge.CheckResult, failed string) {
	pending := c.Task.Acceptance.Pending()
	if len(pending) == 0 {
		return
	}
	switch {
	case failed != "":
	case r.TimedOut:
		failed = "out of time"
	case r.Signal != "":
		failed = "ended by signal " + r.Signal
	}
	c.Task.Acceptance.Finish(pending[0], AcceptanceFinding{
		Exit: r.Exit, SHA256: r.SHA256, Output: r.Output, Tree: pending[0].Tree, Failed: failed,
	})
}
