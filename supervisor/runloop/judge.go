package runloop

import (
	"cmp"
	"context"
	"encoding/json"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/supervisor"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/input"
	"github.com/arbiter-cli/arbiter/supervisor/policy"
	"github.com/arbiter-cli/arbiter/supervisor/runconfig"
)

// judgedInput bounds how much of the input of a call that may run is recorded, in bytes: its `tool_use`
// contains all of it, and Action identifies it.
const judgedInput = 4 << 10

// judge decides a tool call, and has the decision recorded.
func (l *Loop) judge(ctx context.Context, p bridge.JudgeParams) (bridge.JudgeResult, error) {
	f := l.decidedCall(p)
	if err := l.enter(ctx, l.inbox, l.hostOf(p.ID), l.masked(f)); err != nil {
		return bridge.JudgeResult{}, err
	}
	if f.Behavior != bridge.Deny {
		return bridge.JudgeResult{Behavior: f.Behavior, Message: f.Reason}, nil
	}
	return bridge.JudgeResult{Behavior: bridge.Deny, Message: input.Denial(f.Reason)}, nil
}

// decidedCall decides on a tool call that is about to run: only what takes it away counts here.
func (l *Loop) decidedCall(p bridge.JudgeParams) input.CallDecided {
	call := toolCall{agent: p.ID, tool: p.Tool, input: p.Input, cwd: p.CWD}
	f := input.CallDecided{Params: p, Action: call.key()}
	d := l.barrier(p.AgentRef)
	if d.Behavior == "" {
		d = l.taken(call)
	}
	if d.Behavior != bridge.Deny {
		d = l.held(call, d)
	}
	if bridge.StartsSubagent(p.Tool) && d.Behavior != bridge.Deny {
		if why := l.refuseSubagent(p); why != "" {
			d = decision(bridge.Deny, contract.ByLimit, why)
		}
	}
	f.Behavior, f.By, f.Rule, f.Reason = cmp.Or(d.Behavior, bridge.Pass), d.By, d.Rule, d.Reason
	if f.Behavior == bridge.Pass && len(p.Input) > judgedInput {
		f.Params.Input = json.RawMessage("null")
	}
	return f
}

// held denies a call of an agent that may only read now; else it returns the decision d.
func (l *Loop) held(c toolCall, d policy.Decision) policy.Decision {
	s := l.Snapshot()
	a, _ := s.Agent(c.agent)
	if r, ok := l.readings.Load(a.AgentRef); ok {
		a.Context = r.(bridge.Context)
		a.WarnedLevel = supervisor.ContextLevel(a.Context, s.Options.ContextWarn, s.Options.ContextCritical)
	}
	why, commits := a.ReadsOnly(s.Options.ContextStop)
	if why == "" {
		return d
	}
	by, p := contract.ByExam, l.bare(s, c.agent)
	allowed := !bridge.IsEditor(c.tool) && (!bridge.RunsLines(c.tool) || p.OnlyReads(c.request(), false))
	if commits {
		by, allowed = contract.ByContext, p.OnlyReads(c.request(), true)
	}
	if allowed {
		return d
	}
	return decision(bridge.Deny, by, why)
}

// decision is one that no rule made.
func decision(behavior, by, reason string) policy.Decision {
	return policy.Decision{Behavior: behavior, By: by, Reason: reason}
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
	limits := AdmissionLimits{AtOnce: s.Options.MaxSubagents, Total: s.Options.MaxSubagentsTotal,
		PerHour: s.Options.MaxSubagentsPerHour}
	return l.subagents.Admit(p.AgentRef, p.ToolUse, living, limits, l.clock.Now())
}

// barrier denies calls that no rule may allow: calls of a run or an agent that is being ended, and calls that
// could not be recorded. The zero value lets a call pass.
func (l *Loop) barrier(ref bridge.AgentRef) policy.Decision {
	deny := func(by, reason string) policy.Decision { return decision(bridge.Deny, by, reason) }
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
	check       bool   // it is a check of a hand-off document, which the supervisor runs
}

// key names the exact action. A command that an agent runs as a tool, and the same command as a check, are two
// actions: an answer about the one does not count for the other.
func (c toolCall) key() string {
	if c.check {
		return input.PermissionKey("Check", c.input)
	}
	return input.PermissionKey(c.tool, c.input)
}

func (c toolCall) request() policy.Request {
	return policy.Request{Tool: c.tool, Input: c.input, CWD: c.cwd}
}

// ruled says what the present deny and ask rules say: relative paths begin in the caller's directory, or for a check
// in the directory in which the check runs.
func (l *Loop) ruled(s *supervisor.State, c toolCall) policy.Decision {
	p := l.bare(s, c.agent)
	dir := p.CWD
	if c.check {
		p.CWD = cmp.Or(c.cwd, p.CWD)
	}
	p.Deny, p.Ask = parsed(s.Options.Deny), parsed(s.Options.Ask)
	if host := l.hostOf(c.agent); host != supervisor.LifecycleHere && p.CWD == dir {
		return l.viewOf(host).decide(p, c.request())
	}
	return p.Decide(c.request())
}

