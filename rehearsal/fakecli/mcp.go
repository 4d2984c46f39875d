package fakecli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
)

// mcpServer is an MCP server of the host, reached through mcp_message.
type mcpServer struct {
	s      *session
	name   string
	nextID atomic.Int64
}

// connect requests the tools of a server. If that fails, it has none.
func (s *session) connect(name string) {
	ctx, sv := s.ctx, &mcpServer{s: s, name: name}
	var list struct {
		Tools []struct {
			Name        string          `json:"name"`
			Description string          `json:"description"`
			InputSchema json.RawMessage `json:"inputSchema"`
		} `json:"tools"`
	}
	err := sv.call(ctx, "initialize", obj{"protocolVersion": "2025-11-25", "capabilities": obj{},
		"clientInfo": obj{"name": "claude-code", "version": version}}, &struct{}{})
	if err == nil {
		_ = sv.send(ctx, obj{"method": "notifications/initialized"}, &struct{}{}) // its answer has no meaning
		err = sv.call(ctx, "tools/list", obj{}, &list)
	}
	if err != nil {
		fmt.Fprintf(s.stderr, "MCP server %q: %v\n", name, err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, t := range list.Tools {
		full := toolSpec{"mcp__" + name + "__" + t.Name, t.Description, t.InputSchema}
		s.mcpTools = append(s.mcpTools, tool{full, sv.run})
	}
}

func (sv *mcpServer) send(ctx context.Context, message obj, response any) error {
	message["jsonrpc"] = "2.0"
	return sv.s.ask(ctx, obj{"subtype": "mcp_message", "server_name": sv.name, "message": message}, response)
}

func (sv *mcpServer) call(ctx context.Context, method string, params obj, result any) error {
	var w struct {
		Response struct {
			Result json.RawMessage           `json:"result"`
			Error  *struct{ Message string } `json:"error"`
		} `json:"mcp_response"`
	}
	err := sv.send(ctx, obj{"id": sv.nextID.Add(1) - 1, "method": method, "params": params}, &w)
	switch {
	case err != nil:
		return err
	case w.Response.Error != nil:
		return errors.New(w.Response.Error.Message)
	}
	return json.Unmarshal(w.Response.Result, result)
}

func (sv *mcpServer) run(ctx context.Context, _ *thread, c toolCall) *toolResult {
	var res struct {
		Content []json.RawMessage `json:"content"`
		IsError bool              `json:"isError"`
	}
	err := sv.call(ctx, "tools/call", obj{"name": strings.TrimPrefix(c.Name, "mcp__"+sv.name+"__"),
		"arguments": c.Input, "_meta": obj{"claudecode/toolUseId": c.ID}}, &res)
	switch {
	case err != nil:
		return failed(err.Error())
	case res.IsError:
		return failed(textOf(res.Content))
	}
	return &toolResult{content: res.Content}
}
