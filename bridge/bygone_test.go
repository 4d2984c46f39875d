package bridge

import (
	"context"
	"io"
	"log/slog"
	"testing"
	"time"

	"github.com/arbiter-cli/arbiter/internal/testkit"
)

// TestEndedAgentsAreReleased: of an agent that has ended the registry keeps the name, and nothing that the
// driver holds.
func TestEndedAgentsAreReleased(t *testing.T) {
	r := newRegistry(nil, nil, slog.New(slog.NewTextHandler(io.Discard, nil)), nil)
	launch := func(id string, generation int, session string) *fakeAgent {
		t.Helper()
		inc := testkit.Must(r.claim(AgentRef{ID: id, Generation: generation}, session))(t)
		a := &fakeAgent{done: make(chan struct{})}
		testkit.Must(inc.start(t.Context(), time.Minute,
			func(context.Context) (Agent, error) { return a, nil }))(t)
		return a
	}
	first := launch("orch-1", 1, "one")
	launch("orch-2", 1, "two")
	close(first.done)
	launch("orch-3", 1, "three")
	if a := r.latest["orch-1"].agent; a != nil {
		t.Errorf("it is held still: %v", a)
	}
	if r.latest["orch-2"].agent == nil {
		t.Error("one that lives was let go")
	}
	for _, c := range []struct {
		generation int
		code       int
	}{{1, CodeEnded}, {2, CodeStale}} {
		if _, err := r.find(AgentRef{ID: "orch-1", Generation: c.generation}); codeOf(err) != c.code {
			t.Errorf("generation %d: %v", c.generation, err)
		}
	}
	if err := r.latest["orch-1"].stop(t.Context(), true); err != nil {
		t.Errorf("stopped again: %v", err)
	}
	if _, err := r.claim(AgentRef{ID: "orch-1", Generation: 1}, "one"); codeOf(err) != CodeStale {
		t.Errorf("the same generation again: %v", err)
	}
	if _, err := r.claim(AgentRef{ID: "orch-4", Generation: 1}, "three"); codeOf(err) != CodeAgentExists {
		t.Errorf("a session in use: %v", err)
	}
	launch("orch-1", 2, "one")
	if incs, _ := r.live(); len(incs) != 3 {
		t.Errorf("%d live", len(incs))
	}
}
