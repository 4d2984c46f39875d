package control

import (
	"os"
	"testing"

	"github.com/arbiter-cli/arbiter/bridge/proctree"
	"github.com/arbiter-cli/arbiter/internal/testkit"
)

// TestJudge: a process belongs to an agent if it, or any process above it, descends from arbiter or bears a
// mark.
func TestJudge(t *testing.T) {
	const arbiter, run = 100, "run-1"
	plain := func(pids ...int) (line []proctree.Ancestor) {
		for _, pid := range pids {
			line = append(line, proctree.Ancestor{PID: pid})
		}
		return line
	}
	marked := func(at int, runs []string, agents []string, pids ...int) []proctree.Ancestor {
		line := plain(pids...)
		line[at].Runs, line[at].Agents = runs, agents
		return line
	}
	for name, tt := range map[string]struct {
		line  []proctree.Ancestor
		marks []string
		free  bool
		agent string
	}{
		"a person's shell":                          {line: plain(300, 200, 1), free: true},
		"from outside of the container":             {line: plain(300), free: true},
		"the arbiter itself":                        {line: plain(arbiter, 1), free: true},
		"a child":                                   {line: plain(300, arbiter, 1)},
		"a grandchild that cleared its environment": {line: plain(400, 300, arbiter, 50, 1)},
		"one with the mark": {line: marked(0, []string{run}, []string{"orch-1"}, 300, 1),
			agent: "orch-1"},
		"one whose parent bears it": {line: marked(1, []string{run}, []string{"orch-2"}, 300, 250,
			1), agent: "orch-2"},
		"one under a bridge that was left": {line: marked(2, []string{run}, nil, 300, 250, 240, 1)},
		"another run's agent":              {line: marked(1, []string{"run-2"}, nil, 300, 250, 1)},
		"a person within an outer agent, as we are": {line: marked(1, []string{"outer"}, nil, 300, 250, 1),
			marks: []string{"outer"}, free: true},
		"our agent within an outer one": {line: marked(0, []string{"outer", run}, nil, 300, 1),
			marks: []string{"outer"}},
		"one that hides its environment": {line: []proctree.Ancestor{{PID: 300, Unreadable: true},
			{PID: 1}}},
		"a person's shell under a system we cannot read": {line: []proctree.Ancestor{{PID: 300},
			{PID: 1, Unreadable: true}}, free: true},
	} {
		problem, agent := judge(tt.line, arbiter, tt.marks)
		testkit.Check(t, (problem == "") == tt.free && agent == tt.agent, "%s: %q of %q, want free %v of %q", name,
			problem, agent, tt.free, tt.agent)
	}
}

// TestIdentify: this process is not an agent's, and is identified by its pid.
func TestIdentify(t *testing.T) {
	l, path := listen(t)
	defer l.Close()
	done := make(chan Peer, 1)
	go func() {
		conn, err := l.AcceptUnix()
		if err != nil {
			done <- Peer{Problem: err.Error()}
			return
		}
		defer conn.Close()
		done <- Identify(conn)
	}()
	_ = call(path) // EOF, after Identify
	p := <-done
	testkit.Check(t, p.Problem == "" && p.PID == os.Getpid() && p.UID == os.Getuid() && p.Name != "", "%+v", p)
}
