package importrules

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/arbiter-cli/arbiter/internal/testkit"
)

// TestPackagesAreNotInstalledUnasked: on a system that lacks everything, the set-up script's list says what
// each package is for and how to install it, and only --install runs the package manager.
func TestPackagesAreNotInstalledUnasked(t *testing.T) {
	system := t.TempDir()
	ran := filepath.Join(system, "ran")
	for name, script := range map[string]string{
		"uname": "echo Linux", "id": "echo 0", "apt-get": `echo "$*" >>'` + ran + `'`, "timeout": `shift; exec "$@"`,
	} {
		testkit.OK(t, os.WriteFile(filepath.Join(system, name), []byte("#!/bin/sh\n"+script+"\n"), 0o700))
	}
	for _, name := range []string{"bash", "dirname", "tr"} { // programs that the script uses
		path, err := exec.LookPath(name)
		if err != nil {
			t.Skip(err)
		}
		testkit.OK(t, os.Symlink(path, filepath.Join(system, name)))
	}
	packages := func(args ...string) string {
		t.Helper()
		cmd := exec.Command("../packages", args...)
		cmd.Env = []string{"PATH=" + system, "HOME=" + system}
		out, err := cmd.CombinedOutput()
		testkit.Need(t, err == nil, "%v: %s", err, out)
		return string(out)
	}

	list := "bubblewrap zsh fish jq chromium-headless-shell"
	for _, s := range [][2]string{{"sshd", "openssh-server"}, {"slurmctld", "slurm-wlm"}, {"munged", "munge"}} {
		if _, err := os.Stat("/usr/sbin/" + s[0]); err != nil { // these are looked for by path
			list += " " + s[1]
		}
	}
	output := packages()
	testkit.Includes(t, "the output", output,
		"bubblewrap is not installed: agents cannot be confined", "zsh is not installed: the tests",
		"To install: apt-get install -y "+list+"\n",
	)
	raw, err := os.ReadFile(ran)
	testkit.Check(t, err != nil, "unasked, it ran apt-get %s", raw)

	packages("--install")
	want := "install -y " + list + "\n"
	raw, err = os.ReadFile(ran)
	testkit.Check(t, err == nil && string(raw) == want, "told to, it ran apt-get %q (%v)", raw, err)
}

// TestSetupInstallsNoPackage: scripts/setup installs packages only if it is asked to, and the other scripts
// never ask it to.
func TestSetupInstallsNoPackage(t *testing.T) {
	for script, words := range map[string][]string{
		"../setup": {"apt-get", "sudo "}, "../lib.sh": {"apt-get", "--install", "sudo"},
		"../demo": {"apt-get", "--install", "--system", "sudo"},
		"../test": {"apt-get", "--install", "--system", "sudo"},
	} {
		text := testkit.Must(os.ReadFile(script))(t)
		code := regexp.MustCompile(`(?m)^#.*$`).ReplaceAllString(string(text), "")
		for _, word := range words {
			testkit.Check(t, !strings.Contains(code, word), "%s: has %q in it", script, word)
		}
		n := strings.Count(code, "--install")
		testkit.Check(t, n <= 1 && (n <= 0 || strings.Contains(code, "--system) system=--install ;;")),
			"%s: installs without --system", script)
	}
}
