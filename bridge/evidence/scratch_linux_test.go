package evidence

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/bridge/sandbox"
	"github.com/arbiter-cli/arbiter/internal/testkit"
)

// TestScratchPrograms: what checks run works on a copy, and nothing of it is seen outside.
func TestScratchPrograms(t *testing.T) {
	p := newPlace(t)
	warm, err := exec.Command("go", "env", "GOCACHE").Output()
	cache := strings.TrimSpace(string(warm))
	if err == nil && !testing.Short() && !strings.HasPrefix(cache, "/tmp/") { // a check has a /tmp of its own
		p.params.Env["GOCACHE"] = cache
		bare := p.with("go test ./...")
		bare.Sandbox, bare.Scratch = nil, false
		r := p.check(bare)
		testkit.Need(t, r.Exit == 0, "%+v", r)
	}
	before := p.hash()
	for _, c := range []struct {
		program, command, output string
		exit                     int
	}{
		{"go", "go test ./...", "(cached)", 0},
		{"go", "echo 'func init() { panic(1) }' >> a.go && go test ./...", "FAIL", 1},
		{"go", "echo evil > $GOCACHE/evil && cat $GOCACHE/evil", "evil", 0},
		{"go", "go vet ./... && go build -o m . && go version -m m && ./m", "vcs.modified=true", 0},
		{"npm", "npm test && cat out", "x", 0},
		{"node", "node -e 'require(\"gone\")'", "Cannot find module", 1},
		{"node", `node -e 'const s = require("net").createServer(c => c.end("hello")).listen(0, "127.0.0.1", () =>
			require("net").connect(s.address().port, "127.0.0.1").on("data", d => { console.log("" + d); s.close() }))'`,
			"hello", 0},
		{"python3", "python3 -m unittest && ls -d __pycache__", "__pycache__", 0},
		{"make", "make && make && cat out", "func two", 0},
		{"make", "make bad", "", 2},
		{"git", "git diff --check && git log --oneline && git status --short", "?? untracked", 0},
		{"git", "echo 'x ' >> a.go && git diff --check", "trailing whitespace", 2},
		{"git", "git add -A && git commit -qm two && git log --oneline | wc -l", "2", 0},
		{"sh", "rm -rf node_modules && mkdir node_modules && echo x > node_modules/x && mv node_modules n && cat n/x",
			"x", 0},
		{"sh", "cat untracked; for d in /tmp /var/tmp /dev/shm; do echo c > $d/x; done; cat /tmp/x /var/tmp/x /dev/shm/x",
			"c", 0},
		{"sh", "stat -c %a . && id -u && cat ~/notes", "755\n" + strconv.Itoa(os.Getuid()) + "\nmine", 0},
		{"sh", "ulimit -c 0; kill -9 $$", "", 137},
	} {
		if _, err := exec.LookPath(c.program); err != nil || c.program == "go" && p.params.Env["GOCACHE"] == "" {
			continue
		}
		r := p.check(p.with(c.command))
		testkit.Check(t, r.Exit == c.exit && strings.Contains(r.Output, c.output), "%s: exit %d, %s", c.command, r.Exit,
			r.Output)
		testkit.Need(t, p.hash() == before, "%s: files outside have changed", c.command)
	}
	_, err = os.Stat(filepath.Join(cache, "evil"))
	testkit.Check(t, cache == "" || err != nil, "a file of the cache got out")
	bare := p.with("echo >> a.go")
	bare.Sandbox, bare.Scratch = nil, false
	r := p.check(bare)
	testkit.Check(t, r.Exit == 0 && p.hash() != before, "a change is not noticed: %+v", r)
}

// outside are things of the host which a check must not reach.
type outside struct {
	tcp, abstract, named, local net.Listener
	process                     *exec.Cmd
}

