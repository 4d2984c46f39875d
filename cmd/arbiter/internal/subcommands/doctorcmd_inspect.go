package subcommands

// This part of the package is the command doctor: it gathers the observations for an examination, and prints
// the findings.

import (
	"cmp"
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/urfave/cli/v2"
	"golang.org/x/term"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/bridge/claude"
	"github.com/arbiter-cli/arbiter/bridge/proctree"
	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/command"
	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/host"
	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/settings"
	"github.com/arbiter-cli/arbiter/supervisor/agents"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
)

// inspection gathers the observations for an examination.
type inspection struct {
	c       *cli.Context
	choices settings.Choices // as far as they could be read
	found   bridge.ClaudeInfo
}

// around gathers everything that can be observed without a session of claude.
func (l *inspection) around(ctx context.Context) host.Surroundings {
	s := host.Surroundings{
		OS: runtime.GOOS, UID: os.Geteuid(), Getenv: os.Getenv, Limits: host.LookAtLimits(),
		Terminal: terminalHere(ctx), Temp: host.LookAt(os.TempDir()),
	}
	for _, entry := range os.Environ() {
		name, _, _ := strings.Cut(entry, "=")
		s.Names = append(s.Names, name)
	}
	slices.Sort(s.Names)
	for _, x := range settings.Table {
		s.Variables = append(s.Variables, settings.EnvName(x)...)
	}
	s.State = l.stateHere() // before it is created
	s.Settings = l.settings()
	if dir, err := os.UserConfigDir(); err == nil {
		s.Config = host.LookAt(filepath.Join(dir, "arbiter"))
	} else {
		s.Config.Problem = "no place for a configuration: " + err.Error()
	}
	if dir := proctree.ConfigDir(os.Environ(), l.choices.Place); dir != "" {
		s.Sessions = host.LookAt(dir)
	} else {
		s.Sessions.Problem = "no place for Claude's sessions: set HOME or CLAUDE_CONFIG_DIR"
	}
	s.Workspace = l.workspace()
	s.Claude, s.Login = l.claude(ctx)
	s.Isolation, s.Sandbox = l.confinement(ctx)
	s.Leftovers = l.leftovers(s.State)
	return s
}

func (l *inspection) stateHere() host.DoctorPlace {
	dir, err := command.StatePath(l.c.String("state-dir"))
	if err != nil {
		return host.DoctorPlace{Problem: err.Error(), Free: -1}
	}
	return host.Prove(dir)
}

// settings reads the settings as a run would.
func (l *inspection) settings() (s host.DoctorSettings) {
	var err error
	l.choices, err = settings.ReadChoices(l.c)
	if err == nil {
		_, err = settings.ReadTemplates(l.choices.Place, l.choices.Trusting.Trusted, true)
		if err != nil {
			s.Templates = err.Error()
		}
		for _, p := range agents.Discover(agents.UserPlaces(l.choices.Place, l.choices.Trusting.Trusted,
			os.Getenv)).Problems {
			if !p.Warning {
				s.Agents = append(s.Agents, p.Error())
			}
		}
		s.Files = l.configFiles()
		for _, h := range l.choices.Hosts.Hosts {
			s.Hosts = append(s.Hosts, h.Name)
		}
		return s
	}
	l.choices.Place = cmp.Or(l.choices.Place, placeOf(l.c))
	l.choices.Claude = cmp.Or(l.choices.Claude, l.c.String("claude"))
	var exit *command.Error
	switch {
	case errors.As(err, &exit) && exit.Code == contract.ExitEnvironment:
		s.Skipped = err.Error()
	case l.choices.Place == "":
		s.Skipped = "the workspace cannot be used"
	default:
		s.Problem = err.Error()
		if dir, err := command.StatePath(l.c.String("state-dir")); err == nil {
			l.choices.StateDir = cmp.Or(l.choices.StateDir, dir)
		}
	}
	return s
}

func placeOf(c *cli.Context) string {
	place, err := command.Workspace(c)
	if err != nil {
		return ""
	}
	return place
}

func (l *inspection) configFiles() []string {
	candidates := []string{settings.UserConfig(l.c.String("config"))}
	if l.choices.Trusting.Trusted {
		candidates = append(candidates, filepath.Join(l.choices.Place, ".arbiter", "config.yaml"))
	}
	return slices.DeleteFunc(candidates, func(path string) bool {
		_, err := os.Stat(path)
		return err != nil
	})
}

func (l *inspection) workspace() host.DoctorWorkspace {
	place := l.choices.Place
	if place == "" {
		_, err := command.Workspace(l.c)
		return host.DoctorWorkspace{DoctorPlace: host.DoctorPlace{Problem: err.Error()}}
	}
	w := host.DoctorWorkspace{DoctorPlace: host.LookAt(place)}
	if home, err := os.UserHomeDir(); err == nil {
		w.Home = command.SameDir(place, home) || command.SameDir(place, "/")
	}
	for dir := place; ; dir = filepath.Dir(dir) {
		if _, err := os.Stat(filepath.Join(dir, ".git")); err == nil {
			w.Repository = true
		}
		if dir == filepath.Dir(dir) {
			break
		}
	}
	switch t := l.choices.Trusting; {
	case t.Trusted && !t.Listing.Empty():
		w.Trust = "trusted, as it is: " + t.InShort()
	case t.Distrust() != "":
		w.Changed = t.Distrust()
	case !t.Trusted && !t.Listing.Empty():
		w.Holds = t.InShort()
	}
	return w
}

