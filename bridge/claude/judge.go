package claude

import (
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

// judgeRegistration registers that hook for all tools. If the hook fails, the call is blocked.
func judgeRegistration() map[string]any {
	return map[string]any{"hookCallbackIds": []string{judgeCallback}, "timeout": judgeSeconds, "onFailure": "block"}
}

// hookAnswer is the answer to PreToolUse. The zero value leaves the call to the CLI's own
// rules, and can_use_tool.
type hookAnswer struct {
	Specific *preToolUse `json:"hookSpecificOutput,omitempty"`
}

type preToolUse struct {
	Event    string `json:"hookEventName"`
	Decision string `json:"permissionDecision"`
	Reason   string `json:"permissionDecisionReason,omitempty"`
}

func hookDecision(decision, reason string) hookAnswer {
	return hookAnswer{&preToolUse{Event: "PreToolUse", Decision: decision, Reason: reason}}
}

// judge answers a tool call that is about to run. Every answer but an allow or an ask
// is a deny. It never answers with an error, because the CLI may run the tool then.
func (a *agent) judge(ctx context.Context, in object) hookAnswer {
	r := &fieldReader{obj: in}
	event := r.str("hook_event_name")
	p := bridge.JudgeParams{
		AgentRef: a.ref, Tool: r.str("tool_name"), Input: r.raw("tool_input"),
		ToolUse: r.str("tool_use_id"), Subagent: r.str("agent_id"), CWD: r.str("cwd"),
	}
	a.directories.note(p.ToolUse, p.CWD)
	if r.err != nil || event != "PreToolUse" || p.Tool == "" {
		return hookDecision(bridge.Deny, "The tool call could not be read.")
	}
	if jsonl.IsNull(p.Input) {
		p.Input = json.RawMessage("{}")
	}
	if a.tools != nil && p.Subagent != "" && strings.HasPrefix(p.Tool, mcpPrefix) {
		a.tools.within.note(p.ToolUse, p.Subagent)
	}
	if message, ok := interactive[p.Tool]; ok {
		if p.Tool == askUser {
			return hookAnswer{} // the CLI asks for it in every mode, and can_use_tool denies it
		}
		return hookDecision(bridge.Deny, message)
	}
	select {
	case <-a.stopping:
		return hookDecision(bridge.Deny, "This session is being ended.")
	default:
	}
	return a.sentence(ctx, p)
}

// sentence asks the client for its decision on a tool call.
func (a *agent) sentence(ctx context.Context, p bridge.JudgeParams) hookAnswer {
	ctx, cancel := context.WithTimeout(ctx, a.judgeTimeout)
	defer cancel()
	res, err := a.host.Judge(ctx, p)
	switch {
	case ctx.Err() != nil:
		return hookDecision(bridge.Deny, fmt.Sprintf("Nobody could decide whether it may run: no answer within %v.",
			a.judgeTimeout))
	case err != nil && res.Message != "": // the host gave a message of its own
		return hookDecision(bridge.Deny, res.Message)
	case err != nil:
		return hookDecision(bridge.Deny, fmt.Sprintf("Nobody could decide whether it may run: %v.", err))
	case res.Behavior == bridge.Allow:
		return hookAnswer{}
	case res.Behavior == bridge.Ask:
		return hookDecision(bridge.Ask, res.Message)
	case res.Message == "":
		return hookDecision(bridge.Deny, "Permission denied.")
	default:
		return hookDecision(bridge.Deny, res.Message)
	}
}

// registrations are the hooks that initialize names: the adviser's and the judge's.
func registrations(cfg bridge.AgentConfig) map[string]any {
	all := map[string]any{}
	if cfg.Hooks != nil {
		for _, r := range hooks.Registrations() {
			hook := map[string]any{"hookCallbackIds": []string{callback}, "timeout": callbackSeconds}
			if r.Matcher != "" && r.Matcher != "*" {
				hook["matcher"] = r.Matcher
			}
			all[string(r.Event)] = []any{hook}
		}
	}
	if cfg.Judged {
		all["PreToolUse"] = []any{judgeRegistration()}
	}
	all["ConfigChange"] = []any{settingsRegistration()}
	return all
}
