package main

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/journal"
)

// plan says what happens to one process of arbiter.
type plan struct {
	victim  string // a key of victims; "" for none or a crash point alone
	after   int    // number of lines before it
	crashAt string
}

// plan makes the plan for the next process. The last processes of a job are not killed.
func (r *round) plan() plan {
	if r.kills >= r.o.perJob {
		return plan{}
	}
	if p, ok := r.force(); ok {
		return p
	}
	if r.enough && r.must != "" {
		return plan{}
	}
	if r.o.points == "some" && len(r.points) > 0 && r.rnd.IntN(3) == 0 {
		return plan{crashAt: fmt.Sprintf("%s:%d", r.points[r.rnd.IntN(len(r.points))], 1+r.rnd.IntN(6))}
	}
	list := []string{"arbiter", "arbiter", "arbiter", "bridge", "agent", "agent", "all", "int", "term", "human"}
	return plan{victim: list[r.rnd.IntN(len(list))], after: 1 + r.rnd.IntN(50)}
}

// help makes a process reach a crash point that it does not reach otherwise.
type help struct {
	points  []string            // prefixes of their names
	variety string              // the round is of that variety
	victim  string              // is struck in the same process
	between func(r *round) bool // is done between the process before it and that one
	before  string              // the process before it dies at that point, unless between succeeds
	removal bool                // the complete run is removed
}

var helps = []help{
	{points: []string{"loop.decide"}, variety: decided},
	{points: []string{"loop.place", "loop.merge"}, variety: isolated},
	{points: []string{"loop.bridge."}, victim: "bridge"},
	{points: []string{"loop.inspect"}, victim: "human"},
	{points: []string{"journal.commit.truncate."}, victim: "disk"},
	{points: []string{"journal.damage."}, between: (*round).flip},
	{points: []string{"journal.events.cut."}, between: (*round).tear},
	{points: []string{"journal.events.pack.", "journal.events.free."}, between: (*round).stretch},
	// A process that dies while it writes a file leaves it.
	{points: []string{"journal.open.tidy."}, between: (*round).littered, before: "journal.meta.rename.before"},
	{points: []string{"journal.remove."}, removal: true},
}

// helpFor returns the help that a crash point needs; the zero value is none.
func helpFor(point string) help {
	for _, h := range helps {
		if slices.ContainsFunc(h.points, func(prefix string) bool { return strings.HasPrefix(point, prefix) }) {
			return h
		}
	}
	return help{}
}

// once reports whether what the crash point needs occurs once.
func (h help) once() bool { return h.points != nil && h.variety == "" }

// force plans the process that should reach the round's own crash point.
func (r *round) force() (plan, bool) {
	h := helpFor(r.must)
	switch {
	case r.must == "" || r.forced || h.removal:
		return plan{}, false
	case r.processRuns < r.mustAt: // so that there is another process
		return plan{victim: "arbiter", after: 15 + r.rnd.IntN(20)}, true
	case h.between != nil && r.run == "": // there is no journal yet
		return plan{victim: "arbiter", after: 20 + r.rnd.IntN(20)}, true
	case h.between != nil && !h.between(r):
		return plan{crashAt: h.before}, h.before != ""
	}
	r.forced = true
	return plan{crashAt: fmt.Sprintf("%s:%d", r.must, r.mustN), victim: h.victim, after: 2 + r.rnd.IntN(20)}, true
}

// victims have the processes that are killed; nil or a zero: there are none yet.
var victims = map[string]func(r *round, l *processRun) []int{
	"arbiter": func(_ *round, l *processRun) []int { return []int{l.cmd.Process.Pid} },
	"int":     func(_ *round, l *processRun) []int { return []int{l.cmd.Process.Pid} },
	"term":    func(_ *round, l *processRun) []int { return []int{l.cmd.Process.Pid} },
	"bridge":  func(_ *round, l *processRun) []int { return []int{l.findBridge()} },
	"agent": func(r *round, _ *processRun) []int {
		if agents := r.agents(); len(agents) > 0 {
			return []int{agents[r.rnd.IntN(len(agents))].pid}
		}
		return nil
	},
	"all": func(r *round, l *processRun) []int {
		all := []int{l.cmd.Process.Pid, l.findBridge()}
		for _, a := range r.agents() {
			all = append(all, a.pid)
		}
		return all
	},
}

// strike kills the victim of the plan, and reports whether it could.
func (r *round) strike(l *processRun, p plan) bool {
	var targets []int
	switch p.victim {
	case "disk":
		return l.fill()
	case "human":
		if !r.dismiss(l) {
			return false
		}
	default:
		if targets = victims[p.victim](r, l); len(targets) == 0 || slices.Contains(targets, 0) {
			return false
		}
		l.findBridge()
		sig, other := map[string]syscall.Signal{"int": syscall.SIGINT, "term": syscall.SIGTERM}[p.victim]
		if !other {
			sig = syscall.SIGKILL
		}
		for _, pid := range targets {
			_ = syscall.Kill(pid, sig)
		}
	}
	r.kills++
	r.f.n[killed+p.victim]++
	r.logf("line %d, %s %v", l.count, p.victim, targets)
	return true
}

