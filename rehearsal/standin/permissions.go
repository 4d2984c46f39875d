package standin

import (
	"encoding/json"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
)

// rule is a permission rule such as `Bash(git status *)`, `Edit` or `mcp__srv`.
type rule struct{ tool, content string }

func parseRule(s string) rule {
	if tool, rest, ok := strings.Cut(s, "("); ok && strings.HasSuffix(rest, ")") {
		content := strings.TrimSuffix(rest, ")")
		if content == "*" {
			content = ""
		}
		return rule{canonicalTool(tool), content}
	}
	return rule{canonicalTool(s), ""}
}

func parseRules(values []string) []rule {
	var out []rule
	for _, s := range splitRules(values) {
		out = append(out, parseRule(s))
	}
	return out
}

// askRules are the rules of `permissions.ask` in --settings.
func askRules(settings string) []rule {
	var s struct {
		Permissions struct{ Ask []string }
	}
	_ = json.Unmarshal([]byte(settings), &s) // a file name has none
	var out []rule
	for _, r := range s.Permissions.Ask {
		out = append(out, parseRule(r))
	}
	return out
}

// canonicalTool: denying or allowing either name of the subagent tool means it.
func canonicalTool(name string) string {
	if name == "Task" {
		return "Agent"
	}
	return name
}

// names tells whether the rule is about a tool, whatever its content.
func (r rule) names(tool string) bool {
	if r.tool == tool {
		return true
	}
	server := strings.TrimSuffix(r.tool, "__*")
	return strings.HasPrefix(server, "mcp__") && strings.HasPrefix(tool, server+"__")
}

// matches also looks at what the tool is to work on: a command or a path.
func (r rule) matches(tool, subject string) bool {
	if !r.names(tool) {
		return false
	}
	c := r.content
	if c == "" || c == subject {
		return true
	}
	if p, ok := strings.CutSuffix(c, ":*"); ok {
		return subject == p || strings.HasPrefix(subject, p+" ")
	}
	if p, ok := strings.CutSuffix(c, " *"); ok && subject == p {
		return true
	}
	re, err := regexp.Compile("^(?s)" + strings.ReplaceAll(regexp.QuoteMeta(c), `\*`, ".*") + "$")
	return err == nil && re.MatchString(subject)
}

// ruling is what the rules and the mode say about a call.
type ruling struct {
	behavior   string // allow, deny or ask
	message    string // of a denial
	source     string // of permission_decision in tool_result_meta
	reasonType string
	reason     string // decision_reason of the question
	blocked    string // blocked_path of the question
}

// permissions decides which calls run, which do not and which are asked about.
type permissions struct {
	dirs     []string // working directory and --add-dir
	bypassOK bool     // launched so that bypassPermissions may be chosen

	mu    sync.Mutex
	mode  string
	allow []rule
	deny  []rule

	ask []rule // of --settings; never changed
}

func (p *permissions) currentMode() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.mode
}

// setMode changes the mode; the error is the CLI's, with its code.
func (p *permissions) setMode(mode string) (code, message string) {
	if mode == "manual" {
		mode = "default"
	}
	switch {
	case mode == "bypassPermissions" && !p.bypassOK:
		return "bypass_not_launched", "Cannot set permission mode to bypassPermissions because the session was not launched with --dangerously-skip-permissions"
	case mode != "default" && !slices.Contains(permissionModes, mode):
		return "invalid_mode", "Cannot set permission mode: must be one of acceptEdits, auto, bypassPermissions, default, dontAsk, plan"
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.mode = mode
	return "", ""
}

// removed tells whether a deny rule takes the tool away altogether.
func (p *permissions) removed(tool string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.ContainsFunc(p.deny, func(r rule) bool { return r.content == "" && r.names(tool) })
}

func (p *permissions) rules() (mode string, allow, deny []rule) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.mode, slices.Clone(p.allow), slices.Clone(p.deny)
}

var (
	allowedByRule = ruling{behavior: "allow", source: "config", reasonType: "rule"}
	allowedByMode = ruling{behavior: "allow", source: "config", reasonType: "mode"}
	allowedBash   = ruling{behavior: "allow", source: "config", reasonType: "subcommandResults"}
)

