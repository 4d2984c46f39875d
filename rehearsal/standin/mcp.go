package standin

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"
)

// mcpServers are the MCP servers of the host, reached through mcp_message.
type mcpServers struct {
	host *host
	wait sync.WaitGroup // handshakes under way

	mu      sync.Mutex
	servers map[string]*mcpServer
}

// mcpServer is one of them. Its fields are guarded by mcpServers.mu.
type mcpServer struct {
	name   string
	status string // pending, connected or failed
	info   json.RawMessage
	tools  []*tool
	nextID int
}

// connect begins a handshake with every server that is new.
func (m *mcpServers) connect(ctx context.Context, names []string) {
	for _, name := range names {
		m.mu.Lock()
		if m.servers == nil {
			m.servers = map[string]*mcpServer{}
		}
		if _, known := m.servers[name]; known {
			m.mu.Unlock()
			continue
		}
		sv := &mcpServer{name: name, status: "pending"}
		m.servers[name] = sv
		m.mu.Unlock()
		m.wait.Go(func() { m.shakeHands(ctx, sv) })
	}
}

// handshakeTimeout is how long one of two attempts waits.
const handshakeTimeout = 30 * time.Second

func (m *mcpServers) shakeHands(ctx context.Context, sv *mcpServer) {
	for range 2 {
		m.mu.Lock()
		sv.nextID = 0
		m.mu.Unlock()
		try, cancel := context.WithTimeout(ctx, handshakeTimeout)
		err := m.handshake(try, sv)
		cancel()
		if err == nil || errors.Is(err, errStreamClosed) || ctx.Err() != nil {
			break
		}
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if sv.status == "pending" {
		sv.status = "failed"
	}
}

func (m *mcpServers) handshake(ctx context.Context, sv *mcpServer) error {
	var hello struct {
		ServerInfo json.RawMessage `json:"serverInfo"`
	}
	err := m.request(ctx, sv, "initialize", obj{
		"protocolVersion": "2025-11-25", "capabilities": obj{},
		"clientInfo": obj{"name": "claude-code", "title": "Claude Code", "version": version},
	}, &hello)
	if err != nil {
		return err
	}
	note := obj{"jsonrpc": "2.0", "method": "notifications/initialized"}
	if _, err := m.host.ask(ctx, envelope(sv.name, note)); err != nil {
		return err
	}
	tools, err := m.list(ctx, sv)
	if err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	sv.status, sv.info, sv.tools = "connected", hello.ServerInfo, tools
	return nil
}

func (m *mcpServers) list(ctx context.Context, sv *mcpServer) ([]*tool, error) {
	var w struct {
		Tools []struct {
			Name        string          `json:"name"`
			Description string          `json:"description"`
			InputSchema json.RawMessage `json:"inputSchema"`
			Annotations struct {
				ReadOnly bool `json:"readOnlyHint"`
			} `json:"annotations"`
		} `json:"tools"`
	}
	if err := m.request(ctx, sv, "tools/list", nil, &w); err != nil {
		return nil, err
	}
	var out []*tool
	for _, t := range w.Tools {
		shared := never
		if t.Annotations.ReadOnly {
			shared = always
		}
		out = append(out, &tool{toolSpec: toolSpec{"mcp__" + sv.name + "__" + t.Name, t.Description, t.InputSchema},
			shared: shared, run: mcpCall, server: sv.name})
	}
	return out, nil
}

func envelope(server string, message obj) obj {
	return obj{"subtype": "mcp_message", "server_name": server, "message": message}
}

// request makes one JSON-RPC call.
func (m *mcpServers) request(ctx context.Context, sv *mcpServer, method string, params obj, result any) error {
	m.mu.Lock()
	id := sv.nextID
	sv.nextID++
	m.mu.Unlock()
	message := obj{"jsonrpc": "2.0", "id": id, "method": method}
	if params != nil {
		if meta, ok := params["_meta"].(obj); ok {
			meta["progressToken"] = id
		}
		message["params"] = params
	}
	body, _, err := m.host.await(ctx, envelope(sv.name, message))
	if err != nil {
		if ctx.Err() != nil {
			m.cancelled(sv, id)
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

// cancelled tells a server that nobody waits for a call any more; that takes the
// place of a control_cancel_request. Nobody waits for the answer to it either.
func (m *mcpServers) cancelled(sv *mcpServer, id int) {
	gone, cancel := context.WithCancel(context.Background())
	cancel()
	_, _, _ = m.host.await(gone, envelope(sv.name, obj{"jsonrpc": "2.0", "method": "notifications/cancelled",
		"params": obj{"requestId": id, "reason": "interrupted"}}))
}

// mcpCall is the run function of MCP tools.
func mcpCall(ctx context.Context, t *thread, c toolCall) toolResult {
	parts := strings.SplitN(c.Name, "__", 3)
	m := t.s.mcp
	m.mu.Lock()
	sv := m.servers[parts[1]]
	m.mu.Unlock()
	var res mcpResult
	err := m.request(ctx, sv, "tools/call", obj{
		"name": parts[2], "arguments": c.Input, "_meta": obj{"claudecode/toolUseId": c.ID},
	}, &res)
	if err != nil {
		return failed("%v", err)
	}
	return res.toolResult(c.Name)
}

type mcpResult struct {
	Content []json.RawMessage `json:"content"`
	IsError bool              `json:"isError"`
}

func (r mcpResult) toolResult(name string) toolResult {
	var texts []string
	for _, b := range r.Content {
		var t struct{ Text string }
		if json.Unmarshal(b, &t) == nil {
			texts = append(texts, t.Text)
		}
	}
	switch {
	case r.IsError:
		return failed("%s", strings.Join(texts, "\n"))
	case len(r.Content) == 0:
		return toolResult{content: "(" + name + " completed with no output)"}
	}
	return toolResult{content: r.Content}
}

// settle waits for handshakes under way: the first turn is held for them.
func (m *mcpServers) settle() { m.wait.Wait() }

// tools lists what connected servers offer, by name.
func (m *mcpServers) tools() (out []*tool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, name := range slices.Sorted(maps.Keys(m.servers)) {
		out = append(out, m.servers[name].tools...)
	}
	slices.SortStableFunc(out, func(a, b *tool) int { return strings.Compare(a.Name, b.Name) })
	return out
}

// brief is init.mcp_servers.
func (m *mcpServers) brief() []obj {
	m.mu.Lock()
	defer m.mu.Unlock()
	out := []obj{}
	for _, name := range slices.Sorted(maps.Keys(m.servers)) {
		out = append(out, obj{"name": name, "status": m.servers[name].status, "source": "sdk"})
	}
	return out
}

// report is the answer to mcp_status.
func (m *mcpServers) report() []obj {
	m.mu.Lock()
	defer m.mu.Unlock()
	out := []obj{}
	for _, name := range slices.Sorted(maps.Keys(m.servers)) {
		sv := m.servers[name]
		tools := []obj{}
		for _, t := range sv.tools {
			tools = append(tools, obj{"name": mcpToolName(t.Name), "annotations": obj{}})
		}
		o := obj{"name": name, "status": sv.status, "transport": "sdk", "scope": "dynamic", "source": "sdk", "tools": tools}
		if len(sv.info) > 0 {
			o["serverInfo"] = sv.info
		}
		out = append(out, o)
	}
	return out
}

// mcpToolName is the server's own name of a tool.
func mcpToolName(name string) string { return strings.SplitN(name, "__", 3)[2] }
