package fakecli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// host sends control requests to the program that started the CLI: permissions, hooks and
// MCP calls. The reader of stdin delivers the answers.
type host struct {
	emit func(obj)

	mu      sync.Mutex
	pending map[string]chan reply
	closed  bool
}

// reply is the host's answer, or a refusal with its reason.
type reply struct {
	body    json.RawMessage
	refused bool
	reason  string
}

// errStreamClosed: stdin ended, so no answer can come.
var errStreamClosed = errors.New("stream closed")

// ask sends a request and waits for its answer. When ctx ends first, it takes the request back.
func (h *host) ask(ctx context.Context, request obj) (json.RawMessage, error) {
	id := newUUID()
	answer := make(chan reply, 1) // one answer at most, so resolve never blocks
	h.mu.Lock()
	if h.closed {
		h.mu.Unlock()
		return nil, errStreamClosed
	}
	h.pending[id] = answer
	h.mu.Unlock()
	h.emit(obj{"type": "control_request", "request_id": id, "request": request})
	select {
	case r, open := <-answer:
		switch {
		case !open:
			return nil, errStreamClosed
		case r.refused:
			return nil, errors.New(r.reason)
		}
		return r.body, nil
	case <-ctx.Done():
		h.resolve(id, reply{})
		h.emit(obj{"type": "control_cancel_request", "request_id": id})
		return nil, context.Cause(ctx)
	}
}

// resolve delivers an answer. One to a request that is not pending is ignored.
func (h *host) resolve(id string, r reply) {
	h.mu.Lock()
	answer, ok := h.pending[id]
	delete(h.pending, id)
	h.mu.Unlock()
	if ok {
		answer <- r
	}
}

// close fails all requests, pending and future.
func (h *host) close() {
	h.mu.Lock()
	pending := h.pending
	h.pending, h.closed = nil, true
	h.mu.Unlock()
	for _, answer := range pending {
		close(answer)
	}
}

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
	_, _ = sv.s.host.ask(ctx, sv.message(obj{"method": method, "params": params}))
}

// request makes one JSON-RPC call.
func (sv *mcpServer) request(ctx context.Context, method string, params obj, result any) error {
	id := sv.nextID.Add(1) - 1
	body, err := sv.s.host.ask(ctx, sv.message(obj{"id": id, "method": method, "params": params}))
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
