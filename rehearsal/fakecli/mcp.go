package fakecli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
)

// mcpServer is an MCP server of the host, reached through mcp_message. session.mu guards its
// fields.
type mcpServer struct {
	name   string
	status string // pending, connected or failed
	tools  []tool
	nextID int
}

// handshakeTimeout is how long the first turn waits for a server.
const handshakeTimeout = 60 * time.Second

// connect begins a handshake with every server that is new.
func (s *session) connect(names []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, name := range names {
		if s.servers[name] == nil {
			sv := &mcpServer{name: name, status: "pending"}
			s.servers[name] = sv
			s.handshakes.Go(func() { s.shakeHands(sv) })
		}
	}
}

func (s *session) shakeHands(sv *mcpServer) {
	ctx, cancel := context.WithTimeout(s.ctx, handshakeTimeout)
	defer cancel()
	tools, err := s.handshake(ctx, sv)
	s.mu.Lock()
	defer s.mu.Unlock()
	sv.status, sv.tools = "connected", tools
	if err != nil {
		sv.status = "failed"
	}
}

func (s *session) handshake(ctx context.Context, sv *mcpServer) (tools []tool, err error) {
	var hello json.RawMessage
	var list struct {
		Tools []struct {
			Name        string          `json:"name"`
			Description string          `json:"description"`
			InputSchema json.RawMessage `json:"inputSchema"`
		} `json:"tools"`
	}
	err = s.mcpRequest(ctx, sv, "initialize", obj{"protocolVersion": "2025-11-25", "capabilities": obj{},
		"clientInfo": obj{"name": "claude-code", "version": version}}, &hello)
	if err == nil {
		_, err = s.host.ask(ctx, mcpMessage(sv.name, obj{"jsonrpc": "2.0", "method": "notifications/initialized"}))
	}
	if err == nil {
		err = s.mcpRequest(ctx, sv, "tools/list", obj{}, &list)
	}
	for _, t := range list.Tools {
		tools = append(tools, tool{toolSpec: toolSpec{"mcp__" + sv.name + "__" + t.Name, t.Description, t.InputSchema},
			server: sv.name, run: callMCP})
	}
	return tools, err
}

func mcpMessage(server string, message obj) obj {
	return obj{"subtype": "mcp_message", "server_name": server, "message": message}
}

// mcpRequest makes one JSON-RPC call.
func (s *session) mcpRequest(ctx context.Context, sv *mcpServer, method string, params obj, result any) error {
	s.mu.Lock()
	id := sv.nextID
	sv.nextID++
	s.mu.Unlock()
	message := obj{"jsonrpc": "2.0", "id": id, "method": method, "params": params}
	body, _, err := s.host.await(ctx, mcpMessage(sv.name, message))
	if err != nil {
		if ctx.Err() != nil {
			s.cancelMCP(sv, id)
		}
		return err
	}
	var w struct {
		Response struct {
			Result json.RawMessage           `json:"result"`
			Error  *struct{ Message string } `json:"error"`
		} `json:"mcp_response"`
	}
	if err := json.Unmarshal(body, &w); err != nil {
		return fmt.Errorf("MCP server %q: %w", sv.name, err)
	}
	if w.Response.Error != nil {
		return errors.New(w.Response.Error.Message)
	}
	return json.Unmarshal(w.Response.Result, result)
}

// cancelMCP tells a server that a call was given up; that takes the place of a
// control_cancel_request. Its answer is not waited for.
func (s *session) cancelMCP(sv *mcpServer, id int) {
	over, cancel := context.WithCancel(context.Background())
	cancel()
	_, _, _ = s.host.await(over, mcpMessage(sv.name, obj{"jsonrpc": "2.0", "method": "notifications/cancelled",
		"params": obj{"requestId": id, "reason": "interrupted"}}))
}

// callMCP runs a tool of a server.
func callMCP(ctx context.Context, t *thread, c toolCall) *toolResult {
	s := t.s
	s.mu.Lock()
	sv := s.servers[strings.SplitN(c.Name, "__", 3)[1]]
	s.mu.Unlock()
	var res struct {
		Content []json.RawMessage `json:"content"`
		IsError bool              `json:"isError"`
	}
	err := s.mcpRequest(ctx, sv, "tools/call", obj{"name": ownName(c.Name), "arguments": c.Input,
		"_meta": obj{"claudecode/toolUseId": c.ID}}, &res)
	switch {
	case err != nil:
		return failed("%v", err)
	case res.IsError:
		return failed("%s", textOf(res.Content))
	case len(res.Content) == 0:
		return &toolResult{content: "(" + c.Name + " completed with no output)"}
	}
	return &toolResult{content: res.Content}
}

// ownName is a server's own name of a tool.
func ownName(name string) string { return strings.SplitN(name, "__", 3)[2] }

// mcpStatus is the answer to mcp_status, and mcp_servers of init.
func (s *session) mcpStatus() []obj {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := []obj{}
	for _, name := range slices.Sorted(maps.Keys(s.servers)) {
		out = append(out, obj{"name": name, "status": s.servers[name].status, "source": "sdk"})
	}
	return out
}
