package main

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/arbiter-cli/arbiter/bridge/control"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
)

// processRun is one process of arbiter, from start to end.
type processRun struct {
	r      *round
	cmd    *exec.Cmd
	stdin  io.WriteCloser
	lines  chan contract.Line // closed when stdout ends
	raw    bytes.Buffer       // what was read, for a dump; owned by the reader until lines is closed
	stderr bytes.Buffer       // of the process until wait returns
	bridge int                // pid, once known

	count   int // lines so far
	ended   *contract.Result
	resumed bool // a session event came
	filled  bool // its disk is full

	clients   *clients        // nil if none connect
	actions   []plannedAction // to come
	followUps []followUp
}

// start starts a process: the first one with the task, the others with --resume.
func (r *round) start(crashAt string) (*processRun, error) {
	args := append([]string{"--json"}, r.config...)
	if r.run == "" {
		args = append(args, r.args...)
	} else {
		args = append(args, "--resume", "--session", r.run)
	}
	l := &processRun{r: r, cmd: exec.Command(r.bin, args...), lines: make(chan contract.Line, 1024), actions: r.actions()}
	l.cmd.Dir = r.path("work")
	l.cmd.Env = append(slices.Clone(r.env), "ARBITER_CRASH_LOG="+r.path("hits"))
	if crashAt != "" {
		l.cmd.Env = append(l.cmd.Env, "ARBITER_CRASH_AT="+crashAt)
	}
	l.cmd.Stderr = &l.stderr
	// The bridge of a killed arbiter may keep its stderr open for a moment.
	l.cmd.WaitDelay = waitTimeout
	stdin, noStdin := l.cmd.StdinPipe()
	stdout, noStdout := l.cmd.StdoutPipe()
	if err := errors.Join(noStdin, noStdout, l.cmd.Start()); err != nil {
		return nil, err
	}
	l.stdin = stdin
	r.f.n["processes of arbiter"]++
	go l.read(stdout)
	return l, nil
}

// read passes the lines on. A kill may cut off the last one before its newline.
func (l *processRun) read(stdout io.Reader) {
	defer close(l.lines)
	for b := bufio.NewReader(stdout); ; {
		line, err := b.ReadBytes('\n')
		l.raw.Write(line)
		if err != nil {
			return
		}
		if ev, err := contract.DecodeLine(line); err == nil {
			l.lines <- ev
		}
	}
}

// send sends a command. A killed arbiter reads nothing; only accepted messages are counted.
func (l *processRun) send(ref string, b contract.CommandBody) {
	line, err := contract.MarshalCommand(contract.Command{Ref: ref, Body: b})
	if err != nil {
		l.r.fail("encode a command: %v", err)
		return
	}
	_, _ = l.stdin.Write(append(bytes.TrimSpace(line), '\n'))
}

// say sends a message of a kind with a unique token.
func (l *processRun) say(kind string, b contract.Say) {
	token := l.r.token()
	l.r.sent[token] = &sentMessage{text: kind, by: l}
	b.Text += " " + token
	l.send(token, b)
}

// sendMessage sends a message to the Arbiter.
func (l *processRun) sendMessage(text string) {
	l.say(text, contract.Say{Text: text})
	if l.r.refuse != nil && l.r.rnd.IntN(2) == 0 {
		l.r.refuse.arm(fmt.Sprintf("(word %d.%d)", l.r.seed, l.r.tokens))
	}
}

func (r *round) token() string {
	r.tokens++
	return fmt.Sprintf("(word %d.%d)", r.seed, r.tokens)
}

// findBridge finds the bridge's pid, and remembers it.
func (l *processRun) findBridge() int {
	if l.bridge == 0 {
		for _, p := range processes(l.r.mark) {
			if p.parent == l.cmd.Process.Pid && slices.Contains(p.args, "bridge") {
				l.bridge = p.pid
			}
		}
	}
	return l.bridge
}

// wait returns the exit code once stdout has ended, or -1 if a signal killed the process.
func (l *processRun) wait() int {
	_ = l.stdin.Close()
	_ = l.cmd.Wait()
	return l.cmd.ProcessState.ExitCode()
}

func (l *processRun) killedBySignal() bool {
	s, ok := l.cmd.ProcessState.Sys().(syscall.WaitStatus)
	return ok && s.Signaled() && s.Signal() == syscall.SIGKILL
}