// bare is an agent's policy without rules.
func (l *Loop) bare(s *supervisor.State, agent string) policy.Policy {
	p := policy.Policy{CWD: l.policy.CWD, Home: l.policy.Home, Resolve: l.policy.Resolve}
	p.CWD = cmp.Or(s.OwnDir(agent), p.CWD)
	if host := l.hostOf(agent); host != supervisor.LifecycleHere {
		v := l.viewOf(host)
		p.Home, p.Resolve = v.home, v.resolve
	}
	return p
}

// taken says what takes a tool call away: the caller's role and mode, a human's denial for the run, and the deny
// and ask rules. The zero value: nothing.
func (l *Loop) taken(c toolCall) policy.Decision {
	s := l.Snapshot()
	if c.agent == contract.Arbiter && !arbiterMay(c.tool) {
		return decision(bridge.Deny, contract.ByRole, "the Arbiter reads and rules; it changes nothing")
	}
	if rule, why := l.beyondMode(s, c); why != "" && c.tool != bridge.NetworkTool && c.tool != bridge.ElicitTool {
		return policy.Decision{Behavior: bridge.Deny, By: contract.ByAgent, Rule: rule, Reason: why}
	}
	if slices.Contains(s.Permission.Denied, c.key()) {
		return decision(bridge.Deny, contract.Human, "the human denied it for this run")
	}
	d := l.ruled(s, c)
	mode := runconfig.Mode(s.Options.Permissions)
	if d.Behavior == "" && mode != runconfig.ModeAllowAll && makesWorktree(c) {
		d = decision(bridge.Ask, policy.ByMode, "it creates a branch and a directory")
	}
	return unasked(d, mode)
}

// unasked denies in mode rules what would be asked.
func unasked(d policy.Decision, mode runconfig.Mode) policy.Decision {
	if d.Behavior == bridge.Ask && mode == runconfig.ModeRules {
		d.Behavior, d.Reason = bridge.Deny, d.Reason+", and nothing is asked in this mode"
	}
	return d
}

// answer says what answers a request without asking a human now: what takes the call away, or a human's earlier
// answer to the same action. Nothing else allows a call of an agent. A check, which the supervisor itself runs, is
// also allowed by a rule that covers a line of plain words, and by mode allow-all. Otherwise the answer is ask.
func (l *Loop) answer(c toolCall) policy.Decision {
	s := l.Snapshot()
	d := l.taken(c)
	mode := runconfig.Mode(s.Options.Permissions)
	switch {
	case d.Behavior == bridge.Deny:
		return d
	case slices.Contains(s.Permission.Actions, c.key()):
		return decision(bridge.Allow, contract.Human, "the human allowed it for this run")
	case l.kept[c.key()]:
		return decision(bridge.Allow, contract.Human, "the human always allows it here")
	case d.Behavior == bridge.Ask:
		return d
	case c.check && mode == runconfig.ModeAllowAll:
		return decision(bridge.Allow, policy.ByMode, "everything is allowed")
	}
	if c.check {
		if rule, ok := plainly(l.allowed(s), commandOf(c.input)); ok {
			d = decision(bridge.Allow, policy.ByRule, "the rule "+rule+" allows it")
			d.Rule = rule
			return d
		}
	}
	return unasked(decision(bridge.Ask, policy.ByMode, "no rule allows this use of "+c.tool), mode)
}