func (p *place) outside() *outside {
	p.t.Helper()
	var o outside
	for to, address := range map[*net.Listener][2]string{
		&o.tcp: {"tcp", "127.0.0.1:0"}, &o.abstract: {"unix", "@scratch-test-" + strconv.Itoa(os.Getpid())},
		&o.named: {"unix", filepath.Join(p.home, "s")}, &o.local: {"unix", filepath.Join(p.work, "s")},
	} {
		l := testkit.Must(net.Listen(address[0], address[1]))(p.t)
		*to = l
		p.t.Cleanup(func() { l.Close() })
	}
	o.process = exec.Command("sleep", "1000.5")
	testkit.OK(p.t, o.process.Start())
	p.t.Cleanup(func() { o.process.Process.Kill(); o.process.Wait() })
	return &o
}

// connected reports whether somebody has connected.
func connected(t *testing.T, l net.Listener) bool {
	t.Helper()
	raw, err := l.(syscall.Conn).SyscallConn()
	testkit.OK(t, err)
	waiting := 0
	testkit.OK(t, raw.Control(func(fd uintptr) {
		waiting, err = unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, 0)
	}))
	return waiting > 0
}

const connect = `python3 -c 'import socket,sys
s = socket.socket(socket.AF_UNIX)
s.connect(sys.argv[1].replace("@", "\0"))' `

const readKey = `python3 -c 'import ctypes, platform, sys
b = ctypes.create_string_buffer(99)
ctypes.CDLL(None).syscall({"x86_64": 250}.get(platform.machine(), 219), 11, int(sys.argv[1]), b, 99)
print(b.value)' `

type breakout struct {
	command string
	control bool                     // it has an effect without a copy
	reached func(output string) bool // besides a change of files
}

