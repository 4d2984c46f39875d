package host

import (
	"net/url"
	"path/filepath"

	"github.com/arbiter-cli/arbiter/supervisor/words"
)

// proxies includes the lower case names, which take precedence.
var proxies = []string{"HTTPS_PROXY", "https_proxy", "HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"}

func checkEnvironment(s Surroundings) []Finding {
	l := list{area: AreaEnvironment}
	if s.Getenv("HOME") == "" {
		l.add("HOME", DoctorWarn, "is not set: neither a login nor a configuration can be found",
			`export HOME="$(cd ~ && pwd)"`)
	}
	l.requests(s)
	if s.Getenv("CLAUDE_CODE_SHELL_PREFIX") != "" {
		l.add("CLAUDE_CODE_SHELL_PREFIX", DoctorWarn,
			"is set by you and stays: keys are not kept out of the environment of shell commands",
			"unset CLAUDE_CODE_SHELL_PREFIX")
	}
	if dir := s.Getenv("CLAUDE_CONFIG_DIR"); dir != "" && !filepath.IsAbs(dir) {
		l.add("CLAUDE_CONFIG_DIR", DoctorWarn, words.Quote(dir)+" is another directory in each workspace",
			`export CLAUDE_CONFIG_DIR="$HOME/.claude"`)
	}
	for _, name := range s.Unknown {
		l.add(name, DoctorWarn, "no setting has this name: no run starts", "unset "+words.Quote(name))
	}
	if s.UID == 0 {
		l.add("root", DoctorNote, "agents run as root; --permissions allow-all needs --sandbox on", "")
	}
	if len(l.all) == 0 {
		l.add("variables", DoctorOK, "nothing wrong with them", "")
	}
	return l.all
}

// requests checks where the model's requests go, and who pays for them.
func (l *list) requests(s Surroundings) {
	l.url(s, "ANTHROPIC_BASE_URL", "requests go to ", "is not a URL")
	switch key, token := s.Getenv("ANTHROPIC_API_KEY") != "", s.Getenv("ANTHROPIC_AUTH_TOKEN") != ""; {
	case key && token:
		l.add("ANTHROPIC_API_KEY", DoctorWarn, "and ANTHROPIC_AUTH_TOKEN are both set: it is not clear who pays",
			"unset ANTHROPIC_API_KEY")
	case key:
		l.add("ANTHROPIC_API_KEY", DoctorNote, "is set: requests are billed to this key, even with a subscription", "")
	}
	for _, name := range proxies {
		l.url(s, name, "requests go by ", "is not a URL such as http://proxy:3128")
	}
}

// url checks a variable with a URL. It names only scheme and host; other parts could be secret.
func (l *list) url(s Surroundings, name, found, wrong string) {
	text := s.Getenv(name)
	u, err := url.Parse(text)
	switch {
	case text == "":
	case err != nil || u.Host == "" || u.Scheme == "":
		l.add(name, DoctorWarn, wrong, "unset "+name)
	default:
		l.add(name, DoctorNote, found+u.Scheme+"://"+u.Host, "")
	}
}
