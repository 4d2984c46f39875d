package supervisor

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/input"
	"github.com/arbiter-cli/arbiter/supervisor/permission"
	"github.com/arbiter-cli/arbiter/supervisor/rights"
	"github.com/arbiter-cli/arbiter/supervisor/roster"
	"github.com/arbiter-cli/arbiter/supervisor/verdict"
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

// partyBy is the party of a human by the channel of a command; empty for any other channel.
func partyBy(channel string) rights.Party {
	switch channel {
	case input.ChannelStdin:
		return rights.HumanStdin
	case input.ChannelScreen:
		return rights.HumanScreen
	case input.ChannelSocket:
		return rights.HumanSocket
	}
	return rights.Nobody
}

// partyOf is the party of an agent, or of its subagent.
func partyOf(a *roster.Agent, subagent string) rights.Party {
	switch {
	case subagent != "":
		return rights.ASubagent
	case a.Role == roster.RoleArbiter:
		return rights.TheArbiter
	case a.Role == roster.RoleOrchestrator:
		return rights.AnOrchestrator
	}
	return rights.Nobody
}

// partyNamed is the party that a message is from; of a human any channel's will do, since
// the word itself came by one.
func (s *State) partyNamed(id string) rights.Party {
	switch id {
	case contract.Human:
		return rights.HumanStdin
	case contract.Supervisor:
		return rights.TheSupervisor
	}
	if a, ok := s.Agent(id); ok {
		return partyOf(&a, "")
	}
	return rights.Nobody
}

// mayWrite reports whether one may send a message to another.
func (s *State) mayWrite(from, to string) bool {
	what := rights.ToHuman
	if to != contract.Human {
		switch s.partyNamed(to) {
		case rights.TheArbiter:
			what = rights.ToArbiter
		case rights.AnOrchestrator:
			what = rights.ToOrchestrator
		default:
			return false
		}
	}
	return rights.May(s.partyNamed(from), what)
}

// refuseCommand answers a command of somebody who may not give it, and reports whether it did.
func (st *step) refuseCommand(f input.Command) bool {
	who, what := partyBy(f.Channel), rights.Command(f.Command.Body)
	switch {
	case who == rights.Nobody && what == rights.Malformed:
		return false // it is rejected, with what is wrong with it
	case !rights.May(who, what):
		st.reject(f.Command.Ref, "%s is taken from stdin, the screen and the control socket only", what)
		return true
	}
	return false
}

// approves reports whether an answer to a permission request is a human's.
func approves(channel string) bool {
	return rights.May(partyBy(channel), rights.Approve)
}

// mayNot says to a model that a tool is not for it.
func mayNot(a *roster.Agent, p bridge.ToolCallParams) error {
	if p.Subagent != "" {
		return fmt.Errorf("a subagent may not call %s: tell whoever started you", p.Tool)
	}
	return fmt.Errorf("%s has no tool %s", a.ID, p.Tool)
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

// mayRule says why an agent's verdict is not for it to give; nil: it is.
func mayRule(a *roster.Agent, of, what string) error {
	if rights.May(partyOf(a, ""), rights.Method(of+what)) {
		return nil
	}
	return &verdict.Problem{Text: fmt.Sprintf("%s is not for you to decide. Give your verdict again.", what)}
}
