package standin

import (
	"bytes"
	"encoding/json"
	"errors"
	"path/filepath"
	"strings"
	"unicode"
)

// permit asks hooks, rules and the host whether a call may run. It returns the
// call, perhaps with another input, or the result of a call that may not.
func (r *toolRun) permit(tl *tool, c toolCall) (toolCall, *ruling, *toolResult) {
	t := r.t
	as := t.hook(r.ctx, "PreToolUse", c.Name, obj{"tool_name": c.Name, "tool_input": c.Input, "tool_use_id": c.ID})
	r.remember("PreToolUse", c.Name, as)
	for _, a := range as {
		if len(a.Specific.UpdatedInput) > 0 {
			c.Input = a.Specific.UpdatedInput
		}
	}
	rule := t.s.perms.decide(canonicalTool(c.Name), c.Input)
	for _, a := range as {
		reason := a.Specific.PermissionReason
		switch decision := a.Specific.Permission; {
		case a.gone:
			res := failed("The user doesn't want to take this action right now. STOP what you are doing and wait for the user to tell you how to proceed.")
			return c, nil, &res
		case a.timedOut:
			res := failed("PreToolUse hook did not respond before its timeout (host client may be unreachable). " +
				"The tool call was not executed; other configured hooks may not have completed.")
			return c, nil, &res
		case decision == "deny", a.Decision == "block":
			if reason == "" {
				reason = a.Reason
			}
			return r.deny(c, ruling{behavior: "deny", source: "hook", reasonType: "hook", message: "PreToolUse:" + c.Name + " hook error: " + reason})
		case decision == "allow" && rule.behavior == "ask":
			rule = ruling{behavior: "allow", source: "hook", reasonType: "hook"}
		case decision == "ask":
			rule = ruling{behavior: "ask", reason: reason, reasonType: "hook"}
		}
	}
	switch rule.behavior {
	case "allow":
		return c, &rule, nil
	case "deny":
		r.announceDenial(c, rule)
		return r.deny(c, rule)
	}
	if !t.s.promptsOnStdio {
		rule = ruling{behavior: "deny", source: "config", reasonType: "other",
			message: "Claude requested permissions to use " + c.Name + ", but you haven't granted it yet."}
		r.announceDenial(c, rule)
		return r.deny(c, rule)
	}
	return r.askHost(tl, c, rule)
}

func (r *toolRun) announceDenial(c toolCall, rule ruling) {
	r.t.emit(obj{"type": "system", "subtype": "permission_denied", "tool_name": c.Name, "tool_use_id": c.ID, "message": rule.message})
}

// deny makes the result of a refused call and lists it in the turn's result.
func (r *toolRun) deny(c toolCall, rule ruling) (toolCall, *ruling, *toolResult) {
	r.t.turn.denied(c)
	res := failed("%s", rule.message)
	res.kind, res.ruling = "permission-rule", &rule
	return c, nil, &res
}

// permissionAnswer is the host's answer to can_use_tool.
type permissionAnswer struct {
	Behavior     string          `json:"behavior"`
	UpdatedInput json.RawMessage `json:"updatedInput"`
	Message      string          `json:"message"`
	Interrupt    bool            `json:"interrupt"`
}

func (r *toolRun) askHost(tl *tool, c toolCall, rule ruling) (toolCall, *ruling, *toolResult) {
	s := r.t.s
	s.needAction(true)
	body, err := s.host.ask(r.ctx, r.question(tl, c, rule))
	s.needAction(false)
	var a permissionAnswer
	if err == nil {
		_ = json.Unmarshal(body, &a) // a wrong shape has no behavior, see below
	}
	s.diary.note("permission", s.id, obj{"tool": c.Name, "behavior": a.Behavior})
	var refused *refusal
	other := ruling{behavior: "deny", source: "config", reasonType: "other"}
	switch {
	case r.ctx.Err() != nil:
		res := r.rejected()
		return c, nil, &res
	case errors.Is(err, errStreamClosed):
		other.message = "Tool permission request failed: AbortError: Tool permission stream closed before response received"
		return r.deny(c, other)
	case errors.As(err, &refused):
		other.message = "Tool permission request failed: Error: " + refused.text
		return r.deny(c, other)
	case a.Behavior == "allow":
		if in := bytes.TrimSpace(a.UpdatedInput); len(in) > 0 && in[0] == '{' {
			c.Input = in
		}
		return c, &ruling{behavior: "allow", source: "user_temporary"}, nil
	case a.Behavior == "deny" && a.Interrupt:
		r.t.turn.denied(c)
		r.t.turn.cancel(errInterrupted)
		res := r.rejected()
		return c, nil, &res
	case a.Behavior == "deny":
		return r.deny(c, ruling{behavior: "deny", source: "user_reject", message: a.Message})
	}
	other.message = "The canUseTool callback returned an invalid permission result: " + string(body)
	return r.deny(c, other)
}

