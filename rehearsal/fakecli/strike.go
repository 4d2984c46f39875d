package fakecli

import (
	"bytes"
	"cmp"
	"context"
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
	"time"
)

// turnStarts counts the turn and applies the faults of its start.
func (f *faults) turnStarts(s *session) {
	f.mu.Lock()
	f.turn++
	f.used = false
	f.mu.Unlock()
	if x, ok := f.now("stderr-flood"); ok {
		_, _ = s.stderr.Write(bytes.Repeat([]byte(strings.Repeat("e", 79)+"\n"), x.number(1<<20)/80))
	}
	if x, ok := f.now("big-line"); ok {
		s.main.emit(obj{"type": "assistant", "message": syntheticMessage(strings.Repeat("x", x.number(1<<20)))})
	}
	if f.is("orphan") {
		s.start("orphan", exec.Command("sh", "-c", "sleep 1000 >/dev/null 2>&1 </dev/null &"), (*exec.Cmd).Run)
	}
}

// toolUsed applies faults after the first tool_use of the turn, once its frame is out. What
// only uses something up comes before what ends or stops the process.
func (f *faults) toolUsed(s *session) {
	f.mu.Lock()
	first := !f.used
	f.used = true
	f.mu.Unlock()
	if !first || len(f.list) == 0 {
		return
	}
	if x, ok := f.now("fork-storm"); ok {
		for range x.number(100) {
			cmd := exec.Command("sleep", "1000")
			s.start("fork-storm", cmd, (*exec.Cmd).Start)
			go func() { _ = cmd.Wait() }() // ends with the process, at the latest
		}
	}
	if x, ok := f.now("bloat"); ok {
		f.ballast = bytes.Repeat([]byte{1}, x.number(64<<20))
	}
	if x, ok := f.now("fill"); ok {
		fill(s, x.number(1<<20))
	}
	s.out.flush()
	if f.is("die-mid-turn") {
		killSelf()
	}
	if x, ok := f.now("exit-mid-turn"); ok {
		os.Exit(x.number(3))
	}
	if f.is("hang") {
		f.frozen.Store(true)
		hang()
	}
	if f.is("spin") {
		f.frozen.Store(true)
		spin()
	}
}

// toolsRan is called with the results of an answer's calls.
func (f *faults) toolsRan(ctx context.Context) {
	if f.is("quiet") {
		<-ctx.Done()
	}
}

// hang blocks for good. An empty select would count as a deadlock once all goroutines hang.
func hang() {
	for {
		time.Sleep(time.Hour)
	}
}

// spinTime is how long a process spins: longer than any host may take to find it, and not for
// ever where nobody looks for it.
const spinTime = 10 * time.Minute

func spin() {
	for begun := time.Now(); time.Since(begun) < spinTime; {
	}
	os.Exit(1)
}

// toolComes is called before the frame of a tool_use is written: a host that answers it at
// once must find nobody who reads, if that is the fault.
func (f *faults) toolComes() {
	if f.is("hang") || f.is("spin") {
		f.deafened.Store(true)
	}
}

// refusal is the API's answer to the turn's first call, where a fault has one.
func (f *faults) refusal() *apiError {
	if x, ok := f.now("limit"); ok {
		resets := time.Now().Add(time.Duration(x.number(3600)) * time.Second).Unix()
		return &apiError{429, fmt.Sprintf("Claude AI usage limit reached|%d", resets)}
	}
	if f.is("auth") {
		return &apiError{401, "Failed to authenticate. API Error: 401 invalid x-api-key"}
	}
	return nil
}

// start starts a process that leaves our session and outlives its parent.
func (s *session) start(fault string, cmd *exec.Cmd, how func(*exec.Cmd) error) {
	cmd.Dir, cmd.Env = s.cwd, s.toolEnv()
	ownSession(cmd)
	if err := how(cmd); err != nil {
		fmt.Fprintf(s.stderr, "stand-in fault: %s: %v\n", fault, err)
	}
}

// fill makes the output file of a task that does not exist.
func fill(s *session, n int) {
	dir := filepath.Join(cmp.Or(os.Getenv("CLAUDE_CODE_TMPDIR"), os.TempDir()), "claude-"+strconv.Itoa(os.Getuid()),
		munge(s.cwd), s.id, "tasks")
	err := os.MkdirAll(dir, 0o700)
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, "bfault.output"), make([]byte, n), 0o600)
	}
	if err != nil {
		fmt.Fprintln(s.stderr, "stand-in fault: fill:", err)
	}
}

// output wraps stdout with the faults that disturb it; each Write is one line.
func (f *faults) output(w io.Writer) io.Writer {
	if len(f.list) == 0 {
		return w
	}
	return &disturbed{w: w, f: f}
}

// deafReader is what a session reads from. Once the session is deaf, no line is read to its
// end that had not come whole: the host finds its pipe full, however few lines it sends.
type deafReader struct {
	r io.Reader
	f *faults
}

var errDeaf = errors.New("nothing more is read")

func (d deafReader) Read(p []byte) (int, error) {
	if d.f.deafened.Load() || d.f.deaf() {
		return 0, errDeaf
	}
	return d.r.Read(p)
}

// disturbed is stdout with faults.
type disturbed struct {
	w io.Writer
	f *faults
	n int
}

func (d *disturbed) Write(line []byte) (int, error) {
	if d.f.frozen.Load() {
		hang()
	}
	d.n++
	if d.f.lasting("garbage") {
		fmt.Fprintf(d.w, "stray output %d, no JSON\n\x00\x00\x00\n{\"type\":\n[1,2]\n", d.n)
	}
	if d.f.lasting("unknown-frames") {
		fmt.Fprintf(d.w, `{"type":"grease_%d","x":[null,{"y":1}]}`+"\n", d.n)
		fmt.Fprintf(d.w, `{"type":"system","subtype":"grease_%d"}`+"\n", d.n)
		if inner, ok := bytes.CutPrefix(line, []byte("{")); ok {
			line = append([]byte(`{"grease":{"depth":[1,"two",null]},`), inner...)
		}
	}
	piece := len(line)
	if d.f.lasting("split") {
		piece = 7
	}
	for part := range slices.Chunk(line, piece) {
		if _, err := d.w.Write(part); err != nil {
			return 0, err
		}
	}
	return len(line), nil
}

// leaveSignals end the process; the number is its exit code.
var leaveSignals = map[os.Signal]int{syscall.SIGTERM: 143, syscall.SIGHUP: 129}

// ownSession gives a command its own session, and with it a process group.
func ownSession(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true} }

// killSession kills the process group that a command's session began with.
func killSession(pid int) error {
	err := syscall.Kill(-pid, syscall.SIGKILL)
	if errors.Is(err, syscall.ESRCH) {
		return os.ErrProcessDone
	}
	return err
}

// killSelf ends this process as a crash would.
func killSelf() { _ = syscall.Kill(os.Getpid(), syscall.SIGKILL) }