func (l *inspection) claude(ctx context.Context) (host.DoctorClaude, host.DoctorLogin) {
	named := l.choices.Claude
	s := host.InspectClaude(ctx, named, true)
	l.found = s.ClaudeInfo
	c := host.DoctorClaude{Named: named, Problem: s.Problem, Missing: s.Missing}
	if c.Problem != "" {
		c.Elsewhere = elsewhere(named != "")
		return c, host.DoctorLogin{}
	}
	c.Path, c.Version, c.StandIn, c.Untested = s.Path, s.Version, s.StandIn, claude.Untested(s.Version)
	if named == "" {
		c.Shadowed = slices.DeleteFunc(programs("claude", filepath.SplitList(os.Getenv("PATH"))),
			func(path string) bool { return path == c.Path })
	}
	return c, host.DoctorLogin{Asked: !c.StandIn, Known: s.Login.Known, In: s.Login.LoggedIn, Method: s.Login.Method,
		Email: s.Login.Email, Hints: loginHints()}
}

// elsewhere returns other claude programs that could be configured: those on PATH if another one was named, and
// those in usual places that are often not on PATH.
func elsewhere(named bool) []string {
	var dirs []string
	if named {
		dirs = filepath.SplitList(os.Getenv("PATH"))
	}
	if home, err := os.UserHomeDir(); err == nil {
		dirs = append(dirs, filepath.Join(home, ".local", "bin"), filepath.Join(home, ".claude", "local"))
	}
	dirs = append(dirs, "/usr/local/bin", "/opt/homebrew/bin")
	pinned, _ := filepath.Glob(filepath.Join(host.CacheHome(), "arbiter", "claude", "*", "node_modules", ".bin"))
	slices.Sort(pinned)
	slices.Reverse(pinned)
	return programs("claude", append(dirs, pinned...))
}

// programs returns the programs with a name in some directories, with links resolved and without duplicates.
func programs(name string, dirs []string) []string {
	var found []string
	for _, dir := range dirs {
		path, err := exec.LookPath(filepath.Join(dir, name))
		if err != nil || !filepath.IsAbs(path) {
			continue
		}
		if path, err = filepath.EvalSymlinks(path); err == nil && !slices.Contains(found, path) {
			found = append(found, path)
		}
	}
	return found
}

// loginHints returns the names of files and variables that can provide a login. It does not read their content.
func loginHints() []string {
	var found []string
	for _, name := range []string{"ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "CLAUDE_CODE_OAUTH_TOKEN",
		"CLAUDE_CODE_USE_BEDROCK", "CLAUDE_CODE_USE_VERTEX"} {
		if os.Getenv(name) != "" {
			found = append(found, name)
		}
	}
	file := filepath.Join(proctree.ConfigDir(os.Environ(), "/"), ".credentials.json")
	if _, err := os.Stat(file); err == nil {
		found = append(found, file)
	}
	return found
}

func terminalHere(ctx context.Context) host.DoctorTerminal {
	t := host.DoctorTerminal{Stdin: term.IsTerminal(int(os.Stdin.Fd())), Stdout: term.IsTerminal(int(os.Stdout.Fd())),
		UTF8: command.SpeaksUTF8(os.Getenv)}
	if w, h, err := term.GetSize(int(os.Stdout.Fd())); err == nil {
		t.Width, t.Height = w, h
	}
	if os.Getenv("TMUX") != "" {
		ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
		defer cancel()
		cmd := exec.CommandContext(ctx, "tmux", "show-options", "-s", "-v", "set-clipboard")
		cmd.WaitDelay = time.Second
		if out, err := cmd.Output(); err == nil {
			t.Clipboard = strings.TrimSpace(string(out))
		}
	}
	return t
}

// confinement tries the PID namespace and the sandbox that agents would run in.
func (l *inspection) confinement(ctx context.Context) (host.Isolation, host.DoctorSandbox) {
	box := host.DoctorSandbox{Mode: l.choices.Sandbox.Mode, Restricted: host.NamespacesRestricted()}
	self, err := os.Executable()
	if err != nil {
		box.Reason = err.Error()
		return host.Isolation{Why: err.Error()}, box
	}
	isolation := proctree.Isolate(ctx, exec.Command(self, "bridge"), cmp.Or(l.choices.PIDNS, proctree.ModeAuto))
	cfg, reason := l.choices.SandboxConfig()
	box.Installed = reason == ""
	switch {
	case !box.Installed:
	case l.choices.StateDir == "" || l.choices.Place == "":
		reason = "was not tried: it needs a workspace and a state directory"
	default:
		ctx, cancel := context.WithTimeout(ctx, settings.SandboxTrial)
		defer cancel()
		launcher := claude.NewLauncher("")
		launcher.ToolShell(self)
		result, err := launcher.Sandbox(ctx, bridge.Owner{Run: uuid.NewString()},
			bridge.SandboxParams{Config: cfg, CWD: l.choices.Place})
		box.Holds, box.Version, reason = result.Holds, result.Version, result.Reason
		box.Confines = settings.Confines(cfg, result.Hosts)
		if err != nil {
			box.Holds, reason = false, err.Error()
		}
	}
	box.Reason = reason
	return host.Isolation{Had: isolation.Kind != proctree.NoNamespace, Why: isolation.Why}, box
}