// question builds the can_use_tool request.
func (r *toolRun) question(tl *tool, c toolCall, rule ruling) obj {
	q := obj{
		"subtype": "can_use_tool", "tool_name": c.Name, "display_name": c.Name, "input": c.Input,
		"tool_use_id": c.ID, "permission_suggestions": suggestions(c),
	}
	if c.Name == "Write" || c.Name == "Edit" {
		q["input"] = r.t.s.withAbsolutePath(c.Input)
	}
	if d := r.t.s.describeCall(c); d != "" {
		q["description"] = d
	}
	if rule.reason != "" {
		q["decision_reason"] = rule.reason
	}
	if rule.reasonType != "" {
		q["decision_reason_type"] = rule.reasonType
	}
	if rule.reasonType == "hook" {
		q["decision_reason_hook_event"], q["decision_reason_hook_source"] = "PreToolUse", "settings"
	}
	if rule.blocked != "" {
		q["blocked_path"] = rule.blocked
	}
	if c.Name == askUser {
		q["requires_user_interaction"] = true
	}
	if tl.server != "" {
		q["mcp_server"] = obj{"name": tl.server, "source": "sdk"}
		q["display_name"] = displayName(c.Name)
		q["server_policy_ask_only"] = true
	}
	if r.t.sub != nil {
		q["agent_id"] = r.t.sub.id
	}
	return q
}

// withAbsolutePath: the host is asked about absolute paths, whatever the model said.
func (s *session) withAbsolutePath(input json.RawMessage) json.RawMessage {
	m := map[string]json.RawMessage{}
	var path string
	if json.Unmarshal(input, &m) != nil || json.Unmarshal(m["file_path"], &path) != nil {
		return input
	}
	m["file_path"] = encode(s.abs(path))
	return encode(m)
}

func suggestions(c toolCall) []obj {
	switch {
	case c.Name == "Write" || c.Name == "Edit" || c.Name == "NotebookEdit":
		return []obj{{"type": "setMode", "mode": "acceptEdits", "destination": "session"}}
	case c.Name == "Bash":
		return []obj{{"type": "addRules", "behavior": "allow", "destination": "localSettings",
			"rules": []obj{{"toolName": "Bash", "ruleContent": callSubject("Bash", c.Input)}}}}
	case strings.HasPrefix(c.Name, "mcp__"):
		return []obj{{"type": "addRules", "behavior": "allow", "destination": "localSettings", "rules": []obj{{"toolName": c.Name}}}}
	}
	return []obj{}
}

// describeCall is the one line that says what a call is about.
func (s *session) describeCall(c toolCall) string {
	var in struct {
		Description string `json:"description"`
		FilePath    string `json:"file_path"`
	}
	_ = json.Unmarshal(c.Input, &in) // another shape has neither
	if in.Description != "" {
		return in.Description
	}
	if rel, err := filepath.Rel(s.cwd, in.FilePath); err == nil && filepath.IsLocal(rel) {
		return rel
	}
	return in.FilePath
}

// displayName makes `mcp__lab__spawn_it` into `Spawn it`.
func displayName(name string) string {
	parts := strings.SplitN(name, "__", 3)
	s := []rune(strings.ReplaceAll(parts[len(parts)-1], "_", " "))
	if len(s) > 0 {
		s[0] = unicode.ToUpper(s[0])
	}
	return string(s)
}

// hookContext adds what hooks said to the conversation, after the results.
func (t *thread) hookContext(texts []string) {
	for _, text := range texts {
		t.systemText("hook_additional_context", text, obj{})
	}
}

// systemText puts a text of role system into the conversation and, as an
// attachment, into the transcript, from where a resume reads it back.
func (t *thread) systemText(kind, text string, extra obj) {
	t.hist.addText("system", text)
	a := obj{"type": kind}
	for k, v := range extra {
		a[k] = v
	}
	t.tr.link(obj{"type": "attachment", "attachment": a, "rendered": []obj{{"content": text}}, "renderedRole": "system"})
}
