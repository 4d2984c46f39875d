package fakecli

import (
	"context"
	"encoding/json"
	"maps"
	"net/url"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"

	"mvdan.cc/sh/v3/syntax"
)

// rule is a permission rule, such as `Bash(go test *)`, as list_permission_rules shows it.
type rule struct {
	Behavior string `json:"behavior"` // allow, ask or deny
	Text     string `json:"rule"`

	tool, content string
}

// settings are the parts of `--settings`, and of apply_flag_settings, that are about permissions.
type settings struct {
	Permissions struct{ Allow, Ask, Deny []string } `json:"permissions"`
}

func (p settings) rules() []rule {
	return slices.Concat(parseRules("allow", p.Permissions.Allow), parseRules("ask", p.Permissions.Ask),
		parseRules("deny", p.Permissions.Deny))
}

// splitRules splits the values of an option at commas and spaces outside of parentheses.
func splitRules(values []string) []string {
	return regexp.MustCompile(`[^\s,(]+(\([^)]*\))?`).FindAllString(strings.Join(values, ","), -1)
}

// parseRules reads rules. Like the CLI, it drops malformed ones without a word.
func parseRules(behavior string, texts []string) (rules []rule) {
	form := regexp.MustCompile(`(?s)^([A-Z*]\w*|mcp__[^(]+)(?:\((.+)\))?$`)
	brackets := strings.NewReplacer(`\(`, "(", `\)`, ")")
	for _, text := range texts {
		m := form.FindStringSubmatch(text)
		if m == nil || behavior == "allow" && text == "*" {
			continue
		}
		r := rule{Behavior: behavior, Text: text, tool: m[1], content: brackets.Replace(m[2])}
		if r.tool == "Task" {
			r.tool = "Agent"
		}
		if r.content == "*" && r.tool != "Edit" && r.tool != "Read" {
			r.content = ""
		}
		rules = append(rules, r)
	}
	return rules
}

// rules returns all rules: never nil, which JSON shows as null.
func (s *session) rules() []rule {
	return slices.Concat([]rule{}, s.fixed, guarded(s, &s.applied).rules())
}

// applySettings replaces what the previous apply_flag_settings gave.
func (s *session) applySettings(id string, raw json.RawMessage) {
	var p settings
	if len(raw) == 0 || json.Unmarshal(raw, &p) != nil {
		s.refuse(id, "apply_flag_settings: nothing in this request was applied and earlier settings stay in force. "+
			"Fix or remove these invalid settings and send it again: permissions", "")
		return
	}
	set(s, &s.applied, p)
	s.respond(id, nil)
}

// claim is one thing that a call does: rules are about these.
type claim struct {
	tool   string   // that does it: its rules without parentheses hold
	kind   string   // its rules with parentheses hold: Bash, Edit, Read, …; "" if it cannot be seen what is done
	path   string   // of a file
	values []string // of anything else: ways to write it, of which a rule needs to match one
	by     []string // of a file: the command whose operand it is
	of     string   // of a file: the command that works on it
}

// covers reports whether a rule holds for all that a tool does.
func (r rule) covers(tool string) bool {
	prefix, wild := strings.CutSuffix(r.tool, "*")
	return r.content == "" && (r.tool == tool || wild && strings.HasPrefix(tool, prefix) ||
		strings.HasPrefix(r.tool, "mcp__") && strings.HasPrefix(tool, r.tool+"__"))
}

func (s *session) matches(r rule, c claim) bool {
	switch {
	case r.covers(c.tool):
		return true
	case r.content == "" || r.tool != c.kind:
		return false
	case c.path != "":
		return s.coversPath(r.content, c.path)
	}
	pattern := regexp.QuoteMeta(r.content)
	for _, end := range []string{`:\*`, ` \*`} {
		if prefix, ok := strings.CutSuffix(pattern, end); ok {
			pattern = prefix + `( \*)?`
			break
		}
	}
	re := regexp.MustCompile("(?s)^" + strings.ReplaceAll(pattern, `\*`, ".*") + "$")
	return slices.ContainsFunc(c.values, re.MatchString)
}

// find returns the first rule of a kind that holds for one of the claims.
func (s *session) find(behavior string, claims ...claim) *rule {
	for _, r := range s.rules() {
		if r.Behavior == behavior && slices.ContainsFunc(claims, func(c claim) bool { return s.matches(r, c) }) {
			return &r
		}
	}
	return nil
}

