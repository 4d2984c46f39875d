package host

import (
	"errors"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/bridge/claude"
	"github.com/arbiter-cli/arbiter/bridge/proctree"
	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/command"
	"github.com/arbiter-cli/arbiter/internal/testkit"
	"github.com/arbiter-cli/arbiter/rehearsal"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/journal"
	"github.com/arbiter-cli/arbiter/supervisor/trust"
)

// healthy returns surroundings without any problem.
func healthy() Surroundings {
	place := func(path string) DoctorPlace {
		return DoctorPlace{Path: path, Exists: true, Mode: 0o700, Owner: 1000, Free: 50e9}
	}
	return Surroundings{
		OS: "linux", UID: 1000, Getenv: environmentDoctor("HOME=/home/u", "TERM=xterm-256color", "LANG=C.UTF-8"),
		Claude: DoctorClaude{ClaudeFindings: ClaudeFindings{ClaudeInfo: bridge.ClaudeInfo{Path: "/usr/bin/claude",
			Version: "2.1.329"}, Login: claude.Login{Known: true, LoggedIn: true, Method: "claude.ai", Email: "a@b.example"}}},
		Terminal: DoctorTerminal{Stdin: true, Stdout: true, Width: 120, Height: 40, UTF8: true},
		State:    place("/home/u/.local/state/arbiter"), Config: place("/home/u/.config/arbiter"),
		Sessions: place("/home/u/.claude"), Temp: place("/tmp"),
		Workspace: DoctorWorkspace{DoctorPlace: place("/home/u/project"), Repository: true},
		Limits:    []int64{524288, 512, 4096, -1, -1},
		Isolation: proctree.Isolation{Kind: proctree.PIDNamespace},
		Sandbox:   DoctorSandbox{Mode: "off", Installed: true, Holds: true, Version: "0.9.0"},
	}
}

func environmentDoctor(entries ...string) func(string) string {
	return func(name string) string {
		for _, e := range entries {
			if value, ok := strings.CutPrefix(e, name+"="); ok {
				return value
			}
		}
		return ""
	}
}

func TestHealthy(t *testing.T) {
	for _, f := range Examine(healthy()) {
		testkit.Check(t, f.State == DoctorOK && f.Fix == "", "%+v", f)
	}
}

