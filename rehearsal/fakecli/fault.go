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
// of name[:argument][@turn], of the faults in the table kinds. Without @turn a fault belongs to the
// first turn.
const FaultVariable = "ARBITER_STANDIN_FAULT"

// OnceVariable names a directory that makes every fault strike once among all processes with
// the same environment: the first process that comes to a fault claims it with a directory of
// its name.
const OnceVariable = "ARBITER_STANDIN_FAULT_ONCE"

// fault is one entry of the list.
type fault struct {
	kind
	arg  string
	turn int // 0 is before the first
}

// faults are the faults of this process.
type faults struct {
	list []fault
	once string // directory of claims; "": every fault strikes in every process

	mu        sync.Mutex
	turn      int             // turns started so far
	used      bool            // the turn has made a tool call
	swallowed int             // the turn that lost its message
	claims    map[string]bool // whether this process has claimed a fault

	readingStopped atomic.Bool // nothing more is read
	frozen         atomic.Bool // nothing more is written
	ballast        []byte
}

// faultForm is name[:argument][@turn].
var faultForm = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^([a-z-]+)(?::([^@]*))?(?:@([1-9][0-9]*))?$`)
})

func parseFaults(spec, once string) (*faults, error) {
	f := &faults{once: once, claims: map[string]bool{}}
	for item := range strings.SplitSeq(strings.ReplaceAll(spec, " ", ""), ",") {
		if item == "" {
			continue
		}
		m := append(faultForm().FindStringSubmatch(item), "", "", "", "")
		i := slices.IndexFunc(kinds, func(k kind) bool { return k.name == m[1] })
		if i < 0 {
			return nil, fmt.Errorf("%s: unknown fault %q", FaultVariable, item)
		}
		turn, _ := strconv.Atoi(cmp.Or(m[3], "1")) // digits
		if kinds[i].at == before {
			turn--
		}
		f.list = append(f.list, fault{kinds[i], m[2], turn})
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

// on finds a fault that is due now: in its turn or, if its kind lasts, from then on; for the first turn,
// from the start.
func (f *faults) on(name string) (fault, bool) {
	turn := f.turns()
	for _, x := range f.list {
		due := x.turn == turn || x.at == lasts && (x.turn == 1 || turn > x.turn)
		if x.name == name && due && f.claim(name) {
			return x, true
		}
	}
	return fault{}, false
}

func (f *faults) is(name string) bool { _, ok := f.on(name); return ok }

func (f *faults) turns() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.turn
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

// stopsReading begins with the turn, even in turn 1: otherwise the host could not start one.
func (f *faults) stopsReading() bool { return f.turns() > 0 && f.is("deaf") }

func (f *faults) resultCopies() int {
	switch {
	case f.is("no-result"):
		return 0
	case f.is("double-result"):
		return 2
	}
	return 1
}

// swallows reports whether to drop a message that has just come: the one that would start the fault's turn,
// once.
func (f *faults) swallows() bool {
	if !f.is("swallow") {
		return false
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	first := f.swallowed <= f.turn
	f.swallowed = f.turn + 1
	return first
}