// coversPath reports whether the pattern of a rule matches a path, as in a .gitignore file.
func (s *session) coversPath(pattern, path string) bool {
	root, rest := s.cwd+"/", strings.TrimPrefix(pattern, "./")
	switch {
	case strings.HasPrefix(pattern, "//"):
		root, rest = "/", pattern[2:]
	case strings.HasPrefix(pattern, "/"):
		return false // relative to the file of the settings, and there is none
	case !strings.Contains(rest, "/"):
		rest = "**/" + rest
	}
	re := strings.NewReplacer(`\*\*/`, "(.*/)?", `\*\*`, ".*", `\*`, "[^/]*", `\?`, "[^/]").
		Replace(regexp.QuoteMeta(root + rest))
	return regexp.MustCompile("^" + re + "(/.*)?$").MatchString(path)
}

// absolute returns the path that a call means.
func (s *session) absolute(path string) string {
	if !filepath.IsAbs(path) {
		path = filepath.Join(s.cwd, path)
	}
	return filepath.Clean(path)
}

// inside reports whether a path is in the working directory.
func (s *session) inside(path string) bool {
	rel, err := filepath.Rel(s.cwd, path)
	return err == nil && filepath.IsLocal(rel)
}

// sensitiveForm matches files whose change the CLI asks about whatever the rules say: some of those of its list.
var sensitiveForm = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?i)(^|/)((\.git|\.claude|\.vscode)(/|$)|` +
		`(\.gitconfig|\.npmrc|\.bashrc|\.profile|\.envrc|\.mcp\.json)$)`)
})

func (s *session) sensitive(c claim) bool {
	path := c.path
	if s.inside(path) {
		path = strings.TrimPrefix(path, s.cwd) // the working directory itself may be below such a directory
	}
	return c.kind == "Edit" && sensitiveForm().MatchString(path)
}

// permits reports whether something needs no question. Who may change a file may read it.
func (s *session) permits(c claim) bool {
	accepts := guarded(s, &s.mode) == "acceptEdits"
	switch {
	case s.sensitive(c):
		return false
	case s.find("allow", c) != nil:
		return true
	case c.kind == "Edit":
		clear := c.path != s.cwd && !strings.ContainsAny(c.path, "*?[") && s.inside(c.path)
		return clear && (accepts || c.by != nil && s.find("allow", claim{kind: "Bash", values: c.by}) != nil)
	case c.kind == "Read":
		return s.inside(c.path) || s.find("allow", claim{kind: "Edit", path: c.path}) != nil
	}
	return c.kind == "Bash" && (starts(c.values[0], harmless) || accepts && starts(c.values[0], writers))
}

// judgement is what the rules, and the mode, make of a call.
type judgement struct {
	behavior string // allow, ask or deny
	fixed    bool   // a question that no hook changes
	early    bool   // a refusal that comes before the hooks are called
	text     string // of a refusal
	more     obj    // what a question says besides the call
}

// judge says what the rules and the mode make of a call.
func (s *session) judge(c toolCall) judgement {
	claims := s.claims(c)
	if r := s.find("deny", claims...); r != nil {
		return denial(c, *r)
	}
	if r := s.find("ask", claims...); r != nil {
		return judgement{behavior: "ask", fixed: true, more: obj{"decision_reason_type": "rule"}}
	}
	unmet := slices.DeleteFunc(claims, s.permits)
	if len(unmet) == 0 || guarded(s, &s.mode) == "bypassPermissions" || c.Name == "Agent" || c.Name == verdictTool {
		return judgement{behavior: "allow"}
	}
	first := unmet[max(0, slices.IndexFunc(unmet, s.sensitive))]
	j := judgement{behavior: "ask", fixed: s.sensitive(first), more: obj{"permission_suggestions": s.suggestions(unmet)}}
	reason, why := "", ""
	switch {
	case j.fixed:
		reason, why = "safetyCheck", "Claude requested permissions to edit "+first.path+" which is a sensitive file."
	case first.kind == "":
		reason, why = "other", "A part of this command can't be checked before it runs"
	case first.path != "" && !s.inside(first.path):
		reason, why = "workingDir", "Path is outside allowed working directories"
	case c.Name == "Bash" && first.path == "":
		reason, why = "other", "This command requires approval"
	}
	if reason != "" {
		j.more["decision_reason_type"], j.more["decision_reason"] = reason, why
	}
	if c.Name == "Bash" && first.path != "" {
		j.more["blocked_path"] = first.path
	}
	return j
}

// suggestions are answers that would hold for more than this call: rules and directories.
func (s *session) suggestions(unmet []claim) []obj {
	list, rules := []obj{}, []obj{}
	for _, c := range unmet {
		kind, content := c.kind, ""
		switch {
		case c.kind == "": // no rule but one for all of the tool would change anything
			return []obj{}
		case c.kind == "Edit":
			if !s.inside(c.path) {
				list = append(list, obj{"type": "addDirectories", "directories": []string{filepath.Dir(c.path)},
					"destination": "session"})
			}
			if c.of == "" {
				continue
			}
			kind, content = "Bash", prefix(c.of)
		case c.kind == "Read":
			content = "/" + c.path
		case c.kind == "Bash":
			content = prefix(c.values[0])
		case len(c.values) > 0:
			content = c.values[0]
		}
		if !slices.ContainsFunc(rules, func(r obj) bool { return r["toolName"] == kind && r["ruleContent"] == content }) {
			rules = append(rules, obj{"toolName": kind, "ruleContent": content})
		}
	}
	if len(rules) > 0 {
		list = append(list, obj{"type": "addRules", "rules": rules, "behavior": "allow", "destination": "session"})
	}
	return list
}

// claims lists what a call does.
func (s *session) claims(c toolCall) []claim {
	in, own := inputOf(c), claim{tool: c.Name, kind: c.Name}
	switch c.Name {
	case "Bash":
		return s.commands(in.Command)
	case "Edit", "Write":
		own.kind, own.path = "Edit", s.absolute(in.FilePath)
	case "Read", "Grep":
		own.kind, own.path = "Read", s.absolute(in.FilePath+in.Path)
	case "WebFetch":
		if u, err := url.Parse(in.URL); err == nil {
			own.values = []string{"domain:" + u.Hostname()}
		}
	case "Agent":
		own.values = []string{in.Agent}
	}
	return []claim{own}
}

// denial refuses a call because of a rule, with the CLI's texts.
func denial(c toolCall, r rule) judgement {
	j := judgement{behavior: "deny", text: "Permission to use " + c.Name + " has been denied."}
	if c.Name == "Bash" && !r.covers(c.Name) {
		j.text = "Permission to use Bash with command " + inputOf(c).Command + " has been denied."
	} else if j.early = r.tool == "Edit" || r.tool == "Read"; j.early {
		j.text = "<tool_use_error>File is in a directory that is denied by your permission settings.</tool_use_error>"
	}
	return j
}

// Commands whose operands are files that they change or read, and those that need no permission.
var (
	writers  = []string{"cp", "mkdir", "mv", "rm", "rmdir", "touch"}
	readers  = []string{"cat", "cd", "grep", "head", "ls", "tail", "wc"}
	harmless = append([]string{"date", "echo", "false", "printf", "pwd", "sleep", "test", "true"}, readers...)
)

// starts reports whether a command is one of a list.
func starts(command string, list []string) bool {
	name, _, _ := strings.Cut(command, " ")
	return slices.Contains(list, name)
}

// prefix is the rule that a question suggests: the first two words if they look like a command and its subcommand, else
// exactly the command.
func prefix(command string) string {
	plain := regexp.MustCompile(`^\S+ [a-z][a-z0-9]*(-[a-z0-9]+)*( |$)`).FindString(command)
	if plain == "" || starts(command, []string{"bash", "env", "python3", "sh", "sudo"}) {
		return command
	}
	return strings.TrimSuffix(plain, " ") + " *"
}

// commands lists what the simple commands of a line do, wherever they are in it. Only blanks separate words.
func (s *session) commands(line string) (list []claim) {
	unseen := claim{tool: "Bash"}
	file, err := syntax.NewParser().Parse(strings.NewReader(line), "")
	if err != nil {
		return []claim{unseen}
	}
	source := func(n syntax.Node) string { return line[n.Pos().Offset():n.End().Offset()] }
	unquoted := strings.NewReplacer(`"`, "", "'", "", `\`, "")
	command := ""
	works := func(kind, path string, by []string) {
		if path != "/dev/null" {
			list = append(list, claim{tool: "Bash", kind: kind, path: s.absolute(path), by: by, of: command})
		}
	}
	syntax.Walk(file, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.CmdSubst, *syntax.ParamExp, *syntax.Block, *syntax.Subshell, *syntax.ArithmCmd, *syntax.FuncDecl,
			*syntax.ProcSubst, *syntax.Assign:
			list = append(list, unseen)
		case *syntax.Stmt:
			if n.Background {
				list = append(list, unseen)
			}
		case *syntax.Redirect:
			switch path := unquoted.Replace(source(n.Word)); n.Op {
			case syntax.Hdoc, syntax.DashHdoc:
				list = append(list, unseen)
			case syntax.RdrIn:
				works("Read", path, nil)
			case syntax.WordHdoc, syntax.DplIn, syntax.DplOut:
			default:
				works("Edit", path, nil)
			}
		case *syntax.CallExpr:
			command = source(n)
			values := []string{command, unquoted.Replace(command)}
			list = append(list, claim{tool: "Bash", kind: "Bash", values: values})
			for _, word := range strings.Fields(values[1])[min(1, len(n.Args)):] {
				switch {
				case strings.HasPrefix(word, "-"):
				case starts(values[1], writers):
					works("Edit", word, values)
				case starts(values[1], readers):
					works("Read", word, values)
				}
			}
		}
		return true
	})
	return list
}

