package standin

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// turnStarts counts the turn and lets loose what strikes at its start.
func (f *faults) turnStarts(s *session) {
	f.mu.Lock()
	f.turn++
	f.used = false
	f.mu.Unlock()
	if x, ok := f.now("stderr-flood"); ok {
		flood(s.stderr, x.number(1<<20))
	}
	if x, ok := f.now("big-line"); ok {
		s.main.emit(obj{"type": "assistant", "message": syntheticMessage(strings.Repeat("x", x.number(1<<20)), "end_turn"), "timestamp": now()})
	}
	if _, ok := f.now("orphan"); ok {
		orphan(s)
	}
}

// toolUsed strikes after the first tool_use of the turn, once its frame is out.
// What only uses something up comes before what ends or stops the process.
func (f *faults) toolUsed(ctx context.Context, s *session) {
	f.mu.Lock()
	first := !f.used
	f.used = true
	f.mu.Unlock()
	if !first {
		return
	}
	if x, ok := f.now("fork-storm"); ok {
		storm(s, x.number(100))
	}
	if x, ok := f.now("bloat"); ok {
		f.bloat(x.number(64 << 20))
	}
	if x, ok := f.now("fill"); ok {
		fill(s, int64(x.number(1<<20)), false)
	}
	if x, ok := f.now("fill-sparse"); ok {
		fill(s, int64(x.number(1<<30)), true)
	}
	if _, ok := f.now("close-stdout"); ok {
		s.out.flush()
		f.closeStdout()
	}
	if _, ok := f.now("close-stdin"); ok {
		f.closeStdin()
	}
	if _, ok := f.now("die-mid-turn"); ok {
		s.out.flush()
		killSelf()
	}
	if x, ok := f.now("exit-mid-turn"); ok {
		s.out.flush()
		os.Exit(x.number(3))
	}
	if _, ok := f.now("quiet"); ok {
		<-ctx.Done()
	}
	if _, ok := f.now("hang"); ok {
		s.out.flush()
		f.freeze()
		hang()
	}
	if _, ok := f.now("spin"); ok {
		s.out.flush()
		f.freeze()
		f.spin()
	}
}

// hang blocks for good. An empty select would count as a deadlock once all hang.
func hang() {
	for {
		time.Sleep(time.Hour)
	}
}

// lonely is how long after its host's end a process that spins goes on: longer than any
// host may take to find it, and not for ever where nobody looks for it.
const lonely = 2 * time.Minute

func (f *faults) spin() {
	host := os.Getppid()
	var left time.Time
	for n := uint64(1); ; n++ {
		f.spun.Store(n)
		switch {
		case n%(1<<24) != 0 || os.Getppid() == host:
		case left.IsZero():
			left = time.Now()
		case time.Since(left) > lonely:
			os.Exit(1)
		}
	}
}

// toolComes is called before the frame of a tool_use is written: a host that answers it
// at once must find nobody who reads, if that is the fault.
func (f *faults) toolComes() {
	for _, name := range []string{"hang", "spin"} {
		if _, ok := f.now(name); ok {
			f.deafened.Store(true)
		}
	}
}

// freeze: from here on nothing is read and nothing written.
func (f *faults) freeze() { f.frozen.Store(true) }

// heldUp stops its caller for good once the process is frozen.
func (f *faults) heldUp() {
	if f.frozen.Load() {
		hang()
	}
}

// swallows reports whether a message that just came is to be forgotten: the one that
// would start the fault's turn, once.
func (f *faults) swallows() bool {
	f.mu.Lock()
	next := f.turn + 1
	f.mu.Unlock()
	for i, x := range f.list {
		if x.name == "swallow" && x.turn == next && f.claim(x.name) {
			f.mu.Lock()
			again := f.swallowed[i]
			f.swallowed[i] = true
			f.mu.Unlock()
			return !again
		}
	}
	return false
}

// otherSession is the session that init frames name instead of ours.
func (f *faults) otherSession() (id string, ok bool) {
	if _, ok := f.now("other-session"); !ok {
		return "", false
	}
	return "0badc0de-0000-4000-8000-000000000000", true
}

// refusal is the API's answer to the turn's first call, where a fault has one.
func (f *faults) refusal() *apiError {
	if x, ok := f.now("limit"); ok {
		resets := time.Now().Add(time.Duration(x.number(3600)) * time.Second).Unix()
		return &apiError{status: 429, kind: "rate_limit_error", said: "Claude AI usage limit reached|" + strconv.FormatInt(resets, 10)}
	}
	if _, ok := f.now("auth"); ok {
		return &apiError{status: 401, kind: "authentication_error", message: "invalid x-api-key"}
	}
	return nil
}

func flood(w io.Writer, n int) {
	line := []byte(strings.Repeat("e", 79) + "\n")
	for ; n > 0; n -= len(line) {
		_, _ = w.Write(line[:min(n, len(line))])
	}
}

// orphan starts a process that leaves our session and outlives its parent.
func orphan(s *session) {
	cmd := exec.Command("sh", "-c", "sleep 1000 >/dev/null 2>&1 </dev/null &")
	cmd.Dir, cmd.Env = s.cwd, s.toolEnv()
	ownSession(cmd)
	if err := cmd.Run(); err != nil {
		fmt.Fprintln(s.stderr, "stand-in fault: orphan:", err)
	}
}

// storm starts n processes, each in a session of its own.
func storm(s *session, n int) {
	for range n {
		cmd := exec.Command("sleep", "1000")
		cmd.Dir, cmd.Env = s.cwd, s.toolEnv()
		ownSession(cmd)
		if err := cmd.Start(); err != nil {
			fmt.Fprintln(s.stderr, "stand-in fault: fork-storm:", err)
			return
		}
		go func() { _ = cmd.Wait() }() // ends with the process, at the latest
	}
}

// bloat touches n bytes and keeps them.
func (f *faults) bloat(n int) {
	f.ballast = make([]byte, n)
	for i := 0; i < n; i += os.Getpagesize() {
		f.ballast[i] = 1
	}
}

// fillSteps is in how many pieces an output file grows.
const fillSteps = 16

// fill grows the output file of a task that does not exist.
func fill(s *session, n int64, sparse bool) {
	dir := filepath.Join(s.env.tempDir(), "claude-"+strconv.Itoa(os.Getuid()), munge(s.cwd), s.id, "tasks")
	err := os.MkdirAll(dir, 0o700)
	if err == nil {
		err = fillFile(filepath.Join(dir, "bfault.output"), n, sparse)
	}
	if err != nil {
		fmt.Fprintln(s.stderr, "stand-in fault: fill:", err)
	}
}

func fillFile(path string, n int64, sparse bool) error {
	file, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer file.Close()
	if sparse {
		return file.Truncate(n)
	}
	piece := make([]byte, n/fillSteps+1)
	for written := int64(0); written < n; written += int64(len(piece)) {
		if _, err := file.Write(piece[:min(int64(len(piece)), n-written)]); err != nil {
			return err
		}
	}
	return nil
}
