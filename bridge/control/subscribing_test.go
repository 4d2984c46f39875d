package control

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"testing"

	"github.com/arbiter-cli/arbiter/internal/testkit"
)

// TestSubscribe shows that the parts of a subscription come in their order, that commands keep
// theirs, and that the end of a client ends its subscription.
func TestSubscribe(t *testing.T) {
	h := newTestService()
	want := []any{
		Events{Lines: []string{`{"seq":1,"text":"<a> & \u00e9 é"}`, `{"seq": 2}`}},
		StateChange{Version: 7, Members: map[string]json.RawMessage{"Paused": json.RawMessage("true")}, AgentCount: 1,
			Agents: map[int]json.RawMessage{0: json.RawMessage(`{"ID":"arbiter"}`)}},
		Events{Lines: []string{`{"seq":9}`}, Skipped: 6},
		RunEnded{Exit: 130, Text: "stopped", Notices: []string{"To resume: …"}},
	}
	h.parts = want
	path, _ := open(t, h, friend)
	ctx, cancel := context.WithTimeout(t.Context(), waitTimeout)
	defer cancel()
	c, _, err := Dial[testStatus](ctx, path, nil)
	testkit.OK(t, err)
	defer c.Close()
	received := make(chan any, 8)
	testkit.OK(t, c.Subscribe(ctx, SubscribeParams{Since: -1}, func(part any) { received <- part }))
	for i, w := range want {
		select {
		case got := <-received:
			testkit.Check(t, fmt.Sprintf("%+v", got) == fmt.Sprintf("%+v", w), "part %d: %+v instead of %+v", i, got, w)
		case <-ctx.Done():
			t.Fatalf("part %d did not come", i)
		}
	}
	testkit.Fails(t, "a second subscription was accepted", c.Subscribe(ctx, SubscribeParams{}, func(any) {}))
	var wrote []string
	for i := range 20 {
		line := fmt.Sprintf(`{"n":%d}`, i)
		wrote = append(wrote, "screen "+line)
		testkit.OK(t, c.Put(ctx, PutParams{Command: json.RawMessage(line), Frontend: "screen"}))
	}
	testkit.Works(t, "Join", errors.Join(c.Stop(ctx, StopParams{Signal: "INT", Fast: true}), c.InputEnded(ctx)))
	wrote = append(wrote, "stop INT true", "input ended")
	if r, err := c.State(ctx); err != nil || string(r.State) != `{"Paused":true}` || r.Version != 7 {
		t.Errorf("the state is %+v, %v", r, err)
	}
	var got []string
	h.await(t, "all was handed in", func() bool {
		got = slices.DeleteFunc(slices.Clone(h.commands), func(s string) bool {
			return strings.HasPrefix(s, "subscribed")
		})
		return len(got) == len(wrote)
	})
	testkit.Same(t, "handed in", wrote, got)
	c.Close()
	h.await(t, "the subscription ended", func() bool { return slices.Contains(h.commands, "unsubscribed") })
}

// TestGoneSubscriber shows that a client that hangs up while it is sent much data blocks nothing.
func TestGoneSubscriber(t *testing.T) {
	h := newTestService()
	line := strings.Repeat("x", 1<<20)
	for range 64 {
		h.parts = append(h.parts, Events{Lines: []string{line}})
	}
	path, _ := open(t, h, friend)
	conn := testkit.Must(net.Dial("unix", path))(t)
	request := `{"jsonrpc":"2.0","id":1,"method":"subscribe","params":{"since":0}}` + "\n"
	testkit.Must(conn.Write([]byte(request)))(t)
	testkit.Must(conn.Read(make([]byte, 1)))(t)
	_ = conn.Close()
	h.await(t, "sending failed", func() bool { return slices.Contains(h.refused, "send failed") })
}
