package fakecli

import (
	"cmp"
	"context"
	"encoding/json"
	"maps"
	"regexp"
	"slices"
	"strings"
	"sync"
)

var ruleForm = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`[^\s,(]+(\([^)]*\))?`) })

// parseRules splits lists of rules at commas and spaces. It skips rules with a pattern, such as `Bash(git
// *)`: only the CLI supports them.
func parseRules(values []string) []string {
	rules := ruleForm().FindAllString(strings.Join(values, ","), -1)
	return slices.DeleteFunc(rules, func(r string) bool { return strings.Contains(r, "(") })
}

// covers reports whether rules apply to a tool: by its name, or by its MCP server's.
func covers(rules []string, tool string) bool {
	return slices.ContainsFunc(rules, func(r string) bool {
		return r == tool || strings.HasPrefix(r, "mcp__") && strings.HasPrefix(tool, r+"__")
	})
}

// unasked are the tools that need no permission.
var unasked = []string{"Agent", "Grep", "Read", verdictTool}

// harmless matches a command that only reads: the CLI runs it without asking.
var harmless = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile("^(echo|printf|cat|ls|pwd|true|false|sleep|grep|head|tail|wc|test|date|git status)" +
		"( [^\n;&|<>$`(){}]*)?$")
})

// allows reports whether the rules let a call run without a question.
func (s *session) allows(tool string, input json.RawMessage) bool {
	var in struct{ Command string }
	_ = json.Unmarshal(input, &in) // another shape has no command
	return tool != askUser && (covers(s.allow, tool) || slices.Contains(unasked, tool) ||
		tool == "Bash" && harmless().MatchString(in.Command))
}

// permit asks hooks, rules and the host whether a call may run. It returns the call, perhaps with another
// input, or the result of a refused call. If a hook gives no answer, the tool does not run.
func (t *thread) permit(ctx context.Context, c toolCall) (_ toolCall, refused *toolResult) {
	allowed, reason := t.s.allows(c.Name, c.Input), ""
	for _, a := range t.hook(ctx, "PreToolUse", c.Name,
		obj{"tool_name": c.Name, "tool_input": c.Input, "tool_use_id": c.ID}) {
		switch {
		case a.err != nil:
			return c, failed("PreToolUse hook did not answer. The tool call was not executed.")
		case a.Specific.Permission == "deny":
			return c, denied("PreToolUse:" + c.Name + " hook error: " + a.Specific.Reason)
		case a.Specific.Permission != "":
			allowed, reason = a.Specific.Permission == "allow", a.Specific.Reason
		}
	}
	switch {
	case allowed:
		return c, nil
	case t.s.flags.get("--permission-prompt-tool") != "stdio":
		return c, denied("Claude requested permissions to use " + c.Name + ", but you haven't granted it yet.")
	}
	if c.Name == "Bash" {
		reason = cmp.Or(reason, "This command requires approval") // text of the real CLI (observed with CLI 2.1.329)
	}
	return t.askHost(ctx, c, reason)
}

func (t *thread) askHost(ctx context.Context, c toolCall, reason string) (toolCall, *toolResult) {
	s := t.s
	var in struct{ Description string }
	_ = json.Unmarshal(c.Input, &in) // other input has none
	question := obj{"subtype": "can_use_tool", "tool_name": c.Name, "input": c.Input, "tool_use_id": c.ID,
		"description": in.Description, "decision_reason": reason, "requires_user_interaction": c.Name == askUser}
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

// hookMatcher is one registration of `initialize`.
type hookMatcher struct {
	Matcher     string   `json:"matcher"` // names of tools, separated by |
	CallbackIDs []string `json:"hookCallbackIds"`
}

// hookAnswer is the answer of a host's hook.
type hookAnswer struct {
	Specific struct {
		Permission        string `json:"permissionDecision"`
		Reason            string `json:"permissionDecisionReason"`
		AdditionalContext string `json:"additionalContext"`
	} `json:"hookSpecificOutput"`

	err error // why there is no answer
}

// hook calls the host's hooks for an event, one after the other, and keeps the texts that they add for the
// model. Matchers compare tool, which is "" for events without one.
func (t *thread) hook(ctx context.Context, event, tool string, extra obj) (answers []hookAnswer) {
	s := t.s
	in := obj{"session_id": s.id, "transcript_path": s.main.tr.path, "cwd": s.cwd, "hook_event_name": event,
		"permission_mode": s.mode}
	if t.sub != nil {
		in["agent_id"], in["agent_type"] = t.sub.id, t.sub.kind
	}
	maps.Copy(in, extra)
	source := strings.TrimSuffix(event+":"+tool, ":")
	for _, m := range guarded(s, &s.hooks)[event] {
		if tool != "" && m.Matcher != "" && !slices.Contains(strings.Split(m.Matcher, "|"), tool) || ctx.Err() != nil {
			continue
		}
		for _, id := range m.CallbackIDs {
			var a hookAnswer
			a.err = s.ask(ctx, obj{"subtype": "hook_callback", "callback_id": id, "input": in,
				"tool_use_id": extra["tool_use_id"]}, &a)
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
