package sandbox

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/bridge/proctree"
	"github.com/arbiter-cli/arbiter/internal/testkit"
)

// online runs bash in the sandbox, with a proxy, and returns what it wrote.
func (w *world) online(t testing.TB, gate Gate, script string) (string, error) {
	t.Helper()
	cmd := exec.Command("bash", "-c", script)
	var out bytes.Buffer
	cmd.Dir, cmd.Env, cmd.Stdout, cmd.Stderr = w.work, w.env, &out, &out
	var err error
	gate.Self, err = os.Executable()
	testkit.Need(t, err == nil, "%v", err)
	child, release, err := Start(cmd, proctree.Mark{Run: testkit.Run(t)}, &w.cfg, &gate)
	testkit.OK(t, err)
	defer release()
	defer func() {
		ctx, cancel := context.WithTimeout(context.Background(), waitTimeout)
		defer cancel()
		testkit.Works(t, "Kill", testkit.Err(child.Kill(ctx)))
	}()
	err = child.Wait()
	return out.String(), err
}

// service answers on this computer's loopback.
func service(t testing.TB) (port string) {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "SERVED") }))
	t.Cleanup(s.Close)
	return strconv.Itoa(s.Listener.Addr().(*net.TCPAddr).Port)
}

const (
	// ask sends a request to the proxy, and prints the answer.
	ask = `ask() { exec 3<>/dev/tcp/127.0.0.1/27182; printf "$1\r\nHost: %s\r\nConnection: close\r\n\r\n" "${2:-x}" >&3
		cat <&3; }; `
	plainGet = `get() { exec 3<>/dev/tcp/$1/$2 && printf 'GET / HTTP/1.0\r\n\r\n' >&3 && cat <&3; }; `
)

// TestBreakOuts: ways out of the sandbox by the network and by processes, each tried inside by a program. Those that
// lead to this computer work outside.
func TestBreakOuts(t *testing.T) {
	w := newWorld(t)
	open, secret, mine := service(t), service(t), service(t)
	w.cfg.Hosts = []string{"127.0.0.1:" + open}
	w.env = append(w.env, "ANTHROPIC_BASE_URL=http://127.0.0.1:"+mine)
	name := "@arbiter-breakout-" + strconv.Itoa(os.Getpid())
	l := testkit.Must(net.Listen("unix", name))(t)
	defer l.Close()
	other := exec.Command("sleep", "98765")
	testkit.OK(t, other.Start())
	defer func() {
		_ = other.Process.Kill()
		_ = other.Wait()
	}()
	self := testkit.Must(os.Executable())(t)
	vsock, err := unix.Socket(unix.AF_VSOCK, unix.SOCK_STREAM, 0)
	machines := err == nil
	unix.Close(vsock)
	var parameters [120]byte
	at := uintptr(unsafe.Pointer(&parameters))
	ring, _, errno := unix.Syscall(unix.SYS_IO_URING_SETUP, 1, at, 0)
	rings := errno == 0
	unix.Close(int(ring))
	for _, c := range []struct {
		name, script, want string // what the output has; "" for a failure
		outside            bool   // it works outside
	}{
		{"the listed service of this computer", plainGet + "get 127.0.0.1 " + open, "SERVED", true},
		{"the API on this computer", plainGet + "get 127.0.0.1 " + mine, "SERVED", true},
		{"a listener of its own", "python3 -c 'import socket as s; l=s.create_server((\"127.0.0.1\", 0)); " +
			"s.create_connection(l.getsockname()); print(\"SERVED\")'", "SERVED", true},
		{"the listed one by the proxy", ask + "ask 'GET http://127.0.0.1:" + open + "/ HTTP/1.1'", "SERVED", false},

		{"another service of this computer", plainGet + "get 127.0.0.1 " + secret, "", true},
		{"the same by the proxy", ask + "ask 'GET http://127.0.0.1:" + secret + "/ HTTP/1.1'", "403 Forbidden", false},
		{"by the listed one's name", ask + "ask 'GET http://127.0.0.1:" + secret + "/ HTTP/1.1' 127.0.0.1:" + open,
			"403 Forbidden", false},
		{"a name before the host", ask + "ask 'CONNECT 127.0.0.1:" + open + "@127.0.0.1:" + secret + " HTTP/1.1'",
			"400 Bad Request", false},
		{"an unlisted host", ask + "ask 'CONNECT unlisted.example:443 HTTP/1.1'", "403 Forbidden", false},
		{"an abstract socket", self + " connect " + name + " && echo CONNECTED", "", true},
		{"command lines of others", "cat /proc/[0-9]*/cmdline | tr '\\0' ' ' | grep 'sleep 9876[5]'", "", true},
		{"a process outside", "kill -9 " + strconv.Itoa(other.Process.Pid), "", false},
		{"all processes", "trap '' TERM; kill -TERM -1; echo ENDED", "ENDED", false},
		{"the first process", "kill -9 1; kill -0 1 && echo ALIVE", "ALIVE", false},
		{"an address", "exec 3<>/dev/tcp/93.184.216.34/80", "", false},
		{"metadata", "exec 3<>/dev/tcp/169.254.169.254/80", "", false},
		{"metadata by the proxy", ask + "ask 'GET http://169.254.169.254/ HTTP/1.1'", "403 Forbidden", false},
		{"a name server", "getent hosts example.com", "", false},
		{"a datagram", "echo x > /dev/udp/8.8.8.8/53", "", false},
		{"a network of the first process", "nsenter --net=/proc/1/ns/net true", "", false},
		{"the machine of a virtual machine", "python3 -c 'import socket; socket.socket(40)'", "", machines},
		{"a ring, past a filter", "python3 -c 'import ctypes as c; exit(c.CDLL(None).syscall(425, 1, bytes(120)) < 0)'", "",
			rings},
	} {
		t.Run(c.name, func(t *testing.T) {
			out, err := w.online(t, Gate{}, c.script)
			testkit.Check(t, (c.want != "" || err != nil) && (c.want == "" || strings.Contains(out, c.want)) &&
				(c.want == "SERVED" || !strings.Contains(out, "SERVED")), "%s: %v, %q; want %q", c.script, err, out,
				c.want)
			if !c.outside {
				return
			}
			cmd := exec.Command("bash", "-c", c.script)
			cmd.Env = w.env
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Errorf("outside it fails, too: %v: %s", err, out)
			}
		})
	}
	testkit.Works(t, "the process outside", other.Process.Signal(syscall.Signal(0)))
}