// TestFindings: each problem is found with its fix, and without other findings.
func TestFindings(t *testing.T) {
	for name, tt := range map[string]struct {
		spoil func(*Surroundings)
		area  string
		name  string
		state DoctorState
		found string // pattern
		fix   string // pattern; empty: none
	}{
		"no claude": {func(s *Surroundings) {
			s.Claude = DoctorClaude{ClaudeFindings: ClaudeFindings{Missing: true, Problem: "not found"}}
		},
			AreaClaude, "claude", DoctorFail, "not found", `^npm install -g @anthropic-ai/claude-code$`},
		"claude beside PATH": {func(s *Surroundings) {
			s.Claude = DoctorClaude{ClaudeFindings: ClaudeFindings{Missing: true, Problem: "not found"},
				Elsewhere: []string{"/home/u/my apps/claude"}}
		}, AreaClaude, "claude", DoctorFail, "is installed in /home/u/my apps/claude",
			`^export ARBITER_CLAUDE='/home/u/my apps/claude'$`},
		"the claude that was named": {func(s *Surroundings) {
			s.Claude = DoctorClaude{ClaudeFindings: ClaudeFindings{Missing: true, Problem: "find ./none"},
				Named: "./none", Elsewhere: []string{"/usr/bin/claude"}}
		}, AreaClaude, "claude", DoctorFail, "find ./none", `^export ARBITER_CLAUDE=/usr/bin/claude$`},
		"old claude": {func(s *Surroundings) { s.Claude.Problem = "2.0.1 is too old" },
			AreaClaude, "claude", DoctorFail, "too old", "claude-code@latest"},
		"new claude": {func(s *Surroundings) { s.Claude.Version = "3.0.0" }, AreaClaude, "claude", DoctorNote,
			"newer", ""},
		"stand-in": {func(s *Surroundings) { s.Claude.StandIn = true }, AreaClaude, "claude", DoctorNote, "stand-in",
			"npm"},
		"two claudes": {func(s *Surroundings) { s.Claude.Shadowed = []string{"/opt/claude"} }, AreaClaude, "others",
			DoctorNote, "/opt/claude", ""},
		"logged out": {func(s *Surroundings) { s.Claude.Login.LoggedIn = false }, AreaClaude, "login", DoctorFail,
			"not logged in", `^claude auth login$`},
		"login not known": {func(s *Surroundings) { s.Claude.Login = claude.Login{} }, AreaClaude, "login", DoctorWarn,
			"neither", `^claude auth login$`},
		"login by a file": {func(s *Surroundings) {
			s.Claude.Login, s.Claude.Hints = claude.Login{}, []string{"ANTHROPIC_API_KEY"}
		}, AreaClaude, "login", DoctorNote, "ANTHROPIC_API_KEY", ""},

		"no HOME": {envDoctor("TERM=xterm", "LANG=C.UTF-8"), AreaEnvironment, "HOME", DoctorWarn, "not set", "export HOME"},
		"another API": {envDoctor("ANTHROPIC_BASE_URL=https://me:secret@gate.example/v1"), AreaEnvironment,
			"ANTHROPIC_BASE_URL", DoctorNote, `^requests go to https://gate\.example$`, ""},
		"no API": {envDoctor("ANTHROPIC_BASE_URL=gate"), AreaEnvironment, "ANTHROPIC_BASE_URL", DoctorWarn, "not a URL",
			"unset"},
		"a key": {envDoctor("ANTHROPIC_API_KEY=k"), AreaEnvironment, "ANTHROPIC_API_KEY", DoctorNote, "billed", ""},
		"a key too many": {envDoctor("ANTHROPIC_API_KEY=k", "ANTHROPIC_AUTH_TOKEN=t"), AreaEnvironment, "ANTHROPIC_API_KEY",
			DoctorWarn, "both", "unset ANTHROPIC_API_KEY"},
		"a proxy": {envDoctor("https_proxy=http://u:p@proxy:3128"), AreaEnvironment, "https_proxy", DoctorNote,
			`^requests go by http://proxy:3128$`, ""},
		"no proxy": {envDoctor("HTTPS_PROXY=proxy"), AreaEnvironment, "HTTPS_PROXY", DoctorWarn, "not a URL",
			"unset HTTPS_PROXY"},
		"shell prefix": {envDoctor("CLAUDE_CODE_SHELL_PREFIX=/x"), AreaEnvironment, "CLAUDE_CODE_SHELL_PREFIX", DoctorWarn,
			"not kept out", "unset"},
		"config dir": {envDoctor("CLAUDE_CONFIG_DIR=here"), AreaEnvironment, "CLAUDE_CONFIG_DIR", DoctorWarn, "another",
			"export"},
		"a slip": {func(s *Surroundings) { s.Unknown = []string{"ARBITER_MODLE"} },
			AreaEnvironment, "ARBITER_MODLE", DoctorWarn, "no setting", "unset"},
		"root": {func(s *Surroundings) {
			s.UID, s.State.Owner = 0, 0
		}, AreaEnvironment, "root", DoctorNote, "as root", ""},

		"settings": {func(s *Surroundings) { s.Settings.Problem = "config.yaml:3: modle: no such setting" },
			AreaSettings, "configuration", DoctorFail, "modle", "arbiter schema config"},
		"not looked at": {func(s *Surroundings) { s.Settings.Skipped = "no place" }, AreaSettings, "configuration",
			DoctorNote, "no place", ""},
		"templates": {func(s *Surroundings) { s.Settings.Templates = "select.md: bad" }, AreaSettings, "templates",
			DoctorFail, "select.md", "arbiter decide --template"},
		"agent files": {func(s *Surroundings) { s.Settings.Agents = []string{"a.md:2: tools: bad"} }, AreaSettings,
			"agents", DoctorWarn, "a.md:2", "arbiter agents check"},
		"a make that does not start": {func(s *Surroundings) {
			s.Settings.Makes = []DoctorMake{{Name: "other", Version: "x", Problem: "no login"}}
		}, AreaSettings, "make other", DoctorWarn, "no login", "correct makes.other"},
		"a make that was not started": {func(s *Surroundings) { s.Settings.Makes = []DoctorMake{{Name: "other"}} },
			AreaSettings, "make other", DoctorNote, "not started", "arbiter doctor"},

		"no state": {func(s *Surroundings) { s.State = DoctorPlace{Problem: "no place"} }, AreaPlaces, "state", DoctorFail,
			"no place", "ARBITER_STATE_DIR"},
		"state is a link": {func(s *Surroundings) { s.State.Link = true }, AreaPlaces, "state", DoctorFail, "symbolic link",
			"readlink"},
		"others' state": {func(s *Surroundings) { s.State.Owner = 7 }, AreaPlaces, "state", DoctorFail, "another user",
			"chown"},
		"closed state": {func(s *Surroundings) { s.State.Mode = 0o500 }, AreaPlaces, "state", DoctorFail, "0500",
			"^chmod 700 /home"},
		"open state": {func(s *Surroundings) { s.State.Mode = 0o755 }, AreaPlaces, "state", DoctorWarn, "0755",
			"^chmod 700 /home"},
		"state read-only": {func(s *Surroundings) { s.State.Written = "cannot be written to" }, AreaPlaces, "state",
			DoctorFail, "cannot be written", "ARBITER_STATE_DIR"},
		"disk full": {func(s *Surroundings) { s.State.Free = 1 << 20 }, AreaPlaces, "state", DoctorFail, "only 1.0 MiB",
			"arbiter sessions"},
		"disk filling": {func(s *Surroundings) { s.State.Free = 500 << 20 }, AreaPlaces, "state", DoctorWarn, "500.0 MiB",
			"arbiter sessions"},
		"state on NFS": {func(s *Surroundings) { s.State.Network = "NFS" }, AreaPlaces, "state", DoctorWarn, "NFS",
			"ARBITER_STATE_DIR"},
		"slow disk": {func(s *Surroundings) { s.State.Synced = 3 * time.Second }, AreaPlaces, "state", DoctorWarn, "3s",
			""},
		"open settings": {func(s *Surroundings) { s.Config.Mode = 0o777 }, AreaPlaces, "configuration", DoctorWarn, "0777",
			"chmod go-w"},
		"no sessions": {func(s *Surroundings) { s.Sessions.Written = "cannot be written to" }, AreaPlaces, "sessions",
			DoctorWarn, "cannot", "ls -ld"},
		"no temp": {func(s *Surroundings) { s.Temp.Problem = "gone" }, AreaPlaces, "temporary", DoctorWarn, "gone", ""},
		"temp full": {func(s *Surroundings) { s.Temp.Free = 0 }, AreaPlaces, "temporary", DoctorWarn, "0 B",
			"df -h /tmp"},
		"no workspace": {func(s *Surroundings) { s.Workspace.Problem = "gone" }, AreaPlaces, "workspace", DoctorFail, "gone",
			"cd"},
		"at home": {func(s *Surroundings) { s.Workspace.Home = true }, AreaPlaces, "workspace", DoctorWarn,
			"all that you have", "cd"},
		"read-only": {func(s *Surroundings) { s.Workspace.Written = "cannot be written to" }, AreaPlaces,
			"workspace", DoctorWarn, "cannot", "ls -ld"},
		"no git": {func(s *Surroundings) { s.Workspace.Git = "git is not installed" }, AreaPlaces, "workspace", DoctorWarn,
			"^git is not installed: runs have no diffs", "apt-get install git"},
		"no repository": {func(s *Surroundings) { s.Workspace.Repository = false }, AreaPlaces, "workspace", DoctorNote,
			"no git repository", "git init"},
		"not trusted": {func(s *Surroundings) {
			s.Workspace.Trust.Listing.Items = []trust.Item{{Kind: "hooks", File: ".claude/settings.json"}}
		}, AreaPlaces, "trust", DoctorNote,
			"1 × hooks", "arbiter trust"},
		"changed": {func(s *Surroundings) { s.Workspace.Trust.Recorded, s.Workspace.Trust.State = true, "/s" }, AreaPlaces,
			"trust", DoctorWarn, "has changed", "arbiter trust --state-dir /s"},

		"a pipe": {func(s *Surroundings) { s.Terminal.Stdin = false }, AreaTerminal, "screen", DoctorNote, "stdin", ""},
		"into a file": {func(s *Surroundings) { s.Terminal.Stdout = false }, AreaTerminal, "screen", DoctorNote, "stdout",
			""},
		"dumb": {envDoctor("HOME=/h", "TERM=dumb", "LANG=C.UTF-8"), AreaTerminal, "screen", DoctorWarn, "dumb",
			"export TERM="},
		"no TERM": {envDoctor("HOME=/h", "LANG=C.UTF-8"), AreaTerminal, "screen", DoctorWarn, "TERM=''", "export TERM="},
		"small":   {func(s *Surroundings) { s.Terminal.Width = 60 }, AreaTerminal, "screen", DoctorNote, "60×40", ""},
		"no UTF-8": {func(s *Surroundings) { s.Terminal.UTF8 = false }, AreaTerminal, "characters", DoctorWarn, "ASCII",
			"export LC_ALL=C.UTF-8"},
		"tmux": {func(s *Surroundings) { envDoctor("TMUX=x")(s); s.Terminal.Clipboard = "external" }, AreaTerminal,
			"clipboard", DoctorWarn, "external", "tmux set-option -s set-clipboard on"},
		"silent tmux": {envDoctor("TMUX=x"), AreaTerminal, "clipboard", DoctorWarn, "does not say", "tmux set-option"},
		"screen":      {envDoctor("STY=x"), AreaTerminal, "clipboard", DoctorWarn, "screen", "tmux"},
		"few watches": {func(s *Surroundings) { s.Limits[0] = 100 }, AreaMachine, "inotify", DoctorWarn, "100 watches",
			"sysctl fs.inotify.max_user_watches"},
		"few inotify": {func(s *Surroundings) { s.Limits[1] = 8 }, AreaMachine, "inotify", DoctorWarn, "8 instances",
			"sysctl fs.inotify.max_user_instances"},
		"few files": {func(s *Surroundings) { s.Limits[2] = 256 }, AreaMachine, "open files", DoctorWarn, "256",
			"ulimit -n"},
		"no processes": {func(s *Surroundings) { s.Limits[3] = 50 }, AreaMachine, "user processes", DoctorWarn, "50",
			"ulimit -u"},
		"small files": {func(s *Surroundings) { s.Limits[4] = 4096 }, AreaMachine, "file size", DoctorWarn, "4096",
			"ulimit -f"},
		"no namespace": {func(s *Surroundings) {
			s.Isolation = proctree.Isolation{Kind: proctree.NoNamespace, Why: "because"}
		}, AreaMachine, "processes",
			DoctorNote, "because", "--pid-namespace always"},
		"no bubblewrap": {func(s *Surroundings) { s.Sandbox = DoctorSandbox{Mode: "off"} },
			AreaMachine, "sandbox", DoctorNote, "not installed; agents run unconfined", "apt-get install bubblewrap"},
		"bubblewrap wanted": {func(s *Surroundings) { s.Sandbox = DoctorSandbox{Mode: "on"} }, AreaMachine, "sandbox",
			DoctorFail,
			"asked for", "apt-get"},
		"leaking": {func(s *Surroundings) {
			s.Sandbox = DoctorSandbox{Mode: "on", Installed: true, Reason: "it leaks"}
		}, AreaMachine, "sandbox", DoctorFail, "leaks", ""},
		"restricted": {func(s *Surroundings) {
			s.Sandbox = DoctorSandbox{Mode: "auto", Installed: true, Reason: "refused", Restricted: true}
		}, AreaMachine, "sandbox", DoctorNote, "refused", "sysctl kernel.apparmor"},

		"no runs": {func(s *Surroundings) { s.Leftovers.Problem = "no" }, AreaLeftovers, "runs", DoctorNote, "no", ""},
		"damaged": {func(s *Surroundings) {
			s.Leftovers.Runs = runsDoctor("abc", journal.Info{Damaged: true, Problem: "torn"})
		},
			AreaLeftovers, "damaged", DoctorWarn, "torn", "sessions show abc"},
		"interrupted": {func(s *Surroundings) { s.Leftovers.Runs = runsDoctor("abc", journal.Info{}) }, AreaLeftovers,
			"interrupted", DoctorNote, "/w", "--resume --session abc"},
		"worktrees": {func(s *Surroundings) {
			s.Leftovers.Runs = runsDoctor("abc", journal.Info{Meta: journal.Meta{Status: contract.StatusComplete}})
			s.Leftovers.Worktrees = []string{"abc"}
		}, AreaLeftovers,
			"worktrees", DoctorNote, "/w", "sessions rm abc"},
		"strays": {func(s *Surroundings) {
			s.Leftovers.Processes = []proctree.Process{{PID: 7, Name: "sleep"}, {PID: 9, Name: "node"}}
		},
			AreaLeftovers, "processes", DoctorWarn, `sleep \(7\), node \(9\)`, `^kill -KILL 7 9$`},
		"scratch": {func(s *Surroundings) { s.Leftovers.Scratch = []DoctorScratch{{"/tmp/a", "of x"}, {"/tmp/b", "of x"}} },
			AreaLeftovers, "scratch directories", DoctorNote, "2 of x", `^rm -rf /tmp/a /tmp/b$`},
		"much scratch": {func(s *Surroundings) {
			s.Leftovers.Scratch = slices.Repeat([]DoctorScratch{{"/tmp/a", "of x"}},
				200)
		},
			AreaLeftovers, "scratch directories", DoctorNote, "200 of x; this removes 10 of them", `^rm -rf( /tmp/a){10}$`},
	} {
		t.Run(name, func(t *testing.T) {
			s := healthy()
			tt.spoil(&s)
			wrong := testkit.Only(Examine(s), func(f Finding) bool { return f.State != DoctorOK })
			testkit.Need(t, len(wrong) == 1, "want one finding, have %+v", wrong)
			f := wrong[0]
			testkit.Check(t, f.Area == tt.area && f.Name == tt.name && f.State == tt.state &&
				regexp.MustCompile(tt.found).MatchString(f.Found) && (f.Fix == "") == (tt.fix == "") &&
				regexp.MustCompile(tt.fix).MatchString(f.Fix), "%+v", f)
		})
	}
}

