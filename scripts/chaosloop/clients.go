package main

import (
	"bytes"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"syscall"
	"time"

	"github.com/arbiter-cli/arbiter/bridge/control"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
)

// clients are other processes connected to the control socket of one process. One of them follows the run from
// its first event on, and must receive the events that the process prints. The others hang, die, or do not
// speak the protocol: they must not affect the run.
type clients struct {
	follower *exec.Cmd
	watched  string // file with the follower's output
	sender   *exec.Cmd
	token    string // of the sender's message
	hung     []*exec.Cmd
	pipes    []io.Closer // never read
	conns    []net.Conn
}

// connect starts the clients when the run is known, in one of that many processes.
func (l *processRun) connect() {
	r := l.r
	if l.clients != nil || r.o.clients == 0 || r.rnd.IntN(r.o.clients) > 0 {
		return
	}
	c := &clients{watched: filepath.Join(r.dir, "watched")}
	l.clients = c
	out, err := os.Create(c.watched)
	if err != nil {
		r.fail("clients: %v", err)
		return
	}
	defer out.Close()
	c.follower = l.client(out, "watch", "--since", "0")
	if reader, writer, err := os.Pipe(); err == nil {
		stopped := l.client(writer, "watch")
		_ = writer.Close() // the client has its own
		c.pipes = append(c.pipes, reader)
		c.hung = append(c.hung, stopped)
		l.later(func() { signal(stopped, syscall.SIGSTOP) })
	}
	killed := l.client(nil, "watch")
	c.hung = append(c.hung, killed)
	l.later(func() { signal(killed, syscall.SIGKILL) })
	for _, text := range []string{"", "Content-Length: 1000000\r\n\r\n{", "\x00\xff no frame\n"} {
		conn, err := net.Dial("unix", filepath.Join(r.runDir(), control.SocketName))
		if err != nil {
			continue // the run may be ending
		}
		_ = conn.SetWriteDeadline(time.Now().Add(time.Second))
		_, _ = conn.Write([]byte(text)) // errors do not matter
		c.conns = append(c.conns, conn)
	}
	if !r.jobDone() {
		c.token = r.token()
		r.sent[c.token] = &sentMessage{text: "a note from elsewhere", by: l}
		c.sender = l.client(nil, "send", "a note from elsewhere "+c.token)
	}
	r.f.n["clients that connected"] += 2 + len(c.hung) + len(c.conns)
}

// client starts an arbiter command on the run. It lacks the round's mark, since it is not part of the run.
func (l *processRun) client(stdout *os.File, command string, args ...string) *exec.Cmd {
	r := l.r
	cmd := exec.Command(r.bin, append([]string{command, "--state-dir", filepath.Join(r.dir, "state"), r.run},
		args...)...)
	cmd.Env, cmd.Dir = slices.Clone(r.env[1:]), filepath.Join(r.dir, "work")
	if stdout != nil {
		cmd.Stdout = stdout
	}
	if err := cmd.Start(); err != nil {
		r.fail("arbiter %s: %v", command, err)
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
	for _, conn := range c.conns {
		_ = conn.Close()
	}
	for _, cmd := range c.hung {
		signal(cmd, syscall.SIGKILL)
		_ = cmd.Wait()
	}
	for _, p := range c.pipes {
		_ = p.Close()
	}
	if c.sender != nil && l.endsByItself("send", c.sender) && c.sender.ProcessState.ExitCode() == 0 {
		l.r.sent[c.token].accepted = true
	}
	if c.follower != nil && l.endsByItself("watch", c.follower) {
		l.checkWatched(c)
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

// checkWatched compares the events that a client received with those that the process printed. They must be the
// same lines; after a kill, either side may lack the last ones.
func (l *processRun) checkWatched(c *clients) {
	watched, err := os.ReadFile(c.watched)
	if err != nil {
		l.r.fail("what was watched: %v", err)
		return
	}
	if len(watched) == 0 && c.follower.ProcessState.ExitCode() == int(contract.ExitUsage) {
		return // the process ended before the client found it
	}
	l.r.f.n["lines that they followed"] += bytes.Count(watched, []byte("\n"))
	if !sameOutput(l.raw.Bytes(), watched, l.killedBySignal()) {
		l.r.bad("clients that saw other events",
			"a client received other events than the process printed (%d bytes, not %d; exit %d):\n%s\n%s",
			len(watched), l.raw.Len(), c.follower.ProcessState.ExitCode(), tail(watched), l.dump())
	}
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

// tail returns the end of a text.
func tail(b []byte) []byte { return b[max(0, len(b)-2000):] }
