package host

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/arbiter-cli/arbiter/internal/testkit"

	"github.com/arbiter-cli/arbiter/bridge/control"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/input"
)

// controlLoop records its inputs, and accepts every command.
type controlLoop struct {
	inputLoop
	took []string
	emit func(time.Time, contract.Event)
}

func (l *controlLoop) Put(b input.Body) bool {
	switch b := b.(type) {
	case input.Command:
		l.took = append(l.took, fmt.Sprintf("%T by %s", b.Command.Body, b.Channel))
		l.emit(time.Now(), contract.Event{Body: contract.Accepted{Ref: b.Command.Ref, Message: "done"}})
	default:
		l.took = append(l.took, fmt.Sprintf("%T", b))
	}
	return true
}

func serviceOf() (*service, *controlLoop) {
	board := &Board{}
	l := &controlLoop{emit: board.publish}
	return &service{cwd: "/w", opener: Opener{Run: "r"}, input: NewSender(l, board), Group: newGroup()}, l
}

// TestCommands: the answer has the ref of the client, and the command arrives on the channel of its frontend.
func TestCommands(t *testing.T) {
	s, l := serviceOf()
	for line, want := range map[string]control.CommandResult{
		`{"type":"pause","ref":"mine"}`:           {Ref: "mine", Accepted: true, Message: "done"},
		`{"type":"attach","ref":"mine","id":"x"}`: {Ref: "mine", Message: "attach has a method of its own, which carries the terminal"},
	} {
		got, err := s.Command(t.Context(), json.RawMessage(line))
		testkit.Check(t, err == nil && got == want, "%s: %+v, %v", line, got, err)
	}
	got, err := s.Command(t.Context(), json.RawMessage(`{"ref":"mine"}`))
	testkit.Check(t, err == nil && !got.Accepted && got.Message != "", "no command: %+v, %v", got, err)
	for _, frontend := range []string{"", input.ChannelScreen, "stdin"} {
		p := control.PutParams{Command: json.RawMessage(`{"type":"continue"}`), Frontend: frontend}
		testkit.Works(t, "Put", s.Put(t.Context(), p))
	}
	want := []string{"contract.Pause by socket", "contract.Continue by socket", "contract.Continue by screen",
		"contract.Continue by socket"}
	testkit.Check(t, slices.Equal(l.took, want), "the loop took %q", l.took)
}

// TestSignals: a client can end the run with exactly three signals.
func TestSignals(t *testing.T) {
	s, l := serviceOf()
	for _, name := range []string{"INT", "TERM", "HUP"} {
		testkit.Works(t, "Stop", s.Stop(t.Context(), control.StopParams{Signal: name}))
	}
	err := s.Stop(t.Context(), control.StopParams{Signal: "KILL"})
	testkit.Check(t, err != nil && len(l.took) == 3, "%v, the loop took %q", err, l.took)
}

// TestInputEnds: only the last client to leave ends the input of the run.
func TestInputEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, l := serviceOf()
		ctx, cancel := context.WithCancel(t.Context())
		for range 2 {
			go s.Subscribe(ctx, control.SubscribeParams{}, func(any) error { return nil })
		}
		synctest.Wait()
		err := s.InputEnded(t.Context())
		testkit.Check(t, err == nil && l.took == nil, "two clients are there: %v, the loop took %q", err, l.took)
		cancel()
		synctest.Wait()
		if err := s.InputEnded(t.Context()); err != nil || !slices.Equal(l.took, []string{"input.InputEnded"}) {
			t.Errorf("nobody is there: %v, the loop took %q", err, l.took)
		}
	})
}

// TestRefusedPeers: the human is warned once about agents that try to use the socket.
func TestRefusedPeers(t *testing.T) {
	s, l := serviceOf()
	for range 3 {
		s.Refused(control.Peer{Agent: "orch-1"}, "command")
	}
	s.input.Wait()
	testkit.Check(t, len(l.events) == 1 && l.events[0].ID == contract.Arbiter, "events: %+v", l.events)
}
