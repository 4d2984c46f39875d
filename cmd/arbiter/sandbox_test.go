package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/bridge/sandbox"
	"github.com/arbiter-cli/arbiter/internal/testkit"
	"github.com/arbiter-cli/arbiter/internal/workspace/gittest"
	"github.com/arbiter-cli/arbiter/rehearsal"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
)

// needSandbox skips the test if there is no sandbox.
func needSandbox(t *testing.T) {
	t.Helper()
	path, err := sandbox.Find()
	if err != nil {
		t.Skip(err)
	}
	if out, err := exec.Command(path, "--ro-bind", "/", "/", "--unshare-user", "--unshare-pid",
		"--unshare-net", "--proc", "/proc", "true").CombinedOutput(); err != nil {
		t.Skipf("bubblewrap may not be used here: %v: %s", err, out)
	}
}

// lying writes a bwrap that runs its command without confinement, and returns a PATH that begins with it.
func lying(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	text := "#!/bin/sh\n[ \"$1\" = --version ] && { echo bubblewrap 0.8.0; exit 0; }\n" +
		"while [ \"$1\" != -- ]; do [ \"$1\" = --chdir ] && cd \"$2\"; shift; done; shift; exec \"$@\"\n"
	testkit.OK(t, os.WriteFile(filepath.Join(dir, sandbox.Name), []byte(text), 0o755))
	return "PATH=" + dir + ":" + os.Getenv("PATH")
}

// sessionLast returns the last session event of a run.
func sessionLast(s *script) contract.Session {
	list := collect[contract.Session](s)
	return list[len(list)-1]
}

// TestSandboxedResume: a run that began in a sandbox continues in one, without the flag.
func TestSandboxedResume(t *testing.T) {
	needSandbox(t)
	s := start(t, nil, "--json", "--stand-in", "--task", "Do it", "--sandbox", "on")
	s.offScript = true
	await[contract.Turn](s, "a turn", nil)
	s.mustSignal(syscall.SIGKILL)
	s.gone()
	next := s.again("--json", "--resume")
	next.gone()
	if got := sessionLast(next); got.Sandbox != "bubblewrap" || !got.Resumed {
		t.Errorf("session: %q, %q, resumed %v", got.Sandbox, got.SandboxReason, got.Resumed)
	}
}

// TestSandboxedGitIsGone: the git that records the files of a sandboxed run leaves it no dead processes.
func TestSandboxedGitIsGone(t *testing.T) {
	t.Parallel()
	needSandbox(t)
	repo := gittest.New(t, map[string]string{"old.txt": "old\n"}).Path
	s, _ := hiredIn(t, players(t)[0], confined(repo), repo, "--sandbox", "on", "--permissions", "allow-all",
		"--i-accept-the-risk", "--task", "Weave")
	s.offScript = true
	await[contract.Turn](s, "a turn", nil)
	dead := fmt.Appendf(nil, ") Z %d ", s.cmd.Process.Pid)
	testkit.Await(t, "the end of dead processes", func() bool {
		all, _ := filepath.Glob("/proc/[0-9]*/stat") // the pattern is well-formed
		return !slices.ContainsFunc(all, func(path string) bool {
			stat, _ := os.ReadFile(path) // it may have gone
			return bytes.Contains(stat, dead)
		})
	})
	s.mustSignal(syscall.SIGINT)
	s.gone()
}

