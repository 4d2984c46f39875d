package host

import (
	"context"
	"log/slog"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/arbiter-cli/arbiter/internal/testkit"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/supervisor"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/input"
)

// haltLoop is a run's loop that halts when it receives a halt. A stuck loop accepts nothing until it is done.
type haltLoop struct {
	inputLoop
	stuck bool
	state atomic.Pointer[supervisor.State]
}

func (l *haltLoop) Put(b input.Body) bool {
	if l.stuck {
		<-l.done
		return false
	}
	if _, ok := b.(input.Command).Command.Body.(contract.Halt); ok {
		s := &supervisor.State{}
		s.Halted, s.Halts = true, 1
		l.state.Store(s)
	}
	return true
}

func (l *haltLoop) Snapshot() *supervisor.State { return l.state.Load() }

// haltHosts has the agents on other hosts: they end when they are halted, except the lost ones.
type haltHosts struct {
	agents []string
	lost   []string
	halted int
}

func (h *haltHosts) Halt(context.Context) { h.halted++; h.agents = nil }
func (h *haltHosts) Agents() []string     { return h.agents }
func (h *haltHosts) Lost() []string       { return h.lost }

func halterOf(l *haltLoop, elsewhere *haltHosts) *Halter {
	l.state.Store(&supervisor.State{})
	l.done = make(chan struct{})
	return &Halter{ID: "no such run", Input: NewSender(l, &Board{}), Elsewhere: elsewhere,
		Bridge: func() *bridge.Client { return nil }, Log: slog.New(slog.DiscardHandler)}
}

// TestHalt: the loop is asked first, then the bridges if it does not stop all agents in time.
func TestHalt(t *testing.T) {
	for name, c := range map[string]struct {
		stuck   bool // the loop
		hosts   haltHosts
		how     string
		halted  bool
		bridges int      // how often bridges on other hosts were asked
		left    []string // of the agents
	}{
		"the loop does it":  {how: "loop", halted: true},
		"the loop is stuck": {stuck: true, how: "bridge", bridges: 1},
		"an agent elsewhere goes on": {
			hosts: haltHosts{agents: []string{"orch-1 @box"}}, how: "loop", halted: true, bridges: 1},
		"a host is out of reach": {
			hosts: haltHosts{lost: []string{"orch-2 @node"}}, how: "loop", halted: true, left: []string{"orch-2 @node"}},
		"stuck, with an agent elsewhere": {
			stuck: true, hosts: haltHosts{agents: []string{"orch-1 @box"}}, how: "bridge", bridges: 1},
	} {
		synctest.Test(t, func(t *testing.T) {
			l := &haltLoop{stuck: c.stuck}
			h := halterOf(l, &c.hosts)
			r := h.Halt(input.ChannelSocket)
			testkit.Check(t, r.How == c.how && r.Halted == c.halted && c.hosts.halted == c.bridges &&
				slices.Equal(r.Left, c.left) && h.HaltApplied() == c.halted,
				"%s: %+v, bridges of other hosts asked %d times", name, r, c.hosts.halted)
			close(l.done)
			h.Input.Wait()
		})
	}
}

// TestOnStdin: a halt does not wait for a loop that is stuck; after the end of the run there is nothing to halt.
func TestOnStdin(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, elsewhere := &haltLoop{stuck: true}, &haltHosts{}
		h := halterOf(l, elsewhere)
		testkit.Check(t, !h.OnStdin(contract.Command{Body: contract.Pause{}}) &&
			h.OnStdin(contract.Command{Body: contract.Halt{}}), "a halt, and nothing else, is carried out here")
		synctest.Wait()
		close(l.done)
		h.Input.Wait()
		testkit.Same(t, "halted", 1, elsewhere.halted)
		testkit.Check(t, !h.OnStdin(contract.Command{Body: contract.Halt{}}), "halted after the end")
	})
}
