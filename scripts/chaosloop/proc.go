package main

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
)

// process is a process as /proc describes it.
type process struct {
	pid, parent int
	state       string
	args        []string
	env         []string
}

// processes returns those with one of the marks in their environment. Zombies have no environment and are not
// among them.
func processes(marks ...string) []process {
	dirs, _ := filepath.Glob("/proc/[0-9]*")
	var found []process
	for _, d := range dirs {
		env, err := os.ReadFile(d + "/environ")
		if err != nil || len(env) == 0 {
			continue
		}
		vars := strings.Split(string(env), "\x00")
		if !slices.ContainsFunc(marks, func(m string) bool { return m != "" && slices.Contains(vars, m) }) {
			continue
		}
		p := process{env: vars}
		p.pid, _ = strconv.Atoi(filepath.Base(d))
		cmd, _ := os.ReadFile(d + "/cmdline")
		p.args = strings.Split(strings.TrimRight(string(cmd), "\x00"), "\x00")
		stat, _ := os.ReadFile(d + "/stat")
		if i := bytes.LastIndexByte(stat, ')'); i > 0 {
			if f := strings.Fields(string(stat[i+1:])); len(f) > 1 {
				p.state = f[0]
				p.parent, _ = strconv.Atoi(f[1])
			}
		}
		if p.state != "Z" && p.state != "X" {
			found = append(found, p)
		}
	}
	return found
}

// agent returns the agent that the process belongs to, from its mark, such as "orch-1.2".
func (p process) agent() string {
	for _, v := range p.env {
		if name, ok := strings.CutPrefix(v, "ARBITER_AGENT="); ok {
			return name
		}
	}
	return ""
}

// session returns the Claude session that a CLI process was started on, and "" for other processes: its tools
// inherit the environment, not the arguments.
func (p process) session() string {
	for i, a := range p.args[:max(0, len(p.args)-1)] {
		if a == "--session-id" || a == "--resume" {
			return p.args[i+1]
		}
		if v, ok := strings.CutPrefix(a, "--resume="); ok {
			return v
		}
	}
	return ""
}

func (p process) leads() bool {
	group, err := syscall.Getpgid(p.pid)
	return err == nil && group == p.pid
}
