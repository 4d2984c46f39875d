package main

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/arbiter-cli/arbiter/bridge/control"
	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/host"
	"github.com/arbiter-cli/arbiter/internal/testkit"
	"github.com/arbiter-cli/arbiter/supervisor"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
)

// received is what a client of the control socket has received.
type received struct {
	client *control.Client
	lines  []contract.Line
	state  *supervisor.State
	end    control.RunEnded
	over   bool // end was received
}

// subscribeTo subscribes to a run. The result may be read once the connection has ended.
func subscribeTo(t *testing.T, socket string, p control.SubscribeParams) *received {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), waitTimeout)
	defer cancel()
	c, _, err := control.Dial(ctx, socket, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	h := &received{client: c}
	var states host.StateReceiver
	testkit.OK(t, c.Subscribe(ctx, p, func(part any) {
		switch part := part.(type) {
		case control.Events:
			for _, raw := range part.Lines {
				line, err := contract.DecodeLine([]byte(raw))
				if err != nil {
					t.Errorf("%s: %v", raw, err)
				}
				h.lines = append(h.lines, line)
			}
			if part.Skipped > 0 {
				t.Errorf("%d events were skipped", part.Skipped)
			}
		case control.StateChange:
			state, err := states.Apply(part)
			if err != nil {
				t.Error(err)
			}
			h.state = state
		case control.RunEnded:
			h.end, h.over = part, true
		}
	}))
	return h
}

// TestSubscribers: clients that connect early or late receive all events of stdout from the requested one on,
// the state that they receive is that of the run, and they learn how the run ends.
func TestSubscribers(t *testing.T) {
	onlyLinux(t)
	t.Parallel()
	b := atWork(t, players(t)[0])
	socket := filepath.Join(b.stateDir(), "runs", b.run, control.SocketName)
	all := subscribeTo(t, socket, control.SubscribeParams{State: true})
	late := subscribeTo(t, socket, control.SubscribeParams{Since: -1})
	third := subscribeTo(t, socket, control.SubscribeParams{Since: 3})
	ctx, cancel := context.WithTimeout(t.Context(), waitTimeout)
	defer cancel()
	if err := late.client.Put(ctx, control.PutParams{
		Command: json.RawMessage(`{"command":"set_mode","ref":"mine","mode":"no such mode"}`)}); err != nil {
		t.Error(err)
	}
	await(b.script, "the answer to another client", func(_ string, r contract.Rejected) bool { return r.Ref == "mine" })
	testkit.OK(t, os.WriteFile(filepath.Join(b.work, "go"), nil, 0o600))
	b.finish(contract.ExitComplete)
	want := b.lines
	for _, h := range []*received{all, late, third} {
		select {
		case <-h.client.Done(): // the run's host process has ended
		case <-ctx.Done():
			t.Fatal("the run did not end")
		}
		if !h.over {
			t.Fatal("the end of the run was not told")
		}
		if h.end.Exit != int(contract.ExitComplete) || h.end.Text != "" {
			t.Errorf("the end is %+v", h.end)
		}
	}
	sameLines(t, "from the first on", all.lines, want)
	sameLines(t, "from the fourth on", third.lines, want[3:])
	if n := len(late.lines); n == 0 || n >= len(want) {
		t.Errorf("from now on: %d lines of %d", n, len(want))
	} else {
		sameLines(t, "from now on", late.lines, want[len(want)-n:])
	}
	if all.state == nil || all.state.Ending == nil || all.state.Ending.Status != contract.StatusComplete ||
		all.state.Options.Run != b.run || len(all.state.Agents) != 2 {
		t.Errorf("the last state is %+v", all.state)
	}
}

func sameLines(t *testing.T, what string, got, want []contract.Line) {
	t.Helper()
	if len(got) != len(want) {
		t.Errorf("%s: %d lines instead of %d", what, len(got), len(want))
		return
	}
	for i := range got {
		one, _ := json.Marshal(got[i])
		other, _ := json.Marshal(want[i])
		if string(one) != string(other) {
			t.Errorf("%s: line %d is\n%s\ninstead of\n%s", what, i, one, other)
			return
		}
	}
}
