package fakecli

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

// FaultVariable is the environment variable that makes the stand-in misbehave: a comma list
// of name[:argument][@turn], of the faults in the table kinds. Without @turn a fault belongs to the
// first turn.
const FaultVariable = "ARBITER_STANDIN_FAULT"

// OnceVariable names a directory that makes every fault strike once among all processes with
// the same environment: the first process that comes to a fault claims it with a directory of
// its name.
const OnceVariable = "ARBITER_STANDIN_FAULT_ONCE"

// kind is a kind of fault. For a kind without a function, the disturbed code checks whether it is on.
type kind struct {
	at     strikeTime
	strike func(s *session, x fault)
}

// strikeTime is when a fault strikes.
type strikeTime int

const (
	asked     strikeTime = iota // in its turn, where the code checks for it
	before                      // before its turn
	lasts                       // from its turn on, that of turn 1 from the start
	turnStart                   // when its turn starts
	toolUse                     // after the first tool_use of its turn was written
)

// kinds are all faults, by name.
var kinds = map[string]kind{
	"swallow":       {before, nil}, // forget the message that would start the turn: no frame, and its repeat is new
	"no-result":     {asked, nil},  // leave the result frame out
	"double-result": {asked, nil},  // write it twice
	"other-session": {asked, nil},  // the init frame names another session
	"limit":         {asked, nil},  // :SECONDS, end in a usage limit that is over in that time (default 3600)
	"auth":          {asked, nil},  // end with a refused key (401)
	"quiet":         {asked, nil},  // after the results of calls, be silent until an interrupt

	"control-errors": {lasts, nil}, // answer control requests with errors
	"ignore-term":    {lasts, nil}, // survive SIGTERM and SIGHUP

	// A daemonised `sleep 1000` that inherits the environment.
	"orphan": {turnStart, func(s *session, x fault) {
		s.outlive(exec.Command("sh", "-c", "sleep 1000 >/dev/null 2>&1 </dev/null &"), (*exec.Cmd).Run)
	}},

	// :N, that many `sleep 1000`, each in its own session (default 100).
	"fork-storm": {toolUse, func(s *session, x fault) {
		for range x.number(100) {
			cmd := exec.Command("sleep", "1000")
			s.outlive(cmd, (*exec.Cmd).Start)
			go func() { _ = cmd.Wait() }() // ends at the latest with the process
		}
	}},
	// :SIZE, touch that much memory and keep it (default 64M).
	"bloat": {toolUse, func(s *session, x fault) { s.faults.ballast = bytes.Repeat([]byte{1}, x.number(64<<20)) }},
	// :SIZE, grow the output file of a task that does not exist to that size (default 1M).
	"fill": {toolUse, func(s *session, x fault) {
		dir := filepath.Join(cmp.Or(os.Getenv("CLAUDE_CODE_TMPDIR"), os.TempDir()), "claude-"+strconv.Itoa(os.Getuid()),
			projectName(s.cwd), s.id, "tasks")
		s.faulty(errors.Join(os.MkdirAll(dir, 0o700),
			os.WriteFile(filepath.Join(dir, "bfault.output"), make([]byte, x.number(1<<20)), 0o600)))
	}},
	"die-mid-turn": {toolUse, func(*session, fault) { _ = syscall.Kill(os.Getpid(), syscall.SIGKILL) }},
	// No output, no CPU, control requests unread, TERM without effect.
	"hang": {toolUse, func(s *session, _ fault) { s.faults.frozen.Store(true); hang() }},
	// The same, but burning CPU, for longer than any host may take to detect that.
	"spin": {toolUse, func(s *session, _ fault) {
		s.faults.frozen.Store(true)
		for begun := time.Now(); time.Since(begun) < 10*time.Minute; {
		}
	}},
}

// outlive starts a process that leaves our session and outlives its parent.
func (s *session) outlive(cmd *exec.Cmd, how func(*exec.Cmd) error) {
	s.apart(cmd)
	s.faulty(how(cmd))
}

// faulty reports a fault that could not be caused.
func (s *session) faulty(err error) {
	if err != nil {
		fmt.Fprintln(s.stderr, "stand-in fault:", err)
	}
}

