package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"github.com/arbiter-cli/arbiter/internal/testkit"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/bridge/sandbox"
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

// TestSandboxedRun: a whole run inside of sandboxes, including its checks.
func TestSandboxedRun(t *testing.T) {
	testkit.Long(t)
	needSandbox(t)
	eachPlayerLong(t, func(t *testing.T, p player) { // the driver's tests use the sandbox too
		s := start(t, nil, append([]string{"--json", "--no-input", "--task", "Do it", "--sandbox", "on"},
			p.args...)...)
		s.finish(contract.ExitComplete)
		if got := sessionLast(s); got.Sandbox != "bubblewrap" || got.SandboxReason != "" {
			t.Errorf("session: %q, %q", got.Sandbox, got.SandboxReason)
		}
	})
}

// TestSandboxedResume: a run that began in a sandbox continues in one, without the flag.
func TestSandboxedResume(t *testing.T) {
	needSandbox(t)
	s := start(t, nil, "--json", "--stand-in", "--task", "Do it", "--sandbox", "on")
	s.offScript = true
	s.after(0, "a turn", func(l contract.Line) bool { _, ok := l.Body.(contract.Turn); return ok })
	s.mustSignal(syscall.SIGKILL)
	s.gone()
	next := s.again("--json", "--resume")
	next.gone()
	if got := sessionLast(next); got.Sandbox != "bubblewrap" || !got.Resumed {
		t.Errorf("session: %q, %q, resumed %v", got.Sandbox, got.SandboxReason, got.Resumed)
	}
}

// TestSandboxThatDoesNotHold: if the sandbox does not confine, a run with --sandbox on is refused before
// anything is started, and one with auto continues and says so.
func TestSandboxThatDoesNotHold(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("sandboxes are for Linux")
	}
	path := lying(t)
	t.Run("on", func(t *testing.T) {
		s := start(t, []string{path}, "--json", "--no-input", "--task", "Do it", "--stand-in", "--sandbox", "on")
		s.finish(contract.ExitEnvironment)
		s.oneError(bridge.CatSandbox)
		if n := len(collect[contract.Spawn](s)); n > 0 {
			t.Errorf("%d agents were started", n)
		}
		if got := sessionLast(s); !strings.Contains(got.SandboxReason, "the sandbox's own network") {
			t.Errorf("session: %q, %q", got.Sandbox, got.SandboxReason)
		}
	})
	t.Run("auto", func(t *testing.T) {
		s := start(t, []string{path}, "--json", "--no-input", "--task", "Do it", "--stand-in", "--sandbox", "auto")
		s.finish(contract.ExitComplete)
		if got := sessionLast(s); got.Sandbox != "unsandboxed" ||
			!strings.Contains(got.SandboxReason, "the sandbox's own network") {
			t.Errorf("session: %q, %q", got.Sandbox, got.SandboxReason)
		}
	})
}

// TestSandboxIsTheDefault: without a word about it, a run is confined, and the first notice says so; where there is no
// bubblewrap, or the workspace cannot be confined, it says that and what to do.
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
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := start(t, append(c.env, ownDefault), append([]string{"--json", "--no-input", "--task", "Do it",
				"--stand-in"}, c.args...)...)
			s.finish(contract.ExitComplete)
			if got := sessionLast(s).Sandbox; got != c.sandbox {
				t.Errorf("sandbox: %q", got)
			}
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
		var out, errs strings.Builder
		code := run([]string{"arbiter", "--json", "--no-input", "--stand-in", "--task", "x", "--state-dir", t.TempDir(),
			args}, strings.NewReader(""), &out, &errs)
		if code != int(contract.ExitUsage) || !strings.Contains(errs.String(), want) {
			t.Errorf("%s: exit %d, %s", args, code, errs.String())
		}
	}
}
