package fakecli

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
)

// FaultVariable is the environment variable that makes the stand-in misbehave: a comma list
// of name[:argument][@turn]. Without @turn a fault belongs to the first turn. These strike in
// their turn only:
//
//	exit-at-start[:code]  die before anything else (default code 1)
//	die-mid-turn          SIGKILL itself after the turn's first tool_use
//	exit-mid-turn[:code]  exit there (default 3)
//	big-line:64M          one assistant frame of that size
//	stderr-flood:1M       that much on stderr when the turn starts
//	no-result             leave the result frame out
//	double-result         write it twice
//	orphan                start a daemonised `sleep 1000` that inherits the environment
//	swallow               forget the message that would start that turn: no frame at all, and
//	                      a repeat of it is taken as if it came for the first time
//	other-session         the init frame names another session
//	limit:SECONDS         end in a usage limit that is over in that time (default 3600)
//	auth                  end in a refused key (401)
//
// and after the turn's first tool_use:
//
//	hang                  no output, no CPU, control requests unread, TERM without effect
//	spin                  the same, but burning CPU
//	quiet                 no output but the call's result; control requests are answered, an
//	                      interrupt ends it
//	bloat:SIZE            touch that much memory and keep it (default 64M)
//	fill:SIZE             grow a task's output file to that size (default 1M)
//	fork-storm:N          start that many `sleep 1000`, each in its own session (default 100)
//
// Those that use something up come first, so that "bloat:1G,quiet" does both.
//
// These last from their turn on, those of turn 1 from the start:
//
//	silent-init           never answer initialize
//	control-errors        answer control requests with errors
//	deaf                  stop reading stdin once the turn has started
//	ignore-term           survive SIGTERM and SIGHUP
//	garbage               lines that are no JSON, and NULs, between frames
//	unknown-frames        frames of unknown types, and unknown fields
//	split                 write frames in small pieces
const FaultVariable = "ARBITER_STANDIN_FAULT"

// OnceVariable names a directory that makes every fault strike once among all processes with
// the same environment: the first process that comes to a fault claims it with a file of its
// name.
const OnceVariable = "ARBITER_STANDIN_FAULT_ONCE"

var faultNames = strings.Fields(`exit-at-start die-mid-turn exit-mid-turn big-line stderr-flood no-result
	double-result orphan swallow other-session limit auth hang spin quiet bloat
	fill fork-storm
	silent-init control-errors deaf ignore-term garbage unknown-frames split`)

// fault is one entry of the list.
type fault struct {
	name, arg string
	turn      int
}

// faults are those of this process.
type faults struct {
	list []fault
	once string // directory of claims; "": every fault strikes in every process

	mu        sync.Mutex
	turn      int             // turns started so far
	used      bool            // the turn has made a tool call
	swallowed int             // the turn whose message was forgotten
	claims    map[string]bool // whether this process has claimed a fault

	deafened atomic.Bool // nothing more is read
	frozen   atomic.Bool // nor written
	ballast  []byte
}

// faultForm is name[:argument][@turn].
var faultForm = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^([a-z-]+)(?::([^@]*))?(?:@([1-9][0-9]*))?$`)
})

func parseFaults(spec, once string) (*faults, error) {
	f := &faults{once: once, claims: map[string]bool{}}
	for item := range strings.SplitSeq(strings.ReplaceAll(spec, " ", ""), ",") {
		m := faultForm().FindStringSubmatch(item)
		switch {
		case item == "":
			continue
		case m == nil || !slices.Contains(faultNames, m[1]):
			return nil, fmt.Errorf("%s: unknown fault %q", FaultVariable, item)
		}
		turn, _ := strconv.Atoi(cmp.Or(m[3], "1")) // digits
		f.list = append(f.list, fault{name: m[1], arg: m[2], turn: turn})
	}
	return f, nil
}

// claim reports whether a fault is to strike in this process.
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

// find returns the first fault of a name whose turn fits.
func (f *faults) find(name string, fits func(of int) bool) (fault, bool) {
	for _, x := range f.list {
		if x.name == name && fits(x.turn) && f.claim(name) {
			return x, true
		}
	}
	return fault{}, false
}

func (f *faults) turns() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.turn
}

// now finds a fault of this very turn.
func (f *faults) now(name string) (fault, bool) {
	turn := f.turns()
	return f.find(name, func(of int) bool { return of == turn })
}

func (f *faults) is(name string) bool { _, ok := f.now(name); return ok }

// lasting reports whether a fault that lasts has begun.
func (f *faults) lasting(name string) bool {
	turn := f.turns()
	_, ok := f.find(name, func(of int) bool { return of == 1 || turn >= of })
	return ok
}

// number reads an argument such as 3 or 64M.
func (x fault) number(otherwise int) int {
	digits := strings.TrimRight(x.arg, "KMG")
	n, err := strconv.Atoi(digits)
	if err != nil {
		return otherwise
	}
	return n << (10 * strings.Index(" KMG", x.arg[len(digits):]))
}

// atStart returns the code with which to exit at once, if that is a fault.
func (f *faults) atStart() (code int, ok bool) {
	x, ok := f.find("exit-at-start", func(int) bool { return true })
	return x.number(1), ok
}

// deaf begins with the turn, also in turn 1: before it the host could not start one.
func (f *faults) deaf() bool { return f.turns() > 0 && f.lasting("deaf") }

func (f *faults) resultCopies() int {
	switch {
	case f.is("no-result"):
		return 0
	case f.is("double-result"):
		return 2
	}
	return 1
}

// swallows reports whether a message that just came is to be forgotten: the one that would
// start the fault's turn, once.
func (f *faults) swallows() bool {
	next := f.turns() + 1
	if _, ok := f.find("swallow", func(of int) bool { return of == next }); !ok {
		return false
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	again := f.swallowed == next
	f.swallowed = next
	return !again
}

// sessionToName is the session that the init frame names.
func (f *faults) sessionToName(ours string) string {
	if f.is("other-session") {
		return "0badc0de-0000-4000-8000-000000000000"
	}
	return ours
}
