package testkit

import (
	"bytes"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// SSH is an sshd on loopback that allows to log in as another account.
type SSH struct {
	Command []string // the host's command: ssh -F CONFIG far
	Config  string   // file of the client
	Known   string   // file of known host keys
	Home    string   // of the account
	Bin     string   // directory on the account's PATH, before all others
	Relay   *Relay   // through which the client connects

	t      testing.TB
	config []string
}

// NewSSH starts an sshd. env are further variables of the account, as NAME=VALUE.
func NewSSH(t testing.TB, env ...string) *SSH {
	t.Helper()
	needHosts(t, "/usr/sbin/sshd", "ssh", "ssh-keygen", "useradd")
	who, dir := account(t), openDir(t)
	at := func(name string) string { return filepath.Join(dir, name) }
	s := &SSH{t: t, Config: at("config"), Known: at("known_hosts"), Home: at("home"), Bin: at("bin")}
	for _, d := range []string{s.Home, s.Bin} {
		OK(t, os.Mkdir(d, 0o755))
	}
	run(t, "chown", who.Uid+":"+who.Gid, s.Home)
	run(t, "ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", at("host"))
	run(t, "ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", at("key"))
	if err := os.MkdirAll("/run/sshd", 0o755); err != nil { // sshd needs it
		t.Fatal(err)
	}
	set := []string{"SetEnv"} // a second line of that kind is ignored
	for _, e := range append([]string{"HOME=" + s.Home, "PATH=" + s.Bin + ":/usr/local/bin:/usr/bin:/bin"}, env...) {
		set = append(set, `"`+e+`"`)
	}
	port := FreePort(t)
	write(t, at("sshd_config"), fmt.Sprintf("ListenAddress 127.0.0.1\nPort %d\nHostKey %s\nPidFile none\nUsePAM no\n"+
		"PasswordAuthentication no\nKbdInteractiveAuthentication no\nAuthorizedKeysFile %s\nStrictModes no\n"+
		"MaxStartups 100\nPrintMotd no\n%s\n", port, at("host"), at("key.pub"), strings.Join(set, " ")))
	OK(t, os.Chmod(at("key.pub"), 0o644))
	Serve(t, "Server listening on", nil, "/usr/sbin/sshd", "-D", "-e", "-f", at("sshd_config"))
	s.Relay = NewRelay(t, fmt.Sprintf("127.0.0.1:%d", port))
	hostKey := Must(os.ReadFile(at("host.pub")))(t)
	write(t, s.Known, "far "+string(hostKey))
	_, relayed, err := net.SplitHostPort(s.Relay.Addr())
	if err != nil {
		t.Fatal(err)
	}
	s.config = []string{"HostName 127.0.0.1", "Port " + relayed, "User " + Account, "IdentityFile " + at("key"),
		"IdentitiesOnly yes", "IdentityAgent none", "HostKeyAlias far", "UserKnownHostsFile " + s.Known,
		"GlobalKnownHostsFile none", "LogLevel ERROR"}
	s.Configure()
	s.Command = []string{"ssh", "-F", s.Config, "far"}
	return s
}

// Configure writes the client's configuration with more lines, which come before the others.
func (s *SSH) Configure(lines ...string) {
	s.t.Helper()
	write(s.t, s.Config, "Host far\n  "+strings.Join(append(lines, s.config...), "\n  ")+"\n")
}

// Run runs a command line there, and returns what it prints.
func (s *SSH) Run(line string) string {
	s.t.Helper()
	return run(s.t, s.Command[0], append(s.Command[1:len(s.Command):len(s.Command)], line)...)
}

// FreePort returns a port of loopback on which nothing listens at the moment.
func FreePort(t testing.TB) int {
	t.Helper()
	l := Must(net.Listen("tcp", "127.0.0.1:0"))(t)
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port
}

func write(t testing.TB, path, text string) {
	t.Helper()
	OK(t, os.WriteFile(path, []byte(text), 0o644))
}

// output keeps what a server prints, and says when it is ready.
type output struct {
	mu    sync.Mutex
	text  bytes.Buffer
	ready string // a word of the line that says so
	up    chan struct{}
	once  sync.Once
}

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.text.Write(p)
	if bytes.Contains(o.text.Bytes(), []byte(o.ready)) {
		o.once.Do(func() { close(o.up) })
	}
	return len(p), nil
}

// Serve starts a server, waits until it writes a line with the word ready to stderr, and ends it after the test. An
// empty word waits for nothing.
func Serve(t testing.TB, ready string, env []string, name string, args ...string) {
	t.Helper()
	out, ended := &output{ready: ready, up: make(chan struct{})}, make(chan struct{})
	cmd := exec.Command(name, args...)
	cmd.Env, cmd.SysProcAttr, cmd.Stderr = append(os.Environ(), env...), ownGroup(), out
	OK(t, cmd.Start())
	go func() {
		defer close(ended)
		_ = cmd.Wait()
	}()
	t.Cleanup(func() {
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGTERM)
		select {
		case <-ended:
		case <-time.After(waitTimeout):
			_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
			<-ended
		}
		if t.Failed() {
			t.Logf("%s printed:\n%s", filepath.Base(name), out.text.String())
		}
	})
	if ready == "" {
		return
	}
	select {
	case <-out.up:
	case <-ended:
		t.Fatalf("%s ended", name)
	case <-time.After(waitTimeout):
		t.Fatalf("%s is not ready after %s", name, waitTimeout)
	}
}
