package supervisor

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/arbiter-cli/arbiter/supervisor/effect"
	"github.com/arbiter-cli/arbiter/supervisor/input"
)

// AskPredecessor passes a question on; the loop answers the call when the predecessor has answered.
func (c *DeliveryContext) AskPredecessor(f input.ToolCalled, a Agent) {
	var in AskInput
	fail := func(text string) { c.Out.Do(effect.AnswerTool{Call: f.Call, Text: text, IsError: true}) }
	if err := json.Unmarshal(f.Params.Input, &in); err != nil || strings.TrimSpace(in.Question) == "" {
		fail("A question is needed.")
		return
	}
	old, ok := c.Roster.Agent(a.Predecessor)
	switch {
	case a.Predecessor == "" || !ok:
		fail("You have no predecessor. Ask the Arbiter.")
	case !old.Alive():
		fail(old.Name + " is gone. What it knew is in its document; for the rest ask the Arbiter.")
	case old.Status != AgentReady && old.Status != AgentBusy:
		c.Handoff.WaitingQuestions = append(slices.Clip(c.Handoff.WaitingQuestions),
			HandoffAsked{Call: f.Call, By: a.ID, Of: old.ID, Question: in.Question})
	default:
		c.Out.Do(effect.AskAgent{Call: f.Call, Agent: old.AgentRef, Question: in.Question})
	}
}

// PutAsked passes on the questions that waited for an agent, or answers that the agent has ended.
func (c *DeliveryContext) PutAsked(id string) {
	if !slices.ContainsFunc(c.Handoff.WaitingQuestions, func(q HandoffAsked) bool { return q.Of == id }) {
		return
	}
	a, _ := c.Roster.Agent(id)
	var rest []HandoffAsked
	for _, q := range c.Handoff.WaitingQuestions {
		switch {
		case q.Of != id:
			rest = append(rest, q)
		case a.Up():
			c.Out.Do(effect.AskAgent{Call: q.Call, Agent: a.AgentRef, Question: q.Question})
		default:
			c.Out.Do(effect.AnswerTool{Call: q.Call, Text: a.Name +
				" is gone. What it knew is in its document; for the rest ask the Arbiter.", IsError: true})
		}
	}
	c.Handoff.WaitingQuestions = rest
}