// plainLine is a line of words that every shell reads in the same way.
var plainLine = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^ *[A-Za-z0-9_@%+:,./][A-Za-z0-9_@%+:,./-]*( +[A-Za-z0-9_@%+=:,./-]+)* *$`)
})

// plainly reports whether a rule about commands covers a line that consists of plain words only. Only rules for Bash
// as a whole, exact rules and those with a * as their last word count. Any other line is never covered.
func plainly(rules []policy.Rule, line string) (rule string, ok bool) {
	words := strings.Join(strings.Fields(line), " ")
	i := slices.IndexFunc(rules, func(r policy.Rule) bool {
		native, err := r.Native(bridge.Allow, "", "")
		spec, some := strings.CutPrefix(strings.TrimSuffix(native, ")"), "Bash(")
		prefix, open := strings.CutSuffix(spec, " *")
		return err == nil && (native == "Bash" || some && spec == words ||
			some && open && plainLine().MatchString(prefix) && strings.HasPrefix(words+" ", prefix+" "))
	})
	if i < 0 || !plainLine().MatchString(line) {
		return "", false
	}
	return rules[i].String(), true
}

// makesWorktree recognises calls that create a branch and a directory of the repository, about which the CLI does
// not ask (observed with CLI 2.1.332).
func makesWorktree(c toolCall) bool {
	var in struct{ Isolation json.RawMessage }
	if bridge.StartsSubagent(c.tool) && json.Unmarshal(c.input, &in) != nil {
		return true
	}
	isolation := string(in.Isolation)
	return c.tool == "EnterWorktree" || isolation != "" && isolation != `""` && isolation != "null"
}

// commandOf is the command line of a call of Bash.
func commandOf(input json.RawMessage) string {
	var in struct{ Command string }
	_ = json.Unmarshal(input, &in) // another input has none
	return in.Command
}

// arbiterMay reports whether the Arbiter's role allows a tool: it may read, on the web too, and use those of our tools
// that it has a right to. What it reads on the web needs permission, as with any agent, and so does each host.
func arbiterMay(tool string) bool {
	if name, own := bridge.OwnTool(tool); own {
		return supervisor.May(supervisor.TheArbiter, supervisor.Tool(name))
	}
	return slices.Contains([]string{"Read", "Grep", "Glob", "WebSearch", "WebFetch", bridge.NetworkTool,
		bridge.VerdictTool}, tool)
}

// beyondMode says why the mode of an Orchestrator forbids a tool like this; empty: the mode allows it. The same
// holds for its subagents.
func (l *Loop) beyondMode(s *supervisor.State, c toolCall) (rule, why string) {
	a, ok := s.Agent(c.agent)
	if !ok || a.Mode == "" {
		return "", ""
	}
	mode, ok := s.Options.ModeNamed(a.Mode)
	if !ok {
		return "", "its mode " + a.Mode + " is no longer known"
	}
	if allowed, rule, why := mode.Guard(l.bare(s, c.agent)).Allows(c.tool, c.input, c.cwd); !allowed {
		return rule, why
	}
	return "", ""
}

// The CLI judges by native rules what runs without asking: nativeRules are those that it is given. Arbiter's own
// reading of a call, in judge.go, can only take away.

// parsed parses texts that are known to be valid rules: they were parsed before they became the run's.
func parsed(texts []string) []policy.Rule {
	var list []policy.Rule
	for _, text := range texts {
		rule, err := policy.ParseRule(text)
		if err != nil {
			panic("runloop: a rule in force: " + err.Error())
		}
		list = append(list, rule)
	}
	return list
}

// allowed are the rules that allow: those of the run's options, and what a human has granted in the run or, in an
// earlier one, for the workspace.
func (l *Loop) allowed(s *supervisor.State) []policy.Rule {
	return slices.Concat(parsed(s.Options.Allow), parsed(s.Permission.Rules), l.keptRules)
}

// everything are the allow rules of mode allow-all for a process that was started in another mode: the CLI
// cannot be switched to asking nothing later. It still asks about sensitive files and MCP tools.
var everything = []string{"Bash", "Edit", "Write", "NotebookEdit", "Read", "WebFetch", "WebSearch", "Skill"}

// nativeRules are the rules and the permission mode that an agent's CLI is given: in mode rules it asks, and is
// refused. unsupported are rules that the CLI has no form for: allow rules of this kind allow nothing, deny and ask
// rules are held by Arbiter's own reading alone.
func (l *Loop) nativeRules(s *supervisor.State, agent string) (
	rules bridge.PermissionRules, mode string, unsupported []string,
) {
	p, mode := l.bare(s, agent), "default"
	add := func(to *[]string, behavior string, list []policy.Rule) {
		for _, rule := range list {
			switch text, err := rule.Native(behavior, p.CWD, p.Home); {
			case err != nil:
				unsupported = append(unsupported, err.Error())
			case !slices.Contains(*to, text):
				*to = append(*to, text)
			}
		}
	}
	add(&rules.Deny, bridge.Deny, parsed(s.Options.Deny))
	add(&rules.Ask, bridge.Ask, parsed(s.Options.Ask))
	add(&rules.Allow, bridge.Allow, l.allowed(s))
	switch runconfig.Mode(s.Options.Permissions) {
	case runconfig.ModeAllowAll:
		mode, rules.Allow = bridge.BypassPermissions, append(rules.Allow, everything...)
	case runconfig.ModeAcceptEdits:
		if edits, ok := policy.EditsBelow(p.CWD); ok {
			rules.Allow = append(rules.Allow, edits)
		} else {
			mode = "acceptEdits"
		}
	}
	return rules, mode, unsupported
}

// setRules puts the present rules into the configuration of a session that is about to start, and returns which of
// them the CLI has no form for.
func (l *Loop) setRules(agent string, c *bridge.AgentConfig) (unsupported []string, changes int) {
	s := l.Snapshot()
	c.Rules, c.PermissionMode, unsupported = l.nativeRules(s, agent)
	c.NoSkillCommands = c.NoSkillCommands || len(s.Options.Deny)+len(s.Options.Ask) > 0
	return unsupported, s.Permission.Changes
}
