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

// judgedInput bounds what is recorded of the input of a call that may run, in bytes: its
// `tool_use` has the whole, and Action names it.
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
			l.told.add(p)
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
	if d.Behavior == "" || p.Tool == policy.VerdictTool { // which does nothing: a turn may always end
		call := toolCall{agent: p.ID, tool: p.Tool, input: p.Input, cwd: p.CWD}
		d = l.ruling(call)
		if d.Behavior == policy.Ask && d.By == policy.ByMode && policy.AskedByCLI(p.Tool) &&
			!l.rulesFor(call).ReadsUnseen(call.request()) {
			// The CLI asks for what its default mode asks for; can_use_tool decides then.
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

// refuseSubagent says why no subagent may start now; empty: it may, and counts.
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

// barrier denies what no rule is asked about: calls of a run or an agent that is being
// ended, and those that could not be recorded. Its zero value lets a call pass.
func (l *Loop) barrier(ref bridge.AgentRef) policy.Decision {
	deny := func(by, reason string) policy.Decision {
		return policy.Decision{Behavior: policy.Deny, By: by, Reason: reason}
	}
	if trouble := l.books.trouble.Load(); trouble != nil {
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

// toolCall is a call that is to be decided.
type toolCall struct {
	agent, tool string
	input       json.RawMessage
	cwd         string // of the session's shell; empty: the run's
	asked       bool   // the CLI asks whether it may run
	check       bool   // it is a check of a hand-off document, which the supervisor runs
}

// checkCall is the call that a check is judged as.
func checkCall(p bridge.PermissionParams, input json.RawMessage) toolCall {
	return toolCall{agent: p.ID, tool: p.Tool, input: input, cwd: p.CWD, check: true}
}

// askedCall is a call that the CLI asks about.
func askedCall(p bridge.PermissionParams, input json.RawMessage) toolCall {
	return toolCall{agent: p.ID, tool: p.Tool, input: input, cwd: p.CWD, asked: true}
}

// rulesFor are the permission rules as they are for the caller: their relative paths begin in its directory, and those
// of a check in the directory that it runs in.
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

// bare is the policy of an agent without rules.
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

// ruling holds a tool call against the caller's role and mode, the rules, and what the
// human has granted. Reading is allowed without asking where no human is asked: in mode rules, and for
// checks. In the other modes the CLI's question is answered by a rule, a grant or a human.
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

// granted reports whether the human has allowed a call for the whole run: exactly it, or by
// a rule.
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

// toldCalls are calls whose permission was told when they were judged: where the CLI asks
// about one all the same, it is not told again. Only the last few are kept.
type toldCalls struct {
	mu   sync.Mutex
	list []string
}

const maxToldCalls = 64

func toldKey(ref bridge.AgentRef, toolUse string) string { return ref.String() + " " + toolUse }

func (t *toldCalls) add(p bridge.JudgeParams) {
	if p.ToolUse == "" {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.list) == maxToldCalls {
		t.list = slices.Delete(t.list, 0, 1)
	}
	t.list = append(t.list, toldKey(p.AgentRef, p.ToolUse))
}

// take reports whether a call was told, and forgets it.
func (t *toldCalls) take(p bridge.PermissionParams) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	i := slices.Index(t.list, toldKey(p.AgentRef, p.ToolUse))
	if i < 0 {
		return false
	}
	t.list = slices.Delete(t.list, i, i+1)
	return true
}

// arbiterMay reports whether the Arbiter is not denied a tool by its role: it reads, and has
// our tools that it has a right to.
func arbiterMay(tool string) bool {
	if name, own := policy.Own(tool); own {
		return rights.May(rights.TheArbiter, rights.Tool(name))
	}
	return slices.Contains([]string{"Read", "Grep", "Glob", policy.VerdictTool}, tool)
}

// beyondMode says why the mode of an Orchestrator does not let it use a tool like this;
// empty: it does. Its subagents are held to the same.
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
		return "", "its mode " + a.Mode + " is not known any more"
	}
	bare := l.bare(s, c.agent)
	if allowed, rule, why := mode.Guard(bare.CWD, bare.Home).Allows(c.tool, c.input, c.cwd); !allowed {
		return rule, why
	}
	return "", ""
}
