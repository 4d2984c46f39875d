package standin

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"time"
)

// FaultVariable is the environment variable that makes the stand-in misbehave: a
// comma list of name[:argument][@turn]. Without @turn a fault belongs to the
// first turn. Faults of a moment strike in that turn only:
//
//	exit-at-start[:code]  die before anything else (default code 1)
//	die-mid-turn          SIGKILL itself after the turn's first tool_use
//	exit-mid-turn[:code]  exit there (default 3)
//	big-line:64M          one assistant frame of that size
//	stderr-flood:1M       that much on stderr when the turn starts
//	no-result             leave the result frame out
//	double-result         write it twice
//	orphan                start a daemonised `sleep 1000` that inherits the environment
//
// Faults of manner last from that turn on, those of turn 1 from the start:
//
//	silent-init           never answer initialize
//	control-errors        answer control requests with errors
//	deaf                  stop reading stdin once the turn has started
//	ignore-term           survive SIGTERM and SIGHUP
//	garbage               lines that are no JSON, and NULs, between frames
//	unknown-frames        frames of unknown types, and unknown fields
//	split                 write frames in small pieces
//	slow-frames           wait a little before each frame
const FaultVariable = "ARBITER_STANDIN_FAULT"

// fault is one entry of the list.
type fault struct {
	name, arg string
	turn      int
}

// faults are those of this process.
type faults struct {
	list []fault

	mu   sync.Mutex
	turn int  // turns started so far
	used bool // the turn made a tool call already
}

func parseFaults(spec string) (*faults, error) {
	f := &faults{}
	for _, item := range strings.Split(spec, ",") {
		if item = strings.TrimSpace(item); item == "" {
			continue
		}
		item, at, dated := strings.Cut(item, "@")
		x := fault{turn: 1}
		x.name, x.arg, _ = strings.Cut(item, ":")
		if dated {
			n, err := strconv.Atoi(at)
			if err != nil || n < 1 {
				return nil, fmt.Errorf("%s: bad turn in %q", FaultVariable, item+"@"+at)
			}
			x.turn = n
		}
		if !strings.Contains(" exit-at-start die-mid-turn exit-mid-turn big-line stderr-flood no-result double-result orphan "+
			"silent-init control-errors deaf ignore-term garbage unknown-frames split slow-frames ", " "+x.name+" ") {
			return nil, fmt.Errorf("%s: unknown fault %q", FaultVariable, x.name)
		}
		f.list = append(f.list, x)
	}
	return f, nil
}

// now finds a fault of this very turn.
func (f *faults) now(name string) (fault, bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, x := range f.list {
		if x.name == name && x.turn == f.turn {
			return x, true
		}
	}
	return fault{}, false
}

// lasting tells whether a fault of manner has begun.
func (f *faults) lasting(name string) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, x := range f.list {
		if x.name == name && (x.turn == 1 || f.turn >= x.turn) {
			return true
		}
	}
	return false
}

// number reads an argument such as 3 or 64M.
func (x fault) number(otherwise int) int {
	digits := strings.TrimRight(x.arg, "kKmMgG")
	n, err := strconv.Atoi(digits)
	if err != nil {
		return otherwise
	}
	switch strings.ToUpper(x.arg[len(digits):]) {
	case "K":
		n <<= 10
	case "M":
		n <<= 20
	case "G":
		n <<= 30
	}
	return n
}

// atStart tells with which code to exit at once.
func (f *faults) atStart() (code int, ok bool) {
	for _, x := range f.list {
		if x.name == "exit-at-start" {
			return x.number(1), true
		}
	}
	return 0, false
}

func (f *faults) silentInit() bool     { return f.lasting("silent-init") }
func (f *faults) refusesControl() bool { return f.lasting("control-errors") }
func (f *faults) ignoresTerm() bool    { return f.lasting("ignore-term") }

// deaf begins with the turn, also in turn 1: before it the host could not get one
// started.
func (f *faults) deaf() bool {
	f.mu.Lock()
	begun := f.turn > 0
	f.mu.Unlock()
	return begun && f.lasting("deaf")
}

func (f *faults) resultCopies() int {
	if _, ok := f.now("no-result"); ok {
		return 0
	}
	if _, ok := f.now("double-result"); ok {
		return 2
	}
	return 1
}

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

// toolUsed strikes after the first tool_use of the turn, once its frame is out.
func (f *faults) toolUsed(s *session) {
	f.mu.Lock()
	first := !f.used
	f.used = true
	f.mu.Unlock()
	if !first {
		return
	}
	if _, ok := f.now("die-mid-turn"); ok {
		s.out.flush()
		killSelf()
	}
	if x, ok := f.now("exit-mid-turn"); ok {
		s.out.flush()
		os.Exit(x.number(3))
	}
}

// output wraps stdout with the faults that disturb it; each Write is one line.
func (f *faults) output(w io.Writer) io.Writer {
	if len(f.list) == 0 {
		return w
	}
	return &disturbed{w: w, f: f}
}

type disturbed struct {
	w io.Writer
	f *faults
	n int
}

func (d *disturbed) Write(line []byte) (int, error) {
	d.n++
	if d.f.lasting("garbage") {
		fmt.Fprintf(d.w, "stray output %d, no JSON\n\x00\x00\x00\n{\"type\":\n[1,2]\n", d.n)
	}
	if d.f.lasting("unknown-frames") {
		fmt.Fprintf(d.w, "{\"type\":\"grease_%d\",\"x\":[null,{\"y\":%d}]}\n{\"type\":\"system\",\"subtype\":\"grease_%d\"}\n", d.n, d.n, d.n)
		if inner, ok := bytes.CutPrefix(line, []byte("{")); ok {
			line = append([]byte(`{"grease":{"depth":[1,"two",null]},`), inner...)
		}
	}
	if d.f.lasting("slow-frames") {
		time.Sleep(20 * time.Millisecond) // the fault itself; nothing waits for a condition here
	}
	if !d.f.lasting("split") {
		_, err := d.w.Write(line)
		return len(line), err
	}
	const piece = 7
	for rest := line; len(rest) > 0; {
		n := min(piece, len(rest))
		if _, err := d.w.Write(rest[:n]); err != nil {
			return 0, err
		}
		rest = rest[n:]
	}
	return len(line), nil
}
