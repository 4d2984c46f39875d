package main

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/arbiter-cli/arbiter/supervisor/journal"
)

// Kinds of help that make a process reach a crash point that it does not reach otherwise.
const (
	byBridge = "bridge" // the bridge is killed
	byFlip   = "flip"   // a bit of the journal is flipped between two processes
	byLitter = "litter" // a process dies while it writes a file, and leaves it
	byTear   = "tear"   // the event log ends in the middle of a line
	byLength = "length" // the event log is long
	byDisk   = "disk"   // the disk is full
	byRemove = "remove" // the complete run is removed
	byHuman  = "human"  // the human ends an Orchestrator at work

	byDecider   = "decider"   // a decider other than the Arbiter
	byIsolation = "isolation" // Orchestrators in worktrees or clones
)

// helpFor returns the help that a crash point needs; "" means none.
func helpFor(point string) string {
	for prefix, help := range map[string]string{
		"loop.bridge.": byBridge, "journal.damage.": byFlip, "journal.open.tidy.": byLitter,
		"journal.events.cut.": byTear, "journal.events.pack.": byLength, "journal.events.free.": byLength,
		"journal.commit.truncate.": byDisk, "journal.remove.": byRemove,
		"loop.inspect": byHuman, "loop.decide": byDecider, "loop.place": byIsolation, "loop.merge": byIsolation,
	} {
		if strings.HasPrefix(point, prefix) {
			return help
		}
	}
	return ""
}

// force plans the process that should reach the round's own crash point.
func (r *round) force() (plan, bool) {
	at := fmt.Sprintf("%s:%d", r.must, r.mustN)
	switch help := helpFor(r.must); {
	case r.must == "" || r.forced || help == byRemove:
		return plan{}, false
	case r.processRuns < r.mustAt: // so that there is another process
		return plan{victim: "arbiter", after: 15 + r.rnd.IntN(20)}, true
	case help == "" || help == byDecider || help == byIsolation:
		r.forced = true
		return plan{crashAt: at}, true
	case help == byBridge || help == byDisk || help == byHuman:
		r.forced = true
		return plan{crashAt: at, victim: help, after: 2 + r.rnd.IntN(20)}, true
	case r.run == "": // there is no journal yet
		return plan{victim: "arbiter", after: 20 + r.rnd.IntN(20)}, true
	case help == byLitter && !r.littered():
		return plan{crashAt: "journal.meta.rename.before"}, true
	case help == byTear && !r.tear():
		return plan{}, false
	case help == byFlip && !r.flip():
		return plan{}, false
	case help == byLength && !r.stretch():
		return plan{}, false
	default:
		r.forced = true
		return plan{crashAt: at}, true
	}
}

func (r *round) runDir() string { return filepath.Join(r.dir, "state", "runs", r.run) }

func (r *round) littered() bool {
	left, _ := filepath.Glob(filepath.Join(r.runDir(), "*.tmp"))
	return len(left) > 0
}

// tear appends the beginning of a line to the event log.
func (r *round) tear() bool {
	err := appendTo(filepath.Join(r.runDir(), journal.LogName), []byte(`{"sum":"0badc0de","n":1`))
	if err != nil {
		r.fail("tear a line: %v", err)
	}
	return err == nil
}

// stretch adds so many lines to the event log that its beginning is packed. Readers skip them.
func (r *round) stretch() bool {
	path := filepath.Join(r.runDir(), journal.LogName)
	log, err := journal.OpenLog(path)
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
	if err == nil {
		err = appendTo(path, lines)
	}
	if err != nil {
		r.fail("add lines: %v", err)
	}
	return err == nil
}

func appendTo(path string, b []byte) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		return err
	}
	_, err = f.Write(b)
	return errors.Join(err, f.Close())
}

// firstInput returns the offset of the first input in a segment of the journal, from its header.
func firstInput(segment []byte) int {
	if len(segment) < 101 {
		return len(segment)
	}
	return min(int(binary.LittleEndian.Uint32(segment[97:])), len(segment))
}