// runsDoctor returns runs like one, each with one of the letters or the whole text as its id.
func runsDoctor(id string, like journal.Info, more ...string) (list []journal.Info) {
	for _, id := range append([]string{id}, more...) {
		like.Run, like.CWD = id, "/w"
		list = append(list, like)
	}
	return list
}

// envDoctor adds entries to a healthy environment, or replaces the environment if HOME or LANG is among the entries.
func envDoctor(entries ...string) func(*Surroundings) {
	return func(s *Surroundings) {
		own, old := environmentDoctor(entries...), s.Getenv
		whole := own("HOME") != "" || own("LANG") != ""
		s.Getenv = func(name string) string {
			if v := own(name); v != "" || whole {
				return v
			}
			return old(name)
		}
	}
}

// TestManyInterruptedRuns: the first runs are listed, and the rest are counted. The suggested commands name their
// state directory.
func TestManyInterruptedRuns(t *testing.T) {
	s := healthy()
	s.Leftovers.Runs = append(runsDoctor("a", journal.Info{}, "b", "c", "d", "e"),
		runsDoctor("f", journal.Info{Damaged: true})...)
	s.Leftovers.Named, s.Leftovers.NamedToResume = " --state-dir x", " --state-dir y"
	var found []string
	for _, f := range Examine(s) {
		if f.Area != AreaLeftovers {
			continue
		}
		if f.State == DoctorNote {
			found = append(found, f.Found)
		}
		want := s.Leftovers.Named
		if strings.Contains(f.Fix, "--resume") {
			want = s.Leftovers.NamedToResume
		}
		testkit.Check(t, f.State == DoctorOK || strings.HasSuffix(f.Fix, want), "%+v", f)
	}
	testkit.Check(t, len(found) == 4 && found[3] == "and 2 more runs", "%q", found)
}