// permit asks the hooks, the rules and the host whether a call may run, and returns the result of a refused one. If a
// hook gives no answer, the tool does not run.
func (t *thread) permit(ctx context.Context, c toolCall) (refused *toolResult) {
	if j := t.s.judge(c); j.early {
		return denied(j.text)
	}
	asked := obj(nil)
	for _, a := range t.hook(ctx, "PreToolUse", c.Name,
		obj{"tool_name": c.Name, "tool_input": c.Input, "tool_use_id": c.ID}) {
		switch p := a.Specific; {
		case a.err != nil:
			return failed("PreToolUse hook did not answer. The tool call was not executed.")
		case p.Permission == "deny":
			return denied("PreToolUse:" + c.Name + " hook error: " + p.Reason)
		case p.Permission == "ask":
			asked = obj{"decision_reason": p.Reason, "decision_reason_type": "hook"}
		}
	}
	j := t.s.judge(c) // the rules may have changed meanwhile
	if asked != nil && !j.fixed {
		j.more = asked
	}
	switch {
	case j.behavior == "deny":
		return denied(j.text)
	case j.behavior == "allow" && asked == nil:
		return nil
	case t.s.flags.get("--permission-prompt-tool") != "stdio":
		return denied("Claude requested permissions to use " + c.Name + ", but you haven't granted it yet.")
	}
	return t.askHost(ctx, c, j.more)
}

