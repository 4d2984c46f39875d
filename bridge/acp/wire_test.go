package acp

import (
	"fmt"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/internal/testkit"
	"github.com/arbiter-cli/arbiter/transcript/jsonl"
)

// said is a line with an update.
func said(kind, text string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s","update":`+
		`{"sessionUpdate":%q,"content":{"type":"text","text":%q}}}}`, kind, text) + "\n"
}

// counter is a client that counts pieces of text.
type counter struct {
	bridge.Host
	pieces atomic.Int64
	errs   atomic.Int64
}

func (c *counter) Emit(e bridge.Event) {
	switch e.Body.(type) {
	case bridge.Delta:
		c.pieces.Add(1)
	case bridge.Error:
		c.errs.Add(1)
	}
}

// spoken is an agent in a turn that has said something and ended.
func spoken(out string) (*agent, *counter) {
	c := &counter{}
	a := newAgent(bridge.SpawnParams{Config: bridge.AgentConfig{Partial: true}}, traits{}, c)
	a.tools = &toolServer{}
	a.turn = &turn{id: "t", calls: map[string]*call{}}
	a.connect(nil, strings.NewReader(out))
	<-a.conn.Done()
	return a, c
}

// TestManyUpdates: all that an agent says at once arrives, before its end does.
func TestManyUpdates(t *testing.T) {
	_, c := spoken(strings.Repeat(said("agent_message_chunk", "more"), 20_000))
	testkit.Same(t, "pieces", int64(20_000), c.pieces.Load())
}

// TestLongLines: an update may be long. Of another message that is, the connection cannot be read on.
func TestLongLines(t *testing.T) {
	long := strings.Repeat("x", 11<<20)
	_, c := spoken(said("agent_message_chunk", long) + said("agent_message_chunk", "more"))
	testkit.Same(t, "pieces", int64(2), c.pieces.Load())
	other := `{"jsonrpc":"2.0","method":"_other","params":"` + long + `"}` + "\n"
	_, c = spoken(other + said("agent_message_chunk", "more"))
	testkit.Check(t, c.pieces.Load() == 0 && c.errs.Load() == 1, "%d pieces, %d errors", c.pieces.Load(), c.errs.Load())
}

// TestARequestFollowsItsUpdates: what an agent says before it asks is served before it is asked about.
func TestARequestFollowsItsUpdates(t *testing.T) {
	a, c := spoken("")
	s := &stdout{a: a, ready: make(chan struct{}), lines: jsonl.NewLineReader(strings.NewReader(
		strings.Repeat(said("agent_message_chunk", "more"), 300)+`{"id":1,"method":"x"}`+"\n"), 0)}
	close(s.ready)
	line := make([]byte, 100)
	n := testkit.Must(s.Read(line))(t)
	testkit.Same(t, "line", `{"id":1,"method":"x"}`+"\n", string(line[:n]))
	testkit.Same(t, "pieces before it", int64(300), c.pieces.Load())
}
