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
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/arbiter-cli/arbiter/internal/testkit"
	"github.com/arbiter-cli/arbiter/internal/workspace/gittest"
	"github.com/arbiter-cli/arbiter/rehearsal"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
)

// linkedHost is a host on this machine behind a connection that a test can observe and break: the program
// far-link connects to a relay, and behind the relay a server of the test runs the requested commands, as sshd
// does.
type linkedHost struct {
	t     *testing.T
	dir   string // of the host: home, programs, and the ledger of its agents
	relay *testkit.Relay
	addr  string // of the server, without the relay
	real  bool   // the host has the real CLI
	// onLine is called with each line from or to a bridge before it is passed on, and with each start of Git.
	// The result says whether and how to break the link.
	onLine func(linkLine) linkBreak

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
	l := testkit.Must(net.Listen("tcp", "127.0.0.1:0"))(t)
	h := &linkedHost{
		t: t, dir: gittest.Temp(t), real: claude != "", addr: l.Addr().String(),
		restored: make(chan struct{}), live: map[*exec.Cmd]bool{},
	}
	for _, d := range []string{"bin", "home", "sessions"} {
		testkit.OK(t, os.Mkdir(filepath.Join(h.dir, d), 0o700))
	}
	if claude == "" {
		claude = standInProgram(t)
	}
	self := testkit.Must(exec.LookPath("arbiter"))(t)
	testkit.ShareProgram(t, filepath.Join(h.dir, "bin"), "arbiter", self)
	script := write(t, fmt.Sprintf(oneAtATime, h.dir, claude), h.dir, "bin/claude")
	testkit.OK(t, os.Chmod(script, 0o755))
	h.relay = testkit.NewRelay(t, h.addr)
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
	text := "hosts:\n" + hostNamed("box", "far-link, '"+h.relay.Addr()+"'")
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
	for _, p := range h.processes() {
		_ = syscall.Kill(p.pid, syscall.SIGKILL)
	}
}

// processes returns the live processes of the host.
func (h *linkedHost) processes() []process {
	return processes(func(p process) bool { return strings.Contains(p.environment, "LINKED="+h.dir+"\x00") })
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
		testkit.Await(h.t, "the end of all processes", func() bool { return len(h.processes()) == 0 })
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
		_ = stdin.Close()
	})
	h.copy(c, bufio.NewReaderSize(stdout, 1<<20), linkLine{far: true, link: what.PID}, bridge)
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

// twoHands is a play in which two Orchestrators work. They can be interrupted at any point, and then repeat
// what is missing.
var twoHands = playOf(
	arbiter(append(summons("Weave part one", "Weave part two"), on("A part is woven", patience),
		on("A part is woven", complete("Both are woven."))), patience),
	handOf("one"), handOf("two"))

// handOf is an Orchestrator of twoHands. It ends when it has read that its part is there: a fault may stop its command.
func handOf(part string) object {
	return orchestrator(part, "Weave part "+part, []object{bash("echo begun > " + part + ".begun")},
		on(part+" is there", done("A part is woven.", check("git log -1 --format=%s", "exit 0"))),
		bash("echo "+part+" > "+part+".txt && echo "+part+" is there"))
}

// A linkStep is a step of a run on a host, identified by its first line that goes over the link.
type linkStep struct {
	name string
	far  bool
	text string
}

var linkSteps = []linkStep{
	{"initialize", false, `"method":"initialize"`},
	{"push", false, " receive-pack "},
	{"prepare", false, `"method":"work_prepare"`},
	{"spawn", false, `"method":"spawn"`},
	{"first message", false, `"method":"message"`},
	{"delivered", true, `"event":"delivered"`},
	{"tool call", true, `"event":"tool_use"`},
	{"tool result", true, `"event":"tool_result"`},
	{"end of a turn", true, `"event":"turn"`},
	{"check", false, `"method":"check"`},
	{"commit", false, `"method":"work_commit"`},
	{"fetch", false, " upload-pack "},
}

// linkFault is a way in which a link breaks.
type linkFault struct {
	name string
	end  bool // the host has an end command, so that arbiter need not wait for the lease
	do   func(h *linkedHost) func(link int)
}

