package main

import (
	"bufio"
	"bytes"
	"encoding/json"
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
	bridge int                // pid, once known

	count   int // lines so far
	ended   *contract.Result
	resumed bool // a session event came
	filled  bool // its disk is full

	clients   *clients // nil if none connect
	actions   []action // actions to come
	followUps []followUp
}

// start starts a process: the first one with the task, the others with --resume.
func (r *round) start(crashAt string) (*processRun, error) {
	args := []string{"--json", "--state-dir", filepath.Join(r.dir, "state")}
	if r.run == "" {
		// The ledger of the stand-ins lies outside of what a sandbox lets them write.
		args = append(args, "--sandbox", "off", "--claude", r.player, "--model", "claude-sonnet-4-5", "--allow", "Bash(*)",
			"--max-failures", "20", "--env", "ARBITER_STANDIN_LEDGER="+r.ledger, "--task",
			"Weave two threads. "+r.token())
		if r.acts() {
			if err := r.tamper(); err != nil {
				return nil, err
			}
			args = append(args, "--trust", "--max-wait", "1m")
		} else {
			args = append(args, "--allow", "Write")
		}
		if r.isolated {
			args = append(args, "--isolation", r.isolation())
		}
		if r.asks {
			args = append(args, "--decider", "stateless")
		}
	} else {
		args = append(args, "--resume", "--session", r.run)
	}
	if r.hosted {
		args = append(args, "--config", r.hostsFile())
		if r.run == "" {
			args = append(args, "--hosts", "box", "--lease", hostLease)
		}
	}
	if r.isMixed() {
		args = append(args, "--config", r.makesFile())
	}
	l := &processRun{r: r, cmd: exec.Command(r.bin, args...), lines: make(chan contract.Line, 1024)}
	l.cmd.Dir = filepath.Join(r.dir, "work")
	l.cmd.Env = append(slices.Clone(r.env), "ARBITER_CRASH_LOG="+r.hits)
	if crashAt != "" {
		l.cmd.Env = append(l.cmd.Env, "ARBITER_CRASH_AT="+crashAt)
	}
	l.cmd.Stderr = &l.stderr
	// The bridge of a killed arbiter may keep its stderr open for a moment.
	l.cmd.WaitDelay = waitTimeout
	var err error
	if l.stdin, err = l.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	stdout, err := l.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := l.cmd.Start(); err != nil {
		return nil, err
	}
	r.f.n["processes of arbiter"]++
	go l.read(stdout)
	return l, nil
}

// read passes the lines on. A kill may cut off the last one before its newline.
func (l *processRun) read(stdout io.Reader) {
	defer close(l.lines)
	b := bufio.NewReaderSize(stdout, 1<<20)
	for {
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

// sendMessage sends the Arbiter a message with a unique token.
func (l *processRun) sendMessage(text string) {
	token := l.r.token()
	l.r.sent[token] = &sentMessage{text: text, by: l}
	if l.r.refuse != nil && l.r.rnd.IntN(2) == 0 {
		l.r.refuse.arm(token)
	}
	l.send(token, contract.Say{Text: text + " " + token})
}

func (l *processRun) send(ref string, b contract.CommandBody) {
	line, err := contract.MarshalCommand(contract.Command{Ref: ref, Body: b})
	if err != nil {
		l.r.fail("encode a command: %v", err)
		return
	}
	// A killed arbiter reads nothing; only accepted messages are counted.
	_, _ = l.stdin.Write(append(bytes.TrimSpace(line), '\n'))
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

// entry is a line of the stand-in's ledger.
type entry struct {
	Event   string `json:"event"`
	Session string `json:"session"`
	Message string `json:"message"`
}

func readLedger(text []byte) ([]entry, error) {
	var list []entry
	for line := range bytes.Lines(text) {
		var e entry
		if err := json.Unmarshal(line, &e); err != nil {
			return nil, fmt.Errorf("ledger: %w: %s", err, line)
		}
		list = append(list, e)
	}
	return list, nil
}

// process is a process as /proc describes it.
type process struct {
	pid, parent int
	state       string
	args        []string
	env         []string
}

// processes returns those with one of the marks in their environment. Zombies have no environment and are not
// among them.
func processes(marks ...string) []process {
	dirs, _ := filepath.Glob("/proc/[0-9]*")
	var found []process
	for _, d := range dirs {
		env, err := os.ReadFile(d + "/environ")
		if err != nil || len(env) == 0 {
			continue
		}
		vars := strings.Split(string(env), "\x00")
		if !slices.ContainsFunc(marks, func(m string) bool { return m != "" && slices.Contains(vars, m) }) {
			continue
		}
		p := process{env: vars}
		p.pid, _ = strconv.Atoi(filepath.Base(d))
		cmd, _ := os.ReadFile(d + "/cmdline")
		p.args = strings.Split(strings.TrimRight(string(cmd), "\x00"), "\x00")
		stat, _ := os.ReadFile(d + "/stat")
		if i := bytes.LastIndexByte(stat, ')'); i > 0 {
			if f := strings.Fields(string(stat[i+1:])); len(f) > 1 {
				p.state = f[0]
				p.parent, _ = strconv.Atoi(f[1])
			}
		}
		if p.state != "Z" && p.state != "X" {
			found = append(found, p)
		}
	}
	return found
}

// agent returns the agent that the process belongs to, from its mark, such as "orch-1.2".
func (p process) agent() string {
	for _, v := range p.env {
		if name, ok := strings.CutPrefix(v, "ARBITER_AGENT="); ok {
			return name
		}
	}
	return ""
}

// session returns the Claude session that a CLI process was started on, and "" for other processes: its tools
// inherit the environment, not the arguments.
func (p process) session() string {
	for i, a := range p.args[:max(0, len(p.args)-1)] {
		if a == "--session-id" || a == "--resume" {
			return p.args[i+1]
		}
		if v, ok := strings.CutPrefix(a, "--resume="); ok {
			return v
		}
	}
	return ""
}

func (p process) leads() bool {
	group, err := syscall.Getpgid(p.pid)
	return err == nil && group == p.pid
}
