package main

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/command"
	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/host"
	"github.com/arbiter-cli/arbiter/internal/testkit"
)

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
	var r host.LinkReport
	if err := json.Unmarshal([]byte(out), &r); err != nil {
		s.t.Fatalf("%v\n%s", err, out)
	}
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
	if f, warned := found["key agent"]; warned {
		t.Errorf("%+v", f)
	}
	if out := ssh.Run("pgrep -u " + testkit.Account + " -f '[a]rbiter bridge' || echo none"); out != "none" {
		t.Errorf("left there: %s", out)
	}

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
			if f := found[c.name]; !strings.Contains(f.Found, c.found) || !strings.Contains(f.Fix, c.fix) ||
				strings.Contains(f.Found, "this machine") {
				t.Errorf("%+v", found)
			}
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
		if _, errs := s.output(2, append([]string{"hosts"}, strings.Fields(line)...)...); !strings.Contains(errs, want) {
			t.Errorf("%s: %s", line, errs)
		}
	}
}