var linkFaults = []linkFault{
	{"reset", true, func(h *linkedHost) func(int) { return func(int) { h.relay.Reset() } }},
	{"black hole", false, func(h *linkedHost) func(int) { return func(int) { h.relay.Hole() } }},
	{"killed link", false, func(h *linkedHost) func(int) {
		return func(link int) { _ = syscall.Kill(link, syscall.SIGKILL) }
	}},
}

// TestLinkBreaks: at each step of a run the link to a host breaks, before or after what is sent at that step
// arrives. There are never two processes on one session, nothing is lost, and nothing is delivered or merged
// twice. One case for each kind of fault is always played; ARBITER_LONG=1 plays all of them, and one for each
// kind with the real CLI.
func TestLinkBreaks(t *testing.T) {
	testkit.Long(t)
	t.Parallel()
	short := []string{"spawn reset before", "tool call black hole after", "fetch killed link before"}
	for _, p := range players(t) {
		for _, step := range linkSteps {
			for _, fault := range linkFaults {
				for _, when := range []string{"before", "after"} {
					name := strings.Join([]string{step.name, fault.name, when}, " ")
					if (p.real || !testkit.AtNight()) && !slices.Contains(short, name) {
						continue
					}
					t.Run(p.name+" "+name, func(t *testing.T) {
						p.long(t)
						t.Parallel()
						playBrokenLink(t, p, step, fault, when == "after")
					})
				}
			}
		}
	}
}

func playBrokenLink(t *testing.T, p player, step linkStep, fault linkFault, after bool) {
	claude := p.path()
	h := newLinkedHost(t, claude)
	var broken atomic.Bool
	h.onLine = func(e linkLine) linkBreak {
		if e.far != step.far || !strings.Contains(e.line, step.text) || !broken.CompareAndSwap(false, true) {
			return linkBreak{}
		}
		return linkBreak{fault.do(h), after, fault.name == "black hole"}
	}
	config := h.configuration(fault.end)
	repo := gittest.New(t, map[string]string{"old.txt": "old\n"})
	s, model := hiredIn(t, p, twoHands, repo.Path, "--config", config, "--hosts", "box", "--lease", "5s",
		"--allow", "Bash", "--task", "Weave")
	switch {
	case fault.name == "black hole" && step.name == "initialize":
		// There is no lease yet, and a host may have a queue: arbiter does not give up a host that answers
		// late.
		testkit.Await(t, "the black hole", h.relay.Holed)
		h.restore()
	case fault.name == "black hole":
		await(s, "the loss of the host", func(_ string, b contract.Host) bool { return b.Status == contract.HostLost })
		h.restore()
	}
	s.completes()
	if !broken.Load() {
		t.Fatalf("the run never came to %s", step.name)
	}
	onScript(t, model)
	h.sound(s, model)
	got := strings.Fields(repo.Git("ls-files", "--cached", "--others", "--exclude-standard"))
	if slices.Sort(got); !slices.Equal(got, []string{"old.txt", "one.begun", "one.txt", "two.begun", "two.txt"}) {
		t.Errorf("the workspace has %q", got)
	}
}

var envelopeID = regexp.MustCompile(`⟦[^⟧\n]*\| id: ([^ |⟧]+)[^⟧\n]*⟧`)

// sound checks the ledger, the model's requests and the events: one process on a session at a time, no message
// twice in a history or read again after its turn, each commit merged once, and no process left alive.
func (h *linkedHost) sound(s *script, model *rehearsal.Server) {
	t := h.t
	t.Helper()
	absent(t, "two processes were on one session at once", filepath.Join(h.dir, "sessions", "twice"))
	ended := map[string]bool{}
	ledger := []ledgerLine{}
	if !h.real {
		ledger = readLedger(t, filepath.Join(h.dir, "ledger")) // only the stand-in writes one
	}
	for _, l := range ledger {
		key := l.Session + " " + l.Message
		switch {
		case l.Message == "":
		case l.Event == "ended":
			ended[key] = true
		case l.Event == "took" && ended[key]:
			t.Errorf("session %s took message %s up again after its turn", l.Session, l.Message)
		}
	}
	testkit.Same(t, "sessions", 2, len(histories(t, model, rehearsal.RoleOrchestrator)))
	heads := map[string]bool{}
	for _, b := range collect[contract.Merge](s) {
		if b.Status == "merged" && heads[b.Head] {
			t.Errorf("%s was merged twice", b.Head)
		}
		heads[b.Head] = true
	}
	testkit.Empty(t, "left on the host", h.processes())
}