// dump returns the end of its output.
func (l *processRun) dump() string {
	lines := strings.Split(strings.TrimSpace(l.raw.String()), "\n")
	var b strings.Builder
	for _, line := range lines[max(0, len(lines)-25):] {
		fmt.Fprintf(&b, "  %.300s\n", line)
	}
	fmt.Fprintf(&b, "  stderr: %s\n", strings.TrimSpace(l.stderr.String()))
	return b.String()
}

// fill makes the disk full for this process of arbiter, and sends a message, which then cannot be recorded: the
// journal has room for a few more bytes only. The log of crash points, which is shorter, still has room.
func (l *processRun) fill() bool {
	size := int64(0)
	names, _ := filepath.Glob(filepath.Join(l.r.runDir(), "journal-*"))
	for _, name := range names {
		if info, err := os.Stat(name); err == nil {
			size = max(size, info.Size())
		}
	}
	if info, err := os.Stat(l.r.path("hits")); err != nil || size < info.Size()+200 {
		return false // not yet
	}
	l.r.try(l.limitFiles(fmt.Sprint(size + 20)))
	l.filled, l.r.blurred = true, true
	l.sendMessage("a passing note")
	return true
}

// limitFiles limits the size of files that the process can write: larger writes fail as on a full disk.
func (l *processRun) limitFiles(size string) error {
	return exec.Command("prlimit", "--pid", strconv.Itoa(l.cmd.Process.Pid), "--fsize="+size+":unlimited").Run()
}

// clients are other processes connected to the control socket of one process. One of them follows the run from
// its first event on, and must receive the events that the process prints. The others hang, die, or do not
// speak the protocol: they must not affect the run.
type clients struct {
	follower, sender *exec.Cmd
	watched          bytes.Buffer // the follower's output
	token            string       // of the sender's message
	hung             []*exec.Cmd
	open             []io.Closer // connections, and pipes that are never read
}

// connect starts the clients when the run is known, in one of that many processes.
func (l *processRun) connect() {
	r := l.r
	if l.clients != nil || r.o.clients == 0 || r.rnd.IntN(r.o.clients) > 0 {
		return
	}
	c := &clients{}
	l.clients = c
	c.follower = l.client(&c.watched, "watch", "--since", "0")
	for _, s := range []syscall.Signal{syscall.SIGSTOP, syscall.SIGKILL} {
		reader, writer, err := os.Pipe()
		if err != nil {
			r.fail("clients: %v", err)
			return
		}
		hung := l.client(writer, "watch")
		_ = writer.Close() // the client has its own
		c.open, c.hung = append(c.open, reader), append(c.hung, hung)
		l.later(func() { signal(hung, s) })
	}
	for _, text := range []string{"", "Content-Length: 1000000\r\n\r\n{", "\x00\xff no frame\n"} {
		conn, err := net.Dial("unix", filepath.Join(r.runDir(), control.SocketName))
		if err != nil {
			continue // the run may be ending
		}
		_ = conn.SetWriteDeadline(time.Now().Add(time.Second))
		_, _ = conn.Write([]byte(text)) // errors do not matter
		c.open = append(c.open, conn)
	}
	if !r.jobDone() {
		c.token = r.token()
		r.sent[c.token] = &sentMessage{text: "a note from elsewhere", by: l}
		c.sender = l.client(nil, "send", "a note from elsewhere "+c.token)
	}
	r.f.n["clients that connected"] += 2 + len(c.open)
}

// client starts an arbiter command on the run. It lacks the round's mark, since it is not part of the run.
func (l *processRun) client(stdout io.Writer, command string, args ...string) *exec.Cmd {
	cmd := exec.Command(l.r.bin, append([]string{command, l.r.run}, args...)...)
	cmd.Env, cmd.Dir, cmd.Stdout = slices.Clone(l.r.env[1:]), l.r.path("work"), stdout
	if err := cmd.Start(); err != nil {
		l.r.fail("arbiter %s: %v", command, err)
	}
	return cmd
}

func signal(cmd *exec.Cmd, s syscall.Signal) {
	if cmd.Process != nil {
		_ = cmd.Process.Signal(s) // it may have ended already
	}
}