func (t *thread) askHost(ctx context.Context, c toolCall, more obj) (refused *toolResult) {
	s := t.s
	question := obj{"subtype": "can_use_tool", "tool_name": c.Name, "display_name": c.Name, "input": c.Input,
		"tool_use_id": c.ID, "description": inputOf(c).Description}
	maps.Copy(question, more)
	if t.sub != nil {
		question["agent_id"] = t.sub.id
	}
	var a struct {
		Behavior string `json:"behavior"`
		Message  string `json:"message"`
	}
	err := s.ask(ctx, question, &a)
	switch {
	case err != nil:
		return denied("Tool permission request failed: " + err.Error())
	case a.Behavior != "allow":
		return denied(a.Message)
	}
	return nil
}

// hookMatcher is one registration of `initialize`.
type hookMatcher struct {
	Matcher     string   `json:"matcher"` // see matches
	CallbackIDs []string `json:"hookCallbackIds"`
}

// hookAnswer is the answer of a host's hook.
type hookAnswer struct {
	Specific struct {
		Permission        string `json:"permissionDecision"`
		Reason            string `json:"permissionDecisionReason"`
		AdditionalContext string `json:"additionalContext"`
	} `json:"hookSpecificOutput"`

	err error // why there is no answer: with the driver's onFailure, the call is refused
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
