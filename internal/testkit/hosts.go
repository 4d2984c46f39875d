package testkit

import (
	"bufio"
	"crypto/rand"
	"fmt"
	"net"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
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
	t.Cleanup(func() { Works(t, "remove "+dir, os.RemoveAll(dir)) })
	OK(t, os.Chmod(dir, 0o755))
	return dir
}

// run runs a command that must succeed.
func run(t testing.TB, name string, args ...string) string {
	t.Helper()
	out, err := exec.Command(name, args...).CombinedOutput()
	Need(t, err == nil, "%s %s: %v\n%s", name, args, err, out)
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
	Need(t, info.Mode().Perm()&0o005 == 0o005, "%s cannot be run by others", program)
}

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
		out, err := run("rm", "--force", "--time", "0", name)
		Check(t, err == nil, "remove the container: %v\n%s", err, out)
	})
	return podman, name
}

// Slurm is a cluster of two nodes, n1 and n2, on this machine.
type Slurm struct {
	Conf string // its slurm.conf
}

// Command returns the command of a node as a host. -u: unbuffered output; -Q: no messages of its own.
func (s Slurm) Command(node string) []string {
	return []string{"env", "SLURM_CONF=" + s.Conf, "srun", "-Q", "-n1", "-w", node, "-D", "/", "-u"}
}

// NewSlurm starts a cluster, sets SLURM_CONF for the test, and ends the cluster with the test.
func NewSlurm(t *testing.T) Slurm {
	t.Helper()
	needHosts(t, "/usr/sbin/slurmctld", "/usr/sbin/slurmd", "/usr/sbin/munged", "srun", "sinfo", "runuser")
	dir := openDir(t)
	at := func(name string) string { return filepath.Join(dir, name) }
	host := Must(os.Hostname())(t)
	for _, d := range []string{"state", "spool.n1", "spool.n2", "munge"} {
		OK(t, os.Mkdir(at(d), 0o755))
	}
	key := make([]byte, 1024)
	_, _ = rand.Read(key)
	write(t, at("munge/key"), string(key))
	munge := Must(user.Lookup("munge"))(t)
	run(t, "chown", "-R", munge.Uid+":"+munge.Gid, at("munge"))
	run(t, "chmod", "600", at("munge/key"))
	s := Slurm{Conf: at("slurm.conf")}
	conf := fmt.Sprintf(slurmConf, host, FreePort(t), at("munge/socket"), dir)
	for _, node := range []string{"n1", "n2"} {
		conf += fmt.Sprintf("NodeName=%s NodeHostname=%s NodeAddr=127.0.0.1 Port=%d CPUs=64 State=UNKNOWN\n", node, host,
			FreePort(t))
	}
	write(t, s.Conf, conf+"PartitionName=main Nodes=n1,n2 Default=YES MaxTime=INFINITE State=UP OverSubscribe=NO\n")
	t.Setenv("SLURM_CONF", s.Conf)

	Serve(t, "", nil, "setpriv", "--reuid", munge.Uid, "--regid", munge.Gid, "--clear-groups", "/usr/sbin/munged",
		"--force", "--foreground", "--key-file="+at("munge/key"), "--socket="+at("munge/socket"),
		"--pid-file="+at("munge/pid"), "--log-file="+at("munge/log"), "--seed-file="+at("munge/seed"))
	Await(t, "munged", func() bool { _, err := os.Stat(at("munge/socket")); return err == nil })
	Serve(t, "Running as primary controller", nil, "/usr/sbin/slurmctld", "-D", "-f", s.Conf)
	for _, node := range []string{"n1", "n2"} {
		Serve(t, "slurmd started", nil, "/usr/sbin/slurmd", "-D", "-f", s.Conf, "-N", node)
	}
	Await(t, "two idle nodes", func() bool {
		out, _ := exec.Command("sinfo", "-h", "-N", "-o", "%t").Output()
		return strings.Count(string(out), "idle") == 2
	})
	t.Cleanup(func() { // a node that ends leaves the processes of its jobs running
		_ = exec.Command("scancel", "--user", "root").Run()
		Await(t, "the end of all jobs", func() bool { return len(s.Jobs(t)) == 0 })
	})
	return s
}

// Jobs returns the cluster's unfinished jobs, by their number.
func (s Slurm) Jobs(t testing.TB) map[int]string {
	t.Helper()
	jobs := map[int]string{}
	for line := range strings.Lines(run(t, "squeue", "-h", "-o", "%i %N")) {
		id, node, _ := strings.Cut(strings.TrimSpace(line), " ")
		if n, err := strconv.Atoi(id); err == nil {
			jobs[n] = node
		}
	}
	return jobs
}