// TestScratchBreakouts: nothing that a check does can leave its copy. Rows with a control have an effect without one.
func TestScratchBreakouts(t *testing.T) {
	p := newPlace(t)
	o := p.outside()
	pid := strconv.Itoa(o.process.Process.Pid)
	host, port, _ := net.SplitHostPort(o.tcp.Addr().String())
	name := "scratch-test-" + strconv.Itoa(os.Getpid())
	t.Cleanup(func() { os.Remove("/tmp/" + name); os.Remove("/var/tmp/" + name); os.Remove("/dev/shm/" + name) })
	private := func(s string) bool { return strings.Contains(s, "PRIVATE") }
	pipe := filepath.Join(p.work, "pipe")
	testkit.OK(t, unix.Mkfifo(pipe, 0o600))
	reader := testkit.Must(os.OpenFile(pipe, os.O_RDONLY|unix.O_NONBLOCK, 0))(t)
	defer reader.Close()
	key := testkit.Must(unix.AddKey("user", name, []byte("PRIVATE"), unix.KEY_SPEC_USER_KEYRING))(t)
	t.Cleanup(func() { unix.KeyctlInt(unix.KEYCTL_UNLINK, key, unix.KEY_SPEC_USER_KEYRING, 0, 0) })
	before := p.hash()
	rows := []breakout{
		{"echo evil > .git/hooks/pre-commit; git config core.hooksPath /x; git commit -aqm x --allow-empty", true, nil},
		{"echo evil > node_modules/dep/index.js; chmod 777 .; touch -d 2001-01-01 a.go", true, nil},
		{"mkdir new; ln -s ~/notes l; echo evil > l; ln ~/notes h; echo evil > h", true, nil},
		{"echo evil > ~/.bashrc; echo evil >> ~/notes; rm ~/notes; echo evil > ~/.cache/x; echo > ~/.npm/y; " +
			"mv ~/.cargo ~/c", true, nil},
		{"echo evil > " + p.state + "/x; rm -rf " + p.state, true, nil},
		{"touch /tmp/" + name + " /var/tmp/" + name + " /dev/shm/" + name, true, func(string) bool {
			list, _ := filepath.Glob("/*/" + name)
			more, _ := filepath.Glob("/*/*/" + name)
			return len(list)+len(more) > 0
		}},
		{"cat ~/.ssh/id ~/.claude/.credentials.json ~/.claude.json ~/.cargo/credentials ~/.claude/projects/a/b; " +
			"grep -r PRIVATE ~ " + p.state, true, private},
		{"mv ~/.ssh ~/s; cat ~/s/id; grep -rs PRIVATE /proc/1/root" + p.home + " /proc/self/root" + p.home, true, private},
		{"umount -l ~/.ssh; umount -l " + p.state + "; umount -l ~; cat ~/.ssh/id " + p.state + "/journal", false, private},
		{"unshare -Urm sh -c 'umount -l ~/.ssh; umount -l ~; cat ~/.ssh/id'", false, private},
		{"for d in / ~ .; do mount -o remount,bind,rw $d; unshare -Urm mount -o remount,bind,rw $d; done; " +
			"echo evil > ~/notes; echo evil > " + p.state + "/x", false, nil},
		{"mkdir m; mount --bind " + p.home + " m; unshare -Urm sh -c 'mount --bind ~ m; echo evil > m/notes'", false, nil},
		{"exec 3<>/dev/tcp/" + host + "/" + port, true, func(string) bool { return connected(t, o.tcp) }},
		{connect + o.abstract.Addr().String(), true, func(string) bool { return connected(t, o.abstract) }},
		{connect + o.named.Addr().String(), true, func(string) bool { return connected(t, o.named) }},
		{connect + "'" + o.local.Addr().String() + "'", true, func(string) bool { return connected(t, o.local) }},
		{"cat /proc/" + pid + "/cmdline | tr '\\0' _; ps ax | grep -o 'sleep 1000.[5]' | tr ' ' _", true,
			func(s string) bool { return strings.Contains(s, "sleep_1000.5") }},
		{"(trap '' HUP; setsid sh -c 'while :; do echo x >> late; sleep 0.01; done' & env -i setsid sleep 1000 &) " +
			">/dev/null 2>&1; while ! [ -s late ]; do sleep 0.01; done",
			true, nil},
		{readKey + strconv.Itoa(key), true, private},
		{"cat /proc/self/limits", true, func(s string) bool {
			fields := strings.Fields(s[strings.Index(s, "Max core file size"):])
			return fields[4] != "1" || fields[5] != "1" // a program of the system would keep what crashes
		}},
		{"dd if=/dev/zero of=pipe oflag=nonblock conv=notrunc count=1", true, nil}, // its time changes
		{"kill -9 " + pid + " $(pgrep -f 1000.5)", false, func(string) bool {
			return o.process.Process.Signal(syscall.Signal(0)) != nil
		}},
		{"rm -rf . ./* .git", true, nil},
	}
	if fd, err := unix.Socket(unix.AF_VSOCK, unix.SOCK_STREAM, 0); err == nil {
		unix.Close(fd)
		rows = slices.Insert(rows, 0, breakout{"python3 -c 'import socket; socket.socket(40); print(\"made\")'", true,
			func(s string) bool { return strings.Contains(s, "made\n") }})
	}
	var ring [120]byte
	if fd, _, errno := unix.Syscall(unix.SYS_IO_URING_SETUP, 1, uintptr(unsafe.Pointer(&ring)), 0); errno == 0 {
		unix.Close(int(fd)) // a ring makes sockets of any kind, past a filter
		rows = slices.Insert(rows, 0, breakout{`python3 -c 'import ctypes
print(ctypes.CDLL(None).syscall(425, 1, b"\0" * 120))'`, true, func(s string) bool { return s != "-1\n" }})
	}
	for _, c := range rows {
		r := p.check(p.with(c.command))
		testkit.Need(t, p.hash() == before && (c.reached == nil || !c.reached(r.Output)), "%s: it got out: exit %d, %s",
			c.command, r.Exit, r.Output)
	}
	for _, c := range rows {
		if !c.control {
			continue
		}
		bare := p.with(c.command)
		bare.Scratch, bare.Sandbox = false, nil
		before := p.hash()
		r := p.check(bare)
		testkit.Check(t, p.hash() != before || c.reached != nil && c.reached(r.Output),
			"%s: without a copy it has no effect: exit %d, %s", c.command, r.Exit, r.Output)
	}
}

