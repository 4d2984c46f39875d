package host

import (
	"fmt"
	"io/fs"
	"math"
	"net/url"
	"path/filepath"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/arbiter-cli/arbiter/bridge/proctree"
	"github.com/arbiter-cli/arbiter/supervisor/words"
)

// The minimum limits for a run with several agents.
const (
	fewWatches   = 8192
	fewInstances = 64
	fewFiles     = 1024
	fewProcesses = 512
	smallFile    = 1 << 30
)

func checkMachine(s Surroundings) []Finding {
	l := list{area: AreaMachine}
	l.limits(s.Limits)
	switch {
	case s.Isolation.Kind != proctree.NoNamespace:
		l.add("processes", DoctorOK, "agents run in a PID namespace: the kernel ends processes that arbiter cannot end", "")
	case s.OS != "linux":
		l.add("processes", DoctorNote, "there are no PID namespaces on this system; escaped processes are found by "+
			"their environment", "")
	default:
		l.add("processes", DoctorNote, "agents do not run in a PID namespace: "+s.Isolation.Why,
			"arbiter --pid-namespace always")
	}
	l.sandbox(s)
	return l.all
}

func (l *list) limits(n DoctorLimits) {
	low := false
	for _, x := range []struct {
		name        string
		have, least int64
		means, fix  string
	}{
		{"inotify", n.Watches, fewWatches, "%d watches for a user: transcripts may be noticed late",
			"sudo sysctl fs.inotify.max_user_watches=524288"},
		{"inotify", n.Instances, fewInstances, "%d instances for a user: transcripts may be noticed late",
			"sudo sysctl fs.inotify.max_user_instances=512"},
		{"open files", n.Files, fewFiles, "%d for a process: a run of many agents needs more", "ulimit -n 4096"},
		{"user processes", n.Processes, fewProcesses, "%d: agents, their tools and builds need more",
			"ulimit -u 4096"},
		{"file size", n.FileSize, smallFile, "%d bytes at most: journals and transcripts are cut off there",
			"ulimit -f unlimited"},
	} {
		if x.have >= 0 && x.have < x.least {
			low = true
			l.add(x.name, DoctorWarn, fmt.Sprintf(x.means, x.have), x.fix)
		}
	}
	if !low {
		l.add("limits", DoctorOK, "enough files, processes and watches", "")
	}
}

func (l *list) sandbox(s Surroundings) {
	b := s.Sandbox
	state, without := DoctorNote, "; agents run unconfined"
	if b.Mode == "on" {
		state, without = DoctorFail, ", and it is asked for"
	}
	switch {
	case b.Holds && b.Mode == "off":
		l.add("sandbox", DoctorOK, "bubblewrap "+b.Version+" holds (--sandbox on)", "")
	case b.Holds:
		l.add("sandbox", DoctorOK, "bubblewrap "+b.Version+" holds: "+b.Confines, "")
	case s.OS != "linux":
		l.add("sandbox", state, b.Reason, "")
	case !b.Installed:
		l.add("sandbox", state, "bubblewrap is not installed"+without, "sudo apt-get install bubblewrap")
	case s.Sandbox.Restricted:
		l.add("sandbox", state, b.Reason, "sudo sysctl kernel.apparmor_restrict_unprivileged_userns=0")
	default:
		l.add("sandbox", state, b.Reason, "")
	}
}

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

// The screen has room for everything it shows from this size on.
const roomyWidth, roomyHeight = 80, 24

