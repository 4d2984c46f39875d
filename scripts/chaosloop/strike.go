package main

import (
	"fmt"
	"slices"
	"syscall"

	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/verdict"
)

// plan says what happens to one process of arbiter.
type plan struct {
	victim  string // arbiter, bridge, agent, all, int, term, disk, human; "" for none or a crash point alone
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
	victims := []string{"arbiter", "arbiter", "arbiter", "bridge", "agent", "agent", "all", "int", "term", byHuman}
	return plan{victim: victims[r.rnd.IntN(len(victims))], after: 1 + r.rnd.IntN(50)}
}

// strike kills the victim of the plan, and reports whether it could.
func (r *round) strike(l *processRun, p plan) bool {
	var targets []int
	sig := syscall.SIGKILL
	switch p.victim {
	case byDisk:
		return l.fill()
	case byHuman:
		return r.dismiss(l)
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
	r.logf("  %s: line %d, %s %v", r.name(), l.count, p.victim, targets)
	return true
}

// dismiss has the human end an Orchestrator that is at work; the supervisor then finds out what it has done. It
// does nothing if Orchestrators have their own directories: the scripted successor would make all files, the
// human would end the job because they exist, but a check of unmerged work would rightly keep the job open
// until the limit of Orchestrators is reached.
func (r *round) dismiss(l *processRun) bool {
	if r.isolated || r.hosted || r.jobDone() {
		return false
	}
	id := l.anybody("")
	if id == "" {
		return false
	}
	r.at[id] = finished
	l.send("dismiss", contract.Kill{ID: id})
	r.struck(byHuman)
	r.logf("  %s: line %d, the human ends %s", r.name(), l.count, id)
	return true
}

// The states of an Orchestrator, as its events show them.
const (
	summoned = iota + 1
	down
	atWork   // it has a message
	finished // it has handed off or was released
)

// follow updates the state by an event.
func (r *round) follow(ev contract.Line) {
	if ev.ID == contract.Arbiter || ev.ID == contract.Human || ev.ID == contract.Supervisor || r.at[ev.ID] == finished {
		return
	}
	switch b := ev.Body.(type) {
	case contract.Spawn:
		r.at[ev.ID] = summoned
		if b.Resumed {
			r.at[ev.ID] = atWork
		}
	case contract.Delivered:
		r.at[ev.ID] = atWork
	case contract.Done:
		r.at[ev.ID] = down
	case contract.Message:
		if b.Kind == verdict.KindDone || b.Kind == verdict.KindHandoff {
			r.at[ev.ID] = finished
		}
	case contract.Handoff, contract.Check:
		r.at[ev.ID] = finished
	}
}

func (r *round) struck(victim string) {
	r.kills++
	r.f.killed[victim]++
}

// agents returns the CLI processes and those of another make, without their children.
func (r *round) agents() []process {
	if r.run == "" {
		return nil
	}
	var list []process
	for _, p := range processes("ARBITER_RUN=" + r.run) {
		if (p.session() != "" || slices.Contains(p.args, fakeMake)) && p.leads() {
			list = append(list, p)
		}
	}
	return list
}
