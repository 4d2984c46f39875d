package claude

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/internal/testkit"
)

// mcpBubble serves one tool, `work`, inside a synctest bubble.
func mcpBubble(t *testing.T, tool func(context.Context, bridge.ToolCallParams) (bridge.ToolCallResult, error),
	test func(ask func(method, params string) <-chan string, end context.CancelFunc)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		host := newHost(t)
		host.tool = tool
		ctx, cancel := context.WithCancel(context.Background())
		defer cancel()
		s := testkit.Must(newToolServer(ctx, bridge.AgentRef{ID: "a"},
			[]bridge.ToolSpec{{Name: "work", InputSchema: json.RawMessage(`{"type":"object"}`), TimeoutMS: 60_000}},
			host))(t)
		id := 0
		ask := func(method, params string) <-chan string {
			message := fmt.Sprintf(`{"jsonrpc":"2.0","method":%q,"params":%s,"id":%d}`, method, params, id)
			if strings.HasPrefix(method, "notifications/") {
				message = fmt.Sprintf(`{"jsonrpc":"2.0","method":%q,"params":%s}`, method, params)
			} else {
				id++
			}
			obj := testkit.Must(split([]byte(`{"subtype":"mcp_message","server_name":"arbiter","message":` + message + `}`)))(t)
			wait := s.accept(obj)
			answer := make(chan string, 1) // read or not
			go func() {
				payload, err := wait(ctx)
				data, _ := json.Marshal(payload)
				answer <- fmt.Sprint(string(data), err)
			}()
			return answer
		}
		if got := <-ask("initialize", `{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"claude-code","version":"2.1.329"}}`); !strings.Contains(got, `"protocolVersion":"2025-11-25"`) {
			t.Fatalf("initialize: %s", got)
		}
		if got := <-ask("notifications/initialized", `{}`); !strings.HasPrefix(got, `{"mcp_response":{`) {
			t.Errorf("a notification was answered with %s", got)
		}
		test(ask, cancel)
		cancel()
		s.end()
	})
}

func TestMCPTools(t *testing.T) {
	mcpBubble(t, nil, func(ask func(string, string) <-chan string, _ context.CancelFunc) {
		if got := <-ask("tools/list", `{}`); !strings.Contains(got, `"anthropic/alwaysLoad":true`) ||
			!strings.Contains(got, `"inputSchema":{"type":"object"}`) {
			t.Errorf("tools: %s", got)
		}
		if got := <-ask("tools/call", `{"name":"play","arguments":{}}`); !strings.Contains(got, `"error"`) {
			t.Errorf("unknown tool: %s", got)
		}
		if got := <-ask("tools/call", `{"name":"work","arguments":[]}`); !strings.Contains(got, `"isError":true`) {
			t.Errorf("bad arguments: %s", got)
		}
	})
}

func TestMCPCallsDoNotWaitForEachOther(t *testing.T) {
	release := make(chan struct{})
	tool := func(ctx context.Context, p bridge.ToolCallParams) (bridge.ToolCallResult, error) {
		if strings.Contains(string(p.Input), "slow") {
			select {
			case <-release:
			case <-ctx.Done():
				return bridge.ToolCallResult{}, ctx.Err()
			}
		}
		return bridge.ToolCallResult{Text: p.Call}, nil
	}
	mcpBubble(t, tool, func(ask func(string, string) <-chan string, _ context.CancelFunc) {
		release = make(chan struct{})
		slow := ask("tools/call",
			`{"name":"work","arguments":{"slow":1},"_meta":{"claudecode/toolUseId":"toolu_slow"}}`)
		if got := <-ask("tools/call", `{"name":"work"}`); !strings.Contains(got, `"text":"call-1"`) {
			t.Errorf("quick one: %s", got)
		}
		close(release)
		if got := <-slow; !strings.Contains(got, `"text":"toolu_slow"`) {
			t.Errorf("slow one: %s", got)
		}
	})
}

func TestMCPDeadlineAndEnd(t *testing.T) {
	tool := func(ctx context.Context, p bridge.ToolCallParams) (bridge.ToolCallResult, error) {
		<-ctx.Done()
		return bridge.ToolCallResult{}, ctx.Err()
	}
	mcpBubble(t, tool, func(ask func(string, string) <-chan string, end context.CancelFunc) {
		began := time.Now()
		if got := <-ask("tools/call", `{"name":"work"}`); !strings.Contains(got, "No answer within 1m0s") ||
			time.Since(began) != time.Minute {
			t.Errorf("after %v: %s", time.Since(began), got)
		}
		open := ask("tools/call", `{"name":"work"}`)
		synctest.Wait()
		end()
		<-open // with any answer, it does not hang
	})
}

func TestMCPCancelled(t *testing.T) {
	ended := make(chan error, 1)
	tool := func(ctx context.Context, p bridge.ToolCallParams) (bridge.ToolCallResult, error) {
		<-ctx.Done()
		ended <- ctx.Err()
		return bridge.ToolCallResult{}, ctx.Err()
	}
	mcpBubble(t, tool, func(ask func(string, string) <-chan string, _ context.CancelFunc) {
		ended = make(chan error, 1)
		began := time.Now()
		open := ask("tools/call", `{"name":"work"}`)
		synctest.Wait()
		<-ask("notifications/cancelled", `{"requestId":1,"reason":"interrupted"}`)
		<-ended
		<-open
		if time.Since(began) > 10*time.Second {
			t.Errorf("ended after %v only", time.Since(began))
		}
	})
}