// TestAbilities: abilities that were seen, not seen, or not tried, and a trial that could not start.
func TestAbilities(t *testing.T) {
	judge := func(seen Observed) (of map[string]Finding) {
		s := healthy()
		s.Seen, s.Tested, of = seen, "1.2.3", map[string]Finding{}
		for _, f := range Examine(s) {
			if f.Area == AreaAbilities {
				of[f.Name] = f
			}
		}
		return of
	}
	seen := Observed{}
	for _, a := range abilities {
		seen[a.name] = nil
	}
	for _, f := range judge(seen) {
		testkit.Check(t, f.State == DoctorOK && f.Fix == "", "%+v", f)
	}
	seen["verdicts"], seen["ping"], seen["permissions"] = errors.New("there was none"), errors.New("no answer"), errLate
	seen["frames"] = newFrames([]bridge.Event{{Body: bridge.Notice{Text: "x", Frame: "system/new"}},
		{Body: bridge.Notice{Text: "y"}}, {Body: bridge.Notice{Text: "x", Frame: "system/new"}}})
	delete(seen, "resume")
	states := judge(seen)
	for name, want := range map[string]Finding{
		"verdicts":    {State: DoctorFail, Found: "there was none", Fix: "@1.2.3"},
		"ping":        {State: DoctorWarn, Found: "no answer", Fix: "@1.2.3"},
		"permissions": {State: DoctorWarn, Found: "no time", Fix: "arbiter doctor"},
		"resume":      {State: DoctorNote, Found: "not tried"},
		"frames":      {State: DoctorNote, Found: "1 unknown: system/new", Fix: "@1.2.3"},
		"session":     {State: DoctorOK},
	} {
		got := states[name]
		testkit.Check(t, got.State == want.State && strings.Contains(got.Found, want.Found) &&
			strings.Contains(got.Fix, want.Fix), "%s: %+v", name, got)
	}
	all := judge(Observed{"session": errors.New("it ended")})
	testkit.Check(t, len(all) == 1 && all["session"].State == DoctorFail &&
		strings.Contains(all["session"].Found, "it ended"), "%+v", all)
}

