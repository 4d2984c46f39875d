package testkit

import (
	"fmt"
	"os"
	"os/exec"
	"testing"
)

// NewPodman starts a container that sees the files of this machine and writes into a layer of its own, with
// the network of this machine. It returns the words that precede `exec` and other commands of podman, and
// the container's name. Files that the container should see must be created before. The test is skipped if
// containers cannot be started.
func NewPodman(t testing.TB) (podman []string, name string) {
	t.Helper()
	needHosts(t)
	for _, program := range []string{"podman", "runc"} { // too large for scripts/packages
		if _, err := exec.LookPath(program); err != nil {
			t.Skipf("HOSTS BY PODMAN ARE NOT TESTED: install %s", program)
		}
	}
	// crun needs a newer layout of cgroups than some machines have, and refuses limits above those of this
	// process.
	podman = []string{"podman", "--runtime", "runc", "--cgroup-manager", "cgroupfs"}
	run := func(args ...string) ([]byte, error) {
		return exec.Command(podman[0], append(podman[1:len(podman):len(podman)], args...)...).CombinedOutput()
	}
	name = fmt.Sprintf("arbiter-test-%d-%d", os.Getpid(), FreePort(t))
	out, err := run("run", "--detach", "--rm", "--name", name, "--network", "host", "--ulimit", "nofile=1024:1024",
		"--ulimit", "nproc=4096:4096", "--rootfs", "/:O", "sleep", "infinity")
	if err != nil {
		t.Skipf("HOSTS BY PODMAN ARE NOT TESTED: containers cannot be started here: %v\n%s", err, out)
	}
	t.Cleanup(func() {
		if out, err := run("rm", "--force", "--time", "0", name); err != nil {
			t.Errorf("remove the container: %v\n%s", err, out)
		}
	})
	return podman, name
}
