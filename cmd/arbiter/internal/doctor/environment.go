package doctor

import (
	"net/url"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/arbiter-cli/arbiter/bridge/childenv"
	"github.com/arbiter-cli/arbiter/supervisor/words"
)

// marks are the variables that an enclosing Claude Code session sets.
var marks = []string{"CLAUDECODE", "CLAUDE_CODE_CHILD_SESSION", "CLAUDE_CODE_SESSION_ID"}

// proxies includes the lower case names, which take precedence.
var proxies = []string{"HTTPS_PROXY", "https_proxy", "HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"}

// internal matches arbiter's internal variables, which are not settings.
var internal = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(
		`^ARBITER_(RUN|AGENT|PIDNS|LOCK_FD|REQUIRE_CLAUDE|TOOL_SHELL|(STANDIN|CRASH|HOOK)_.*)$`)
})

func checkEnvironment(s Surroundings) []Finding {
	l := list{area: AreaEnvironment}
	set := func(name string) bool { return s.Getenv(name) != "" }
	if s.Getenv("HOME") == "" {
		l.add("HOME", Warn, "is not set: neither a login nor a configuration can be found",
			`export HOME="$(cd ~ && pwd)"`)
	}
	l.requests(s)
	if slices.ContainsFunc(marks, set) {
		l.add("nesting", Note, "this is inside of a Claude Code session; its variables are not passed to agents", "")
	}
	if set("ARBITER_RUN") {
		l.add("nesting", Note, "this is a child of run "+s.Getenv("ARBITER_RUN")+" of arbiter", "")
	}
	if set("CLAUDE_CODE_SHELL_PREFIX") {
		l.add("CLAUDE_CODE_SHELL_PREFIX", Warn,
			"is set by you and stays: keys are not kept out of the environment of shell commands",
			"unset CLAUDE_CODE_SHELL_PREFIX")
	}
	if dir := s.Getenv("CLAUDE_CONFIG_DIR"); dir != "" && !filepath.IsAbs(dir) {
		l.add("CLAUDE_CONFIG_DIR", Warn, words.Quote(dir)+" is another directory in each workspace",
			`export CLAUDE_CONFIG_DIR="$HOME/.claude"`)
	}
	var passed []string
	for _, name := range s.Names {
		switch {
		case strings.HasPrefix(name, "ARBITER_"):
			if !slices.Contains(s.Variables, name) && !internal().MatchString(name) {
				l.add(name, Warn, "no setting has this name", "unset "+words.Quote(name))
			}
		case strings.HasPrefix(name, "CLAUDE_CODE_") && childenv.Allowed(name) && name != "CLAUDE_CODE_SHELL_PREFIX":
			passed = append(passed, name)
		}
	}
	if len(passed) > 0 {
		l.add("CLAUDE_CODE_…", Note, "agents are given "+strings.Join(passed, ", "), "")
	}
	if s.UID == 0 {
		l.add("root", Note, "agents run as root; --permissions allow-all needs --sandbox on", "")
	}
	if len(l.all) == 0 {
		l.add("variables", OK, "none that changes what arbiter or claude does", "")
	}
	return l.all
}

// requests checks where the model's requests go, and who pays for them.
func (l *list) requests(s Surroundings) {
	if base := s.Getenv("ANTHROPIC_BASE_URL"); base != "" {
		if host, ok := hostOf(base); ok {
			l.add("ANTHROPIC_BASE_URL", Note, "requests go to "+host, "")
		} else {
			l.add("ANTHROPIC_BASE_URL", Warn, "is not a URL", "unset ANTHROPIC_BASE_URL")
		}
	}
	switch key, token := s.Getenv("ANTHROPIC_API_KEY") != "", s.Getenv("ANTHROPIC_AUTH_TOKEN") != ""; {
	case key && token:
		l.add("ANTHROPIC_API_KEY", Warn, "and ANTHROPIC_AUTH_TOKEN are both set: it is not clear who pays",
			"unset ANTHROPIC_API_KEY")
	case key:
		l.add("ANTHROPIC_API_KEY", Note, "is set: requests are billed to this key, even with a subscription", "")
	}
	for _, name := range proxies {
		proxy := s.Getenv(name)
		if proxy == "" {
			continue
		}
		if host, ok := hostOf(proxy); ok {
			l.add(name, Note, "requests go by "+host, "")
		} else {
			l.add(name, Warn, "is not a URL such as http://proxy:3128", "unset "+name)
		}
	}
}

// hostOf returns scheme and host of a URL, without parts that could be secret.
func hostOf(text string) (string, bool) {
	u, err := url.Parse(text)
	if err != nil || u.Host == "" || u.Scheme == "" {
		return "", false
	}
	return u.Scheme + "://" + u.Host, true
}
