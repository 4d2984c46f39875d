package subcommands

// This part of the package is the command doctor: it gathers the observations for an examination, and prints
// the findings.

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
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
	"github.com/arbiter-cli/arbiter/bridge/acp"
	"github.com/arbiter-cli/arbiter/bridge/claude"
	"github.com/arbiter-cli/arbiter/bridge/proctree"
	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/command"
	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/host"
	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/runstore"
	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/settings"
	"github.com/arbiter-cli/arbiter/internal/git"
	"github.com/arbiter-cli/arbiter/supervisor/agents"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/journal"
)

// PinnedVersion is the CLI version to install if another one lacks a required ability.
const PinnedVersion = "2.1.329"

// DoctorCommand is `arbiter doctor`.
func (e Env) DoctorCommand() *cli.Command {
	return &cli.Command{
		Name: "doctor", Usage: "check whether a run can start here, and say how to fix it if not",
		Description: strings.TrimSpace(`
Checks claude and its login, the environment, the configuration, directories, the terminal, system limits, the sandbox and
leftovers of earlier runs. Then it runs two short sessions of claude against a scripted model, with a private home and a
dummy key, to see whether claude can do what arbiter needs. That takes some seconds, no network and no money. It changes
nothing, except that it creates the state directory if there is none.

Each finding is ok, a note, a warning or a failure; a line with an arrow is a command that helps. --json prints one
object: {"arbiter", "state", "counts", "findings": [{"area", "name", "state", "found", "fix"}]}, where a state is ok,
note, warn or fail.

Exit code 5: a run cannot start. Warnings leave it 0.`),
		Flags: append([]cli.Flag{
			command.JSONFlag(),
			&cli.BoolFlag{Name: "no-trial", Aliases: []string{"offline"}, Usage: "run no session of claude"},
			&cli.DurationFlag{Name: "trial-timeout", Value: host.DefaultTimeout, Usage: "time limit for the sessions"},
		}, settings.Flags("cwd", "claude", "trust", "sandbox", "sandbox-write", "sandbox-hide", "network", "allow-host",
			"pid-namespace", "state-dir", "config")...),
		Action: e.doctor,
	}
}

