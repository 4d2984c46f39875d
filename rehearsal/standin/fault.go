package standin

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
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
//	swallow               forget the message that would start that turn: no frame at all,
//	                      and a repeat of it is taken up as if it came for the first time
//	other-session         the init frame names another session
//	limit:SECONDS         end in a usage limit that is over in that time (default 3600)
//	auth                  end in a refused key (401)
//
// and after the turn's first tool_use:
//
//	hang                  no output, no CPU, control requests unread, TERM without effect
//	spin                  the same, but burning CPU
//	quiet                 no output; control requests are answered, an interrupt ends it
//	bloat:SIZE            touch that much memory and keep it (default 64M)
//	fill:SIZE             grow a task's output file to that size (default 1M)
//	fill-sparse:SIZE      the same, without using up the disk (default 1G)
//	fork-storm:N          start that many `sleep 1000`, each in its own session (default 100)
//	close-stdout          close stdout and go on
//	close-stdin           close stdin and go on
//
// Those that use something up come first, so that "bloat:1G,quiet" does both.
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

// OnceVariable names a directory that makes every fault strike once among all
// processes with the same environment: the first to come to it claims it with a
// file of its name, and the others are well.
const OnceVariable = "ARBITER_STANDIN_FAULT_ONCE"

const faultNames = " exit-at-start die-mid-turn exit-mid-turn big-line stderr-flood no-result double-result orphan " +
	"swallow other-session limit auth hang spin quiet bloat fill fill-sparse fork-storm close-stdout close-stdin " +
	"silent-init control-errors deaf ignore-term garbage unknown-frames split slow-frames "

// fault is one entry of the list.
type fault struct {
	name, arg string
	turn      int
}

// faults are those of this process.
type faults struct {
	list []fault
	once string // directory of claims, "" = every fault strikes in every process

	mu        sync.Mutex
	turn      int             // turns started so far
	used      bool            // the turn made a tool call already
	swallowed map[int]bool    // by place in the list
	claims    map[string]bool // faults that this process has claimed, or found claimed

	deafened atomic.Bool // nothing more is read
	frozen   atomic.Bool // nor written
	spun     atomic.Uint64
	ballast  []byte
	stdin    io.Closer // of the host's pipes, where a fault closes them
	stdout   io.Closer
}

func parseFaults(spec, once string) (*faults, error) {
	f := &faults{once: once, swallowed: map[int]bool{}, claims: map[string]bool{}}
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
		if !strings.Contains(faultNames, " "+x.name+" ") {
			return nil, fmt.Errorf("%s: unknown fault %q", FaultVariable, x.name)
		}
		f.list = append(f.list, x)
	}
	return f, nil
}

// claim reports whether a fault is this process's to suffer.
func (f *faults) claim(name string) bool {
	if f.once == "" {
		return true
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	ours, known := f.claims[name]
	if !known {
		file, err := os.OpenFile(filepath.Join(f.once, name), os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
		if ours = err == nil; ours {
			file.Close()
		}
		f.claims[name] = ours
	}
	return ours
}

// now finds a fault of this very turn.
func (f *faults) now(name string) (fault, bool) {
	f.mu.Lock()
	turn := f.turn
	f.mu.Unlock()
	for _, x := range f.list {
		if x.name == name && x.turn == turn && f.claim(name) {
			return x, true
		}
	}
	return fault{}, false
}

// lasting tells whether a fault of manner has begun.
func (f *faults) lasting(name string) bool {
	f.mu.Lock()
	turn := f.turn
	f.mu.Unlock()
	for _, x := range f.list {
		if x.name == name && (x.turn == 1 || turn >= x.turn) && f.claim(name) {
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
		if x.name == "exit-at-start" && f.claim(x.name) {
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

// ears are what a session reads by. Once it hears nothing more, no line is read to its
// end that had not come whole: the host finds its pipe full, however few lines it sends.
type ears struct {
	r io.Reader
	f *faults
}

var errHearsNothing = errors.New("nothing more is read")

func (e ears) Read(p []byte) (int, error) {
	if e.f.deafened.Load() || e.f.deaf() {
		return 0, errHearsNothing
	}
	return e.r.Read(p)
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

// output wraps stdout with the faults that disturb it; each Write is one line.
func (f *faults) output(w io.Writer) io.Writer {
	if len(f.list) == 0 {
		return w
	}
	f.stdout, _ = w.(io.Closer)
	return &disturbed{w: w, f: f}
}

// input makes stdin such that a fault can close it under its reader.
func (f *faults) input(r io.Reader) io.Reader {
	file, ok := r.(*os.File)
	if !ok || !slices.ContainsFunc(f.list, func(x fault) bool { return x.name == "close-stdin" }) {
		return r
	}
	file = pollable(file)
	f.stdin = file
	return file
}

func (f *faults) closeStdin() {
	if f.stdin != nil {
		f.stdin.Close()
	}
}

func (f *faults) closeStdout() {
	if f.stdout != nil {
		f.stdout.Close()
	}
}

type disturbed struct {
	w io.Writer
	f *faults
	n int
}

func (d *disturbed) Write(line []byte) (int, error) {
	d.f.heldUp()
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