// TestSandboxIsTheDefault: without a word about it, a run is confined, and the first notice says so; where there is no
// bubblewrap, or it does not confine, it says that and what to do. With --sandbox on such a run is refused before
// anything is started.
func TestSandboxIsTheDefault(t *testing.T) {
	needSandbox(t)
	ownDefault := confinedVariable + "=1"
	for name, c := range map[string]struct {
		env, args      []string
		sandbox, notes string
	}{
		"confined": {nil, []string{"--allow-host", "packages.example.com"}, "bubblewrap",
			"sandbox: files and network confined; hosts: 127.0.0.1:"},
		"only the API": {nil, []string{"--network", "none"}, "bubblewrap",
			"sandbox: files and network confined; hosts: 127.0.0.1:"},
		"open": {nil, []string{"--network", "open"}, "bubblewrap", "sandbox: files confined; the network is open"},
		"no bubblewrap": {[]string{"PATH=" + withoutBubblewrap(t)}, nil, "unsandboxed",
			"not confined: bubblewrap is not installed (apt-get install bubblewrap"},
		"a sandbox that does not hold": {[]string{lying(t)}, nil, "unsandboxed", "the sandbox's own network"},
		"refused":                      {[]string{lying(t)}, []string{"--sandbox", "on"}, "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := start(t, append(c.env, ownDefault), append([]string{"--json", "--no-input", "--task", "Do it",
				"--stand-in"}, c.args...)...)
			if name == "refused" {
				s.finish(contract.ExitEnvironment)
				s.oneError(bridge.CatSandbox)
				testkit.Empty(t, "agents were started", collect[contract.Spawn](s))
				testkit.Includes(t, "the reason", sessionLast(s).SandboxReason, "the sandbox's own network")
				return
			}
			s.finish(contract.ExitComplete)
			testkit.Same(t, "sandbox", c.sandbox, sessionLast(s).Sandbox)
			if got := collect[contract.Notice](s)[0].Text; !strings.Contains(got, c.notes) ||
				strings.Contains(got, "packages.example.com") != (name == "confined") {
				t.Errorf("the first notice is %q, want %q", got, c.notes)
			}
		})
	}
}

// withoutBubblewrap returns a PATH with links to all programs but one.
func withoutBubblewrap(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for _, place := range filepath.SplitList(os.Getenv("PATH")) {
		programs, _ := os.ReadDir(place) // some are missing
		for _, p := range programs {
			if p.Name() != sandbox.Name {
				_ = os.Symlink(filepath.Join(place, p.Name()), filepath.Join(dir, p.Name())) // the first one counts
			}
		}
	}
	return dir
}

// TestSandboxSettings: invalid settings are refused at once.
func TestSandboxSettings(t *testing.T) {
	for args, want := range map[string]string{
		"--sandbox=maybe":             "use off, auto or on",
		"--sandbox-write=/nowhere/at": "create it first",
		"--sandbox-hide=":             "is empty",
		"--network=closed":            "use proxy, none or open",
		"--allow-host=http://x":       "without http://",
		"--allow-host=127.0.0.1":      "needs a port",
	} {
		inProcess("", "--json", "--no-input", "--stand-in", "--task", "x", "--state-dir", t.TempDir(), args).ended(t, args,
			contract.ExitUsage, want)
	}
}

// loom is a workspace whose hook leaves a mark at each start of a session, with a model for its runs.
type loom struct {
	t                         *testing.T
	work, state, mark, script string
	env                       []string
	claude                    string
}

func newLoom(t *testing.T) loom {
	claude := neededClaude(t)
	script := testkit.Must(rehearsal.Load("testdata/scenarios/full-dialogue.yaml"))(t)
	l := loom{t: t, work: t.TempDir(), state: t.TempDir(), mark: filepath.Join(t.TempDir(), "mark"), claude: claude}
	l.script = filepath.Join(l.work, "scripts", "start.sh")
	l.write(".git/HEAD", "ref: refs/heads/main\n")
	l.write("scripts/start.sh", "echo ran >> "+l.mark+"\n")
	l.write(".claude/settings.json", `{"hooks":{"SessionStart":[{"hooks":[{"type":"command","command":"sh \"$CLAUDE_PROJECT_DIR\"/scripts/start.sh"}]}]}}`)
	model := testkit.Must(rehearsal.Start(script, rehearsal.Options{}))(t)
	t.Cleanup(func() { _ = model.Close() })
	l.env = append(asksOf(model), "ARBITER_STATE_DIR="+l.state)
	return l
}

