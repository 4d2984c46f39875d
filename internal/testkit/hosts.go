package testkit

import (
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strings"
	"testing"
)

// needHosts skips the test unless it is wanted and the programs are installed.
//
// Hosts for tests on this machine, a real sshd with another account or a Slurm of two nodes, need root and packages
// that scripts/packages installs. They are started in CI, or if ARBITER_TEST_HOSTS is set, because they add an account
// to the system. Without the packages a test is skipped, and .ci/run reports it; if ARBITER_TEST_HOSTS is set, which
// .ci/run does after it has installed them as root, the test fails. Everything listens only on loopback and ends with
// its test.
func needHosts(t testing.TB, programs ...string) {
	t.Helper()
	if os.Getenv("CI") == "" && os.Getenv("ARBITER_TEST_HOSTS") == "" {
		t.Skip("HOSTS ARE NOT TESTED: set ARBITER_TEST_HOSTS=1; it needs root, and adds the account " + Account)
	}
	missing := []string{}
	if os.Geteuid() != 0 {
		missing = append(missing, "root")
	}
	for _, p := range programs {
		if _, err := exec.LookPath(p); err != nil {
			missing = append(missing, p)
		}
	}
	if len(missing) > 0 {
		if os.Getenv("ARBITER_TEST_HOSTS") != "" {
			t.Fatalf("ARBITER_TEST_HOSTS is set, and there is no %s: run scripts/packages --install as root",
				strings.Join(missing, ", "))
		}
		t.Skipf("HOSTS ARE NOT TESTED: there is no %s (scripts/packages --install, as root)", strings.Join(missing, ", "))
	}
}

// openDir makes a directory of the test that other accounts can read.
func openDir(t testing.TB) string {
	t.Helper()
	dir := Must(os.MkdirTemp("", "arbiter-far-"))(t)
	t.Cleanup(func() {
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	OK(t, os.Chmod(dir, 0o755))
	return dir
}

// run runs a command that must succeed.
func run(t testing.TB, name string, args ...string) string {
	t.Helper()
	out, err := exec.Command(name, args...).CombinedOutput()
	if err != nil {
		t.Fatalf("%s %s: %v\n%s", name, strings.Join(args, " "), err, out)
	}
	return strings.TrimSpace(string(out))
}

// Account is the second account.
const Account = "arbiter-far"

// account creates the second account, unless it exists.
func account(t testing.TB) *user.User {
	t.Helper()
	who, err := user.Lookup(Account)
	if err != nil {
		out, addErr := exec.Command("useradd", "--no-create-home", "--home-dir", "/", "--shell", "/bin/bash",
			"--password", "*", Account).CombinedOutput()
		if who, err = user.Lookup(Account); err != nil { // another test may have been faster
			t.Fatalf("add the account %s: %v\n%s", Account, addErr, out)
		}
	}
	return who
}

// ShareProgram makes a program of this account usable by others: a hard link, or a copy, in a directory.
func ShareProgram(t testing.TB, dir, name, program string) {
	t.Helper()
	real := Must(filepath.EvalSymlinks(program))(t)
	to := filepath.Join(dir, name)
	if err := os.Link(real, to); err != nil {
		run(t, "cp", real, to)
	}
	info := Must(os.Stat(to))(t)
	if info.Mode().Perm()&0o005 != 0o005 {
		t.Fatalf("%s cannot be run by others", program)
	}
}