func (e Env) doctor(c *cli.Context) error {
	if c.Duration("trial-timeout") <= 0 {
		return command.Usagef("--trial-timeout %s: must be greater than 0", c.Duration("trial-timeout"))
	}
	ctx, stop := command.Interruptible(c.Context, false)
	defer stop()
	l := inspection{c: c}
	around := l.around(ctx)
	if claude := around.Claude.Path; !c.Bool("no-trial") && claude != "" {
		around.Seen = host.Try(ctx, claude, l.choices.PIDNS, c.Duration("trial-timeout"))
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	report := host.NewReport(command.Version(), host.Examine(around))
	var err error
	if c.Bool("json") {
		err = e.PrintJSON(report)
	} else {
		err = report.Print(e.Stdout, host.DoctorStyle{ASCII: !command.SpeaksUTF8(os.Getenv), Colour: coloured(e.Stdout)})
	}
	if err != nil {
		return err
	}
	if report.State == host.DoctorFail {
		return &command.Error{Code: contract.ExitEnvironment}
	}
	return nil
}

// coloured reports whether output to w may have colours.
func coloured(w io.Writer) bool {
	return command.OnTerminal(w) && os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb"
}

// inspection gathers the observations for an examination.
type inspection struct {
	c       *cli.Context
	choices settings.Choices // as far as they could be read
}

// around gathers everything that can be observed without a session of claude.
func (l *inspection) around(ctx context.Context) host.Surroundings {
	s := host.Surroundings{
		OS: runtime.GOOS, UID: os.Geteuid(), Getenv: os.Getenv, Limits: host.LookAtLimits(),
		Terminal: terminalHere(ctx), Temp: host.LookAt(os.TempDir(), false),
		Unknown: settings.UnknownVariables(os.Environ()), Tested: PinnedVersion,
	}
	dir, err := command.StatePath(l.c.String("state-dir"))
	s.State = lookAt(dir, fmt.Sprint(err), true) // before it is created
	s.Settings = l.settings()
	if named, err := command.StatePath(l.c.String("state-dir")); named != dir { // by the configuration
		s.State = lookAt(named, fmt.Sprint(err), true)
	}
	s.Config = lookAt(command.ConfigDir(),
		"no place for a configuration: neither $XDG_CONFIG_HOME nor $HOME are defined", false)
	s.Sessions = lookAt(proctree.ConfigDir(os.Environ(), l.choices.Place),
		"no place for Claude's sessions: set HOME or CLAUDE_CONFIG_DIR", false)
	s.Workspace = l.workspace()
	s.Claude = l.claude(ctx)
	s.Isolation, s.Sandbox = l.confinement(ctx)
	s.Settings.Makes = l.makes(ctx, s.Sandbox.Holds && s.Sandbox.Mode != settings.SandboxOff)
	s.Leftovers = l.leftovers(s.State)
	return s
}

// lookAt inspects a directory; none says why it has no path.
func lookAt(dir, none string, prove bool) host.DoctorPlace {
	if dir == "" {
		return host.DoctorPlace{Problem: none}
	}
	return host.LookAt(dir, prove)
}

// makes starts each configured make for the time of a session's beginning, unless sessions are not wanted.
func (l *inspection) makes(ctx context.Context, confined bool) (list []host.DoctorMake) {
	self, err := os.Executable()
	if err != nil {
		return nil
	}
	for _, m := range l.choices.Options.Makes {
		d := host.DoctorMake{Name: m.Name}
		if acp.NeedsSandbox(m.MakeSpec) && !confined {
			d.Problem = "it does not ask about each command and edit: use --sandbox, or set accept_unasked"
		} else if _, err := exec.LookPath(m.Command[0]); err != nil {
			d.Problem = err.Error()
		} else if !l.c.Bool("no-trial") {
			ctx, cancel := context.WithTimeout(ctx, bridge.DefaultStartTimeout)
			r, err := (&acp.Launcher{Self: self}).Look(ctx, m.MakeSpec)
			cancel()
			if d.Version, d.Lacks = cmp.Or(r.MakeVersion, "it gives no version"), r.Lacks; err != nil {
				d.Problem = err.Error()
			}
		}
		list = append(list, d)
	}
	return list
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
		s.Files = slices.DeleteFunc(settings.ConfigFiles(l.c.String("config"), l.choices.Place, l.choices.Trusting.Trusted),
			func(path string) bool {
				_, err := os.Stat(path)
				return err != nil
			})
		for _, h := range l.choices.Hosts.Hosts {
			s.Hosts = append(s.Hosts, h.Name)
		}
		return s
	}
	if place, err := command.Workspace(l.c); err == nil {
		l.choices.Place = cmp.Or(l.choices.Place, place)
	}
	l.choices.Claude = cmp.Or(l.choices.Claude, l.c.String("claude"))
	switch exit, ok := errors.AsType[*command.Error](err); {
	case ok && exit.Code == contract.ExitEnvironment:
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

func (l *inspection) workspace() host.DoctorWorkspace {
	place := l.choices.Place
	if place == "" {
		_, err := command.Workspace(l.c)
		return host.DoctorWorkspace{DoctorPlace: host.DoctorPlace{Problem: err.Error()}}
	}
	w := host.DoctorWorkspace{DoctorPlace: host.LookAt(place, false), Trust: l.choices.Trusting}
	if dir, err := os.UserHomeDir(); err == nil {
		for ; !command.SameDir(place, dir) && dir != filepath.Dir(dir); dir = filepath.Dir(dir) {
		}
		w.Home = command.SameDir(place, dir)
	}
	switch err := (git.Runner{Dir: place, Env: git.Environ(os.Environ())}).Check(l.c.Context); {
	case errors.Is(err, exec.ErrNotFound):
		w.Git = "git is not installed"
	case err != nil:
		w.Git = err.Error()
	}
	_, err := git.Locate(place)
	w.Repository = err == nil
	return w
}

func (l *inspection) claude(ctx context.Context) host.DoctorClaude {
	c := host.DoctorClaude{Named: l.choices.Claude, Hints: loginHints(),
		ClaudeFindings: host.InspectClaude(ctx, l.choices.Claude, true)}
	if c.Problem != "" {
		c.Elsewhere = elsewhere(c.Named != "")
	} else if c.Named == "" {
		c.Shadowed = slices.DeleteFunc(programs("claude", filepath.SplitList(os.Getenv("PATH"))),
			func(path string) bool { return path == c.Path })
	}
	return c
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
	t := host.DoctorTerminal{Stdin: command.OnTerminal(os.Stdin), Stdout: command.OnTerminal(os.Stdout),
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
func (l *inspection) confinement(ctx context.Context) (proctree.Isolation, host.DoctorSandbox) {
	box := host.DoctorSandbox{Mode: l.choices.Sandbox.Mode, Restricted: host.NamespacesRestricted()}
	self, err := os.Executable()
	if err != nil {
		box.Reason = err.Error()
		return proctree.Isolation{Kind: proctree.NoNamespace, Why: err.Error()}, box
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
		launcher.Self(self)
		result, err := launcher.Sandbox(ctx, bridge.Owner{Run: uuid.NewString()},
			bridge.SandboxParams{Config: cfg, CWD: l.choices.Place})
		box.Holds, box.Version, reason = result.Holds, result.Version, result.Reason
		box.Confines = settings.Confines(cfg, result.Hosts)
		if err != nil {
			box.Holds, reason = false, err.Error()
		}
	}
	box.Reason = reason
	return isolation, box
}

// leftovers looks for what runs that are over have left.
func (l *inspection) leftovers(state host.DoctorPlace) (o host.Leftovers) {
	used := host.WorkingDirs()
	if dir := l.choices.StateDir; dir != "" {
		o.Named, o.NamedToResume = settings.StateForCommand(dir), settings.StateForResume(dir)
	}
	if dir := l.choices.StateDir; dir == "" || !state.Exists && dir == state.Path {
		if dir == "" {
			o.Problem = "the settings were not read"
		}
	} else if err := l.runs(dir, &o, &used); err != nil {
		o.Problem = err.Error()
	}
	o.Scratch = host.LookForScratch(command.Places(), used, os.Geteuid())
	return o
}

// runs inspects the runs of the state directory.
func (l *inspection) runs(dir string, o *host.Leftovers, used *[]string) error {
	store, err := journal.OpenStore(dir)
	if err != nil {
		return err
	}
	defer store.Close()
	runs := &runstore.Runs{Store: store, Root: dir}
	if o.Runs, err = store.List(); err != nil {
		return err
	}
	for _, info := range o.Runs {
		if work, err := store.HasWork(info.Run); err == nil && work {
			o.Worktrees = append(o.Worktrees, info.Run)
		}
		if info.Rehearsal && (info.Live || info.Unfinished) {
			state, _, _ := runstore.LastState(runs, info.Run) // an unreadable journal names no workspace
			if place := state.Options.CWD; place != "" {
				*used = append(*used, place)
			}
		}
	}
	for _, strays := range proctree.Strays(runstore.OverIn(store)) {
		o.Processes = append(o.Processes, strays...)
	}
	slices.SortFunc(o.Processes, func(a, b proctree.Process) int { return a.PID - b.PID })
	return nil
}
