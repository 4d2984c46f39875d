package control

import (
	"errors"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/arbiter-cli/arbiter/internal/testkit"
)

// peerVariable names the socket at which TestServePeer listens.
const peerVariable = "ARBITER_TEST_PEER"

// confined runs a command in PID and network namespaces of its own.
func confined(t *testing.T, env []string, command ...string) *exec.Cmd {
	t.Helper()
	bwrap, err := exec.LookPath("bwrap")
	if err != nil {
		t.Skip(err)
	}
	args := []string{"--bind", "/", "/", "--dev", "/dev", "--proc", "/proc", "--unshare-user", "--unshare-pid",
		"--unshare-net"}
	if out, err := exec.Command(bwrap, append(args, "true")...).CombinedOutput(); err != nil {
		t.Skipf("bubblewrap may not be used here: %v: %s", err, out)
	}
	cmd := exec.Command(bwrap, append(append(args, "--"), command...)...)
	cmd.Env, cmd.Stderr = env, os.Stderr
	return cmd
}

// TestServePeer is the process at the other end for TestIdentifyInNamespaces.
func TestServePeer(t *testing.T) {
	path := os.Getenv(peerVariable)
	if path == "" {
		t.Skip("it plays a part in another test")
	}
	if _, err := os.Lstat(path); err == nil {
		_ = call(path)
		return
	}
	l := testkit.Must(net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"}))(t)
	defer l.Close()
	conn := testkit.Must(l.AcceptUnix())(t)
	defer conn.Close()
	testkit.Includes(t, "text", Identify(conn).Problem, "another PID namespace")
}

// TestIdentifyInNamespaces: a process in other PID and network namespaces is found to be one that this process
// started, also without its mark. One whose number is not visible is refused, too.
func TestIdentifyInNamespaces(t *testing.T) {
	l, path := listen(t)
	defer l.Close()
	run := []string{os.Args[0], "-test.run=^TestServePeer$"}
	client := confined(t, []string{peerVariable + "=" + path}, run...)
	testkit.OK(t, client.Start())
	_ = l.SetDeadline(time.Now().Add(time.Minute))
	conn := testkit.Must(l.AcceptUnix())(t)
	p := Identify(conn)
	conn.Close()
	testkit.Works(t, "the client", client.Wait())
	testkit.Check(t, strings.Contains(p.Problem, "started it") && p.PID > 2, "%+v", p)

	path = filepath.Join(filepath.Dir(path), "inside")
	server := confined(t, []string{peerVariable + "=" + path}, run...)
	testkit.OK(t, server.Start())
	testkit.Await(t, "who listens inside", func() bool { return errors.Is(call(path), io.EOF) })
	testkit.Works(t, "the server inside", server.Wait())
}