// slurmConf has placeholders for the machine's name, a port, the socket of munged and a directory.
const slurmConf = `ClusterName=arbiter
SlurmctldHost=%s(127.0.0.1)
SlurmctldPort=%d
AuthType=auth/munge
CryptoType=crypto/munge
AuthInfo=socket=%s
CommunicationParameters=NoCtldInAddrAny,NoInAddrAny
MpiDefault=none
ProctrackType=proctrack/linuxproc
ReturnToService=2
SlurmctldPidFile=%[4]s/slurmctld.pid
SlurmdPidFile=%[4]s/slurmd.%%n.pid
SlurmdSpoolDir=%[4]s/spool.%%n
SlurmdParameters=config_overrides
SlurmUser=root
StateSaveLocation=%[4]s/state
SwitchType=switch/none
TaskPlugin=task/none
SchedulerType=sched/backfill
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
KillWait=10
InactiveLimit=60
SlurmdTimeout=30
MessageTimeout=15
`

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
	OK(t, os.MkdirAll("/run/sshd", 0o755)) // sshd needs it
	set := []string{"SetEnv"}              // a second line of that kind is ignored
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
	OK(t, err)
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

// Serve starts a server, waits until it writes a line with the word ready to stderr, and ends it after the test. An
// empty word waits for nothing.
func Serve(t testing.TB, ready string, env []string, name string, args ...string) {
	t.Helper()
	cmd := exec.Command(name, args...)
	cmd.Env, cmd.SysProcAttr = append(os.Environ(), env...), ownGroup()
	stderr := Must(cmd.StderrPipe())(t)
	OK(t, cmd.Start())
	up, ended := make(chan struct{}, 1), make(chan struct{})
	var printed strings.Builder
	go func() {
		defer close(ended)
		for lines := bufio.NewReader(stderr); ; {
			line, err := lines.ReadString('\n')
			printed.WriteString(line)
			if strings.Contains(line, ready) {
				select {
				case up <- struct{}{}:
				default: // it is known
				}
			}
			if err != nil {
				break
			}
		}
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
			t.Logf("%s printed:\n%s", filepath.Base(name), printed.String())
		}
	})
	if ready == "" {
		return
	}
	select {
	case <-up:
	case <-ended:
		t.Fatalf("%s ended", name)
	case <-time.After(waitTimeout):
		t.Fatalf("%s is not ready after %s", name, waitTimeout)
	}
}

// Relay forwards TCP connections, and lets a test break them.
type Relay struct {
	target   string
	listener net.Listener
	wg       sync.WaitGroup

	mu     sync.Mutex
	change *sync.Cond
	hole   bool // no data goes through
	cut    bool // connections are reset, new ones too
	conns  map[net.Conn]bool
}

// NewRelay listens on loopback, and ends with the test.
func NewRelay(t testing.TB, target string) *Relay {
	t.Helper()
	r := &Relay{target: target, listener: Must(net.Listen("tcp", "127.0.0.1:0"))(t), conns: map[net.Conn]bool{}}
	r.change = sync.NewCond(&r.mu)
	r.wg.Go(func() {
		for {
			near, err := r.listener.Accept()
			if err != nil {
				return
			}
			r.wg.Go(func() { r.serve(near) })
		}
	})
	t.Cleanup(func() {
		_ = r.listener.Close()
		r.Cut()
		r.wg.Wait()
	})
	return r
}

// Addr returns the address on which it listens.
func (r *Relay) Addr() string { return r.listener.Addr().String() }

// Hole lets no data through any more, without an error: a network that swallows packets.
func (r *Relay) Hole() { r.set(true, false) }

// Cut breaks all connections, and each new one.
func (r *Relay) Cut() { r.set(false, true) }

// Restore ends a hole or a cut. Data that was held back in a hole is delivered, as if TCP had sent it again.
func (r *Relay) Restore() { r.set(false, false) }

func (r *Relay) set(hole, cut bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.hole, r.cut = hole, cut
	for c := range r.conns {
		if cut {
			abort(c)
		}
	}
	r.change.Broadcast()
}

func abort(c net.Conn) {
	if tcp, ok := c.(*net.TCPConn); ok {
		_ = tcp.SetLinger(0)
	}
	_ = c.Close()
}

func (r *Relay) serve(near net.Conn) {
	defer r.add(near)()
	if !r.open(near) {
		return
	}
	far, err := net.Dial("tcp", r.target)
	if err != nil {
		abort(near)
		return
	}
	defer r.add(far)()
	var both sync.WaitGroup
	both.Go(func() { r.forward(near, far) })
	both.Go(func() { r.forward(far, near) })
	both.Wait()
}

// add registers a connection, or aborts it, and returns what forgets it.
func (r *Relay) add(c net.Conn) (drop func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.conns[c] = true; r.cut {
		abort(c)
	}
	return func() {
		_ = c.Close()
		r.mu.Lock()
		defer r.mu.Unlock()
		delete(r.conns, c)
	}
}

// open waits until data may go through; it returns false if connections are cut.
func (r *Relay) open(c net.Conn) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	for r.hole {
		r.change.Wait()
	}
	return !r.cut && r.conns[c]
}

func (r *Relay) forward(from, to net.Conn) {
	buf := make([]byte, 64<<10)
	for {
		n, err := from.Read(buf)
		if n > 0 {
			if !r.open(from) {
				return
			}
			if _, err := to.Write(buf[:n]); err != nil {
				abort(from)
				return
			}
		}
		if err != nil {
			if tcp, ok := to.(*net.TCPConn); ok && r.open(from) {
				_ = tcp.CloseWrite()
			}
			return
		}
	}
}
