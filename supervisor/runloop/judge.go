package runloop

import (
	"cmp"
	"context"
	"encoding/json"
	"slices"
	"sync"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/supervisor"
	"github.com/arbiter-cli/arbiter/supervisor/admission"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/input"
	"github.com/arbiter-cli/arbiter/supervisor/lifecycle"
	"github.com/arbiter-cli/arbiter/supervisor/permission"
	"github.com/arbiter-cli/arbiter/supervisor/policy"
	"github.com/arbiter-cli/arbiter/supervisor/rights"
)

// judgedInput bounds how much of the input of a call that may run is recorded, in bytes: its `tool_use`
// contains all of it, and Action identifies it.
const judgedInput = 4 << 10

// judge decides a tool call, and has the decision recorded.
func (l *Loop) judge(ctx context.Context, p bridge.JudgeParams) (bridge.JudgeResult, error) {
	f := l.decidedCall(p)
	in := input.Input{At: l.clock.Now(), Body: l.masked(f), From: input.Origin{Host: l.hostOf(p.ID)}}
	select {
	case <-l.done:
		return bridge.JudgeResult{}, errOver
	default:
	}
	select {
	case l.inbox <- in:
	case <-ctx.Done():
		return bridge.JudgeResult{}, ctx.Err()
	case <-l.done:
		return bridge.JudgeResult{}, errOver
	}
	switch f.Behavior {
	case bridge.Allow:
		if f.Announced() {
			l.judged.add(p)
		}
		return bridge.JudgeResult{Behavior: bridge.Allow}, nil
	case bridge.Ask:
		return bridge.JudgeResult{Behavior: bridge.Ask, Message: f.Reason}, nil
	}
	return bridge.JudgeResult{Behavior: bridge.Deny, Message: permission.Denial(f.Reason)}, nil
}

// decidedCall decides on a tool call.
func (l *Loop) decidedCall(p bridge.JudgeParams) input.CallDecided {
	f := input.CallDecided{Params: p, Action: permission.Key(p.Tool, p.Input)}
	d := l.barrier(p.AgentRef)
	if d.Behavior == "" || p.Tool == policy.VerdictTool { // the verdict tool does nothing: a turn may always end
		call := toolCall{agent: p.ID, tool: p.Tool, input: p.Input, cwd: p.CWD}
		d = l.ruling(call)
		if d.Behavior == policy.Ask && d.By == policy.ByMode && policy.AskedByCLI(p.Tool) &&
			!l.rulesFor(call).ReadsUnseen(call.request()) {
			// The CLI asks for what its default mode asks for; can_use_tool then decides.
			d.Behavior = policy.Allow
		}
		if policy.StartsSubagent(p.Tool) && d.Behavior != policy.Deny {
			if why := l.refuseSubagent(p); why != "" {
				d = policy.Decision{Behavior: policy.Deny, By: contract.ByLimit, Reason: why}
			}
		}
	}
	f.Behavior, f.By, f.Rule, f.Reason = d.Behavior, d.By, d.Rule, d.Reason
	if f.Behavior == bridge.Allow && len(p.Input) > judgedInput {
		f.Params.Input = json.RawMessage("null")
	}
	return f
}

// refuseSubagent says why no subagent may start now; empty: it may, and is counted.
func (l *Loop) refuseSubagent(p bridge.JudgeParams) string {
	s := l.Snapshot()
	if why := s.NoNewSubagent(); why != "" {
		return why
	}
	var living []bridge.AgentRef
	for _, a := range s.Agents {
		if a.Up() {
			living = append(living, a.AgentRef)
		}
	}
	limits := admission.Limits{AtOnce: s.Options.MaxSubagents, PerHour: s.Options.MaxSubagentsPerHour}
	return l.subagents.Admit(p.AgentRef, p.ToolUse, living, limits, l.clock.Now())
}

