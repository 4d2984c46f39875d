package crashpoint

import (
	"cmp"
	"fmt"
	"os"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"syscall"
)

const (
	atVariable  = "ARBITER_CRASH_AT"
	logVariable = "ARBITER_CRASH_LOG"
)

// target is a parsed ARBITER_CRASH_AT: [panic:][role/]name[:n].
type target struct {
	name  string // empty: nowhere
	role  string // empty: in any process
	n     int    // which time, from 1
	panic bool
}

func parseTarget(text string) (target, error) {
	if text == "" {
		return target{}, nil
	}
	m := regexp.MustCompile(`^(panic:)?(?:([^/]*)/)?([^:/]+)(?::([1-9]\d*))?$`).FindStringSubmatch(text)
	if m == nil {
		return target{}, fmt.Errorf("%s=%s: want [panic:][role/]name[:n]", atVariable, text)
	}
	n, err := strconv.Atoi(cmp.Or(m[4], "1"))
	return target{name: m[3], role: m[2], n: n, panic: m[1] != ""}, err
}

// trap waits for its target and keeps the log.
type trap struct {
	at  target
	log string

	mu   sync.Mutex
	role string
	hits map[string]int
}

func newTrap(at, log string) (*trap, error) {
	t, err := parseTarget(at)
	if err != nil {
		return nil, err
	}
	if diedBefore(log, t.name) {
		t = target{}
	}
	return &trap{at: t, log: log, hits: map[string]int{}}, nil
}

// diedBefore reports whether a process died at the place already. Its replacement inherits the variables,
// and must not die too.
func diedBefore(log, name string) bool {
	if log == "" || name == "" {
		return false
	}
	text, err := os.ReadFile(log)
	return err == nil && strings.Contains(string(text), "/"+name+diedMark+"\n")
}

const diedMark = " died"

func (t *trap) setRole(role string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.role = role
}

func (t *trap) here(name string) {
	t.mu.Lock()
	t.hits[name]++
	n, role := t.hits[name], t.role
	t.mu.Unlock()
	if n == 1 {
		t.note(role, name)
	}
	if name != t.at.name || n != t.at.n || t.at.role != "" && t.at.role != role {
		return
	}
	t.note(role, name+diedMark)
	if t.at.panic {
		panic("crash point " + name)
	}
	die()
}

// note appends to the log. One write of a short line is never torn. If the log cannot be written, its
// reader notices.
func (t *trap) note(role, name string) {
	if t.log == "" {
		return
	}
	f, err := os.OpenFile(t.log, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return
	}
	_, _ = f.WriteString(role + "/" + name + "\n")
	_ = f.Close()
}

// die kills the process. The first process of a PID namespace cannot be killed from inside, so it exits at
// once instead: no code of Arbiter runs after that either.
func die() {
	_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
	syscall.Exit(128 + int(syscall.SIGKILL))
}