// TestQuestionsAboutHosts: each process tree has a proxy of its own; what one was permitted is refused to another.
func TestQuestionsAboutHosts(t *testing.T) {
	w := newWorld(t)
	const request = ask + "ask 'GET http://a.invalid/ HTTP/1.1'"
	var mu sync.Mutex
	var asked, reported []string
	gate := func(allow bool) Gate {
		return Gate{Ask: func(_ context.Context, host string, port int) (bool, string) {
			mu.Lock()
			defer mu.Unlock()
			asked = append(asked, fmt.Sprintf("%s:%d", host, port))
			return allow, "no"
		}, Report: func(host string, _ int, _ string) {
			mu.Lock()
			defer mu.Unlock()
			reported = append(reported, host)
		}}
	}
	out, _ := w.online(t, gate(true), request+"; "+request)
	testkit.Check(t, strings.Count(out, " 502 ") == 2, "permitted: %s", out) // no such host
	out, _ = w.online(t, gate(false), request)
	testkit.Check(t, strings.Contains(out, " 403 "), "another: %s", out)
	got := strings.Join(asked, " ")
	testkit.Check(t, got == "a.invalid:80 a.invalid:80" && len(reported) == 0, "asked %q, reported %q", got, reported)
	w.cfg.Network = bridge.NetworkNone
	out, _ = w.online(t, gate(true), request)
	testkit.Check(t, strings.Contains(out, " 403 ") && len(asked) == 2 && strings.Join(reported, " ") == "a.invalid",
		"with none: %s, asked %q, reported %q", out, asked, reported)
}

// TestNothingSurvives: the kernel ends what a process left behind, even without its mark, and everything when the
// program that started it is killed.
func TestNothingSurvives(t *testing.T) {
	w := newWorld(t)
	const hide = "setsid env -i sleep 98764 & "
	if out, err := w.online(t, Gate{}, hide); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	testkit.Same(t, "left", "", sleepers(t))
	cfg := w.cfg
	out := filepath.Join(w.work, "ready")
	cmd := exec.Command(os.Args[0], "owner", cfg.Program, w.work, w.home, hide+"touch "+out+"; sleep 98764")
	testkit.OK(t, cmd.Start())
	testkit.Await(t, "it runs", func() bool { _, err := os.Stat(out); return err == nil })
	_ = cmd.Process.Kill()
	_ = cmd.Wait()
	testkit.Await(t, "all have ended", func() bool { return sleepers(t) == "" })
}

