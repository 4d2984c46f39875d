package main

import (
	"fmt"
	"slices"
	"syscall"
)

// plan is what is done to one life.
type plan struct {
	victim  string // arbiter, bridge, agent, all, int, term, disk; "" for none or a crash point alone
	after   int    // lines
	crashAt string
}

// plan chooses for the next life. A job's last lives are left alone.
func (r *round) plan() plan {
	if r.kills >= r.o.perJob {
		return plan{}
	}
	if p, ok := r.force(); ok {
		return p
	}
	if r.o.points == "some" && len(r.points) > 0 && r.rnd.IntN(3) == 0 {
		return plan{crashAt: fmt.Sprintf("%s:%d", r.points[r.rnd.IntN(len(r.points))], 1+r.rnd.IntN(6))}
	}
	victims := []string{"arbiter", "arbiter", "arbiter", "bridge", "agent", "agent", "all", "int", "term"}
	return plan{victim: victims[r.rnd.IntN(len(victims))], after: 1 + r.rnd.IntN(50)}
}

// strike does it, and says whether it could.
func (r *round) strike(l *life, p plan) bool {
	var targets []int
	sig := syscall.SIGKILL
	switch p.victim {
	case byDisk:
		return l.fill()
	case "arbiter":
		targets = []int{l.cmd.Process.Pid}
	case "bridge":
		targets = []int{l.findBridge()}
	case "agent":
		agents := r.agents()
		if len(agents) == 0 {
			return false
		}
		targets = []int{agents[r.rnd.IntN(len(agents))].pid}
	case "all":
		targets = []int{l.cmd.Process.Pid, l.findBridge()}
		for _, a := range r.agents() {
			targets = append(targets, a.pid)
		}
	case "int", "term":
		targets = []int{l.cmd.Process.Pid}
		if sig = syscall.SIGINT; p.victim == "term" {
			sig = syscall.SIGTERM
		}
	}
	if slices.Contains(targets, 0) {
		return false // no bridge yet
	}
	l.findBridge()
	for _, pid := range targets {
		_ = syscall.Kill(pid, sig)
	}
	r.struck(p.victim)
	r.tell("  %s: line %d, %s %v", r.name(), l.count, p.victim, targets)
	return true
}

func (r *round) struck(victim string) {
	r.kills++
	r.f.kill(victim)
}

// agents are the CLIs' own processes.
func (r *round) agents() []process {
	if r.run == "" {
		return nil
	}
	var list []process
	for _, p := range processes("ARBITER_RUN=" + r.run) {
		if p.session() != "" && p.leads() {
			list = append(list, p)
		}
	}
	return list
}
