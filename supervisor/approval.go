package supervisor

// This file takes permission requests of tools, and the answers of the human, into the permission part of a
// run.
//
// [PermissionAsked] answers a request by the rules and grants, or asks the human. [AnswerPermission] carries out an
// answer, [ExactPermission] adds the action that was approved. [PermissionDecided] and [PermissionRemembered] report
// what was decided, or kept, outside of the state.
//
// Package permission keeps the requests, package policy has the rules. Package supervisor decides what a paused or
// ending run answers.

import (
	"cmp"
	"slices"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/effect"
	"github.com/arbiter-cli/arbiter/supervisor/input"
)

// PermissionAsked answers a tool's permission request: by the rules, by what the human allowed for the whole run, or by
// asking the human. A halted run and an agent that is ending do not ask.
func PermissionAsked(c *ProcessContext, f input.PermissionAsked, human input.PermissionHuman) {
	a, ok := c.Roster.Agent(f.Params.ID)
	r := input.PermissionRequest{
		ID: f.Params.Request, Params: f.Params, Action: f.Action, Why: f.Reason, At: c.Out.Now,
		Suggestions: f.Suggestions, Check: c.Handoff.IsCheck(f.Params.Request),
	}
	switch {
	case c.Halted:
		input.Deny(c.Out, r, contract.ByHalt, "the human stopped everything")
		return
	case r.Check: // the author of the document need not be running
	case !ok || a.Generation != f.Params.Generation || !a.Alive() || !a.Up():
		input.Deny(c.Out, r, contract.ByShutdown, "the agent is ending")
		return
	}
	found := input.PermissionFinding{Behavior: f.Behavior, By: f.By, Rule: f.Rule, Reason: f.Reason}
	c.Permission.Asked(c.Out, r, found, f.Changes, human)
}

// AnswerPermission carries out a human's answer.
func AnswerPermission(c *ProcessContext, ref string, answer contract.Permit) {
	if !Approves(c.Channel) {
		c.Out.Reject(ref, "permission is given by stdin, the screen or the control socket only")
		return
	}
	taken := c.Permission.Answer(c.Out, ref, answer)
	if taken && answer.Behavior == bridge.Deny && answer.Rule != "" && !slices.Contains(c.Options.Deny, answer.Rule) {
		c.Options.Deny = append(slices.Clone(c.Options.Deny), answer.Rule)
	}
}

// PermissionRemembered reports that a grant could not be kept; it applies to this run all the same.
func PermissionRemembered(out *effect.Collector, f input.Remembered) {
	if f.Failed != "" {
		out.Emit(contract.Supervisor, contract.Notice{
			Text: "what you always allow (" + cmp.Or(f.Grant.Rule, f.Grant.Tool) +
				") could not be saved for later runs: " +
				f.Failed + ". It applies to this run",
		})
	}
}

// PermissionDecided reports a tool call that was denied before the CLI decided. All others are only recorded.
func PermissionDecided(p *input.PermissionState, out *effect.Collector, f input.CallDecided) {
	if f.Behavior != bridge.Deny {
		return
	}
	p.Decided(out, f.Params.ID, f.Action,
		input.PermissionFinding{Behavior: f.Behavior, By: f.By, Rule: f.Rule, Reason: f.Reason})
	out.Emit(f.Params.ID, contract.Permission{
		Request:  "judge-" + cmp.Or(f.Params.ToolUse, f.Action[:min(len(f.Action), 12)]),
		Behavior: f.Behavior, By: f.By, Tool: f.Params.Tool, Rule: f.Rule,
		Action: f.Action, Reason: f.Reason, Subagent: f.Params.Subagent,
	})
}

// ExactPermission adds to an answer to a permission request the exact action that was approved, so that the record
// contains the action itself and not only a reference to it.
func ExactPermission(p *input.PermissionState, f input.Body) input.Body {
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
