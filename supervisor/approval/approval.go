package approval

import (
	"cmp"
	"slices"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/effect"
	"github.com/arbiter-cli/arbiter/supervisor/input"
	"github.com/arbiter-cli/arbiter/supervisor/permission"
	"github.com/arbiter-cli/arbiter/supervisor/process"
	"github.com/arbiter-cli/arbiter/supervisor/sender"
)

// Asked answers a tool's permission request: by the rules, by what the human allowed for the whole run, or by
// asking the human. A halted run and an agent that is ending do not ask.
func Asked(c *process.Context, f input.PermissionAsked, human permission.Human) {
	a, ok := c.Roster.Agent(f.Params.ID)
	r := permission.Request{
		ID: f.Params.Request, Params: f.Params, Action: f.Action, Why: f.Reason, At: c.Out.Now,
		Suggestions: f.Suggestions, Check: c.Handoff.IsCheck(f.Params.Request),
	}
	switch {
	case c.Halted:
		permission.Deny(c.Out, r, contract.ByHalt, "the human stopped everything")
		return
	case r.Check: // the author of the document need not be running
	case !ok || a.Generation != f.Params.Generation || !a.Alive() || !a.Up():
		permission.Deny(c.Out, r, contract.ByShutdown, "the agent is ending")
		return
	}
	found := permission.Finding{Behavior: f.Behavior, By: f.By, Rule: f.Rule, Reason: f.Reason}
	c.Permission.Asked(c.Out, r, found, f.Changes, human)
}

// Answer carries out a human's answer.
func Answer(c *process.Context, ref string, answer contract.Permit) {
	if !sender.Approves(c.Channel) {
		c.Out.Reject(ref, "permission is given by stdin, the screen or the control socket only")
		return
	}
	taken := c.Permission.Answer(c.Out, ref, answer)
	if taken && answer.Behavior == bridge.Deny && answer.Rule != "" && !slices.Contains(c.Options.Deny, answer.Rule) {
		c.Options.Deny = append(slices.Clone(c.Options.Deny), answer.Rule)
	}
}

// Remembered reports that a grant could not be kept; it applies to this run all the same.
func Remembered(out *effect.Collector, f input.Remembered) {
	if f.Failed != "" {
		out.Emit(contract.Supervisor, contract.Notice{
			Text: "what you always allow (" + cmp.Or(f.Grant.Rule, f.Grant.Tool) +
				") could not be saved for later runs: " +
				f.Failed + ". It applies to this run",
		})
	}
}

// Decided reports a tool call that was denied before the CLI decided. All others are only recorded.
func Decided(p *permission.State, out *effect.Collector, f input.CallDecided) {
	if f.Behavior != bridge.Deny {
		return
	}
	p.Decided(out, f.Params.ID, f.Action,
		permission.Finding{Behavior: f.Behavior, By: f.By, Rule: f.Rule, Reason: f.Reason})
	out.Emit(f.Params.ID, contract.Permission{
		Request:  "judge-" + cmp.Or(f.Params.ToolUse, f.Action[:min(len(f.Action), 12)]),
		Behavior: f.Behavior, By: f.By, Tool: f.Params.Tool, Rule: f.Rule,
		Action: f.Action, Reason: f.Reason, Subagent: f.Params.Subagent,
	})
}

// Exact adds to an answer to a permission request the exact action that was approved, so that the record
// contains the action itself and not only a reference to it.
func Exact(p *permission.State, f input.Body) input.Body {
	c, ok := f.(input.Command)
	if !ok {
		return f
	}
	answer, ok := c.Command.Body.(contract.Permit)
	if !ok || answer.Action != "" {
		return f
	}
	if r, known := p.Find(answer.Request); known {
		answer.Action = r.Key()
		c.Command.Body = answer
		return c
	}
	return f
}