// TestReport: the worst state counts, findings are grouped by area, and the last line is the summary.
func TestReport(t *testing.T) {
	r := NewReport("1.0", []Finding{
		{AreaClaude, "claude", DoctorOK, "2.1.329", ""}, {AreaPlaces, "state", DoctorNote, "far\x1b[2J away", "mv it"},
		{AreaTerminal, "screen", DoctorWarn, "small", ""}, {AreaTerminal, "characters", DoctorOK, "UTF-8", ""},
	})
	testkit.Check(t, r.State == DoctorWarn && r.Counts[DoctorOK] == 2 && r.Counts[DoctorFail] == 0, "%+v", r)
	for style, want := range map[DoctorStyle]string{
		{}: "claude\n✓ claude      2.1.329\n\ndirectories\n· state       far away\n              → mv " +
			"it\n\nterminal\n! screen      small\n✓ characters  UTF-8\n\n! A run can start here, 1 warning.\n",
		{ASCII: true}: "claude\n+ claude      2.1.329\n\ndirectories\n- state       far away\n              -> mv " +
			"it\n\nterminal\n! screen      small\n+ characters  UTF-8\n\n! A run can start here, 1 warning.\n",
	} {
		var b strings.Builder
		err := r.Print(&b, style)
		testkit.Check(t, err == nil && b.String() == want, "%+v: %v\n%s", style, err, b.String())
	}
	var b strings.Builder
	if _ = r.Print(&b, DoctorStyle{Colour: true}); !strings.Contains(b.String(), "\x1b[33m!\x1b[0m screen") {
		t.Errorf("%q", b.String())
	}
	broken := NewReport("1.0", []Finding{{AreaClaude, "login", DoctorFail, "none", ""}})
	text := broken.summary()
	testkit.Check(t, strings.Contains(text, "1 failure.") && strings.Contains(text, "--rehearse"), "%v", text)
	text = NewReport("1.0", []Finding{{AreaPlaces, "state", DoctorFail, "none", ""}}).summary()
	testkit.Check(t, !strings.Contains(text, "--rehearse"), "%v", text)
}

