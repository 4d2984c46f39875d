package acptest

import (
	"strings"
	"testing"

	"github.com/arbiter-cli/arbiter/internal/testkit"
)

const (
	asks     = `{"jsonrpc":"2.0","id":1,"method":"session/new","params":{"cwd":"/a","mcpServers":[]}}`
	updates  = `{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s","update":`
	subagent = updates + `{"sessionUpdate":"subagent_update","sessionId":"c"}}}`
)

// TestCheck: valid messages pass; the error names what is invalid.
func TestCheck(t *testing.T) {
	for name, c := range map[string]struct {
		fromAgent, unstable bool
		lines               []string
		want                string
	}{
		"a request": {lines: []string{asks}},
		"without its directory": {lines: []string{`{"jsonrpc":"2.0","id":1,"method":"session/new","params":{}}`},
			want: "NewSessionRequest"},
		"to the wrong end":     {fromAgent: true, want: "the schema has no session/new", lines: []string{asks}},
		"an answer to nothing": {lines: []string{`{"jsonrpc":"2.0","id":1,"result":{}}`}, want: "an answer to nothing"},
		"an update": {fromAgent: true, lines: []string{updates +
			`{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"a"}}}}`}},
		"an unknown update": {fromAgent: true, want: "SessionNotification",
			lines: []string{updates + `{"sessionUpdate":"nothing"}}}`}},
		"an unstable update":        {fromAgent: true, want: "SessionNotification", lines: []string{subagent}},
		"an unstable update, known": {fromAgent: true, unstable: true, lines: []string{subagent}},
		"a request withdrawn": {fromAgent: true, lines: []string{`{"jsonrpc":"2.0","method":"$/cancel_request",` +
			`"params":{"requestId":1}}`}},
	} {
		t.Run(name, func(t *testing.T) {
			checker, err := NewChecker(c.unstable)
			testkit.OK(t, err)
			for _, line := range c.lines {
				err = checker.Check(c.fromAgent, []byte(line))
			}
			testkit.Check(t, (c.want != "" || err == nil) &&
				(c.want == "" || err != nil && strings.Contains(err.Error(), c.want)), "%v, want %q", err, c.want)
		})
	}
}
