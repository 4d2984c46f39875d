package supervisor

import (
	"cmp"

	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/input"
	"github.com/arbiter-cli/arbiter/supervisor/permission"
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
	if !approves(st.channel) {
		st.reject(ref, "permission is given by stdin, the screen or the control socket only")
		return
	}
	st.Permission.Answer(&st.out, ref, c)
}

// remembered tells where a grant could not be kept; it holds for this run all the same.
func (st *step) remembered(f input.Remembered) {
	if f.Failed != "" {
		st.emit(contract.Supervisor, contract.Notice{
			Text: "what you always allow (" + cmp.Or(f.Grant.Rule, f.Grant.Tool) + ") could not be kept for later runs: " +
				f.Failed + ". It holds for this one",
		})
	}
}

// judged tells of a tool call that was decided already.
func (st *step) judged(f input.Judged) {
	if !f.Announced() {
		return
	}
	st.emit(f.Params.ID, contract.Permission{
		Request:  "judge-" + cmp.Or(f.Params.ToolUse, f.Action[:min(len(f.Action), 12)]),
		Behavior: f.Behavior, By: f.By, Tool: f.Params.Tool, Rule: f.Rule,
		Action: f.Action, Reason: f.Reason, Subagent: f.Params.Subagent,
	})
}
