package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/arbiter-cli/arbiter/internal/hosts/hosttest"
	"github.com/arbiter-cli/arbiter/internal/workspace/gittest"
)

// linkedHost is a host on this machine behind a connection that a test can observe and break: the program
// far-link connects to a relay, and behind the relay a server of the test runs the requested commands, as sshd
// does.
type linkedHost struct {
	t     *testing.T
	dir   string // of the host: home, programs, and the ledger of its agents
	relay *hosttest.Relay
	addr  string // of the server, without the relay
	real  bool   // the host has the real CLI
	// Processes on the host outlive far-link, as with kubectl exec.
	survives bool
	// onLine is called with each line from or to a bridge before it is passed on, and with each start of Git.
	// The result says whether and how to break the link.
	onLine func(linkLine) linkBreak
	// forge, if not nil, changes each line of the host's bridge before it is passed on. It may write more to
	// the client itself.
	forge func(line string, to io.Writer) string

	wg       sync.WaitGroup
	mu       sync.Mutex
	closed   bool
	restored chan struct{} // closed when a hole is mended
	live     map[*exec.Cmd]bool
}

// linkLine is a line or a command that goes over a link.
type linkLine struct {
	far  bool   // it comes from the host
	line string // a bridge's line, or the command that is started
	link int    // process id of far-link
}

// linkBreak says how to break a link.
type linkBreak struct {
	do    func(link int) // nil: do not break it
	after bool           // break it after passing the line on, not before
	holds bool           // the line is not lost, but passed on when the link is mended
}

// linkRequest is a request of far-link to the server.
type linkRequest struct {
	PID  int
	Argv []string
}

// farLink is the program far-link: far-link ADDRESS WORD… runs a command behind the address, with its own stdin
// and stdout.
func farLink() {
	c, err := net.Dial("tcp", os.Args[1])
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(255)
	}
	if err := json.NewEncoder(c).Encode(linkRequest{os.Getpid(), os.Args[2:]}); err != nil {
		os.Exit(255)
	}
	go func() { // ends with the process
		_, _ = io.Copy(c, os.Stdin)
		_ = c.(*net.TCPConn).CloseWrite()
	}()
	if _, err := io.Copy(os.Stdout, c); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(255)
	}
}

// newLinkedHost starts a host with arbiter and claude on it: the real CLI, or the stand-in if claude is empty.
func newLinkedHost(t *testing.T, claude string) *linkedHost {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	h := &linkedHost{
		t: t, dir: gittest.Temp(t), real: claude != "", addr: l.Addr().String(),
		restored: make(chan struct{}), live: map[*exec.Cmd]bool{},
	}
	for _, d := range []string{"bin", "home", "sessions"} {
		if err := os.Mkdir(filepath.Join(h.dir, d), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if claude == "" {
		claude = standInProgram(t)
	}
	self, err := exec.LookPath("arbiter")
	if err != nil {
		t.Fatal(err)
	}
	hosttest.ShareProgram(t, filepath.Join(h.dir, "bin"), "arbiter", self)
	script := write(t, fmt.Sprintf(oneAtATime, h.dir, claude), h.dir, "bin/claude")
	if err := os.Chmod(script, 0o755); err != nil {
		t.Fatal(err)
	}
	h.relay = hosttest.NewRelay(t, h.addr)
	h.wg.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			h.wg.Go(func() { h.serve(c) })
		}
	})
	t.Cleanup(func() {
		_ = l.Close()
		h.mu.Lock()
		h.closed = true
		h.mu.Unlock()
		h.kill()
		h.restore()
		h.wg.Wait()
	})
	return h
}

// oneAtATime is the script in place of claude. A process of a session and its descendants hold a lock while any
// of them lives; a second process at the same time cannot get the lock, and records that.
const oneAtATime = `#!/bin/sh
dir='%s' session= before= fork=
for word in "$@"; do
	case "$before" in --session-id | --resume) session=$word ;; esac
	case "$word" in --fork-session) fork=1 ;; esac
	before=$word
done
export ARBITER_STANDIN_LEDGER="$dir/ledger"
[ -z "$session$fork" ] && exec '%[2]s' "$@"
if [ -n "$session" ] && [ -z "$fork" ]; then
	exec 9>>"$dir/sessions/$session"
	flock -n 9 || echo "two processes at once" >>"$dir/sessions/twice"
	echo start >&9
fi
exec '%[2]s' "$@"
`