// hang blocks forever. An empty select would count as a deadlock once all goroutines hang.
func hang() {
	for {
		time.Sleep(time.Hour)
	}
}

// fault is one entry of the list.
type fault struct {
	kind
	name string
	arg  string
	turn int32 // 0 is before the first
}

// faults are the faults of this process.
type faults struct {
	list []fault
	once string // directory of claims; "": every fault strikes in every process

	turn      atomic.Int32 // turns started so far
	used      atomic.Bool  // the turn has made a tool call
	swallowed int32        // the turn that lost its message: only the reader of stdin uses it

	mu     sync.Mutex
	claims map[string]bool // whether this process has claimed a fault

	readingStopped atomic.Bool // nothing more is read
	frozen         atomic.Bool // nothing more is written
	ballast        []byte
}

func parseFaults(spec, once string) (*faults, error) {
	f := &faults{once: once, claims: map[string]bool{}}
	form := regexp.MustCompile(`^([a-z-]+)(?::([^@]*))?(?:@([1-9][0-9]*))?$`) // name[:argument][@turn]
	for item := range strings.SplitSeq(strings.ReplaceAll(spec, " ", ""), ",") {
		if item == "" {
			continue
		}
		m := append(form.FindStringSubmatch(item), "", "", "", "")
		k, known := kinds[m[1]]
		if !known {
			return nil, fmt.Errorf("%s: unknown fault %q", FaultVariable, item)
		}
		turn, _ := strconv.Atoi(cmp.Or(m[3], "1")) // digits
		if k.at == before {
			turn--
		}
		f.list = append(f.list, fault{k, m[1], m[2], int32(turn)})
	}
	return f, nil
}

// claim reports whether this process should apply a fault.
func (f *faults) claim(name string) bool {
	if f.once == "" {
		return true
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	ours, known := f.claims[name]
	if !known {
		ours = os.Mkdir(filepath.Join(f.once, name), 0o700) == nil
		f.claims[name] = ours
	}
	return ours
}

// due returns the faults that are wanted and due now: in their turn or, if their kind lasts, from then on; for the
// first turn, from the start.
func (f *faults) due(wanted func(fault) bool) (list []fault) {
	turn := f.turn.Load()
	for _, x := range f.list {
		now := x.turn == turn || x.at == lasts && (x.turn == 1 || turn > x.turn)
		if now && wanted(x) && f.claim(x.name) {
			list = append(list, x)
		}
	}
	return list
}

func (f *faults) on(name string) (fault, bool) {
	list := append(f.due(func(x fault) bool { return x.name == name }), fault{})
	return list[0], list[0].name != ""
}

func (f *faults) is(name string) bool { _, ok := f.on(name); return ok }

// number reads an argument such as 3 or 64M.
func (x fault) number(otherwise int) int {
	digits := strings.TrimRight(x.arg, "KMG")
	n, err := strconv.Atoi(digits)
	if err != nil {
		return otherwise
	}
	return n << (10 * strings.Index(" KMG", x.arg[len(digits):]))
}

// strike applies the faults of a moment of this turn.
func (s *session) strike(at strikeTime) {
	for _, x := range s.faults.due(func(x fault) bool { return x.at == at }) {
		x.strike(s, x)
	}
}

// swallows reports whether to drop a message that has just come: the one that would start the fault's turn,
// once.
func (f *faults) swallows() bool {
	turn := f.turn.Load()
	if !f.is("swallow") || f.swallowed > turn {
		return false
	}
	f.swallowed = turn + 1
	return true
}

// stoppableReader is the session's stdin. Once the session has stopped reading, it returns no further complete line:
// the host finds its pipe full, however few lines it sends.
type stoppableReader struct {
	r io.Reader
	f *faults
}

var errNotReading = errors.New("nothing more is read")

func (d stoppableReader) Read(p []byte) (int, error) {
	if d.f.readingStopped.Load() {
		return 0, errNotReading
	}
	return d.r.Read(p)
}

// disturbed is stdout, until it is frozen.
type disturbed struct {
	w io.Writer
	f *faults
}

func (d disturbed) Write(line []byte) (int, error) {
	if d.f.frozen.Load() {
		hang()
	}
	return d.w.Write(line)
}