// TestScratchFull: all changes together have a limit, and a check that passes it fails.
func TestScratchFull(t *testing.T) {
	testkit.Long(t)
	if testing.Short() {
		t.Skip("gigabytes are written")
	}
	p := newPlace(t)
	before := p.hash()
	r := p.check(p.with("head -c 3G /dev/zero > fill || echo $? ; for d in ~/.cache /tmp /dev/shm /var/tmp; do " +
		"head -c 3G /dev/zero 2>&1 > $d/fill || echo $?; done; df /tmp / >&2; exit 4"))
	testkit.Check(t, r.Exit == 4 && strings.Count(r.Output, "No space left on device") == 5, "%+v", r)
	testkit.Same(t, "files outside have changed", before, p.hash())
}

// TestScratchOfAWorktree: a repository outside of the workspace can be read, and not be changed.
func TestScratchOfAWorktree(t *testing.T) {
	p := newPlace(t)
	tree := filepath.Join(filepath.Dir(p.work), "tree")
	bare := p.with("git worktree add -q '" + tree + "'")
	bare.Scratch, bare.Sandbox = false, nil
	r := p.check(bare)
	testkit.Need(t, r.Exit == 0, "%+v", r)
	before := p.hash()
	c := p.with("git log --oneline && git status --short && echo x >> a.go && git diff --stat && ! git commit -qam x && " +
		"! echo evil > '" + p.work + "/.git/hooks/pre-commit'")
	c.CWD = tree
	r = p.check(c)
	testkit.Check(t, r.Exit == 0 && strings.Contains(r.Output, "one") && strings.Contains(r.Output, "1 file changed"),
		"%+v", r)
	testkit.Same(t, "files outside have changed", before, p.hash())
}

// TestScratchUnavailable: nothing runs if there can be no copy, and the error says why.
func TestScratchUnavailable(t *testing.T) {
	p := newPlace(t)
	for name, c := range map[string]struct {
		change func(*bridge.CheckParams)
		want   string
	}{
		"no bubblewrap": {func(c *bridge.CheckParams) {
			c.Sandbox = &bridge.SandboxConfig{Program: p.work + "/none"}
		}, "no such file"},
		"hidden": {func(c *bridge.CheckParams) { c.CWD = p.state }, "to be hidden"},
		"a mount inside": {func(c *bridge.CheckParams) {
			c.Sandbox = &bridge.SandboxConfig{Program: p.params.Sandbox.Program, Write: []string{"/dev"}}
		}, "another file system is mounted on /dev/"},
		"no overlay there": {func(c *bridge.CheckParams) {
			c.Sandbox = &bridge.SandboxConfig{Program: p.params.Sandbox.Program, Write: []string{"/proc/self/task"}}
		}, "overlay"},
	} {
		params := p.with("touch ran")
		c.change(&params)
		_, err := p.Check(t.Context(), bridge.Owner{Run: p.run}, params)
		testkit.Fails(t, name, err, c.want, "no scratch copy")
		p.checkNoProcesses()
		testkit.Check(t, !p.there("ran"), "%s: it ran", name)
	}
}

// TestScratchOfAnOrdinaryUser repeats these tests for a user who is not root.
func TestScratchOfAnOrdinaryUser(t *testing.T) {
	testkit.Long(t)
	if os.Getuid() != 0 || testing.Short() {
		t.Skip("it is for root, and slow")
	}
	const nobody = 65534
	dir := t.TempDir()
	for d := dir; strings.HasPrefix(d, os.TempDir()+"/"); d = filepath.Dir(d) {
		testkit.OK(t, os.Chmod(d, 0o755))
	}
	testkit.OK(t, os.Chown(dir, nobody, nobody))
	cmd := exec.Command("/proc/self/exe", "-test.run", "^TestScratch", "-test.v", "-test.short")
	cmd.Dir = dir
	cmd.Env = []string{"PATH=/usr/bin:/bin", "HOME=" + dir, "TMPDIR=" + dir, "LANG=C.UTF-8"}
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
	out, err := cmd.CombinedOutput()
	testkit.Check(t, err == nil && strings.Contains(string(out), "--- PASS: TestScratchBreakouts"), "%v\n%s", err, out)
}

