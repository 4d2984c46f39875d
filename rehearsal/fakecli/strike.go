package fakecli

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
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
	if f.is("close-stdout") {
		closePipe(f.pipes.stdout)
	}
	if f.is("close-stdin") {
		closePipe(f.pipes.stdin)
	}
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