// TestLooksAtADirectory: the directory is reported correctly, and the check leaves nothing behind.
func TestLooksAtADirectory(t *testing.T) {
	dir := t.TempDir()
	at := filepath.Join(dir, "state")
	p := LookAt(filepath.Join(at, "below"), true)
	testkit.Check(t, !p.Exists && p.Problem == "" && p.Written == "", "missing: %+v", p)
	testkit.OK(t, os.Mkdir(at, 0o750))
	p = LookAt(at, true)
	testkit.Check(t, p.Exists && p.Mode == 0o750 && p.Owner == os.Geteuid() && p.Written == "" && p.Synced > 0 &&
		p.Free != 0, "there: %+v", p)
	left, _ := os.ReadDir(at)
	testkit.Check(t, len(left) == 0, "left: %v", left)
	link, file := filepath.Join(dir, "link"), filepath.Join(dir, "file")
	testkit.OK(t, os.Symlink(at, link))
	p = LookAt(link, false)
	testkit.Check(t, p.Link && p.Exists, "link: %+v", p)
	testkit.OK(t, os.WriteFile(file, nil, 0o600))
	p = LookAt(file, false)
	testkit.Check(t, strings.Contains(p.Problem, "not a directory"), "file: %+v", p)
	p = LookAt(filepath.Join(file, "below"), false)
	testkit.Check(t, p.Problem != "", "below a file: %+v", p)
	if p := LookAt("/proc/arbiter", true); !strings.Contains(p.Written, "/proc/arbiter cannot be created") {
		t.Errorf("on a file system that takes nothing: %+v", p)
	}
}

