package fakecli

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"strings"
)

// permit asks the hooks, the rules and the host whether a call may run. It returns the call, perhaps with
// another input, or the result of a refused call. If a hook gives no answer, the tool does not run.
func (t *thread) permit(ctx context.Context, c toolCall) (_ toolCall, refused *toolResult) {
	if j := t.s.judge(c); j.reason == deniedPath {
		return c, denied(j.text)
	}
	decision, reason := "", ""
	for _, a := range t.hook(ctx, "PreToolUse", c.Name,
		obj{"tool_name": c.Name, "tool_input": c.Input, "tool_use_id": c.ID}) {
		switch p := a.Specific.Permission; {
		case a.err != nil:
			return c, failed("PreToolUse hook did not answer. The tool call was not executed.")
		case p == "deny":
			return c, denied("PreToolUse:" + c.Name + " hook error: " + a.Specific.Reason)
		case p == "ask", p == "allow" && decision == "":
			decision, reason = p, a.Specific.Reason
		}
		if len(a.Specific.UpdatedInput) > 0 {
			c.Input = a.Specific.UpdatedInput
		}
	}
	j := t.s.judge(c)
	dontAsk := guarded(t.s, &t.s.mode) == "dontAsk"
	switch {
	case j.behavior == "deny":
		return c, t.refuse(c, j, decision == "" && c.Name != "Agent")
	case j.fixed:
	case decision == "ask":
		dontAsk = false // a hook's question is asked in every mode
		j.behavior, j.more = "ask", obj{"decision_reason": reason, "decision_reason_type": "hook",
			"decision_reason_hook_event": "PreToolUse", "decision_reason_hook_source": "settings"}
	case j.behavior == "allow", decision == "allow" && c.Name != askUser:
		return c, nil
	}
	switch {
	case dontAsk:
		return c, t.refuse(c, judgement{reason: "mode", text: "Permission to use " + c.Name +
			" has been denied because Claude Code is running in don't ask mode."}, true)
	case t.s.flags.get("--permission-prompt-tool") != "stdio":
		return c, t.refuse(c, judgement{text: "Claude requested permissions to use " + c.Name +
			", but you haven't granted it yet."}, true)
	}
	return t.askHost(ctx, c, j.more)
}

// refuse is the result of a call that the rules or the mode deny. If no hook decided, the host
// gets a permission_denied message.
func (t *thread) refuse(c toolCall, j judgement, tell bool) *toolResult {
	if tell {
		o := obj{"type": "system", "subtype": "permission_denied", "tool_name": c.Name, "tool_use_id": c.ID,
			"message": j.text}
		if j.reason != "" {
			o["decision_reason_type"] = j.reason
		}
		if t.sub != nil {
			o["agent_id"] = t.sub.id
		}
		t.s.emit(o)
	}
	return denied(j.text)
}

func (t *thread) askHost(ctx context.Context, c toolCall, more obj) (toolCall, *toolResult) {
	s := t.s
	var in struct{ Description string }
	_ = json.Unmarshal(c.Input, &in) // other input has none
	question := obj{"subtype": "can_use_tool", "tool_name": c.Name, "display_name": c.Name, "input": c.Input,
		"tool_use_id": c.ID, "description": in.Description}
	maps.Copy(question, more)
	if name, ok := strings.CutPrefix(c.Name, "mcp__"); ok {
		server, _, _ := strings.Cut(name, "__")
		question["mcp_server"] = obj{"name": server, "source": "sdk"}
	}
	if t.sub != nil {
		question["agent_id"] = t.sub.id
	}
	var a struct {
		Behavior     string          `json:"behavior"`
		UpdatedInput json.RawMessage `json:"updatedInput"`
		Message      string          `json:"message"`
	}
	err := s.ask(ctx, question, &a)
	s.ledger.note("permission", s.id, obj{"tool": c.Name, "behavior": a.Behavior})
	switch {
	case err != nil:
		return c, denied("Tool permission request failed: " + err.Error())
	case a.Behavior != "allow":
		return c, denied(a.Message)
	}
	if len(a.UpdatedInput) > 0 {
		c.Input = a.UpdatedInput
	}
	return c, nil
}

// modes are the permission modes. plan and auto are accepted, and do what default does.
var modes = []string{"acceptEdits", "auto", "bypassPermissions", "default", "dontAsk", "plan"}

