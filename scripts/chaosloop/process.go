package main

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"

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

	count   int // lines so far
	ended   *contract.Result
	resumed bool // a session event came

	due chan func() // that it is time for; buffered for all that a process can have
}

// start starts a process: the first one with the task, the others with --resume.
func (r *round) start(crashAt string) (*processRun, error) {
	args := append([]string{"--json"}, r.config...)
	if r.run == "" {
		args = append(args, r.args...)
	} else {
		args = append(args, "--resume", "--session", r.run)
	}
	l := &processRun{r: r, cmd: exec.Command(r.bin, args...), lines: make(chan contract.Line, 1024),
		due: make(chan func(), 1024)}
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
func (l *processRun) sendMessage(text string) { l.say(text, contract.Say{Text: text}) }

func (r *round) token() string {
	r.tokens++
	return fmt.Sprintf("(word %d.%d)", r.seed, r.tokens)
}

// findBridge returns the bridge's pid; 0: there is none.
func (l *processRun) findBridge() (pid int) {
	for _, p := range processes(l.r.mark) {
		if p.parent == l.cmd.Process.Pid && slices.Contains(p.args, "bridge") {
			pid = p.pid
		}
	}
	return pid
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

// process is a process as /proc describes it.
type process struct {
	pid, parent int
	state       string
	args        []string
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
		if !slices.ContainsFunc(marks, func(m string) bool { return slices.Contains(vars, m) }) {
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
		// Both "--resume ID" and "--resume=ID" are there.
		words := strings.Split(strings.ReplaceAll(strings.Join(p.args, "\x00"), "=", "\x00"), "\x00")
		for i, word := range words[:len(words)-1] {
			if p.session == "" && (word == "--session-id" || word == "--resume") {
				p.session = words[i+1]
			}
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
