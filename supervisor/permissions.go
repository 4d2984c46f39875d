package supervisor

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"slices"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/policy"
)

// permissionAsked answers a tool that wants to run: by the rules, by what the
// human allowed for the whole run, or by asking the human. Any doubt is a deny.
func (st *step) permissionAsked(f PermissionAsked) {
	a, ok := st.agent(f.Params.ID)
	p := Permit{ID: f.Params.Request, Params: f.Params, Action: f.Action, Why: f.Reason, At: st.at, Suggestions: f.Suggestions}
	switch {
	case st.Halted:
		st.decidePermit(p, bridge.Deny, contract.ByHalt, "the human stopped everything")
	case st.isCheck(p.Params.Request): // whoever wrote the document need not be there
		st.judge(f, p)
	case !ok || a.Generation != f.Params.Generation || !a.Alive() || !a.Up():
		st.decidePermit(p, bridge.Deny, contract.ByShutdown, "the agent is ending")
	default:
		st.judge(f, p)
	}
}

// judge answers a request that may be answered.
func (st *step) judge(f PermissionAsked, p Permit) {
	switch {
	case f.Behavior == bridge.Allow && f.Told:
		st.do(AnswerPermission{Request: p.Params.Request, Result: bridge.PermissionResult{Behavior: bridge.Allow}})
	case f.Behavior == bridge.Allow:
		st.answerPermit(p, ruled{behavior: bridge.Allow, by: f.By, rule: f.Rule, reason: f.Reason})
	case f.Behavior == "ask" && slices.Contains(st.GrantedActions, f.Hash()):
		st.answerPermit(p, ruled{behavior: bridge.Allow, by: contract.Human, scope: contract.ScopeRun})
	case f.Behavior == "ask" && st.askedBefore(p):
	case f.Behavior == "ask" && st.isOpen(p.ID):
		st.decidePermit(p, bridge.Deny, contract.ByNobody, "another request goes by the same name")
	case f.Behavior == "ask" && !st.HumanPresent && f.Changes == st.PolicyChanges:
		st.decidePermit(p, bridge.Deny, contract.ByNobody, "no human is present to allow it")
	case f.Behavior == "ask":
		if st.open(p); f.Changes != st.PolicyChanges {
			st.reconsider() // the rules that want it asked for may be others by now
		}
	default:
		st.answerPermit(p, ruled{behavior: bridge.Deny, by: f.By, rule: f.Rule, reason: f.Reason, message: denial(f.Reason)})
	}
}

// open has a request wait for a human.
func (st *step) open(p Permit) {
	st.OpenRequests = append(slices.Clone(st.OpenRequests), p)
	st.emit(p.Params.ID, p.event())
	st.do(SetTimer{Key: permitKey + p.ID, After: st.Options.PermissionWait})
}

// event asks a human.
func (p Permit) event() contract.PermissionRequest {
	return contract.PermissionRequest{
		Request: p.ID, Tool: p.Params.Tool, Input: p.Params.Input,
		Subagent: p.Params.Subagent, Reason: p.Params.Reason, Action: p.Hash(), Suggestions: p.Suggestions,
	}
}

// denyPermits denies all that wait for a human, and what would wait if it were asked again.
func (st *step) denyPermits(by, reason string) {
	st.closeOrphans("", by, reason)
	for _, p := range st.OpenRequests {
		st.do(SetTimer{Key: permitKey + p.ID})
		st.decidePermit(p, bridge.Deny, by, reason)
	}
	st.OpenRequests = nil
}

func denial(reason string) string {
	return "Denied: " + cmp.Or(reason, "not permitted") + ". Do not try to get around it; find another way, or report that you cannot."
}

// ruled is how a request was decided: message is what the agent is told.
type ruled struct{ behavior, by, rule, scope, reason, message string }

func (st *step) decidePermit(p Permit, behavior, by, reason string) {
	r := ruled{behavior: behavior, by: by, reason: reason}
	if behavior == bridge.Deny {
		r.message = denial(reason)
	}
	st.answerPermit(p, r)
}

func (st *step) answerPermit(p Permit, r ruled) {
	st.tellPermit(p, r)
	st.do(AnswerPermission{Request: p.Params.Request, Result: bridge.PermissionResult{Behavior: r.behavior, Message: r.message}})
}

func (st *step) tellPermit(p Permit, r ruled) {
	st.emit(p.Params.ID, contract.Permission{
		Request: p.ID, Behavior: r.behavior, By: r.by, Tool: p.Params.Tool, Rule: r.rule,
		Action: p.Hash(), Scope: r.scope, Reason: r.reason, Subagent: p.Params.Subagent,
	})
}

