package fakecli

import (
	"context"
	"encoding/json"
	"errors"
	"regexp"
	"slices"
	"strings"
)

// rule is a permission rule such as `Bash(git status *)`, `Edit` or `mcp__server`.
type rule struct{ tool, pattern string }

func parseRules(values []string) []rule {
	var rules []rule
	for _, text := range splitRules(values) {
		tool, pattern, _ := strings.Cut(strings.TrimSuffix(text, ")"), "(")
		if pattern == "*" {
			pattern = ""
		}
		rules = append(rules, rule{strings.Replace(tool, "Task", "Agent", 1), pattern})
	}
	return rules
}

// splitRules splits lists of rules at commas and spaces outside of parentheses.
func splitRules(values []string) []string {
	var out []string
	for _, v := range values {
		depth := 0
		out = append(out, strings.FieldsFunc(v, func(c rune) bool {
			switch c {
			case '(':
				depth++
			case ')':
				depth--
			}
			return depth == 0 && (c == ',' || c == ' ')
		})...)
	}
	return out
}

// askRules are the rules of `permissions.ask` in --settings.
func askRules(settings string) []rule {
	var s struct {
		Permissions struct{ Ask []string }
	}
	_ = json.Unmarshal([]byte(settings), &s) // a file name has none
	return parseRules(s.Permissions.Ask)
}

// names reports whether the rule is about a tool, whatever its pattern.
func (r rule) names(tool string) bool {
	server := strings.TrimSuffix(r.tool, "__*")
	return r.tool == tool || strings.HasPrefix(server, "mcp__") && strings.HasPrefix(tool, server+"__")
}

// removed reports whether deny rules take a tool away altogether.
func removed(deny []rule, tool string) bool {
	return slices.ContainsFunc(deny, func(r rule) bool { return r.pattern == "" && r.names(tool) })
}

// matches also compares what the tool is to work on: a command or a path.
func matches(rules []rule, tool, subject string) bool {
	return slices.ContainsFunc(rules, func(r rule) bool {
		pattern := strings.ReplaceAll(regexp.QuoteMeta(strings.ReplaceAll(r.pattern, ":*", " *")), `\*`, ".*")
		if stem, ok := strings.CutSuffix(pattern, " .*"); ok {
			pattern = stem + "( .*)?"
		}
		if !r.names(tool) || r.pattern == "" {
			return r.names(tool)
		}
		found, err := regexp.MatchString("^(?s:"+pattern+")$", subject)
		return err == nil && found
	})
}

// shellSyntax is what makes a command line more than one simple command.
const shellSyntax = "\n;&|<>$`(){}"

// harmless matches lines of commands that only look: the CLI runs them unasked.
var harmless = regexp.MustCompile("^(\\s*" +
	"(echo|printf|cat|ls|pwd|true|false|sleep|grep|head|tail|wc|test|date|git status)\\b" +
	"[^\n;&|<>$`(){}]*(;|&&|\\|\\|?|$))+\\s*$")

// changesFiles matches commands that the CLI asks about without a reason.
var changesFiles = regexp.MustCompile(`^(mkdir|touch|rm|rmdir|mv|cp)\b[^\n;&|<>$]*$`)

// ruling is what the rules, the mode or a hook say about a call.
type ruling struct {
	behavior string // allow, deny or ask
	reason   string // of a denial, or of the question
}

// decide judges one call by the rules and the mode.
func (s *session) decide(tool string, input json.RawMessage) ruling {
	mode, subject := s.currentMode(), subjectOf(input)
	compound := tool == "Bash" && strings.ContainsAny(subject, shellSyntax)
	allow := slices.DeleteFunc(slices.Clone(s.allow), func(r rule) bool { return compound && r.pattern != "" })
	switch {
	case matches(s.deny, tool, subject):
		return ruling{"deny", "Permission to use " + tool + " with " + subject + " has been denied."}
	case tool == askUser: // in every mode: somebody has to answer
		return ruling{behavior: "ask"}
	case matches(s.asks, tool, subject) && mode != "dontAsk":
		return ruling{behavior: "ask"}
	case matches(allow, tool, subject), slices.Contains([]string{"Agent", "Glob", "Grep", "Read", verdictTool}, tool),
		mode == "acceptEdits" && (tool == "Write" || tool == "Edit"),
		tool == "Bash" && harmless.MatchString(subject):
		return ruling{behavior: "allow"}
	case mode == "dontAsk":
		return ruling{"deny", "Permission to use " + tool + " has been denied: nobody is asked in this mode."}
	case tool == "Bash" && !changesFiles.MatchString(subject):
		return ruling{"ask", "This command requires approval"}
	}
	return ruling{behavior: "ask"}
}

