package claude

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/arbiter-cli/arbiter/bridge"
)

// skillHooks is the first CLI that calls the PreSkillShellCommand hook: older ones run the command lines of
// skills without asking any hook.
var skillHooks = version{2, 1, 332}

// applyRules puts the session's rules in force, and returns the allow rules that the CLI has not taken. The CLI
// drops a rule that it cannot read without a word, and each apply replaces all of the one before; nothing
// of it outlives the process (observed with CLI 2.1.332). So the list is always the full one, and it is compared with
// the rules that the CLI then lists. A deny or ask rule that is missing is an error.
func (a *agent) applyRules(ctx context.Context, rules bridge.PermissionRules) (notTaken []string, err error) {
	settings := map[string]any{"permissions": rules}
	if a.noSkillCommands(rules) {
		settings["disableSkillShellExecution"] = true
	}
	if _, err := a.calls.do(ctx, controlTimeout, "apply_flag_settings", map[string]any{"settings": settings}); err != nil {
		return nil, fmt.Errorf("give the CLI its permission rules: %w", err)
	}
	raw, err := a.calls.do(ctx, controlTimeout, "list_permission_rules", nil)
	if err != nil {
		return nil, fmt.Errorf("ask the CLI which permission rules are in force: %w", err)
	}
	var list struct {
		State struct {
			Rules []struct{ Behavior, Rule string }
		}
	}
	if err := json.Unmarshal(raw, &list); err != nil {
		return nil, fmt.Errorf("read which permission rules are in force: %w", err)
	}
	missing := func(behavior string, rules []string) []string {
		return slices.DeleteFunc(slices.Clone(rules), func(rule string) bool {
			return slices.ContainsFunc(list.State.Rules, func(r struct{ Behavior, Rule string }) bool {
				return r.Behavior == behavior && normalRule(r.Rule) == normalRule(rule)
			})
		})
	}
	for behavior, rules := range map[string][]string{bridge.Deny: rules.Deny, bridge.Ask: rules.Ask} {
		if left := missing(behavior, rules); len(left) > 0 {
			return nil, claudeError(bridge.CatStart,
				"this Claude CLI has not taken the %s rule %s: correct the rule, or leave it out", behavior, left[0])
		}
	}
	return missing(bridge.Allow, rules.Allow), nil
}

// noSkillCommands reports whether the command lines of skills must not run: the rules, or a mode, say more than
// the CLI's own reading of them, and this CLI shows such lines to no hook.
func (a *agent) noSkillCommands(rules bridge.PermissionRules) bool {
	return numbers(strings.Split(a.program.Version, ".")).before(skillHooks) &&
		(a.Config.NoSkillCommands || len(rules.Deny)+len(rules.Ask) > 0)
}

// normalRule is a rule in the form in which the CLI lists it: Task is Agent, a pattern of * is none, and
// parentheses and backslashes of a pattern have a backslash before them.
func normalRule(rule string) string {
	name, spec, has := strings.Cut(strings.TrimSuffix(rule, ")"), "(")
	if name == "Task" {
		name = "Agent"
	}
	if !has || spec == "*" {
		return name
	}
	return name + "(" + strings.ReplaceAll(spec, `\`, "")
}

// suggestions are the allow rules that the CLI offers with a request. Offers to change the mode are left out:
// a mode allows more than a person who looks at one request can see. So are directories for commands: alone they
// change nothing, and offers whose text would be other rules: a model chooses what a command or a path contains.
func suggestions(r *fieldReader, tool string) (list []string) {
	if r.str("decision_reason_type") == bridge.SafetyCheck {
		return nil // the CLI offers what has no effect on such requests (observed with CLI 2.1.332)
	}
	var offers []struct {
		Type        string   `json:"type"`
		Behavior    string   `json:"behavior"`
		Directories []string `json:"directories"`
		Rules       []struct {
			Tool    string `json:"toolName"`
			Content string `json:"ruleContent"`
		} `json:"rules"`
	}
	r.into("permission_suggestions", &offers)
	for _, o := range offers {
		var rules []string
		plain := true
		switch {
		case o.Type == "addRules" && o.Behavior == bridge.Allow:
			for _, rule := range o.Rules {
				text := rule.Tool
				if rule.Content != "" {
					text += "(" + rule.Content + ")"
				}
				plain = plain && bridge.Balanced(rule.Content)
				rules = append(rules, text)
			}
		case o.Type == "addDirectories" && bridge.IsEditor(tool):
			for _, dir := range o.Directories {
				plain = plain && bridge.Balanced(dir) && !strings.ContainsAny(dir, bridge.Globs)
				rules = append(rules, "Edit(/"+strings.TrimSuffix(dir, "/")+"/**)")
			}
		}
		if plain && len(rules) > 0 && !slices.Contains(list, strings.Join(rules, ", ")) {
			list = append(list, strings.Join(rules, ", "))
		}
	}
	return list
}
