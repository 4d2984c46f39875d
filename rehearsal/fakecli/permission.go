package fakecli

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"maps"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"
)

// parseRules gives the tools that lists of rules are about as a whole: those with a pattern, such
// as `Bash(git *)`, are left out, for they are the CLI's to understand.
func parseRules(values []string) []string {
	return slices.DeleteFunc(splitRules(values), func(r string) bool { return strings.Contains(r, "(") })
}

var ruleForm = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`[^\s,(]+(\([^)]*\))?`)
})

// splitRules splits lists of rules at commas and spaces outside of parentheses.
func splitRules(values []string) []string {
	return ruleForm().FindAllString(strings.Join(values, ","), -1)
}

// covers reports whether rules are about a tool: by its name, or by its MCP server's.
func covers(rules []string, tool string) bool {
	return slices.ContainsFunc(rules, func(r string) bool {
		server := strings.TrimSuffix(r, "__*")
		return r == tool || r == "Task" && tool == "Agent" ||
			strings.HasPrefix(server, "mcp__") && strings.HasPrefix(tool, server+"__")
	})
}

// unasked are the tools that need no permission.
var unasked = []string{"Agent", "Grep", "Read", verdictTool}

// harmless matches a command that only looks: the CLI runs it unasked.
var harmless = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile("^(echo|printf|cat|ls|pwd|true|false|sleep|grep|head|tail|wc|test|date|git status)" +
		"( [^\n;&|<>$`(){}]*)?$")
})

// resolveMode gives the name under which a permission mode is known to the session.
func resolveMode(mode string) string {
	if mode == "" || mode == "manual" {
		return "default"
	}
	return mode
}

// ruling is what the rules or a hook say about a call.
type ruling struct {
	behavior string // allow or ask
	reason   string // of the question
}

// decide judges one call by the rules.
func (s *session) decide(tool string, input json.RawMessage) ruling {
	var in struct{ Command string }
	_ = json.Unmarshal(input, &in) // another shape has no command
	switch {
	case tool == askUser: // somebody has to answer
		return ruling{behavior: "ask"}
	case covers(s.allow, tool), slices.Contains(unasked, tool), tool == "Bash" && harmless().MatchString(in.Command):
		return ruling{behavior: "allow"}
	case tool == "Bash":
		return ruling{"ask", "This command requires approval"}
	}
	return ruling{behavior: "ask"}
}

// permit asks hooks, rules and the host whether a call may run. It returns the call, perhaps
// with another input, or the result of one that may not run. Only a hook that answers lets a
// tool run.
func (t *thread) permit(ctx context.Context, c toolCall) (_ toolCall, refused *toolResult) {
	answers := t.hook(ctx, "PreToolUse", c.Name, obj{"tool_name": c.Name, "tool_input": c.Input, "tool_use_id": c.ID})
	t.remember("PreToolUse:"+c.Name, answers.contexts())
	r := t.s.decide(c.Name, c.Input)
	for _, a := range answers {
		switch decision := a.Specific.Permission; {
		case a.err != nil:
			return c, failed("PreToolUse hook did not answer. The tool call was not executed.")
		case decision == "deny":
			return c, denied("PreToolUse:" + c.Name + " hook error: " + a.Specific.PermissionReason)
		case decision == "allow" && r.behavior == "ask":
			r = ruling{behavior: "allow"}
		case decision == "ask":
			r = ruling{"ask", a.Specific.PermissionReason}
		}
	}
	switch {
	case r.behavior == "allow":
		return c, nil
	case t.s.flags.get("--permission-prompt-tool") != "stdio":
		return c, denied("Claude requested permissions to use " + c.Name + ", but you haven't granted it yet.")
	}
	return t.askHost(ctx, c, r)
}