// setMode changes the permission mode.
func (s *session) setMode(id, mode string) {
	if mode == "manual" {
		mode = "default"
	}
	const cannot = "Cannot set permission mode"
	switch p := s.settings.Permissions; {
	case !slices.Contains(modes, mode):
		s.refuse(id, cannot+": must be one of "+strings.Join(modes, ", "), "invalid_mode")
	case mode == "bypassPermissions" && p.DisableBypassPermissionsMode == "disable":
		s.refuse(id, cannot+" to bypassPermissions because it is disabled by settings or configuration", "bypass_disabled")
	case mode == "bypassPermissions" && !s.flags.bypasses():
		s.refuse(id, cannot+" to bypassPermissions because the session was not launched with "+
			"--dangerously-skip-permissions", "bypass_not_launched")
	case mode == "auto" && cmp.Or(guarded(s, &s.applied).Permissions.DisableAutoMode, p.DisableAutoMode) == "disable":
		s.refuse(id, cannot+" to auto: auto mode disabled by settings", "auto_mode_settings")
	default:
		s.respond(id, obj{"mode": mode})
		if guarded(s, &s.mode) != mode {
			set(s, &s.mode, mode)
			s.emit(obj{"type": "system", "subtype": "status", "status": nil, "permissionMode": mode})
		}
	}
}

// hookMatcher is one registration of `initialize`.
type hookMatcher struct {
	Matcher     string   `json:"matcher"` // see matches
	CallbackIDs []string `json:"hookCallbackIds"`
	OnFailure   string   `json:"onFailure"` // block: an error for an answer refuses the call
}

// hookAnswer is the answer of a host's hook.
type hookAnswer struct {
	Specific struct {
		Permission        string `json:"permissionDecision"`
		Reason            string `json:"permissionDecisionReason"`
		AdditionalContext string `json:"additionalContext"`

		UpdatedInput json.RawMessage `json:"updatedInput"`
	} `json:"hookSpecificOutput"`

	err error // why there is no answer
}

// matches knows two forms of matchers: names of tools with | between them, and ^(?!NAME$).* for all but one. The CLI
// takes any regular expression of JavaScript.
func (m hookMatcher) matches(tool string) bool {
	if but, ok := strings.CutPrefix(m.Matcher, "^(?!"); ok {
		return but != tool+"$).*"
	}
	return m.Matcher == "" || slices.Contains(strings.Split(m.Matcher, "|"), tool)
}

// hook calls the host's hooks for an event, one after the other, and keeps the texts that they add for the
// model. Matchers compare tool, which is "" for events without one.
func (t *thread) hook(ctx context.Context, event, tool string, extra obj) (answers []hookAnswer) {
	s := t.s
	in := obj{"session_id": s.id, "transcript_path": s.main.tr.path, "cwd": s.cwd, "hook_event_name": event,
		"permission_mode": guarded(s, &s.mode)}
	if t.sub != nil {
		in["agent_id"], in["agent_type"] = t.sub.id, t.sub.kind
	}
	maps.Copy(in, extra)
	source := strings.TrimSuffix(event+":"+tool, ":")
	for _, m := range guarded(s, &s.hooks)[event] {
		if tool != "" && !m.matches(tool) || ctx.Err() != nil {
			continue
		}
		for _, id := range m.CallbackIDs {
			var a hookAnswer
			a.err = s.ask(ctx, obj{"subtype": "hook_callback", "callback_id": id, "input": in,
				"tool_use_id": extra["tool_use_id"]}, &a)
			if _, isAnswer := errors.AsType[refusal](a.err); isAnswer && m.OnFailure != "block" {
				a.err = nil // an error for an answer decides nothing
			}
			answers = append(answers, a)
			if text := a.Specific.AdditionalContext; text != "" {
				s.mu.Lock()
				t.contexts = append(t.contexts, source+" hook additional context: "+text)
				s.mu.Unlock()
			}
		}
	}
	return answers
}

// addHookContexts adds the texts of hooks to the conversation.
func (t *thread) addHookContexts() {
	for _, text := range guarded(t.s, &t.contexts) {
		t.systemText("hook_additional_context", text, nil)
	}
	set(t.s, &t.contexts, nil)
}
