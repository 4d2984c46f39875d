package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/command"
	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/host"
	"github.com/arbiter-cli/arbiter/internal/testkit"
	"github.com/arbiter-cli/arbiter/internal/workspace/gittest"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
)

// onOneHost starts a run whose only host is box, by its command and further fields as YAML.
func onOneHost(t *testing.T, command, fields string, args ...string) *script {
	t.Helper()
	config := write(t, "hosts:\n"+hostNamed("box", command)+fields, t.TempDir(), "config.yaml")
	repo := gittest.New(t, map[string]string{"old.txt": "old\n"})
	s, _ := hiredIn(t, players(t)[0], oneHand, repo.Path, append([]string{"--config", config, "--hosts", "box",
		"--lease", "5s", "--allow", "Write", "--task", "Weave"}, args...)...)
	return s
}

// TestAConnectionThatHangs: a host that takes the connection and says nothing is reported after the limit, and its
// command is ended. A human who has mended it has it tried at once, and the run goes on there.
func TestAConnectionThatHangs(t *testing.T) {
	ssh := testkit.NewSSH(t)
	equip(t, ssh.Bin, "")
	ssh.Relay.Hole()
	s := onOneHost(t, strings.Join(ssh.Command, ", "), "    connect: 2s\n")
	lost := await(s, "the loss of the host", func(_ string, b contract.Host) bool { return b.Status == contract.HostLost })
	testkit.Includes(t, "", lost.Reason, "no answer within 2s")
	testkit.Await(t, "the end of the connection", func() bool { return len(withWords(ssh.Config)) == 0 })
	ssh.Relay.Restore()
	s.send(contract.Choose{Option: "retry host box"})
	s.finish(contract.ExitComplete)
}

// withWords returns the processes whose command line contains a text.
func withWords(text string) []process {
	return processes(func(p process) bool { return strings.Contains(p.command, text) })
}

// TestAKilledRunLeavesNoConnection: if arbiter is killed while a connection hangs, the host's command ends, too.
func TestAKilledRunLeavesNoConnection(t *testing.T) {
	onlyLinux(t)
	t.Parallel()
	silent := write(t, "", t.TempDir(), "silent")
	s := onOneHost(t, "sh, -c, 'exec tail -f "+silent+"'", "") // without the words that start a bridge
	testkit.Await(t, "the connection", func() bool { return len(withWords(silent)) > 0 })
	s.mustSignal(syscall.SIGKILL)
	testkit.Await(t, "the end of the connection", func() bool { return len(withWords(silent)) == 0 })
}

// TestNothingIsLeftOnAHost: when a run is complete, directories and branches on the host whose work was merged
// are removed, and the work is here.
func TestNothingIsLeftOnAHost(t *testing.T) {
	testkit.Long(t)
	t.Parallel()
	repo, s, home := leavesAHost(t, oneHand)
	s.completes()
	data := filepath.Join(home, ".local/share/arbiter/hosts")
	cache := filepath.Join(data, "cache", ".git")
	left, err := filepath.Glob(filepath.Join(data, "*", "orch-*"))
	testkit.Check(t, err == nil && len(left) == 0, "left on the host: %v, %v\n%s", left, err, s.stderr.String())
	testkit.Same(t, "left in the cache of the host", "", repo.Git("ls-remote", cache, "refs/*"))
	merged := repo.Git("for-each-ref", "--format=%(refname:short)", "refs/heads/arbiter/*/main")
	testkit.Same(t, "merged here", "one", repo.Git("show", merged+":one.txt"))
}

// leavesAHost starts a run with a host, and also returns the home directory there.
func leavesAHost(t *testing.T, play string) (repo gittest.Dir, s *script, home string) {
	t.Helper()
	home, bin := besides(t, "")
	config := write(t, "hosts:\n"+hostNamed("box", inHome(home, bin)), t.TempDir(), "config.yaml")
	repo = gittest.New(t, map[string]string{"old.txt": "old\n"})
	s, _ = hiredIn(t, players(t)[0], play, repo.Path, "--config", config, "--hosts", "box", "--isolation", "worktree",
		"--allow", "Write", "--allow", "Bash", "--task", "Weave")
	return repo, s, home
}