func (l loom) write(name, text string) {
	l.t.Helper()
	path := filepath.Join(l.work, name)
	testkit.OK(l.t, os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte(text), 0o600))
}

// marks returns how many times the hook has run.
func (l loom) marks() int {
	raw, _ := os.ReadFile(l.mark)
	return strings.Count(string(raw), "ran")
}

// begin starts a run and waits for the Arbiter's question, so that one session has started.
func (l loom) begin(more ...string) *script {
	l.t.Helper()
	args := append([]string{"--json", "--claude", l.claude, "--cwd", l.work, "--allow", "Bash(*)", "--allow", "Edit(**)",
		"--task", "Greet somebody"}, more...)
	s := start(l.t, l.env, args...)
	await[contract.Question](s, "a question", nil)
	return s
}

func (l loom) trust(args ...string) int {
	l.t.Helper()
	env := append([]string{"PATH=" + os.Getenv("PATH"), "HOME=" + l.t.TempDir()}, l.env...)
	c := runIn(l.t, env, "", "", append([]string{"trust", "--cwd", l.work}, args...)...)
	l.t.Log(c.out + c.errs)
	return int(c.code)
}

// TestTrustOfHooks: a workspace's hook runs only if the workspace is trusted in its present state.
func TestTrustOfHooks(t *testing.T) {
	t.Parallel()
	l := newLoom(t)
	stop := func(s *script) {
		t.Helper()
		s.cancels()
	}
	want := func(when string, marks int) {
		t.Helper()
		got := l.marks()
		testkit.Need(t, got == marks, "%s: the hook ran %d times, want %d", when, got, marks)
	}
	s := l.begin()
	stop(s)
	testkit.Includes(t, "stderr", s.stderr.String(), "This workspace is not trusted")
	want("never trusted", 0)
	s = l.begin("--trust")
	stop(s)
	testkit.Includes(t, "stderr", s.stderr.String(), "Trusted for this run, as it is now: 1 × hook, 1 × script")
	want("with --trust", 1)
	testkit.Same(t, "--trust was recorded", int(contract.ExitFailed), l.trust("--show"))
	code := l.trust("--yes")
	testkit.Need(t, code == 0, "trust --yes: %d", code)
	stop(l.begin())
	want("trusted", 2)
	l.write("scripts/start.sh", "echo ran  >> "+l.mark+"\n")
	s = l.begin()
	stop(s)
	want("changed by a byte", 2)
	errors := collect[contract.Error](s)
	testkit.Check(t, len(errors) == 1 && errors[0].Category == bridge.CatTrust &&
		strings.Contains(errors[0].Message, "changed: script scripts/start.sh"), "errors %+v", errors)
	session := collect[contract.Session](s)[0]
	testkit.Check(t, !session.Trusted, "the session says that it is trusted")
}

// TestTrustInTheRun: if trusted files change during a run, the change is found before the next agent starts.
func TestTrustInTheRun(t *testing.T) {
	for _, choice := range []string{"trust", "without"} {
		t.Run(choice, func(t *testing.T) {
			if choice == "without" {
				testkit.Long(t)
			}
			t.Parallel()
			l := newLoom(t)
			s := l.begin("--trust")
			l.write("scripts/start.sh", "echo ran  >> "+l.mark+"\n")
			s.send(contract.Say{Text: "greet with hail"})
			e := await[contract.Error](s, "the question of trust", func(_ string, e contract.Error) bool {
				return e.Category == bridge.CatTrust
			})
			testkit.Check(t, strings.Contains(e.Message, "changed: script scripts/start.sh") &&
				len(e.RecoveryOptions) == 3, "error %+v", e)
			testkit.Same(t, "how often the hook ran before the choice", 1, l.marks())
			s.send(contract.Choose{Option: choice})
			s.completes()
			want, code := 1, int(contract.ExitFailed)
			if choice == "trust" {
				want, code = 2, 0
			}
			testkit.Same(t, "how often the hook ran", want, l.marks())
			testkit.Same(t, "trust --show afterwards", code, l.trust("--show"))
		})
	}
}