func checkTerminal(s Surroundings) []Finding {
	l := list{area: AreaTerminal}
	t, term := s.Terminal, s.Getenv("TERM")
	switch {
	case !t.Stdin || !t.Stdout:
		stream := "stdin"
		if t.Stdin {
			stream = "stdout"
		}
		l.add("screen", DoctorNote, stream+" is not a terminal: there is no screen here, but --plain and --json", "")
	case term == "" || term == "dumb":
		l.add("screen", DoctorWarn, fmt.Sprintf("TERM=%s says that the cursor cannot be placed", words.Quote(term)),
			"export TERM=xterm-256color")
	case t.Width > 0 && (t.Width < roomyWidth || t.Height < roomyHeight):
		l.add("screen", DoctorNote, fmt.Sprintf("%s, %d×%d: smaller than %d×%d, some of it is left out", term, t.Width,
			t.Height, roomyWidth, roomyHeight), "")
	default:
		l.add("screen", DoctorOK, fmt.Sprintf("%s, %d×%d", term, t.Width, t.Height), "")
	}
	if t.UTF8 {
		l.add("characters", DoctorOK, "UTF-8", "")
	} else {
		l.add("characters", DoctorWarn, "the locale is not UTF-8: everything is drawn in ASCII", "export LC_ALL=C.UTF-8")
	}
	if !t.Stdin || !t.Stdout {
		return l.all
	}
	l.clipboard(s)
	return l.all
}

// clipboard checks copying and bells, which use escape sequences of the terminal.
func (l *list) clipboard(s Surroundings) {
	switch {
	case s.Getenv("TMUX") != "" && s.Terminal.Clipboard != "on":
		found := "tmux does not say whether it lets copying through"
		if s.Terminal.Clipboard != "" {
			found = "tmux keeps copied text to itself (set-clipboard " + s.Terminal.Clipboard + ")"
		}
		l.add("clipboard", DoctorWarn, found, "tmux set-option -s set-clipboard on")
	case s.Getenv("TMUX") != "":
		l.add("clipboard", DoctorOK, "OSC 52, through tmux", "")
	case s.Getenv("STY") != "":
		l.add("clipboard", DoctorWarn, "screen passes on neither copied text nor notifications", "tmux new-session arbiter")
	default:
		l.add("clipboard", DoctorOK, "OSC 52, where the terminal allows it", "")
	}
}

func checkSettings(s Surroundings) []Finding {
	l := list{area: AreaSettings}
	c := s.Settings
	switch {
	case c.Problem != "":
		l.add("configuration", DoctorFail, c.Problem, "arbiter schema config")
	case c.Skipped != "":
		l.add("configuration", DoctorNote, "was not read: "+c.Skipped, "")
		return l.all
	case len(c.Files) == 0:
		l.add("configuration", DoctorOK, "no file; flags and variables alone", "")
	default:
		l.add("configuration", DoctorOK, strings.Join(c.Files, ", "), "")
	}
	if len(c.Hosts) > 0 {
		l.add(
			"hosts",
			DoctorNote,
			"configured, not looked at: "+strings.Join(c.Hosts, ", "),
			"arbiter hosts check "+c.Hosts[0],
		)
	}
	for _, m := range c.Makes {
		switch {
		case m.Problem != "":
			l.add("make "+m.Name, DoctorWarn, m.Problem, "correct makes."+m.Name+" in the configuration")
		case m.Version == "":
			l.add("make "+m.Name, DoctorNote, "its program is there; it was not started", "arbiter doctor")
		default:
			l.add("make "+m.Name, DoctorOK, m.Version+"; lacks: "+strings.Join(m.Lacks, "; "), "")
		}
	}
	if c.Templates != "" {
		l.add("templates", DoctorFail, c.Templates, "arbiter decide --template select.md")
	}
	for _, problem := range c.Agents {
		l.add("agents", DoctorWarn, problem, "arbiter agents check")
	}
	return l.all
}

func owner(info fs.FileInfo) int {
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		return int(st.Uid)
	}
	return -1
}

// mayWrite returns why nothing can be created in a directory.
func mayWrite(dir string) error { return unix.Access(dir, unix.W_OK|unix.X_OK) }

// LookAtLimits reads the limits of this process and of the system.
func LookAtLimits() DoctorLimits {
	l := DoctorLimits{Files: limit(unix.RLIMIT_NOFILE), Processes: limit(unix.RLIMIT_NPROC),
		FileSize: limit(unix.RLIMIT_FSIZE)}
	l.Watches, l.Instances = inotify()
	return l
}

// limit returns a soft limit; -1: none.
func limit(resource int) int64 {
	var r unix.Rlimit
	if unix.Getrlimit(resource, &r) != nil || r.Cur > math.MaxInt64/2 {
		return -1
	}
	return int64(r.Cur)
}