// decide judges one call.
func (p *permissions) decide(tool string, input json.RawMessage) ruling {
	mode, allow, deny := p.rules()
	subject := callSubject(tool, input)
	any := func(rs []rule, s string) bool {
		return slices.ContainsFunc(rs, func(r rule) bool { return r.matches(tool, s) })
	}
	if any(deny, subject) {
		return ruling{behavior: "deny", source: "config", reasonType: "rule",
			message: "Permission to use " + tool + " with " + subject + " has been denied."}
	}
	var r ruling
	switch {
	case tool == askUser: // in every mode: somebody has to answer
		return ruling{behavior: "ask"}
	case any(p.ask, subject) && mode != "dontAsk":
		return ruling{behavior: "ask", reasonType: "rule"}
	case mode == "bypassPermissions":
		return allowedByMode
	case tool == "Bash":
		r = p.decideBash(subject, mode, allow)
	case any(allow, subject):
		return allowedByRule
	case tool == "Read" || tool == "Glob" || tool == "Grep":
		r = p.decideRead(subject)
	case tool == "Write" || tool == "Edit" || tool == "NotebookEdit":
		r = ruling{behavior: "ask"}
		if mode == "acceptEdits" && p.inside(subject) {
			return allowedByMode
		}
	case tool == "Agent" || tool == structuredOutput || isTaskTool(tool):
		return ruling{behavior: "allow", source: "config"}
	default:
		r = ruling{behavior: "ask"}
	}
	if r.behavior == "ask" && mode == "dontAsk" {
		return ruling{behavior: "deny", source: "config", reasonType: "mode",
			message: "Permission to use " + tool + " has been denied because Claude Code is running in don't ask mode."}
	}
	return r
}

func (p *permissions) decideRead(path string) ruling {
	if p.inside(path) {
		return allowedByMode
	}
	return ruling{behavior: "ask", reason: "Path is outside allowed working directories", reasonType: "workingDir"}
}

// decideBash allows a command line of which every part is allowed by a rule, only
// reads, or, where edits are accepted, only touches files of the workspace.
func (p *permissions) decideBash(command, mode string, allow []rule) ruling {
	whole := slices.ContainsFunc(allow, func(r rule) bool { return r.tool == "Bash" && (r.content == "" || r.content == command) })
	if whole {
		return allowedByRule
	}
	needs := ruling{behavior: "ask", reason: "This command requires approval", reasonType: "other"}
	parts, plain := splitCommand(command)
	if !plain {
		return needs
	}
	if len(parts) > 1 {
		needs = ruling{behavior: "ask", reasonType: "subcommandResults"}
	}
	for _, part := range parts {
		words := strings.Fields(part)
		byRule := slices.ContainsFunc(allow, func(r rule) bool { return r.matches("Bash", part) })
		outside := p.firstOutside(words)
		switch {
		case byRule:
		case outside != "":
			return ruling{behavior: "ask", reason: "Path is outside allowed working directories", reasonType: "workingDir", blocked: outside}
		case readsOnly(words):
		case mode == "acceptEdits" && slices.Contains(editCommands, words[0]):
		case slices.Contains(editCommands, words[0]):
			return ruling{behavior: "ask", blocked: filepath.Join(p.dirs[0], words[len(words)-1])}
		default:
			return needs
		}
	}
	return allowedBash
}

func (p *permissions) firstOutside(words []string) string {
	for _, w := range words[1:] {
		w = strings.Trim(w, `"'`)
		if (strings.HasPrefix(w, "/") || strings.HasPrefix(w, "~") || strings.Contains(w, "..")) && w != "/dev/null" && !p.inside(w) {
			return w
		}
	}
	return ""
}

// inside tells whether a path, as a tool was given it, lies in the workspace.
func (p *permissions) inside(path string) bool {
	if path == "" {
		return true
	}
	if !filepath.IsAbs(path) {
		path = filepath.Join(p.dirs[0], path)
	}
	return slices.ContainsFunc(p.dirs, func(d string) bool {
		rel, err := filepath.Rel(d, filepath.Clean(path))
		return err == nil && rel != ".." && !strings.HasPrefix(rel, "../")
	})
}

// callSubject is what rules with content look at.
func callSubject(tool string, input json.RawMessage) string {
	var in struct {
		Command  string `json:"command"`
		FilePath string `json:"file_path"`
		Notebook string `json:"notebook_path"`
		Path     string `json:"path"`
		URL      string `json:"url"`
	}
	_ = json.Unmarshal(input, &in) // a wrong shape is the input validation's business
	switch tool {
	case "Bash":
		return strings.TrimSpace(in.Command)
	case "Glob", "Grep":
		return in.Path
	case "NotebookEdit":
		return in.Notebook
	case "WebFetch":
		return in.URL
	}
	return in.FilePath
}