// leftHand is a play in which the Orchestrator is released before its work is done.
var leftHand = playOf(
	arbiter(append(summons("Weave part one"), on("Which thread", releases), complete("Without it.")),
		complete("Without it.")),
	orchestrator("one", "", []object{writes("one.txt", "one\n"), question("Which thread?")}))

// TestUnmergedWorkStaysOnAHost: the directory of an agent whose work was not merged stays and is named; its
// contents are on the agent's branch here.
func TestUnmergedWorkStaysOnAHost(t *testing.T) {
	testkit.Long(t)
	t.Parallel()
	repo, s, home := leavesAHost(t, leftHand)
	s.completes()
	branch := repo.Git("for-each-ref", "--format=%(refname:short)", "refs/heads/arbiter/*/orch-1.*")
	want := "the work of orch-1 was not merged: it is on branch " + branch
	output := s.stderr.String()
	testkit.Check(t, branch != "" && strings.Contains(output, want) && strings.Contains(output, "on host box"),
		"it does not say %q:\n%s", want, output)
	left, err := filepath.Glob(filepath.Join(home, ".local/share/arbiter/hosts/*/orch-1/one.txt"))
	testkit.Check(t, len(left) == 1, "on the host there are %v, %v", left, err)
	testkit.Same(t, "the branch here holds", "one", repo.Git("show", branch+":one.txt"))
}

// oneHand is a play in which one Orchestrator works on a host.
var oneHand = playOf(
	arbiter(append(summons("Weave part one"), on("part is woven", complete("The cloth is woven."))), patience),
	orchestrator("one", "Weave part one", []object{writes("one.txt", "one\n")},
		done("The part is woven.", check("test -f one.txt", "exit 0"))))

// TestTrustedSettingsOnAHost: hooks of the workspace run on a host if the workspace is trusted and its copy on
// the host has the same hooks. Only the real CLI runs hooks.
func TestTrustedSettingsOnAHost(t *testing.T) {
	for _, p := range players(t) {
		if !p.real {
			continue
		}
		p.long(t)
		for _, c := range []struct {
			name string
			args []string
			ran  bool
		}{{"trusted", []string{"--trust"}, true}, {"not trusted", nil, false}} {
			t.Run(c.name, func(t *testing.T) {
				t.Parallel()
				mark := filepath.Join(t.TempDir(), "mark")
				settings := fmt.Sprintf(`{"hooks":{"SessionStart":[{"hooks":[{"type":"command","command":"pwd >> %s"}]}]}}`,
					mark)
				repo := gittest.New(t, map[string]string{".claude/settings.json": settings})
				config := hostKinds()[0].configuration(t, p.args[len(p.args)-1])
				s, _ := hiredIn(t, p, oneHand, repo.Path, append([]string{"--config", config, "--hosts", "box",
					"--allow", "Write", "--allow", "Bash", "--task", "Weave"}, c.args...)...)
				s.completes()
				raw, _ := os.ReadFile(mark)
				ran := strings.Contains(string(raw), "/orch-1")
				testkit.Check(t, ran == c.ran, "the hook ran on the host: %v, in %q", ran, raw)
			})
		}
	}
}

// equip installs this arbiter for the second account, and a claude: the real one, or the stand-in if claude is
// empty.
func equip(t *testing.T, bin, claude string) {
	t.Helper()
	self := testkit.Must(exec.LookPath("arbiter"))(t)
	testkit.ShareProgram(t, bin, "arbiter", self)
	testkit.ShareProgram(t, bin, "fake-acp", testkit.Must(exec.LookPath("fake-acp"))(t))
	if claude != "" {
		testkit.ShareProgram(t, bin, "claude", claude)
		return
	}
	testkit.ShareProgram(t, bin, "stand-in", self)
	script := write(t, "#!/bin/sh\nexec "+filepath.Join(bin, "stand-in")+` "$@"`+"\n", bin, "claude")
	testkit.OK(t, os.Chmod(script, 0o755))
}

// checked runs `hosts check` and returns its findings by name.
func (s *script) checked(want int, args ...string) (host.LinkReport, map[string]host.Finding) {
	s.t.Helper()
	out, _ := s.output(want, append([]string{"hosts", "check", "--json"}, args...)...)
	r := decodedAs[host.LinkReport](s.t, out)
	found := map[string]host.Finding{}
	for _, f := range r.Findings {
		found[f.Name] = f
	}
	return r, found
}