// sleepers lists the processes of TestNothingSurvives.
func sleepers(t *testing.T) string {
	t.Helper()
	out, err := exec.Command("pgrep", "-f", "^sleep 98764").Output()
	testkit.Need(t, err == nil || len(out) == 0, "%v", err)
	return string(out)
}

// clients are programs that fetch something from http://REGISTRY, with what they print then.
var clients = map[string]struct{ script, want string }{
	"curl":    {"curl -sSf http://REGISTRY/file", "FETCHED"},
	"python3": {`python3 -c 'import urllib.request as u; print(u.urlopen("http://REGISTRY/file").read())'`, "FETCHED"},
	"git":     {"git ls-remote http://REGISTRY/repo.git", "refs/heads/main"},
	"npm":     {"npm --cache $PWD/.npm --fetch-retries 0 view thing version --registry http://REGISTRY", "1.2.3"},
	"go": {"go mod init example.com/x && GOPROXY=http://REGISTRY go list -m -versions registry.example/m",
		"registry.example/m v1.0.0"},
}

// TestClients: real clients reach a listed host, by the proxy, and a listed address of this computer; and no other.
func TestClients(t *testing.T) {
	dir := t.TempDir()
	put(t, filepath.Join(dir, "file"), "FETCHED")
	put(t, filepath.Join(dir, "thing"), `{"name":"thing","dist-tags":{"latest":"1.2.3"},"versions":{"1.2.3":`+
		`{"name":"thing","version":"1.2.3","dist":{"tarball":"http://x/t.tgz"}}}}`)
	for name, text := range map[string]string{"list": "v1.0.0\n", "v1.0.0.info": `{"Version":"v1.0.0"}`,
		"v1.0.0.mod": "module registry.example/m\n"} {
		put(t, filepath.Join(dir, "registry.example", "m", "@v", name), text)
	}
	repo := filepath.Join(dir, "repo.git")
	for _, args := range [][]string{{"init", "-q", "--bare", "-b", "main", repo}, {"--git-dir", repo, "-c", "user.name=a",
		"-c", "user.email=a@b", "commit-tree", "-m", "x", "4b825dc642cb6eb9a060e54bf8d69288fbee4904"}} {
		out, err := exec.Command("git", args...).Output()
		testkit.Need(t, err == nil, "git %v: %v", args, err)
		if commit := strings.TrimSpace(string(out)); commit != "" {
			testkit.OK(t, exec.Command("git", "--git-dir", repo, "update-ref", "refs/heads/main", commit).Run())
		}
	}
	testkit.OK(t, exec.Command("git", "--git-dir", repo, "update-server-info").Run())
	// The server is also the user's own proxy: so a name leads to it, whatever the machine's name server says.
	server := httptest.NewServer(http.FileServer(http.Dir(dir)))
	t.Cleanup(server.Close)
	at := server.Listener.Addr().String()
	for name, c := range clients {
		t.Run(name, func(t *testing.T) {
			if _, err := exec.LookPath(name); err != nil {
				testkit.Need(t, os.Getenv("ARBITER_TEST_HOSTS") == "", "%v", err)
				t.Skip(err)
			}
			for host, want := range map[string]bool{at: true, "registry.example": true, "elsewhere.example": false} {
				w := newWorld(t)
				w.cfg.Hosts = []string{at, "registry.example"}
				w.env = append(w.env, "HTTP_PROXY=http://"+at, "GOFLAGS=-mod=mod", "GOSUMDB=off", "GOCACHE="+w.work+"/.gocache",
					"GOPATH="+w.work+"/.gopath", "GOENV=off", "GOTOOLCHAIN=local")
				out, err := w.online(t, Gate{}, strings.ReplaceAll(c.script, "REGISTRY", host))
				testkit.Check(t, (err == nil) == want && strings.Contains(out, c.want) == want, "%s: %v, %s", host, err,
					out)
			}
		})
	}
}