func (t *thread) askHost(ctx context.Context, c toolCall, r ruling) (toolCall, *toolResult) {
	s := t.s
	question := obj{"subtype": "can_use_tool", "tool_name": c.Name, "input": c.Input, "tool_use_id": c.ID,
		"description": describe(c), "decision_reason": r.reason, "requires_user_interaction": c.Name == askUser}
	if t.sub != nil {
		question["agent_id"] = t.sub.id
	}
	body, err := s.host.ask(ctx, question)
	var a struct {
		Behavior     string          `json:"behavior"`
		UpdatedInput json.RawMessage `json:"updatedInput"`
		Message      string          `json:"message"`
	}
	if err == nil {
		err = json.Unmarshal(body, &a)
	}
	s.ledger.note("permission", s.id, obj{"tool": c.Name, "behavior": a.Behavior})
	switch {
	case errors.Is(err, errStreamClosed):
		return c, denied("Tool permission request failed: Tool permission stream closed before response received")
	case ctx.Err() == nil && err != nil:
		return c, denied("Tool permission request failed: Error: " + err.Error())
	case a.Behavior != "allow":
		return c, denied(a.Message)
	}
	if len(a.UpdatedInput) > 0 {
		c.Input = a.UpdatedInput
	}
	return c, nil
}

// describe is the one line that says what a call is about.
func describe(c toolCall) string {
	var in struct {
		Description string `json:"description"`
		FilePath    string `json:"file_path"`
	}
	_ = json.Unmarshal(c.Input, &in) // another shape has neither
	return in.Description + in.FilePath
}

// hookMatcher is one registration of `initialize`.
type hookMatcher struct {
	Matcher     string   `json:"matcher"` // names of tools, separated by |
	CallbackIDs []string `json:"hookCallbackIds"`
	Timeout     float64  `json:"timeout"` // seconds
}

// fits reports whether the registration is for a tool; "" stands for events without one.
func (m hookMatcher) fits(tool string) bool {
	return tool == "" || m.Matcher == "" || m.Matcher == "*" || slices.Contains(strings.Split(m.Matcher, "|"), tool)
}

// hookAnswer is what a host's hook may say.
type hookAnswer struct {
	Specific struct {
		Permission        string `json:"permissionDecision"`
		PermissionReason  string `json:"permissionDecisionReason"`
		AdditionalContext string `json:"additionalContext"`
	} `json:"hookSpecificOutput"`

	err error // why there is no answer
}

// hookAnswers are the answers to one event, in order of registration.
type hookAnswers []hookAnswer

// contexts are the additionalContext texts.
func (as hookAnswers) contexts() (out []string) {
	for _, a := range as {
		if a.Specific.AdditionalContext != "" {
			out = append(out, a.Specific.AdditionalContext)
		}
	}
	return out
}

// hook calls the host's hooks for an event, one after the other. tool is what matchers look
// at, "" for events without one.
func (t *thread) hook(ctx context.Context, event, tool string, extra obj) hookAnswers {
	var out hookAnswers
	for _, m := range guarded(t.s, &t.s.hooks)[event] {
		for _, id := range m.CallbackIDs {
			if m.fits(tool) && ctx.Err() == nil {
				out = append(out, t.callHook(ctx, m, id, event, extra))
			}
		}
	}
	return out
}

func (t *thread) callHook(ctx context.Context, m hookMatcher, id, event string, extra obj) (a hookAnswer) {
	s := t.s
	ctx, cancel := context.WithTimeout(ctx, time.Duration(cmp.Or(m.Timeout, 600)*float64(time.Second)))
	defer cancel()
	in := obj{"session_id": s.id, "transcript_path": s.main.tr.path, "cwd": s.cwd, "hook_event_name": event,
		"permission_mode": s.mode}
	if t.sub != nil {
		in["agent_id"], in["agent_type"] = t.sub.id, t.sub.kind
	}
	maps.Copy(in, extra)
	body, err := s.host.ask(ctx, obj{"subtype": "hook_callback", "callback_id": id, "input": in,
		"tool_use_id": extra["tool_use_id"]})
	if err == nil && len(body) > 0 {
		err = json.Unmarshal(body, &a)
	}
	a.err = err
	return a
}

// remember keeps what hooks add for the model until the results of the calls are in.
func (t *thread) remember(event string, texts []string) {
	t.s.mu.Lock()
	defer t.s.mu.Unlock()
	for _, text := range texts {
		t.contexts = append(t.contexts, event+" hook additional context: "+text)
	}
}

// tellContexts adds what hooks said to the conversation.
func (t *thread) tellContexts() {
	t.s.mu.Lock()
	texts := t.contexts
	t.contexts = nil
	t.s.mu.Unlock()
	for _, text := range texts {
		t.systemText("hook_additional_context", text, nil)
	}
}