// subjectOf is what rules with a pattern look at.
func subjectOf(input json.RawMessage) string {
	var in struct {
		Command  string `json:"command"`
		FilePath string `json:"file_path"`
	}
	_ = json.Unmarshal(input, &in) // another shape has no subject
	return strings.TrimSpace(in.Command + in.FilePath)
}

// permit asks hooks, rules and the host whether a call may run. It returns the call, perhaps
// with another input, or the result of one that may not run.
func (t *thread) permit(ctx context.Context, c toolCall) (_ toolCall, refused *toolResult) {
	answers := t.hook(ctx, "PreToolUse", c.Name, obj{"tool_name": c.Name, "tool_input": c.Input, "tool_use_id": c.ID})
	t.remember("PreToolUse:"+c.Name, answers.contexts())
	for _, a := range answers {
		if len(a.Specific.UpdatedInput) > 0 {
			c.Input = a.Specific.UpdatedInput
		}
	}
	r := t.s.decide(c.Name, c.Input)
	for _, a := range answers {
		switch decision := a.Specific.Permission; {
		case a.err == errStreamClosed:
			return c, failed("The user doesn't want to take this action right now. Stop, and wait for the user.")
		case a.err != nil:
			return c, failed("PreToolUse hook did not respond before its timeout (is it gone?). The tool call was not executed.")
		case decision == "deny", a.Decision == "block":
			return c, t.deny(c, "PreToolUse:"+c.Name+" hook error: "+a.Specific.PermissionReason+a.Reason)
		case decision == "allow" && r.behavior == "ask":
			r = ruling{behavior: "allow"}
		case decision == "ask":
			r = ruling{"ask", a.Specific.PermissionReason}
		}
	}
	if r.behavior == "ask" && t.s.flags.get("--permission-prompt-tool") != "stdio" {
		r = ruling{"deny", "Claude requested permissions to use " + c.Name + ", but you haven't granted it yet."}
	}
	switch r.behavior {
	case "allow":
		return c, nil
	case "deny":
		t.emit(obj{"type": "system", "subtype": "permission_denied", "tool_name": c.Name, "tool_use_id": c.ID,
			"message": r.reason})
		return c, t.deny(c, r.reason)
	}
	return t.askHost(ctx, c, r)
}

// deny makes the result of a refused call and lists it in the turn's result.
func (t *thread) deny(c toolCall, reason string) *toolResult {
	t.turn.denied(c)
	res := failed("%s", reason)
	res.denied = true
	return res
}

const requestFailed = "Tool permission request failed: "

func (t *thread) askHost(ctx context.Context, c toolCall, r ruling) (toolCall, *toolResult) {
	s := t.s
	s.countQuestion(1)
	body, err := s.host.ask(ctx, t.question(c, r))
	s.countQuestion(-1)
	var a struct {
		Behavior     string          `json:"behavior"`
		UpdatedInput json.RawMessage `json:"updatedInput"`
		Message      string          `json:"message"`
		Interrupt    bool            `json:"interrupt"`
	}
	_ = json.Unmarshal(body, &a) // no answer and one of another shape have no behavior
	s.ledger.note("permission", s.id, obj{"tool": c.Name, "behavior": a.Behavior})
	var refused *refusal
	switch {
	case ctx.Err() != nil:
		return c, rejected()
	case errors.Is(err, errStreamClosed):
		return c, t.deny(c, requestFailed+"AbortError: Tool permission stream closed before response received")
	case errors.As(err, &refused):
		return c, t.deny(c, requestFailed+"Error: "+refused.text)
	case a.Behavior == "allow":
		if len(a.UpdatedInput) > 0 {
			c.Input = a.UpdatedInput
		}
		return c, nil
	case a.Behavior == "deny" && a.Interrupt:
		t.turn.denied(c)
		t.turn.cancel(errInterrupted)
		return c, rejected()
	case a.Behavior == "deny":
		return c, t.deny(c, a.Message)
	}
	return c, t.deny(c, "The canUseTool callback returned an invalid permission result: "+string(body))
}

// question builds the can_use_tool request.
func (t *thread) question(c toolCall, r ruling) obj {
	q := obj{"subtype": "can_use_tool", "tool_name": c.Name, "input": c.Input, "tool_use_id": c.ID,
		"description": describe(c)}
	if r.reason != "" {
		q["decision_reason"] = r.reason
	}
	if c.Name == askUser {
		q["requires_user_interaction"] = true
	}
	if t.sub != nil {
		q["agent_id"] = t.sub.id
	}
	return q
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