// flip flips a bit in the last segment of the journal, behind its snapshot (a damaged snapshot would be
// replaced by that of the segment before). What was accepted after it may be lost, and what was delivered may
// be delivered again.
func (r *round) flip() bool {
	names, _ := filepath.Glob(filepath.Join(r.runDir(), "journal-*"))
	slices.Sort(names)
	for _, name := range slices.Backward(names) {
		raw, err := os.ReadFile(name)
		first := firstInput(raw)
		inputs := len(raw) - first
		if err != nil || inputs < 1024 {
			break
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
		r.logf("  %s: a bit at %d of %d in %s is flipped", r.name(), at, len(raw), filepath.Base(name))
		return true
	}
	return false
}

// command runs an arbiter command, and returns its exit code: -1 if a signal killed it.
func (r *round) command(env []string, args ...string) (stdout, stderr string, code int) {
	cmd := exec.Command(r.bin, args...)
	cmd.Env, cmd.Dir = append(slices.Clone(r.env), env...), filepath.Join(r.dir, "work")
	var out, errs strings.Builder
	cmd.Stdout, cmd.Stderr = &out, &errs
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		return "", err.Error(), -2
	}
	return out.String(), errs.String(), cmd.ProcessState.ExitCode()
}

// remove kills a removal of the run at the round's crash point. After that the run is either complete or gone,
// and a second removal leaves nothing behind.
func (r *round) remove() {
	if helpFor(r.must) != byRemove || r.run == "" {
		return
	}
	state := filepath.Join(r.dir, "state")
	at := fmt.Sprintf("%s:%d", r.must, r.mustN)
	rm := []string{"sessions", "rm", "--state-dir", state, r.run}
	if _, errs, code := r.command([]string{"ARBITER_CRASH_AT=" + at, "ARBITER_CRASH_LOG=" + r.hits},
		rm...); code != -1 {
		r.fail("removal under %s ended with %d: %s", at, code, errs)
		return
	}
	out, errs, code := r.command(nil, "sessions", "ls", "--json", "--state-dir", state)
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
	if _, errs, code := r.command(nil, rm...); code != want {
		r.fail("the second removal ended with %d: %s", code, errs)
	}
	r.command(nil, "--json", "--no-input", "--session", "none", "--state-dir", state) // each start tidies up
	entries, err := os.ReadDir(filepath.Join(state, "runs"))
	for _, e := range entries {
		if strings.Contains(e.Name(), r.run) {
			r.fail("left of a removed run: %s", e.Name())
		}
	}
	if err != nil {
		r.fail("%v", err)
	}
}

// fill makes the disk full for this process of arbiter, and sends a message, which then cannot be recorded: the
// journal has room for a few more bytes only. The log of crash points, which is shorter, still has room.
func (l *processRun) fill() bool {
	size := int64(0)
	names, _ := filepath.Glob(filepath.Join(l.r.runDir(), "journal-*"))
	for _, name := range names {
		if info, err := os.Stat(name); err == nil {
			size = max(size, info.Size())
		}
	}
	if info, err := os.Stat(l.r.hits); err != nil || size < info.Size()+200 {
		return false // not yet
	}
	if err := limitFiles(l.cmd.Process.Pid, uint64(size)+20); err != nil {
		l.r.fail("limit files: %v", err)
		return false
	}
	l.filled, l.r.blurred = true, true
	l.sendMessage("a passing note")
	return true
}

// freeDisk ends the full disk.
func (l *processRun) freeDisk() {
	if l.filled {
		l.filled = false
		if err := limitFiles(l.cmd.Process.Pid, ^uint64(0)); err != nil && !errors.Is(err, syscall.ESRCH) {
			l.r.fail("limit files: %v", err)
		}
	}
}

// parseAt parses POINT:N:RUN, as the report of a failed round prints it.
func parseAt(text string, all []string) (point string, n, run int, err error) {
	words := strings.Split(text, ":")
	if len(words) == 3 && slices.Contains(all, words[0]) {
		n, err = strconv.Atoi(words[1])
		run, bad := strconv.Atoi(words[2])
		if err == nil && bad == nil && n > 0 && run > 0 {
			return words[0], n, run, nil
		}
	}
	return "", 0, 0, fmt.Errorf("-at %s: want POINT:N:RUN", text)
}