// TestLooksForScratch: abandoned directories are found. Directories that are new, in use, have a socket with a
// listener, which may be busy, or have another name are not.
func TestLooksForScratch(t *testing.T) {
	place := testkit.ShortDir(t)
	before := time.Now().Add(-time.Hour)
	for _, name := range []string{"arbiter-rehearsal-1", "arbiter-rehearsal-2", "arbiter-hook-1", "arbiter-hook-2",
		"arbiter-git-1", "arbiter-git-2", "arbiter-home-young", "arbiter-rehearsal-notes", "else"} {
		testkit.OK(t, os.MkdirAll(filepath.Join(place, name, "workspace"), 0o700))
	}
	for _, dir := range []string{"arbiter-hook-1", "arbiter-hook-2"} {
		l := testkit.Must(net.Listen("unix", filepath.Join(place, dir, "s")))(t)
		l.(*net.UnixListener).SetUnlinkOnClose(false)
		if dir == "arbiter-hook-2" {
			defer l.Close()
		} else if err := l.Close(); err != nil { // as if its process had been killed
			t.Fatal(err)
		}
	}
	if runtime.GOOS == "linux" {
		fd := testkit.Must(unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM, 0))(t)
		defer unix.Close(fd)
		busy := filepath.Join(place, "arbiter-git-1", "s")
		testkit.OK(t, unix.Bind(fd, &unix.SockaddrUnix{Name: busy}), unix.Listen(fd, 0))
		for err := error(nil); err == nil; { // until it takes no more connections
			var c net.Conn
			if c, err = net.Dial("unix", busy); err == nil {
				defer c.Close()
			}
		}
	}
	for _, name := range []string{"arbiter-rehearsal-1", "arbiter-rehearsal-2", "arbiter-hook-1", "arbiter-hook-2",
		"arbiter-git-1", "arbiter-git-2", "arbiter-rehearsal-notes", "else"} {
		testkit.OK(t, os.Chtimes(filepath.Join(place, name), before, before))
	}
	var found []string
	for _, s := range LookForScratch([]string{place, place},
		[]string{filepath.Join(place, "arbiter-rehearsal-2", "workspace", "deep")}, os.Geteuid()) {
		found = append(found, filepath.Base(s.Path))
	}
	testkit.Same(t, "found", "arbiter-git-2 arbiter-hook-1 arbiter-rehearsal-1", strings.Join(found, " "))
	all := LookForScratch([]string{place}, nil, os.Geteuid()+1)
	testkit.Check(t, len(all) == 0, "another user's: %v", all)
}

// TestScratchOfRunsIsLeftAlone: a directory with the mark of an existing run is not found, wherever the run is kept
// and however it ended. A directory of a removed run is found.
func TestScratchOfRunsIsLeftAlone(t *testing.T) {
	place, runs := t.TempDir(), t.TempDir()
	there, gone := filepath.Join(runs, "there"), filepath.Join(runs, "gone")
	testkit.OK(t, os.Mkdir(there, 0o700))
	var want []string
	for _, prefix := range []string{command.ScratchRehearsal, command.ScratchSockets} {
		for _, owner := range []string{there, gone, filepath.Join(there, strings.Repeat("x", 300)),
			filepath.Join(runs, "none", "gone")} {
			dir := testkit.Must(command.MakeScratch(place, prefix, owner))(t)
			if filepath.Base(owner) == "gone" {
				want = append(want, dir)
			}
			before := time.Now().Add(-time.Hour)
			testkit.OK(t, os.Chtimes(dir, before, before))
		}
	}
	found := testkit.Each(LookForScratch([]string{place}, nil, os.Geteuid()),
		func(s DoctorScratch) string { return s.Path })
	slices.Sort(want)
	testkit.Check(t, slices.Equal(found, want), "found %q, want %q", found, want)
}

func TestScriptIsSound(t *testing.T) {
	testkit.Works(t, "Parse", testkit.Err(rehearsal.Parse("doctor.yaml", script)))
}
