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
// the same environment: the first process that comes to a fault claims it with a file of its
// name.
const OnceVariable = "ARBITER_STANDIN_FAULT_ONCE"

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
		case m == nil || !slices.ContainsFunc(kinds, func(k kind) bool { return k.name == m[1] }):
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