// configuration writes a user configuration with the host as box, and optionally a command that ends everything
// on it.
func (h *linkedHost) configuration(end bool) string {
	text := fmt.Sprintf("hosts:\n  box:\n    command: [far-link, '%s']\n    pass_env: [ANTHROPIC_BASE_URL, "+
		"ANTHROPIC_API_KEY, CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC]\n", h.relay.Addr())
	if end {
		text += fmt.Sprintf("    end: [far-link, '%s', end]\n", h.addr)
	}
	return write(h.t, text, h.t.TempDir(), "config.yaml")
}

// restore mends the link, and lets lines that were held pass.
func (h *linkedHost) restore() {
	h.mu.Lock()
	close(h.restored)
	h.restored = make(chan struct{})
	h.mu.Unlock()
	h.relay.Restore()
}

// kill ends every process on the host at once, as deleting the pod does.
func (h *linkedHost) kill() {
	h.mu.Lock()
	for cmd := range h.live {
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
	}
	h.mu.Unlock()
	for _, pid := range h.processes() {
		_ = syscall.Kill(pid, syscall.SIGKILL)
	}
}

// processes returns the live processes of the host.
func (h *linkedHost) processes() (pids []int) {
	files, _ := filepath.Glob("/proc/[0-9]*/environ")
	for _, file := range files {
		env, _ := os.ReadFile(file)
		var pid int
		_, err := fmt.Sscanf(file, "/proc/%d/", &pid)
		if err == nil && strings.Contains(string(env), "LINKED="+h.dir+"\x00") {
			pids = append(pids, pid)
		}
	}
	return pids
}

// start starts a command on the host.
func (h *linkedHost) start(argv []string) (*exec.Cmd, io.WriteCloser, io.ReadCloser, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.closed {
		return nil, nil, nil, errors.New("the test is over")
	}
	path := fmt.Sprintf("PATH=%s/bin:/usr/local/bin:/usr/bin:/bin", h.dir)
	cmd := exec.Command("env", append([]string{"-i", path, "HOME=" + h.dir + "/home", "LINKED=" + h.dir}, argv...)...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	stdin, err := cmd.StdinPipe()
	if err != nil {
		return nil, nil, nil, err
	}
	stdout, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err == nil {
		h.live[cmd] = true
	}
	return cmd, stdin, stdout, err
}

// serve runs one command for a far-link that has connected.
func (h *linkedHost) serve(c net.Conn) {
	defer c.Close()
	in := bufio.NewReaderSize(c, 1<<20)
	line, err := in.ReadBytes('\n')
	var what linkRequest
	if err != nil || json.Unmarshal(line, &what) != nil || len(what.Argv) == 0 {
		return
	}
	if what.Argv[0] == "end" {
		h.kill()
		hosttest.Await(h.t, "the end of all processes", func() bool { return len(h.processes()) == 0 })
		return
	}
	start := linkLine{line: strings.Join(what.Argv, " "), link: what.PID}
	if what.Argv[0] == "git" && !h.pass(start, func() error { return nil }) {
		return
	}
	cmd, stdin, stdout, err := h.start(what.Argv)
	if err != nil {
		return
	}
	bridge := what.Argv[0] == "arbiter"
	h.wg.Go(func() {
		h.copy(stdin, in, linkLine{link: what.PID}, bridge)
		if !h.survives {
			_ = stdin.Close()
		}
	})
	h.copy(c, bufio.NewReaderSize(stdout, 1<<20), linkLine{far: true, link: what.PID}, bridge)
	if h.survives {
		_, _ = io.Copy(io.Discard, stdout)
	}
	_ = stdout.Close()
	_ = cmd.Wait()
	h.mu.Lock()
	delete(h.live, cmd)
	h.mu.Unlock()
}

// copy passes data on, line by line for a bridge.
func (h *linkedHost) copy(to io.Writer, from *bufio.Reader, e linkLine, bridge bool) {
	if !bridge {
		_, _ = io.Copy(to, from)
		return
	}
	for {
		line, err := from.ReadBytes('\n')
		if len(line) > 0 {
			if e.far && h.forge != nil {
				line = []byte(h.forge(string(line), to))
			}
			e.line = string(line)
			write := func() error { _, err := to.Write(line); return err }
			if !h.pass(e, write) {
				return
			}
		}
		if err != nil {
			return
		}
	}
}

// pass passes something on, and breaks the link before or after that, if the test says so. It returns false if
// what it got was not passed on.
func (h *linkedHost) pass(e linkLine, pass func() error) bool {
	h.mu.Lock()
	b, restored := linkBreak{}, h.restored
	if h.onLine != nil {
		b = h.onLine(e)
	}
	h.mu.Unlock()
	switch {
	case b.do == nil:
		return pass() == nil
	case b.after:
		ok := pass() == nil
		b.do(e.link)
		return ok
	}
	b.do(e.link)
	if !b.holds {
		return false
	}
	<-restored
	return pass() == nil
}
