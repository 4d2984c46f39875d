package supervisor

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strings"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
)

const permitKey = "permit/"

// permissionAsked answers a tool that wants to run: by the rules, by what the
// human allowed for the whole run, or by asking the human. Any doubt is a deny.
func (st *step) permissionAsked(f PermissionAsked) {
	a, ok := st.agent(f.Params.ID)
	switch {
	case !ok || a.Generation != f.Params.Generation || !a.Alive():
		st.decidePermit(f.Params, bridge.Deny, "shutdown", "the agent is ending")
	case f.Behavior == bridge.Allow:
		st.answerPermit(f.Params, bridge.Allow, f.By, f.Rule, "")
	case f.Behavior == "ask" && slices.Contains(st.Granted, actionKey(f.Params)):
		st.answerPermit(f.Params, bridge.Allow, "human", "", "")
	case f.Behavior == "ask" && !st.HumanPresent:
		st.decidePermit(f.Params, bridge.Deny, "nobody", "no human is present to allow it")
	case f.Behavior == "ask":
		st.Permits = append(slices.Clone(st.Permits), Permit{Params: f.Params, At: st.at})
		st.emit(a.ID, contract.PermissionRequest{
			Request: f.Params.Request, Tool: f.Params.Tool, Input: f.Params.Input,
			Subagent: f.Params.Subagent, Reason: f.Params.Reason,
		})
		st.do(SetTimer{Key: permitKey + f.Params.Request, After: st.Options.PermissionWait})
	default:
		st.answerPermit(f.Params, bridge.Deny, f.By, f.Rule, denial(f.Reason))
	}
}

func denial(reason string) string {
	return "Denied: " + orDefault(reason, "not permitted") + ". Do not try to get around it; find another way, or report that you cannot."
}

func (st *step) decidePermit(p bridge.PermissionParams, behavior, by, reason string) {
	message := ""
	if behavior == bridge.Deny {
		message = denial(reason)
	}
	st.answerPermit(p, behavior, by, "", message)
}

func (st *step) answerPermit(p bridge.PermissionParams, behavior, by, rule, message string) {
	st.emit(p.ID, contract.Permission{Request: p.Request, Behavior: behavior, By: by, Tool: p.Tool, Rule: rule})
	st.do(AnswerPermission{Request: p.Request, Result: bridge.PermissionResult{Behavior: behavior, Message: message}})
}

// takePermit removes a pending request and stops its timer.
func (st *step) takePermit(request string) (Permit, bool) {
	i := slices.IndexFunc(st.Permits, func(p Permit) bool { return p.Params.Request == request })
	if i < 0 {
		return Permit{}, false
	}
	p := st.Permits[i]
	st.Permits = slices.Delete(slices.Clone(st.Permits), i, i+1)
	st.do(SetTimer{Key: permitKey + request})
	return p, true
}

// permit carries out a human's answer.
func (st *step) permit(ref string, c contract.Permit) {
	p, ok := st.takePermit(c.Request)
	if !ok {
		st.reject(ref, "no permission request %q is open", c.Request)
		return
	}
	st.accept(ref, "permission "+c.Request+": "+c.Behavior)
	if c.Behavior == bridge.Allow {
		if c.Scope == "run" {
			st.Granted = append(slices.Clip(st.Granted), actionKey(p.Params))
		}
		st.answerPermit(p.Params, bridge.Allow, "human", "", "")
		return
	}
	st.decidePermit(p.Params, bridge.Deny, "human", orDefault(c.Message, "the human said no"))
}

func (st *step) permitTimedOut(key string) bool {
	request, ok := strings.CutPrefix(key, permitKey)
	if !ok {
		return false
	}
	if p, open := st.takePermit(request); open {
		st.decidePermit(p.Params, bridge.Deny, "timeout", "nobody answered within "+st.Options.PermissionWait.String())
	}
	return true
}

// permissionWithdrawn: the agent no longer waits (interrupted, or gone).
func (st *step) permissionWithdrawn(request string) {
	if p, ok := st.takePermit(request); ok {
		st.emit(p.Params.ID, contract.Permission{Request: request, Behavior: bridge.Deny, By: "withdrawn", Tool: p.Params.Tool})
	}
}

// withdrawPermits denies what an agent still waits for when its turn is over.
func (st *step) withdrawPermits(agent string) {
	for _, p := range st.Permits {
		if p.Params.ID == agent {
			st.takePermit(p.Params.Request)
			st.decidePermit(p.Params, bridge.Deny, "withdrawn", "the turn is over")
		}
	}
}

// actionKey names an exact action: a grant for the run covers the same tool
// with the same input, nothing wider.
func actionKey(p bridge.PermissionParams) string {
	h := sha256.New()
	h.Write([]byte(p.Tool))
	h.Write([]byte{0})
	h.Write(p.Input)
	return hex.EncodeToString(h.Sum(nil))
}