// barrier denies calls that no rule may allow: calls of a run or an agent that is being ended, and calls that
// could not be recorded. The zero value lets a call pass.
func (l *Loop) barrier(ref bridge.AgentRef) policy.Decision {
	deny := func(by, reason string) policy.Decision {
		return policy.Decision{Behavior: policy.Deny, By: by, Reason: reason}
	}
	if trouble := l.outbox.trouble.Load(); trouble != nil {
		return deny(contract.ByJournal, "what is decided cannot be recorded now ("+*trouble+")")
	}
	s := l.Snapshot()
	a, ok := s.Agent(ref.ID)
	switch {
	case s.Ending != nil:
		return deny(contract.ByShutdown, "the run is ending")
	case s.Halted:
		return deny(contract.ByHalt, "the human stopped everything")
	case !ok:
		return deny(contract.ByShutdown, "there is no agent "+ref.ID)
	case a.Generation != ref.Generation || !a.Up():
		return deny(contract.ByShutdown, "the agent is ending")
	}
	return policy.Decision{}
}

// toolCall is a call to decide on.
type toolCall struct {
	agent, tool string
	input       json.RawMessage
	cwd         string // directory of the session's shell; empty: the run's
	asked       bool   // the CLI asks whether it may run
	check       bool   // it is a check of a hand-off document, which the supervisor runs
}

// checkCall is the call as which a check is judged.
func checkCall(p bridge.PermissionParams, input json.RawMessage) toolCall {
	return toolCall{agent: p.ID, tool: p.Tool, input: input, cwd: p.CWD, check: true}
}

// askedCall is a call that the CLI asks about.
func askedCall(p bridge.PermissionParams, input json.RawMessage) toolCall {
	return toolCall{agent: p.ID, tool: p.Tool, input: input, cwd: p.CWD, asked: true}
}

// rulesFor returns the present permission rules for the caller: relative paths begin in its directory, or for a
// check in the directory in which the check runs.
func (l *Loop) rulesFor(c toolCall) policy.Rules {
	dir := l.bare(l.Snapshot(), c.agent).CWD
	if host := l.hostOf(c.agent); host != lifecycle.Here && (!c.check || c.cwd == dir) {
		return l.rules.on(dir, l.viewOf(host))
	}
	if c.check {
		dir = cmp.Or(c.cwd, dir)
	}
	if dir == l.policy.CWD {
		dir = ""
	}
	return l.rules.in(dir)
}

// bare is an agent's policy without rules.
func (l *Loop) bare(s *supervisor.State, agent string) policy.Policy {
	p := policy.Policy{CWD: l.policy.CWD, Home: l.policy.Home, Resolve: l.policy.Resolve}
	if s != nil {
		p.CWD = cmp.Or(s.Dirs().Own(agent), p.CWD)
	}
	if host := l.hostOf(agent); host != lifecycle.Here {
		v := l.viewOf(host)
		p.Home, p.FoldsCase, p.Resolve = v.home, v.foldsCase, v.resolve
	}
	return p
}

func (c toolCall) request() policy.Request {
	return policy.Request{Tool: c.tool, Input: c.input, CWD: c.cwd, Asked: c.asked}
}

// ruling checks a tool call against the caller's role and mode, the rules, and what the human has granted.
// Reading is allowed without asking where no human is asked: in mode rules, and for checks. In the other modes
// a rule, a grant or a human answers the CLI's question.
func (l *Loop) ruling(c toolCall) policy.Decision {
	tool, input := c.tool, c.input
	if c.agent == contract.Arbiter && !arbiterMay(tool) {
		return policy.Decision{Behavior: policy.Deny, By: contract.ByRole,
			Reason: "the Arbiter reads and rules; it changes nothing"}
	}
	if rule, why := l.beyondMode(c); why != "" {
		return policy.Decision{Behavior: policy.Deny, By: contract.ByAgent, Rule: rule, Reason: why}
	}
	if l.denied(c) {
		return policy.Decision{Behavior: policy.Deny, By: contract.Human, Reason: "the human denied it for this run"}
	}
	request := c.request()
	rules := l.rulesFor(c)
	d := rules.Decide(request)
	nobodyAsked := c.check || rules.Mode() == policy.ModeRules
	switch {
	case d.By == policy.ByMode && d.Behavior != policy.Allow && nobodyAsked && rules.Harmless(request):
		return policy.Decision{Behavior: policy.Allow, By: policy.ByMode, Reason: "it changes nothing"}
	case d.By == policy.ByMode && d.Behavior != policy.Allow && l.kept[permission.Key(tool, input)]:
		return policy.Decision{Behavior: policy.Allow, By: contract.Human, Reason: "the human always allows it here"}
	case d.Behavior != policy.Ask:
		return d
	}
	if rule, ok := l.granted(c); ok {
		return policy.Decision{Behavior: policy.Allow, By: contract.Human, Rule: rule,
			Reason: "the human allowed it for this run"}
	}
	return d
}