// takePermit removes a pending request and stops its timer.
func (st *step) takePermit(request string) (Permit, bool) {
	i := slices.IndexFunc(st.OpenRequests, func(p Permit) bool { return p.ID == request })
	if i < 0 {
		return Permit{}, false
	}
	p := st.OpenRequests[i]
	st.OpenRequests = slices.Delete(slices.Clone(st.OpenRequests), i, i+1)
	st.do(SetTimer{Key: permitKey + request})
	return p, true
}

// permit carries out a human's answer.
func (st *step) permit(ref string, c contract.Permit) {
	if !approves(st.channel) {
		st.reject(ref, "permission is given by stdin, the screen or the control socket only")
		return
	}
	p, known := st.request(c.Request)
	if !known {
		st.reject(ref, "no permission request %q is open", c.Request)
		return
	}
	if why := misgiven(p, c); why != "" {
		st.reject(ref, "%s", why)
		return
	}
	reason := cmp.Or(c.Message, "the human said no")
	r := ruled{behavior: bridge.Deny, by: contract.Human, reason: reason, message: denial(reason)}
	if c.Behavior == bridge.Allow {
		r = ruled{behavior: bridge.Allow, by: contract.Human, rule: c.Rule, scope: cmp.Or(c.Scope, contract.ScopeOnce)}
	}
	if _, open := st.takePermit(c.Request); open {
		st.accept(ref, "permission "+c.Request+": "+c.Behavior)
		st.answerPermit(p, r)
	} else {
		st.accept(ref, "permission "+c.Request+": "+c.Behavior+", when "+p.Params.ID+" asks again")
		st.answerOrphan(p, r)
	}
	if c.Behavior == bridge.Allow {
		st.grant(p, c)
	}
}

func (st *step) permitTimedOut(request string) {
	if p, open := st.takePermit(request); open {
		st.decidePermit(p, bridge.Deny, contract.ByTimeout, "nobody answered within "+st.Options.PermissionWait.String())
	}
}

// permissionWithdrawn: the agent no longer waits (interrupted, or gone).
func (st *step) permissionWithdrawn(request string) {
	i := slices.IndexFunc(st.OpenRequests, func(p Permit) bool { return p.Params.Request == request })
	if i < 0 {
		return
	}
	if p, ok := st.takePermit(st.OpenRequests[i].ID); ok {
		st.emit(p.Params.ID, contract.Permission{
			Request: p.ID, Behavior: bridge.Deny, By: contract.ByWithdrawn, Tool: p.Params.Tool, Action: p.Hash(), Subagent: p.Params.Subagent,
		})
	}
}

// withdrawPermits denies what an agent still waits for when its turn is over, and what its
// earlier process waited for: it was not asked again.
func (st *step) withdrawPermits(agent string) {
	st.closeOrphans(agent, contract.ByWithdrawn, "it was not asked again")
	for _, p := range st.OpenRequests {
		if p.Params.ID == agent && !st.isCheck(p.Params.Request) {
			st.takePermit(p.ID)
			st.decidePermit(p, bridge.Deny, contract.ByWithdrawn, "the turn is over")
		}
	}
}

// Hash names the exact action that is asked for: Action, or where that is empty the input,
// from which then nothing was masked.
func (f PermissionAsked) Hash() string {
	if f.Action != "" {
		return f.Action
	}
	return actionKey(f.Params)
}

// Hash is the same of a request, and what an answer to it names.
func (p Permit) Hash() string {
	if p.Action != "" {
		return p.Action
	}
	return actionKey(p.Params)
}

// actionKey names an exact action: a grant for the run covers the same tool
// with the same input, nothing wider.
func actionKey(p bridge.PermissionParams) string { return action(p.Tool, p.Input) }

// action is the SHA-256 of a tool and its input, byte by byte, in hexadecimal.
func action(tool string, input []byte) string {
	h := sha256.New()
	h.Write([]byte(tool))
	h.Write([]byte{0})
	h.Write(input)
	return hex.EncodeToString(h.Sum(nil))
}

// told says whether the faces hear of it: of denials, and of what a rule or a grant
// allowed. What is harmless, and what the CLI may ask about yet, is recorded alone.
func (f Judged) told() bool {
	return f.Behavior == bridge.Deny || f.Behavior == bridge.Allow && (f.By == policy.ByRule || f.By == contract.Human)
}

// judged tells of a tool call that was decided already.
func (st *step) judged(f Judged) {
	if !f.told() {
		return
	}
	st.emit(f.Params.ID, contract.Permission{
		Request: "judge-" + cmp.Or(f.Params.ToolUse, short(f.Action)), Behavior: f.Behavior, By: f.By, Tool: f.Params.Tool, Rule: f.Rule,
		Action: f.Action, Reason: f.Reason, Subagent: f.Params.Subagent,
	})
}

func short(hash string) string { return hash[:min(len(hash), 12)] }
