package fakecli

import (
	"encoding/json"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// judgement is what the rules, and the mode, make of a call.
type judgement struct {
	behavior string // allow, ask or deny
	fixed    bool   // a question that no hook silences
	reason   string // decision_reason_type
	text     string // of a refusal
	more     obj    // what a question says besides the call
}

var allowed = judgement{behavior: "allow"}

// question is a question with its reason, and answers that would hold for more.
func question(reason, why string, suggestions ...obj) judgement {
	more := obj{"permission_suggestions": append([]obj{}, suggestions...)}
	if reason != "" {
		more["decision_reason_type"] = reason
	}
	if why != "" {
		more["decision_reason"] = why
	}
	return judgement{behavior: "ask", reason: reason, fixed: reason == "safetyCheck", more: more}
}

func suggest(destination string, rules ...obj) obj {
	return obj{"type": "addRules", "rules": rules, "behavior": "allow", "destination": destination}
}

// readsBelow is a rule for reading the directory of a path.
func readsBelow(path string) obj {
	if info, err := os.Stat(path); err != nil || !info.IsDir() {
		path = filepath.Dir(path)
	}
	return obj{"toolName": "Read", "ruleContent": "/" + strings.TrimSuffix(path, "/") + "/**"}
}

// judge says what the rules and the mode make of a call.
func (s *session) judge(c toolCall) judgement {
	claims, line := s.claims(c)
	if r := s.find("deny", claims...); r != nil {
		return denial(c, claims, *r)
	}
	if r := s.find("ask", claims...); r != nil {
		return judgement{behavior: "ask", fixed: true, more: obj{"decision_reason_type": "rule",
			"decision_reason_rule_source": r.Source, "server_policy_ask_only": false}}
	}
	switch {
	case c.Name == askUser:
		return judgement{behavior: "ask", more: obj{"requires_user_interaction": true}}
	case guarded(s, &s.mode) == "bypassPermissions", c.Name == "Agent", c.Name == verdictTool:
		return allowed
	case line != nil:
		return s.judgeLine(line, s.find("allow", claim{tool: c.Name}) != nil)
	case claims[0].path != "":
		return s.judgeFile(claims[0])
	case s.find("allow", claims...) != nil:
		return allowed
	case c.Name == "WebFetch":
		return question("", "", suggest("localSettings", obj{"toolName": c.Name, "ruleContent": claims[0].values[0]}))
	}
	j := question("", "", suggest("localSettings", obj{"toolName": c.Name}))
	j.more["server_policy_ask_only"] = true
	return j
}

// claims lists what a call does; line is that of Bash.
func (s *session) claims(c toolCall) (list []claim, line *shellLine) {
	var in struct {
		Command, Path, URL string
		FilePath           string `json:"file_path"`
		Agent              string `json:"subagent_type"`
	}
	_ = json.Unmarshal(c.Input, &in) // rules without parentheses hold for other input, too
	own := claim{tool: c.Name, kind: c.Name}
	switch c.Name {
	case "Bash":
		line = readLine(in.Command)
		own.values = []string{in.Command}
		list = append(list, own)
		for _, p := range line.parts {
			list = append(list, claim{kind: c.Name, values: []string{strings.Join(p.words, " "), p.source}})
			for _, path := range slices.Concat(p.writes, p.operands(writers)) {
				list = append(list, claim{kind: "Edit", path: s.absolute(path)})
			}
			for _, path := range slices.Concat(p.reads, p.operands(readers)) {
				list = append(list, claim{kind: "Read", path: s.absolute(path)})
			}
		}
		return list, line
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
	return []claim{own}, nil
}

// denial refuses a call because of a rule, with the CLI's texts.
func denial(c toolCall, claims []claim, r rule) judgement {
	j := judgement{behavior: "deny", reason: "rule", text: "Permission to use " + c.Name + " has been denied."}
	switch {
	case r.covers(c.Name):
	case c.Name == "Bash":
		j.reason = "subcommandResults"
		j.text = "Permission to use Bash with command " + claims[0].values[0] + " has been denied."
	case c.Name == "WebFetch":
		j.text = "WebFetch denied access to " + r.content + "."
	case c.Name == "Agent":
		j.text = "Agent type '" + claims[0].values[0] + "' has been denied by permission rule '" + r.Text +
			"' from " + r.Source + "."
	default:
		j.reason = deniedPath
		j.text = "<tool_use_error>File is in a directory that is denied by your permission settings.</tool_use_error>"
	}
	return j
}

// deniedPath marks a refusal that comes before the hooks are called.
const deniedPath = "path"

// judgeFile judges a file tool.
func (s *session) judgeFile(c claim) judgement {
	j := question("", "", s.editSuggestions(c.path, true, !s.inside(c.path))...)
	switch {
	case !s.sensitive(c) && (s.find("allow", c) != nil || s.mayEdit(c) || c.kind == "Read" && s.mayRead(c.path)):
		return allowed
	case c.kind == "Read":
		j = question("", "", suggest("session", readsBelow(c.path)))
	case s.sensitive(c):
		return s.sensitiveFile(c.path, j)
	}
	if !s.inside(c.path) {
		j.more["decision_reason_type"] = "workingDir"
		j.more["decision_reason"] = "Path is outside allowed working directories"
	}
	return j
}

// mayRead reports whether reading needs no question. Who may change a file may read it.
func (s *session) mayRead(path string) bool {
	return s.inside(path) || s.find("allow", claim{kind: "Read", path: path}, claim{kind: "Edit", path: path}) != nil
}

// mayEdit reports whether changing a file needs no question.
func (s *session) mayEdit(c claim) bool {
	accepts := guarded(s, &s.mode) == "acceptEdits" && s.inside(c.path)
	return c.kind == "Edit" && !s.sensitive(c) && (accepts || s.find("allow", claim{kind: c.kind, path: c.path}) != nil)
}

// sensitiveFile makes a question one about a file that no rule can allow.
func (s *session) sensitiveFile(path string, j judgement) judgement {
	j.fixed = true
	j.more["decision_reason_type"] = "safetyCheck"
	j.more["decision_reason"] = "Claude requested permissions to edit " + path + " which is a sensitive file."
	return j
}

// editSuggestions are for a change of a file: the mode, unless it is set, and the directory.
func (s *session) editSuggestions(path string, mode, directory bool) (list []obj) {
	if mode && guarded(s, &s.mode) != "acceptEdits" {
		list = append(list, obj{"type": "setMode", "mode": "acceptEdits", "destination": "session"})
	}
	if directory {
		list = append(list, obj{"type": "addDirectories", "directories": []string{filepath.Dir(path)},
			"destination": "session"})
	}
	return list
}

// Commands whose operands are files that they change or read, and those that need no permission.
var (
	writers  = []string{"cp", "mkdir", "mv", "rm", "rmdir", "touch"}
	readers  = []string{"cat", "cd", "grep", "head", "ls", "tail", "wc"}
	harmless = append([]string{"date", "echo", "false", "printf", "pwd", "sleep", "test", "true"}, readers...)
)

// judgeLine judges a command line. bare: a rule allows all of Bash.
func (s *session) judgeLine(l *shellLine, bare bool) judgement {
	switch {
	case l.hidden != "" && bare:
		return allowed
	case l.hidden != "":
		return question("other", l.hidden+" in this command can't be checked before it runs")
	}
	exact := slices.ContainsFunc(s.rules(), func(r rule) bool {
		return r.Behavior == "allow" && r.tool == "Bash" && r.content == l.text
	})
	var unmet []judgement
	var rules []obj
	moved := false
	for _, p := range l.parts {
		if moved && !bare && (len(p.writes) > 0 || p.starts(append([]string{"git"}, writers...))) {
			return question("other", "Compound command contains cd with write operation - "+
				"manual approval required to prevent path resolution bypass")
		}
		moved = moved || p.starts([]string{"cd"})
		switch j, r := s.judgePart(p, bare, exact); {
		case j.fixed:
			return j
		case j.behavior == "ask":
			unmet, rules = append(unmet, j), append(rules, r)
		}
	}
	switch {
	case len(unmet) == 0:
		return allowed
	case len(l.parts) == 1:
		return unmet[0]
	}
	return question("subcommandResults", "", suggest("localSettings", rules...))
}

// judgePart judges a simple command, and returns the rule that would allow it.
func (s *session) judgePart(p part, bare, exact bool) (j judgement, missing obj) {
	missing = obj{"toolName": "Bash", "ruleContent": suggestedPrefix(p)}
	values := []string{p.source}
	if !p.assigns {
		values = append(values, strings.Join(p.words, " "))
	}
	byRule := bare || exact || s.find("allow", claim{kind: "Bash", values: values}) != nil
	changes := p.starts(writers)
	for i, path := range slices.Concat(p.writes, p.operands(writers)) {
		c := claim{kind: "Edit", path: s.absolute(path)}
		unclear := strings.ContainsAny(path, "*?[") || c.path == s.cwd
		mayEdit := !unclear && (s.mayEdit(c) || i >= len(p.writes) && byRule && s.inside(c.path))
		if !s.sensitive(c) && (bare || mayEdit) {
			continue
		}
		edits := append(s.editSuggestions(c.path, false, true), s.editSuggestions(c.path, changes, false)...)
		if j = question("", "", append([]obj{suggest("localSettings", missing)}, edits...)...); s.sensitive(c) {
			j = s.sensitiveFile(c.path, question("", "", edits...))
		}
		j.more["blocked_path"] = c.path
		return j, missing
	}
	for _, path := range slices.Concat(p.reads, p.operands(readers)) {
		if path = s.absolute(path); !bare && !s.mayRead(path) {
			j = question("", "", suggest("localSettings", missing), suggest("session", readsBelow(path)))
			j.more["blocked_path"] = path
			return j, readsBelow(path)
		}
	}
	accepted := changes && guarded(s, &s.mode) == "acceptEdits" || p.starts(harmless) ||
		strings.HasPrefix(strings.Join(p.words, " ")+" ", "git status ")
	if byRule || len(p.words) == 0 || accepted && !p.assigns {
		return allowed, nil
	}
	return question("other", "This command requires approval", suggest("localSettings", missing)), missing
}

// suggestedPrefix is the rule that a question suggests: the first two words if they look like a command and
// its subcommand, else exactly the command.
func suggestedPrefix(p part) string {
	plain := regexp.MustCompile(`^\S+ [a-z][a-z0-9]*(-[a-z0-9]+)*( |$)`).FindString(p.source)
	if plain == "" || p.assigns || p.starts([]string{"bash", "env", "python3", "sh", "sudo"}) {
		return p.source
	}
	return strings.TrimSuffix(plain, " ") + " *"
}