// TestCheckHost: a check reports what it found, and for each problem what to do about it.
func TestCheckHost(t *testing.T) {
	ssh := testkit.NewSSH(t)
	equip(t, ssh.Bin, "")
	s := prepare(t, nil)
	s.output(0, append([]string{"hosts", "add", "box", "--"}, ssh.Command...)...)
	const generous = "--wait=1m" // another test measures the time
	r, found := s.checked(0, generous, "box")
	t.Logf("open %d ms, round trip %.2f ms", r.OpenMS, r.RoundTripMS)
	for name, want := range map[string]string{
		"host key": "known as far", "bridge": "a request takes", "arbiter": command.Version(), "git": "2.",
		"directory": ssh.Home, "login": "",
	} {
		if f, ok := found[name]; !ok || !strings.Contains(f.Found, want) || f.State == host.DoctorFail {
			t.Errorf("%s: %+v, want %q", name, f, want)
		}
	}
	f, warned := found["key agent"]
	testkit.Check(t, !warned, "%+v", f)
	testkit.Same(t, "left there", "none", ssh.Run("pgrep -u "+testkit.Account+" -f '[a]rbiter bridge' || echo none"))

	for what, c := range map[string]struct {
		change func()
		name   string
		found  string
		fix    string
		exit   int
	}{
		"a forwarded agent": {func() { ssh.Configure("ForwardAgent yes") }, "key agent", "ForwardAgent is on",
			"turn it off", 0},
		"any key": {func() { ssh.Configure("StrictHostKeyChecking no") }, "key check",
			"StrictHostKeyChecking is", "remove it", 0},
		"an unknown key": {func() { write(t, "", filepath.Dir(ssh.Known), filepath.Base(ssh.Known)) }, "host key",
			"no key of far is known", "compare the fingerprint", 1},
		"a refused login": {func() { ssh.Configure("IdentityFile /dev/null", "User nobody") }, "bridge",
			"host box: ", "try it in a terminal", 1},
		"nobody listens": {func() { ssh.Configure("Port 1") }, "bridge", "check that its server runs", "ssh -F", 1},
		"no claude": {func() {
			testkit.OK(t, os.Rename(filepath.Join(ssh.Bin, "claude"), filepath.Join(ssh.Bin, "away")))
		}, "bridge", `host box: cannot find the Claude CLI "claude": executable file not found in $PATH; run on the host: ` +
			"npm install -g @anthropic-ai/claude-code", "ssh -F", 1},
		"no arbiter": {func() {
			testkit.OK(t, os.Remove(filepath.Join(ssh.Bin, "arbiter")))
		}, "bridge", "install arbiter on the host", "ssh -F", 1},
	} {
		t.Run(what, func(t *testing.T) {
			known := textOf(t, ssh.Known)
			ssh.Configure()
			c.change()
			_, found := s.checked(c.exit, generous, "box")
			f := found[c.name]
			testkit.Check(t, strings.Contains(f.Found, c.found) && strings.Contains(f.Fix, c.fix) &&
				!strings.Contains(f.Found, "this machine"), "%+v", found)
			write(t, known, filepath.Dir(ssh.Known), filepath.Base(ssh.Known))
			if what == "no arbiter" {
				self := testkit.Must(exec.LookPath("arbiter"))(t)
				testkit.ShareProgram(t, ssh.Bin, "arbiter", self)
			} else if what == "no claude" {
				testkit.OK(t, os.Rename(filepath.Join(ssh.Bin, "away"), filepath.Join(ssh.Bin, "claude")))
			}
		})
	}
	t.Run("silence", func(t *testing.T) {
		ssh.Configure()
		ssh.Relay.Hole()
		defer ssh.Relay.Restore()
		_, found := s.checked(1, "--wait=1s", "box")
		if f := found["bridge"]; !strings.Contains(f.Found, "no answer within 1s") || !strings.Contains(f.Fix, "--wait") {
			t.Errorf("%+v", found)
		}
	})
	for line, want := range map[string]string{
		"check": "give one host", "check here": "arbiter doctor checks it", "check mars": `there is no host "mars" in`,
		"check --wait 0s box": "--wait 0s: must be greater than 0",
	} {
		testkit.Includes(t, line, stderrOf(s.output(2, append([]string{"hosts"}, strings.Fields(line)...)...)), want)
	}
}
