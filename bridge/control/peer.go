package control

import (
	"fmt"
	"net"
	"os"
	"slices"
	"strings"

	"github.com/arbiter-cli/arbiter/bridge/proctree"
)

// Peer describes the process at the other end of a connection.
type Peer struct {
	UID, PID int
	Name     string // the kernel's short name of its program
	// Agent is the agent to which it belongs, according to its mark; empty if there is none.
	Agent string
	// Problem is why the peer may not send requests; empty if it may.
	Problem string
}

func (p Peer) String() string {
	s := fmt.Sprintf("process %d", p.PID)
	if p.Name != "" {
		s += " (" + p.Name + ")"
	}
	return s
}

// Identify inspects the peer of a connection. If a fact cannot be determined, Problem is set.
func Identify(conn *net.UnixConn) Peer {
	raw, err := conn.SyscallConn()
	if err != nil {
		return Peer{Problem: fmt.Sprintf("it cannot be inspected: %v", err)}
	}
	var c credentials
	if err := raw.Control(func(fd uintptr) { c, err = credentialsOf(int(fd)) }); err != nil {
		return Peer{Problem: fmt.Sprintf("it cannot be inspected: %v", err)}
	}
	if err != nil {
		return Peer{Problem: fmt.Sprintf("the system does not say who it is: %v", err)}
	}
	defer c.release()
	p := Peer{UID: c.uid, PID: c.pid}
	switch {
	case c.uid != os.Getuid():
		p.Problem = fmt.Sprintf("it belongs to user %d", c.uid)
		return p
	case c.pid <= 0:
		p.Problem = "it is in another PID namespace"
		return p
	}
	line, err := proctree.Lineage(c.pid)
	if err != nil {
		p.Problem = err.Error()
		return p
	}
	p.Name = line[0].Name
	p.Problem, p.Agent = judge(line, os.Getpid(), proctree.Marks())
	if p.Problem == "" && !c.alive() {
		p.Problem = "it has ended"
	}
	return p
}

// judge checks a chain of processes, from the peer up to the process with the number arbiter, which was
// itself started with those marks. problem is what is wrong with the chain.
func judge(line []proctree.Ancestor, arbiter int, marks []string) (problem, agent string) {
	if line[0].PID == arbiter {
		return "", ""
	}
	if line[0].Unreadable {
		problem = "its environment cannot be read"
	}
	for i, k := range line {
		if k.PID == arbiter {
			problem = "this arbiter started it"
			break
		}
		foreign := func(run string) bool { return !slices.Contains(marks, run) }
		if !slices.ContainsFunc(k.Runs, foreign) {
			continue
		}
		if problem == "" {
			problem = "its environment marks it as an agent"
			if i > 0 {
				problem = "an agent started it"
			}
		}
		if n := len(k.Agents); n > 0 && agent == "" {
			agent = k.Agents[n-1]
		}
	}
	return problem, strings.ToValidUTF8(agent, "?")
}
