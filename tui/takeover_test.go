package tui

import (
	"testing"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/input"
)

// TestTakenOverIsNotBeingStopped: the notice that a command was accepted disappears when it is done.
func TestTakenOverIsNotBeingStopped(t *testing.T) {
	play(t, 100, 30, nil, func(s *scene) {
		s.startWork()
		attach := func(p *fakeRun) {
			p.do(input.Command{Command: contract.Command{Ref: "s1", Body: contract.Attach{ID: "orch-1"}},
				Channel: input.ChannelSocket})
		}
		s.does(attach)
		s.Expect("is being stopped")
		s.does(func(p *fakeRun) {
			p.do(input.Inspected{Serial: p.agent("orch-1").Takeover.Serial,
				Result: bridge.InspectResult{Mark: &bridge.InspectMark{AtMS: 1}}})
			p.do(input.PTYOpened{Agent: p.agent("orch-1").AgentRef})
		})
		s.ExpectNot("is being stopped")
		s.Expect("in your hands")
	})
}
