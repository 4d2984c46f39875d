package main

import (
	"strings"
	"testing"

	"github.com/arbiter-cli/arbiter/internal/testkit"

	"github.com/arbiter-cli/arbiter/supervisor/contract"
)

// TestOversizedMessageIsRefused: a command with a text of 4 MB is rejected, and the answer says what to do
// instead.
func TestOversizedMessageIsRefused(t *testing.T) {
	t.Parallel()
	s := dialogue(t)
	s.send(contract.Say{Text: strings.Repeat("<", 4*contract.MaxCommandText)})
	if b := await[contract.Rejected](s, "a refusal", nil); !strings.Contains(b.Message,
		"the limit is 1,048,576; put it into files") {
		t.Errorf("refused with %q", b.Message)
	}
	s.send(contract.Say{Text: "Call it nameless."})
	s.finish(contract.ExitComplete)
}

// TestPauseWithoutAHumanEndsTheRun: when a human pauses a run and closes its stdin, no client can continue it. The run
// ends, and can be resumed and continued.
func TestPauseWithoutAHumanEndsTheRun(t *testing.T) {
	testkit.Long(t)
	for _, c := range []contract.CommandBody{contract.Pause{}, contract.Halt{}} {
		t.Run(c.CommandType(), func(t *testing.T) {
			t.Parallel()
			s := dialogue(t)
			s.send(c)
			await[contract.Accepted](s, "accepted", nil)
			if r := s.finish(contract.ExitNeedsInput); r.Status != contract.StatusNeedsInput {
				t.Errorf("result %+v", r)
			}
			n := s.again("--json", "--resume") // it is still paused
			await[contract.Question](n, "the question again", nil)
			n.send(contract.Continue{})
			n.send(contract.Say{Text: "Call it nameless."})
			n.finish(contract.ExitComplete)
		})
	}
}
