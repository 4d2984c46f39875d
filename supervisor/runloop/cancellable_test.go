package runloop

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/decider"
	"github.com/arbiter-cli/arbiter/supervisor/input"
	"github.com/arbiter-cli/arbiter/supervisor/runconfig"
)

// slowPort has checks that end only when they are cancelled.
type slowPort struct {
	*fakePort
	begun, ended chan string
}

func (s *slowPort) Check(ctx context.Context, p bridge.CheckParams) (bridge.CheckResult, error) {
	s.begun <- p.Command
	<-ctx.Done()
	s.ended <- p.Command
	return bridge.CheckResult{}, ctx.Err()
}

// slowDecider ends only when it is cancelled.
type slowDecider struct{ *slowPort }

func (s slowDecider) Decide(ctx context.Context, _ decider.Input) (decider.Decision, error) {
	_, err := s.Check(ctx, bridge.CheckParams{Command: "decide"})
	return decider.Decision{}, err
}

// TestHaltCancelsChecksAndDeciders: a halt cancels running checks and deciders at once. Their results are not
// recorded, and a continue command requests them again.
func TestHaltCancelsChecksAndDeciders(t *testing.T) {
	for _, what := range []string{"true", "decide"} {
		synctest.Test(t, func(t *testing.T) {
			recorded := &fakeJournal{}
			port := &fakePort{answer: func(f *fakePort, p bridge.MessageParams) {
				if p.ID == contract.Arbiter {
					f.loop.ToolCall(t.Context(), bridge.ToolCallParams{AgentRef: p.AgentRef, Tool: "spawn_orchestrator",
						Input: []byte(`{"prompt":"x"}`)})
					f.ruled(p, ruling("CONTINUE", "Patience."))
					return
				}
				f.ruled(p, proven("done", "true"))
			}}
			n := newLiveRun(t, recorded, port)
			s := &slowPort{port, make(chan string, 9), make(chan string, 9)}
			n.loop.Decider(slowDecider{s})
			n.beginOn(s, func(o *runconfig.Options) {
				o.Task, o.CheckTimeout, o.Permissions = "build", time.Hour, "allow-all"
				if what == "decide" {
					o.Decider, o.DeciderTimeout = runconfig.DeciderStateless, time.Hour
				}
			})
			halt := func() {
				if got := <-s.begun; got != what {
					t.Fatalf("%s was begun", got)
				}
				began := time.Now()
				n.loop.Put(input.Command{Channel: input.ChannelStdin,
					Command: contract.Command{Ref: "r", Body: contract.Halt{}}})
				<-s.ended
				if took := time.Since(began); took > 0 {
					t.Errorf("told after %s", took)
				}
			}
			halt()
			synctest.Wait()
			if n.loop.Snapshot().Handoff.Documents != nil == (what == "decide") {
				t.Errorf("the document: %+v", n.loop.Snapshot().Handoff.Documents)
			}
			n.loop.Put(input.Command{Channel: input.ChannelStdin,
				Command: contract.Command{Ref: "c", Body: contract.Continue{}}})
			halt()
			n.loop.Put(input.Signal{Signal: "INT"})
			n.over()
			for _, f := range recorded.inputs(t) {
				d, decided := f.(input.Decided)
				if _, checked := f.(input.Checked); checked || decided && d.Serial > 0 {
					t.Errorf("recorded: %#v", f)
				}
			}
			if len(n.loop.cancellables) > 1 {
				t.Errorf("kept: %d", len(n.loop.cancellables))
			}
		})
	}
}