// denied reports whether the human has denied exactly this call for the whole run.
func (l *Loop) denied(c toolCall) bool {
	s := l.Snapshot()
	return len(s.Permission.Denied) > 0 && slices.Contains(s.Permission.Denied, permission.Key(c.tool, c.input))
}

// granted reports whether the human has allowed a call for the whole run: this exact call, or by a rule.
func (l *Loop) granted(c toolCall) (rule string, ok bool) {
	s := l.Snapshot()
	if slices.Contains(s.Permission.Actions, permission.Key(c.tool, c.input)) {
		return "", true
	}
	if len(s.Permission.Rules) == 0 {
		return "", false
	}
	p := l.bare(s, c.agent)
	if c.check {
		p.CWD = cmp.Or(c.cwd, p.CWD)
	}
	for _, text := range s.Permission.Rules {
		if rule, err := policy.ParseRule(text); err == nil {
			p.Allow = append(p.Allow, rule)
		}
	}
	if host := l.hostOf(c.agent); host != lifecycle.Here && p.CWD == l.bare(s, c.agent).CWD {
		return policy.Elsewhere(p, l.viewOf(host).look).Covered(c.request())
	}
	return p.Covered(c.request())
}

// judgedCalls are calls whose permission was reported when they were judged: if the CLI still asks about such a
// call, the permission is not reported again. Only the last few are kept.
type judgedCalls struct {
	mu   sync.Mutex
	list []string
}

const maxJudgedCalls = 64

func judgedKey(ref bridge.AgentRef, toolUse string) string { return ref.String() + " " + toolUse }

func (t *judgedCalls) add(p bridge.JudgeParams) {
	if p.ToolUse == "" {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.list) == maxJudgedCalls {
		t.list = slices.Delete(t.list, 0, 1)
	}
	t.list = append(t.list, judgedKey(p.AgentRef, p.ToolUse))
}

// take reports whether a call was reported, and forgets it.
func (t *judgedCalls) take(p bridge.PermissionParams) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	i := slices.Index(t.list, judgedKey(p.AgentRef, p.ToolUse))
	if i < 0 {
		return false
	}
	t.list = slices.Delete(t.list, i, i+1)
	return true
}

// arbiterMay reports whether the Arbiter's role allows a tool: it may read, and use those of our tools that it
// has a right to.
func arbiterMay(tool string) bool {
	if name, own := policy.Own(tool); own {
		return rights.May(rights.TheArbiter, rights.Tool(name))
	}
	return slices.Contains([]string{"Read", "Grep", "Glob", policy.VerdictTool}, tool)
}

// beyondMode says why the mode of an Orchestrator forbids a tool like this; empty: the mode allows it. The same
// holds for its subagents.
func (l *Loop) beyondMode(c toolCall) (rule, why string) {
	s := l.Snapshot()
	if s == nil {
		return "", ""
	}
	a, ok := s.Agent(c.agent)
	if !ok || a.Mode == "" {
		return "", ""
	}
	mode, ok := s.Options.ModeNamed(a.Mode)
	if !ok {
		return "", "its mode " + a.Mode + " is no longer known"
	}
	bare := l.bare(s, c.agent)
	if allowed, rule, why := mode.Guard(bare.CWD, bare.Home).Allows(c.tool, c.input, c.cwd); !allowed {
		return rule, why
	}
	return "", ""
}
