package fakecli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"time"
)

// mcpServer is an MCP server of the host, reached through mcp_message.
type mcpServer struct {
	s      *session
	name   string
	nextID atomic.Int64
}

// handshakeTimeout is how long the first turn waits for a server.
const handshakeTimeout = 60 * time.Second

// connect learns the tools of a server. One that fails has none.
func (s *session) connect(name string) {
	ctx, cancel := context.WithTimeout(s.ctx, handshakeTimeout)
	defer cancel()
	sv := &mcpServer{s: s, name: name}
	var hello json.RawMessage
	var list struct {
		Tools []struct {
			Name        string          `json:"name"`
			Description string          `json:"description"`
			InputSchema json.RawMessage `json:"inputSchema"`
		} `json:"tools"`
	}
	err := sv.request(ctx, "initialize", obj{"protocolVersion": "2025-11-25", "capabilities": obj{},
		"clientInfo": obj{"name": "claude-code", "version": version}}, &hello)
	if err == nil {
		sv.notify(ctx, "notifications/initialized", nil)
		err = sv.request(ctx, "tools/list", obj{}, &list)
	}
	if err != nil {
		fmt.Fprintf(s.stderr, "MCP server %q: %v\n", name, err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, t := range list.Tools {
		full := toolSpec{"mcp__" + name + "__" + t.Name, t.Description, t.InputSchema}
		s.mcpTools = append(s.mcpTools, tool{full, sv.call})
	}
}

func (sv *mcpServer) message(message obj) obj {
	message["jsonrpc"] = "2.0"
	return obj{"subtype": "mcp_message", "server_name": sv.name, "message": message}
}

// notify sends a notification, whose answer says nothing.
func (sv *mcpServer) notify(ctx context.Context, method string, params obj) {
	_, _ = sv.s.host.ask(ctx, sv.message(obj{"method": method, "params": params}), func(string) {})
}

// request makes one JSON-RPC call. A server whose call is given up is told; that takes the
// place of a control_cancel_request.
func (sv *mcpServer) request(ctx context.Context, method string, params obj, result any) error {
	id := sv.nextID.Add(1) - 1
	message := sv.message(obj{"id": id, "method": method, "params": params})
	body, err := sv.s.host.ask(ctx, message, func(string) {
		sv.notify(ctx, "notifications/cancelled", obj{"requestId": id, "reason": "interrupted"})
	})
	if err != nil {
		return err
	}
	var w struct {
		Response struct {
			Result json.RawMessage           `json:"result"`
			Error  *struct{ Message string } `json:"error"`
		} `json:"mcp_response"`
	}
	if err := json.Unmarshal(body, &w); err != nil {
		return err
	}
	if w.Response.Error != nil {
		return errors.New(w.Response.Error.Message)
	}
	return json.Unmarshal(w.Response.Result, result)
}

// call runs a tool of the server.
func (sv *mcpServer) call(ctx context.Context, _ *thread, c toolCall) *toolResult {
	var res struct {
		Content []json.RawMessage `json:"content"`
		IsError bool              `json:"isError"`
	}
	name := strings.TrimPrefix(c.Name, "mcp__"+sv.name+"__")
	err := sv.request(ctx, "tools/call", obj{"name": name, "arguments": c.Input,
		"_meta": obj{"claudecode/toolUseId": c.ID}}, &res)
	switch {
	case err != nil:
		return failed("%v", err)
	case res.IsError:
		return failed("%s", textOf(res.Content))
	}
	return &toolResult{content: res.Content}
}
