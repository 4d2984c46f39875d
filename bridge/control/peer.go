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
	// Trouble is why the peer may not send requests; empty if it may.
	Trouble string
}

func (p Peer) String() string {
	s := fmt.Sprintf("process %d", p.PID)
	if p.Name != "" {
		s += " (" + p.Name + ")"
	}
	return s
}

// Identify inspects the peer of a connection. If a fact cannot be determined, Trouble is set.
func Identify(conn *net.UnixConn) Peer {
	raw, err := conn.SyscallConn()
	if err != nil {
		return Peer{Trouble: fmt.Sprintf("it cannot be looked at: %v", err)}
	}
	var c credentials
	if err := raw.Control(func(fd uintptr) { c, err = credentialsOf(int(fd)) }); err != nil {
		return Peer{Trouble: fmt.Sprintf("it cannot be looked at: %v", err)}
	}
	if err != nil {
		return Peer{Trouble: fmt.Sprintf("the system does not say who it is: %v", err)}
	}
	defer c.release()
	p := Peer{UID: c.uid, PID: c.pid}
	switch {
	case c.uid != os.Getuid():
		p.Trouble = fmt.Sprintf("it belongs to user %d", c.uid)
		return p
	case c.pid <= 0:
		p.Trouble = "it is in another PID namespace"
		return p
	}
	line, err := proctree.Lineage(c.pid)
	if err != nil {
		p.Trouble = err.Error()
		return p
	}
	p.Name = line[0].Name
	p.Trouble, p.Agent = judge(line, os.Getpid(), proctree.Marks())
	if p.Trouble == "" && !c.lives() {
		p.Trouble = "it has ended"
	}
	return p
}

// judge checks a chain of processes, from the peer up to the process with the number arbiter, which was
// itself started with those marks. trouble is what is wrong with the chain.
func judge(line []proctree.Ancestor, arbiter int, marks []string) (trouble, agent string) {
	if line[0].PID == arbiter {
		return "", ""
	}
	if line[0].Unreadable {
		trouble = "its environment cannot be read"
	}
	for i, k := range line {
		if k.PID == arbiter {
			trouble = "this arbiter started it"
			break
		}
		foreign := func(run string) bool { return !slices.Contains(marks, run) }
		if !slices.ContainsFunc(k.Runs, foreign) {
			continue
		}
		if trouble == "" {
			trouble = "its environment marks it as an agent"
			if i > 0 {
				trouble = "an agent started it"
			}
		}
		if n := len(k.Agents); n > 0 && agent == "" {
			agent = k.Agents[n-1]
		}
	}
	return trouble, strings.ToValidUTF8(agent, "?")
}
