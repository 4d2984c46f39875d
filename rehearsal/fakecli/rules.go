package fakecli

import (
	"cmp"
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
)

// rule is a permission rule, such as `Bash(go test *)`, as list_permission_rules shows it.
type rule struct {
	Behavior    string `json:"behavior"` // allow, ask or deny
	Source      string `json:"source"`   // flagSettings or cliArg
	Text        string `json:"rule"`
	Editability string `json:"editability"`

	tool, content string
}

// settings are the parts of `--settings`, and of apply_flag_settings, that are about permissions.
type settings struct {
	Permissions struct {
		Allow, Ask, Deny                              []string
		AdditionalDirectories                         []string
		DefaultMode                                   string
		DisableAutoMode, DisableBypassPermissionsMode string
	} `json:"permissions"`
}

func (p settings) rules() []rule {
	const source = "flagSettings"
	return slices.Concat(parseRules("allow", source, p.Permissions.Allow), parseRules("ask", source, p.Permissions.Ask),
		parseRules("deny", source, p.Permissions.Deny))
}

// splitRules splits the values of an option at commas and spaces outside of parentheses.
func splitRules(values []string) []string {
	return regexp.MustCompile(`[^\s,(]+(\([^)]*\))?`).FindAllString(strings.Join(values, ","), -1)
}

// brackets are escaped in the text of a rule.
var brackets = strings.NewReplacer("(", `\(`, ")", `\)`)

// parseRules reads rules. Like the CLI, it drops malformed ones without a word.
func parseRules(behavior, source string, texts []string) (rules []rule) {
	form := regexp.MustCompile(`(?s)^([^(]+)(?:\((.+)\))?$`)
	malformed := regexp.MustCompile(`^([a-z]+(\(|$)|Bash\(:\*\)|mcp__[^(]*\(|WebFetch\([^d*])`)
	for _, text := range texts {
		m := form.FindStringSubmatch(text)
		if m == nil || malformed.MatchString(text) || behavior == "allow" && (text == "*" || text == "mcp__*") {
			continue
		}
		r := rule{Behavior: behavior, Source: source, Editability: "readonly", tool: m[1],
			content: strings.NewReplacer(`\(`, "(", `\)`, ")").Replace(m[2])}
		if r.tool == "Task" {
			r.tool = "Agent"
		}
		if r.content == "*" && r.tool != "Edit" && r.tool != "Read" {
			r.content = ""
		}
		if source == "cliArg" {
			r.Editability = "session"
		}
		if r.Text = r.tool; r.content != "" {
			r.Text += "(" + brackets.Replace(r.content) + ")"
		}
		rules = append(rules, r)
	}
	return rules
}

// rules returns all rules in the order of list_permission_rules.
func (s *session) rules() []rule {
	all := append(append([]rule{}, s.fixed...), guarded(s, &s.applied).rules()...) // never nil, which JSON shows as null
	slices.SortStableFunc(all, func(a, b rule) int {
		return cmp.Or(cmp.Compare(a.Behavior, b.Behavior), cmp.Compare(b.Source, a.Source))
	})
	return all
}

// permissionRules is the answer to list_permission_rules.
func (s *session) permissionRules() obj {
	dirs := []obj{}
	for _, dir := range s.flags["--add-dir"] {
		dirs = append(dirs, obj{"path": s.absolute(dir), "source": "cliArg"})
	}
	return obj{"state": obj{"rules": s.rules(), "workspaceDirectories": dirs, "originalCwd": s.cwd, "managedOnly": false}}
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
	tool   string   // its rules without parentheses hold; "" for what a command does
	kind   string   // its rules with parentheses hold: Bash, Edit, Read, …
	path   string   // of a file
	values []string // of anything else: ways to write it, of which a rule needs to match one
}

// covers reports whether a rule holds for all that a tool does.
func (r rule) covers(tool string) bool {
	prefix, wild := strings.CutSuffix(r.tool, "*")
	return r.content == "" && (r.tool == tool || wild && strings.HasPrefix(tool, prefix) ||
		strings.HasPrefix(r.tool, "mcp__") && strings.HasPrefix(tool, r.tool+"__"))
}

func (s *session) matches(r rule, c claim) bool {
	switch {
	case c.tool != "" && r.covers(c.tool):
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
	case strings.HasPrefix(pattern, "~/"):
		root, rest = os.Getenv("HOME")+"/", pattern[2:]
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
	if home, ok := strings.CutPrefix(path, "~"); ok && (home == "" || home[0] == '/') {
		path = os.Getenv("HOME") + home
	}
	if !filepath.IsAbs(path) {
		path = filepath.Join(s.cwd, path)
	}
	return filepath.Clean(path)
}

// inside reports whether a path is in the working directory, or in one that was added.
func (s *session) inside(path string) bool {
	dirs := slices.Concat([]string{s.cwd}, s.flags["--add-dir"], s.settings.Permissions.AdditionalDirectories)
	return slices.ContainsFunc(dirs, func(dir string) bool { return within(s.absolute(dir), path) })
}

func within(dir, path string) bool {
	rel, err := filepath.Rel(dir, path)
	return err == nil && filepath.IsLocal(rel)
}

// sensitiveForm matches files whose change the CLI asks about whatever the rules say.
var sensitiveForm = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?i)(^|/)(` +
		`(\.git|\.claude|\.husky|\.idea|\.vscode|\.devcontainer|\.config/git)(/|$)|` +
		`(\.gitmodules|\.gitconfig|\.npmrc|\.yarnrc|\.yarnrc\.yml|\.pnpmfile\.cjs|\.bashrc|\.bash_profile|\.profile|` +
		`\.zshrc|\.zshenv|\.ripgreprc|\.envrc|\.claude\.json|\.mcp\.json|\.pre-commit-config\.yaml|bunfig\.toml|` +
		`\.cargo/config\.toml)$)`)
})

func (s *session) sensitive(c claim) bool {
	path := c.path
	if within(s.cwd, path) {
		path = strings.TrimPrefix(path, s.cwd) // the working directory itself may be below such a directory
	}
	return c.kind == "Edit" && sensitiveForm().MatchString(path)
}
