package supervisor

import (
	"cmp"
	"slices"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/input"
	"github.com/arbiter-cli/arbiter/supervisor/permission"
	"github.com/arbiter-cli/arbiter/supervisor/rights"
	"github.com/arbiter-cli/arbiter/supervisor/sender"
)

// permissionAsked answers a tool that wants to run: by the rules, by what the human allowed for the whole run, or by
// asking the human. A run that stands still and an agent that ends ask nobody.
func (st *step) permissionAsked(f input.PermissionAsked) {
	a, ok := st.Agent(f.Params.ID)
	r := permission.Request{
		ID: f.Params.Request, Params: f.Params, Action: f.Action, Why: f.Reason, At: st.out.Now,
		Suggestions: f.Suggestions, Check: st.Handoff.IsCheck(f.Params.Request),
	}
	switch {
	case st.Halted:
		permission.Deny(&st.out, r, contract.ByHalt, "the human stopped everything")
		return
	case r.Check: // the author of the document need not be there
	case !ok || a.Generation != f.Params.Generation || !a.Alive() || !a.Up():
		permission.Deny(&st.out, r, contract.ByShutdown, "the agent is ending")
		return
	}
	found := permission.Finding{Behavior: f.Behavior, By: f.By, Rule: f.Rule, Reason: f.Reason}
	st.Permission.Asked(&st.out, r, found, f.Changes, f.Told, st.whoAnswers())
}

// whoAnswers reports whether a human can answer a permission request, and how long it waits.
func (s *State) whoAnswers() permission.Human {
	return permission.Human{Present: s.HumanPresent, Wait: s.Options.PermissionWait}
}

// permit carries out a human's answer.
func (st *step) permit(ref string, c contract.Permit) {
	if !sender.Approves(st.channel) {
		st.out.Reject(ref, "permission is given by stdin, the screen or the control socket only")
		return
	}
	taken := st.Permission.Answer(&st.out, ref, c)
	if taken && c.Behavior == bridge.Deny && c.Rule != "" && !slices.Contains(st.Options.Deny, c.Rule) {
		st.Options.Deny = append(slices.Clone(st.Options.Deny), c.Rule)
	}
}

// remembered tells where a grant could not be kept; it holds for this run all the same.
func (st *step) remembered(f input.Remembered) {
	if f.Failed != "" {
		st.emit(contract.Supervisor, contract.Notice{
			Text: "what you always allow (" + cmp.Or(f.Grant.Rule, f.Grant.Tool) +
				") could not be kept for later runs: " +
				f.Failed + ". It holds for this one",
		})
	}
}

// callDecided tells of a tool call that was decided already.
func (st *step) callDecided(f input.CallDecided) {
	if !f.Announced() {
		return
	}
	st.Permission.Decided(&st.out, f.Params.ID, f.Action,
		permission.Finding{Behavior: f.Behavior, By: f.By, Rule: f.Rule, Reason: f.Reason})
	st.emit(f.Params.ID, contract.Permission{
		Request:  "judge-" + cmp.Or(f.Params.ToolUse, f.Action[:min(len(f.Action), 12)]),
		Behavior: f.Behavior, By: f.By, Tool: f.Params.Tool, Rule: f.Rule,
		Action: f.Action, Reason: f.Reason, Subagent: f.Params.Subagent,
	})
}

// refuseCommand answers a command of somebody who may not give it, and reports whether it did.
func (st *step) refuseCommand(f input.Command) bool {
	who, what := sender.By(f.Channel), rights.Command(f.Command.Body)
	switch {
	case who == rights.Nobody && what == rights.Malformed:
		return false // it is rejected, with what is wrong with it
	case !rights.May(who, what):
		st.out.Reject(f.Command.Ref, "%s is taken from stdin, the screen and the control socket only", what)
		return true
	}
	return false
}

// ExactInput has an answer to a permission request name the very action it is about, so
// that the record of it says what was approved, and not only where to look.
func (s *State) ExactInput(f input.Body) input.Body {
	c, ok := f.(input.Command)
	if !ok {
		return f
	}
	answer, ok := c.Command.Body.(contract.Permit)
	if !ok || answer.Action != "" {
		return f
	}
	if p, known := s.Permission.Find(answer.Request); known {
		answer.Action = p.Key()
		c.Command.Body = answer
		return c
	}
	return f
}