// dismiss has the human end an Orchestrator that is at work; the supervisor then finds out what it has done. It
// does nothing if Orchestrators have their own directories: the scripted successor would make all files, the
// human would end the job because they exist, but a check of unmerged work would rightly keep the job open
// until the limit of Orchestrators is reached.
func (r *round) dismiss(l *processRun) bool {
	id := r.anybody("")
	if id == "" || r.is[isolated] || r.is[hosted] || r.jobDone() {
		return false
	}
	r.at[id] = finished
	l.send("dismiss", contract.Kill{ID: id})
	return true
}

func (r *round) littered() bool {
	left, _ := filepath.Glob(filepath.Join(r.runDir(), "*.tmp"))
	return len(left) > 0
}

// tear appends the beginning of a line to the event log.
func (r *round) tear() bool { return r.appendToLog([]byte(`{"sum":"0badc0de","n":1`)) }

// stretch adds so many lines to the event log that its beginning is packed. Readers skip them.
func (r *round) stretch() bool {
	log, err := journal.OpenLog(filepath.Join(r.runDir(), journal.LogName))
	if err != nil {
		return false
	}
	defer log.Close()
	health, err := log.Each(context.Background(), journal.LogPosition{}, func(journal.LogEntry) error { return nil })
	if err != nil || health.Torn > 0 {
		return false
	}
	record := fmt.Appendf(nil, `{"kind":"filler","text":%q}`, strings.Repeat("long ", 200))
	var lines []byte
	for chain := health.Next.Prev; len(lines) < 1<<20 && err == nil; {
		lines, err = chain.Append(lines, journal.LogContent{At: time.Now(), Record: record})
	}
	r.try(err)
	return err == nil && r.appendToLog(lines)
}

func (r *round) appendToLog(b []byte) bool {
	f, err := os.OpenFile(filepath.Join(r.runDir(), journal.LogName), os.O_WRONLY|os.O_APPEND, 0)
	if err == nil {
		_, err = f.Write(b)
		err = errors.Join(err, f.Close())
	}
	r.try(err)
	return err == nil
}

// flip flips a bit in the last segment of the journal, behind its snapshot (a damaged snapshot would be
// replaced by that of the segment before), whose end its header names. What was accepted after it may be lost, and
// what was delivered may be delivered again.
func (r *round) flip() bool {
	names, _ := filepath.Glob(filepath.Join(r.runDir(), "journal-*"))
	if len(names) == 0 {
		return false
	}
	name := slices.Max(names)
	raw, err := os.ReadFile(name)
	if err != nil || len(raw) < 101 {
		return false
	}
	first := min(int(binary.LittleEndian.Uint32(raw[97:])), len(raw))
	inputs := len(raw) - first
	if inputs < 1024 {
		return false
	}
	at := first + inputs/4 + r.rnd.IntN(inputs*3/4)
	raw[at] ^= 1 << r.rnd.IntN(8)
	if err := os.WriteFile(name, raw, 0o600); err != nil {
		r.fail("flip a bit: %v", err)
		return false
	}
	r.f.n["journals flipped"]++
	r.flipped = true
	for _, s := range r.sent {
		s.flipped = s.accepted
	}
	r.logf("a bit at %d of %d in %s is flipped", at, len(raw), filepath.Base(name))
	return true
}

// remove kills a removal of the run at the round's crash point. After that the run is either complete or gone,
// and a second removal leaves nothing behind.
func (r *round) remove() {
	if !helpFor(r.must).removal || r.run == "" {
		return
	}
	crash := []string{fmt.Sprintf("ARBITER_CRASH_AT=%s:%d", r.must, r.mustN), "ARBITER_CRASH_LOG=" + r.path("hits")}
	if _, errs, code := r.command(crash, "sessions", "rm", r.run); code != -1 {
		r.fail("removal under %s ended with %d: %s", crash, code, errs)
		return
	}
	out, errs, code := r.command(nil, "sessions", "ls", "--json")
	var list []struct {
		Run, Status string
	}
	if err := json.Unmarshal([]byte(out), &list); err != nil || code != 0 {
		r.fail("list after a removal that was cut: %d, %v: %s", code, err, errs)
		return
	}
	want := 2 // it is gone
	for _, line := range list {
		if line.Run != r.run {
			continue // left by a process that was killed early; another run was begun then
		}
		want = 0
		if line.Status != "complete" {
			r.fail("half removed: %+v", line)
		}
	}
	if _, errs, code := r.command(nil, "sessions", "rm", r.run); code != want {
		r.fail("the second removal ended with %d: %s", code, errs)
	}
	r.command(nil, "--json", "--no-input", "--session", "none") // each start tidies up
	entries, err := os.ReadDir(r.path("state", "runs"))
	r.try(err)
	for _, e := range entries {
		if strings.Contains(e.Name(), r.run) {
			r.fail("left of a removed run: %s", e.Name())
		}
	}
}