// disconnect ends the clients of a process that has ended. The follower and the sender end on their own.
func (l *processRun) disconnect() {
	c := l.clients
	if c == nil {
		return
	}
	for _, cmd := range c.hung {
		signal(cmd, syscall.SIGKILL)
		_ = cmd.Wait()
	}
	for _, o := range c.open {
		_ = o.Close()
	}
	if c.sender != nil && l.endsByItself("send", c.sender) && c.sender.ProcessState.ExitCode() == 0 {
		l.r.sent[c.token].accepted = true
	}
	if c.follower == nil || !l.endsByItself("watch", c.follower) {
		return
	}
	watched, code := c.watched.Bytes(), c.follower.ProcessState.ExitCode()
	if len(watched) == 0 && code == int(contract.ExitUsage) {
		return // the process ended before the client found it
	}
	l.r.f.n["lines that they followed"] += bytes.Count(watched, []byte("\n"))
	if !sameOutput(l.raw.Bytes(), watched, l.killedBySignal()) {
		l.r.bad("clients that saw other events",
			"a client received other events than the process printed (%d bytes, not %d; exit %d):\n%s\n%s",
			len(watched), l.raw.Len(), code, watched[max(0, len(watched)-2000):], l.dump())
	}
}

// endsByItself waits for the end of a client whose run has ended, and reports whether it ended in time.
func (l *processRun) endsByItself(name string, cmd *exec.Cmd) bool {
	if cmd.Process == nil {
		return false
	}
	late := time.AfterFunc(waitTimeout, func() { signal(cmd, syscall.SIGKILL) })
	_ = cmd.Wait() // its exit code says how the run ended
	if late.Stop() {
		return true
	}
	l.r.bad("deadlines missed", "arbiter %s did not end within %s of its run", name, waitTimeout)
	return false
}

// sameOutput reports whether both have the same lines. If a kill cut the output, either may have more than the
// other.
func sameOutput(printed, watched []byte, cut bool) bool {
	if !cut {
		return bytes.Equal(printed, watched)
	}
	completeLines := func(b []byte) []byte { return b[:bytes.LastIndexByte(b, '\n')+1] }
	printed, watched = completeLines(printed), completeLines(watched)
	return bytes.HasPrefix(printed, watched) || bytes.HasPrefix(watched, printed)
}

// process is a process as /proc describes it.
type process struct {
	pid, parent int
	state       string
	args        []string
	agent       string // that it belongs to, from its mark, such as "orch-1.2"
	session     string // that a CLI process was started on; its tools inherit the environment, not the arguments
	leads       bool   // its process group
}

// processes returns those with one of the marks in their environment. Zombies have no environment and are not
// among them.
func processes(marks ...string) (found []process) {
	dirs, _ := filepath.Glob("/proc/[0-9]*")
	for _, d := range dirs {
		env, err := os.ReadFile(d + "/environ")
		if err != nil || len(env) == 0 {
			continue
		}
		vars := strings.Split(string(env), "\x00")
		if !slices.ContainsFunc(marks, func(m string) bool { return m != "" && slices.Contains(vars, m) }) {
			continue
		}
		var p process
		p.pid, _ = strconv.Atoi(filepath.Base(d))
		cmd, _ := os.ReadFile(d + "/cmdline")
		p.args = strings.Split(strings.TrimRight(string(cmd), "\x00"), "\x00")
		stat, _ := os.ReadFile(d + "/stat")
		group := 0
		_, _ = fmt.Sscan(string(stat[bytes.LastIndexByte(stat, ')')+1:]), &p.state, &p.parent, &group)
		if p.leads = group == p.pid; p.state == "Z" || p.state == "X" {
			continue
		}
		for _, v := range vars {
			if name, ok := strings.CutPrefix(v, "ARBITER_AGENT="); ok {
				p.agent = name
			}
		}
		for i, a := range p.args {
			option, value, inline := strings.Cut(a, "=")
			if p.session != "" || option != "--session-id" && option != "--resume" {
				continue
			}
			if !inline && i+1 < len(p.args) {
				value = p.args[i+1]
			}
			p.session = value
		}
		found = append(found, p)
	}
	return found
}

// agents returns the CLI processes and those of another make, without their children.
func (r *round) agents() []process {
	if r.run == "" {
		return nil
	}
	return slices.DeleteFunc(processes("ARBITER_RUN="+r.run), func(p process) bool {
		return p.session == "" && !slices.Contains(p.args, fakeMake) || !p.leads
	})
}
