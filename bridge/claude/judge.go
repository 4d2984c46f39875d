package claude

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/hooks"
	"github.com/arbiter-cli/arbiter/transcript/jsonl"
)

// judgeCallback is the id of the hook that every tool call of a judged agent passes.
const judgeCallback = "arbiter-judge"

// judgeSeconds is how long the CLI waits for the hook: longer than we do, so that our own denial comes
// first. If it expires, the tool does not run (observed with CLI 2.1.329).
const judgeSeconds = int(bridge.JudgeTimeout/time.Second) + 10

// judgeRegistration registers that hook for all tools but the verdict, which ends a turn and does nothing else. If
// the hook fails, the call is blocked.
func judgeRegistration() map[string]any {
	return map[string]any{"matcher": allButVerdict, "hookCallbackIds": []string{judgeCallback}, "timeout": judgeSeconds,
		"onFailure": "block"}
}

// allButVerdict matches the names of all tools but the verdict's: each callback costs a turn 2 to 4 ms (CLI 2.1.332).
const allButVerdict = "^(?!" + bridge.VerdictTool + "$).*"

// Events at which a call can be refused. The second is that of a command line in a skill (from CLI 2.1.332).
const (
	preToolUse      = "PreToolUse"
	preSkillCommand = "PreSkillShellCommand"
)

// hookAnswer is the answer to PreToolUse. The zero value leaves the call to the CLI's own
// rules, and can_use_tool. There is no answer that allows a call.
type hookAnswer struct {
	Specific *hookDecision `json:"hookSpecificOutput,omitempty"`
}

type hookDecision struct {
	Event    string `json:"hookEventName"`
	Decision string `json:"permissionDecision"`
	Reason   string `json:"permissionDecisionReason,omitempty"`
}

func hookDeny(reason string) hookAnswer {
	return hookAnswer{&hookDecision{Event: preToolUse, Decision: bridge.Deny, Reason: reason}}
}

// judge answers a tool call that is about to run. Every answer but a pass or an ask
// is a deny. It never answers with an error, because the CLI may run the tool then.
func (a *agent) judge(ctx context.Context, in object) hookAnswer {
	r := &fieldReader{obj: in}
	event := r.str("hook_event_name")
	p := bridge.JudgeParams{
		AgentRef: a.Ref, Tool: r.str("tool_name"), Input: r.raw("tool_input"),
		ToolUse: r.str("tool_use_id"), Subagent: r.str("agent_id"), CWD: r.str("cwd"),
	}
	if r.err != nil || event != preToolUse && event != preSkillCommand || p.Tool == "" {
		return hookDeny("The tool call could not be read.")
	}
	if p.Tool == bridge.VerdictTool {
		return hookAnswer{} // it does nothing, and a turn may always end
	}
	if jsonl.IsNull(p.Input) {
		p.Input = json.RawMessage("{}")
	}
	a.judged.note(p.ToolUse, p.CWD, p.Input)
	if mode := r.str("permission_mode"); p.Subagent == "" && !a.inMode(mode) {
		return hookDeny("The session's permission mode was changed to " + mode + ", which nobody asked for. Try again.")
	}
	if a.tools != nil && p.Subagent != "" && strings.HasPrefix(p.Tool, mcpPrefix) {
		a.tools.within.note(p.ToolUse, p.Subagent)
	}
	if message, ok := interactive[p.Tool]; ok {
		if p.Tool == askUser {
			return hookAnswer{} // the CLI asks for it in every mode, and can_use_tool denies it
		}
		return hookDeny(message)
	}
	select {
	case <-a.Stopping:
		return hookDeny("This session is being ended.")
	default:
	}
	answer := a.sentence(ctx, p)
	if event == preSkillCommand && answer.Specific != nil {
		answer = hookDeny(answer.Specific.Reason) // nobody can be asked about a line of a skill
		answer.Specific.Event = preSkillCommand
	}
	return answer
}

// inMode reports whether the CLI is in the mode that it was started in, or last set to; while that changes, any mode
// will do. If not, the mode is set back: another one may run calls that this one asks about.
func (a *agent) inMode(mode string) bool {
	want := a.mode.Load()
	if want == nil || mode == "" || mode == *want {
		return true
	}
	a.notice("mode "+mode, fmt.Sprintf("the CLI went into permission mode %.40q, which nobody asked for; "+
		"it is set back to %s", mode, *want))
	const set = "set_permission_mode"
	a.calls.post(a.Ctx, set, map[string]any{"mode": *want}, func(res controlResponse) {
		if err := refusal(set, res); err != nil {
			a.notice("mode refused", fmt.Sprintf("%v: every call of this agent is denied until it is in mode %s; if it stays, "+
				"end the agent and summon another", err, *want))
		}
	})
	return false
}

// compareRan reports a call that ran with another input than the one that was judged: a hook of the user's
// settings, or the person who allowed it, changed it.
func (a *agent) compareRan(in object) {
	r := &fieldReader{obj: in}
	event, call := r.str("hook_event_name"), r.str("tool_use_id")
	if event != "PostToolUse" && event != "PostToolUseFailure" || !a.judged.ran(call, r.raw("tool_input")) {
		return
	}
	a.Emit(bridge.ToolRan{Tool: r.str("tool_name"), ToolUse: call, Input: r.raw("tool_input"),
		Subagent: r.str("agent_id")})
}

// sentence asks the client for its decision on a tool call.
func (a *agent) sentence(ctx context.Context, p bridge.JudgeParams) hookAnswer {
	ctx, cancel := context.WithTimeout(ctx, a.judgeTimeout)
	defer cancel()
	res, err := a.Host.Judge(ctx, p)
	switch {
	case ctx.Err() != nil:
		return hookDeny(fmt.Sprintf("Nobody could decide whether it may run: no answer within %v.",
			a.judgeTimeout))
	case err != nil: // the host may have given a message of its own
		return hookDeny(cmp.Or(res.Message, fmt.Sprintf("Nobody could decide whether it may run: %v.", err)))
	case res.Behavior == bridge.Pass:
		return hookAnswer{}
	case res.Behavior == bridge.Ask:
		return hookAnswer{&hookDecision{Event: preToolUse, Decision: bridge.Ask, Reason: res.Message}}
	default:
		return hookDeny(cmp.Or(res.Message, "Permission denied."))
	}
}

// registrations are the hooks that initialize names: the adviser's and the judge's.
func registrations(cfg bridge.AgentConfig) map[string]any {
	all := map[string]any{}
	if cfg.Hooks != nil {
		for _, e := range hooks.Events {
			hook := map[string]any{"hookCallbackIds": []string{callback}, "timeout": callbackSeconds}
			if e.OfTools() {
				hook["matcher"] = allButVerdict
			}
			all[string(e)] = []any{hook}
		}
	}
	if cfg.Judged {
		all[preToolUse], all[preSkillCommand] = []any{judgeRegistration()}, []any{judgeRegistration()}
	}
	all["ConfigChange"] = []any{map[string]any{"hookCallbackIds": []string{settingsCallback}, // of every source
		"timeout": callbackSeconds, "onFailure": "block"}}
	return all
}