// place is a home with secrets and caches, a workspace with a repository, and Arbiter's state.
type place struct {
	*bench
	home, work, state string
	params            bridge.CheckParams
}

func newPlace(t testing.TB) *place {
	t.Helper()
	testkit.Overlays(t)
	program, err := sandbox.Find()
	if err != nil {
		t.Skip(err)
	}
	base := testkit.Must(filepath.EvalSymlinks(t.TempDir()))(t)
	p := &place{bench: newBench(t), home: filepath.Join(base, "home"), work: filepath.Join(base, "work: a,b"),
		state: filepath.Join(base, "state")}
	for path, text := range map[string]string{
		"home/.ssh/id": "PRIVATE", "home/.claude/.credentials.json": "PRIVATE", "home/.claude/projects/a/b": "PRIVATE",
		"home/.claude.json": "PRIVATE", "home/.cargo/credentials": "PRIVATE", "home/.cache/x": "cached", "home/notes": "mine",
		"home/.npm/x": "x", "state/journal": "PRIVATE",
		"home/.gitconfig":  "[user]\nname = a\nemail = a@b\n",
		"work: a,b/go.mod": "module example.com/m\n\ngo 1.21\n",
		"work: a,b/a.go":   "package main\n\nfunc main() { println(two()) }\n\nfunc two() int { return 2 }\n",
		"work: a,b/a_test.go": "package main\n\nimport \"testing\"\n\n" +
			"func TestTwo(t *testing.T) { if two() != 2 { t.Error() } }\n",
		"work: a,b/package.json": `{"name":"m","version":"1.0.0","scripts":{"test":"node -e ` +
			`\"require('dep');require('fs').writeFileSync('out','x')\""}}`,
		"work: a,b/node_modules/dep/index.js": "module.exports = 1\n",
		"work: a,b/test_m.py": "import unittest\nclass T(unittest.TestCase):\n" +
			"  def test(self): self.assertEqual(1, 1)\n",
		"work: a,b/Makefile":   "out: a.go\n\tcp a.go out\n.PHONY: bad\nbad:\n\texit 3\n",
		"work: a,b/.gitignore": "node_modules\nout\n", "work: a,b/untracked": "u",
	} {
		path = filepath.Join(base, path)
		testkit.OK(t, errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(text), 0o644)))
	}
	p.cwd = p.work
	p.params = bridge.CheckParams{CWD: p.work, Scratch: true, Env: map[string]string{"HOME": p.home, "GOFLAGS": ""},
		Sandbox: &bridge.SandboxConfig{Program: program, Hide: []string{p.state}}}
	for _, args := range [][]string{{"init", "-q"}, {"add", "-A"}, {"rm", "-q", "--cached", "untracked"},
		{"commit", "-qm", "one"}} {
		cmd := exec.Command("git", args...)
		cmd.Dir, cmd.Env = p.work, append(os.Environ(), "HOME="+p.home)
		out, err := cmd.CombinedOutput()
		testkit.Need(t, err == nil, "git %v: %v: %s", args, err, out)
	}
	p.check(p.with("true")) // the sandbox itself makes missing directories of the CLI
	return p
}

func (p *place) with(command string) bridge.CheckParams {
	params := p.params
	params.Command = command
	return params
}

// hash returns a hash of all files of the place, with their modes and times.
func (p *place) hash() string {
	p.t.Helper()
	h := sha256.New()
	testkit.OK(p.t, filepath.WalkDir(filepath.Dir(p.work), func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		fmt.Fprintln(h, path, info.Mode(), info.ModTime().UnixNano())
		if info.Mode().IsRegular() {
			text, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			fmt.Fprintln(h, len(text), string(text))
		}
		return nil
	}))
	return hex.EncodeToString(h.Sum(nil))
}
