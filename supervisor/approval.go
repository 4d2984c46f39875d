package supervisor

// This file takes permission requests of tools, and the answers of the human, into the permission part of a run.
// Package input keeps the requests, package policy has the rules.

import (
	"cmp"
	"slices"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/input"
	"github.com/arbiter-cli/arbiter/supervisor/policy"
)

// permissionAsked answers a tool's permission request: by the rules, by what the human allowed for the whole run, or by
// asking the human. A halted run and an agent that is ending do not ask.
func (st *step) permissionAsked(f input.PermissionAsked) {
	a, ok := st.Agent(f.Params.ID)
	r := input.PermissionRequest{
		ID: f.Params.Request, Params: f.Params, Action: f.Action, Why: f.Reason, At: st.at,
		Suggestions: f.Suggestions, Check: st.Handoff.IsCheck(f.Params.Request),
	}
	if ok {
		dir := st.DirOf(a.ID)
		r.Place = &contract.CallPlace{CWD: dir, Own: st.OwnDir(a.ID) != "", Host: a.Host,
			Sandboxed: st.sandboxOf(dir) != nil}
	}
	switch {
	case st.Halted:
		input.Deny(&st.out, r, contract.ByHalt, "the human stopped everything")
		return
	case r.Check: // the author of the document need not be running
	case !ok || a.Generation != f.Params.Generation || !a.Up():
		input.Deny(&st.out, r, contract.ByShutdown, "the agent is ending")
		return
	}
	found := input.PermissionFinding{Behavior: f.Behavior, By: f.By, Rule: f.Rule, Reason: f.Reason}
	st.Permission.Asked(&st.out, r, found, f.Changes, st.whoAnswers())
}

// answerPermission carries out a human's answer.
func (st *step) answerPermission(ref string, answer contract.Permit) {
	if !May(SentBy(st.channel), RightsApprove) {
		st.out.Reject(ref, "permission is given by stdin, the screen or the control socket only")
		return
	}
	if !st.Permission.Answer(&st.out, ref, answer) || answer.Behavior != bridge.Deny {
		return
	}
	for _, rule := range policy.SplitRules(answer.Rule) {
		if !slices.Contains(st.Options.Deny, rule) {
			st.Options.Deny = append(slices.Clone(st.Options.Deny), rule)
		}
	}
}

// remembered reports that a grant could not be kept; it applies to this run all the same.
func (st *step) remembered(f input.Remembered) {
	if f.Failed != "" {
		st.notice(contract.Supervisor, "what you always allow ("+cmp.Or(f.Grant.Rule, f.Grant.Tool)+") could "+
			"not be saved for later runs: "+f.Failed+". It applies to this run")
	}
}

// callDecided reports a tool call that was denied before the CLI decided. All others are only recorded.
func (st *step) callDecided(f input.CallDecided) {
	if f.Behavior != bridge.Deny {
		return
	}
	if st.Ending == nil { // what is asked again in a resumed run stays
		st.Permission.Decided(&st.out, f.Params.ID, f.Action,
			input.PermissionFinding{Behavior: f.Behavior, By: f.By, Rule: f.Rule, Reason: f.Reason})
	}
	st.emit(f.Params.ID, contract.Permission{
		Request:  "judge-" + cmp.Or(f.Params.ToolUse, f.Action[:min(len(f.Action), 12)]),
		Behavior: f.Behavior, By: f.By, Tool: f.Params.Tool, Rule: f.Rule,
		Action: f.Action, Reason: f.Reason, Subagent: f.Params.Subagent,
	})
}

// ExactInput adds to an answer to a permission request the exact action that was approved, so that the record
// contains the action itself and not only a reference to it.
func (s *State) ExactInput(f input.Body) input.Body {
	c, ok := f.(input.Command)
	if !ok {
		return f
	}
	answer, ok := c.Command.Body.(contract.Permit)
	if !ok || answer.Action != "" {
		return f
	}
	if r, known := s.Permission.Find(answer.Request); known {
		answer.Action = r.Key()
		c.Command.Body = answer
		return c
	}
	return f
}
