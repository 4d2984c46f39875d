package claude

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/bridge/driver"
)

const (
	mcpName   = driver.MCPName
	mcpPrefix = "mcp__" + mcpName + "__" // how the model sees our tools
	// mcpGrace is added to a tool's own deadline for passing on the answer.
	mcpGrace = 5 * time.Second
)

// toolServer serves our tools to one agent: an MCP server of the SDK whose
// connection is fed by the control requests of subtype mcp_message.
type toolServer struct {
	ref     bridge.AgentRef
	host    bridge.Host
	conn    *mcpConn
	session *mcp.ServerSession
	longest time.Duration // the longest deadline of a tool
	calls   atomic.Int64
	within  callers
}

// newToolServer checks the tools and opens the session. ctx ends with the agent.
func newToolServer(ctx context.Context, ref bridge.AgentRef, tools []bridge.ToolSpec,
	host bridge.Host) (*toolServer, error) {
	s := &toolServer{ref: ref, host: host, conn: newMCPConn()}
	for _, spec := range tools {
		s.longest = max(s.longest, spec.Timeout())
	}
	server, err := driver.NewToolServer(ctx, tools, "", func(ctx context.Context, spec bridge.ToolSpec,
		req *mcp.CallToolRequest, input json.RawMessage) (bridge.ToolCallResult, error) {
		call := s.callID(req)
		return s.host.ToolCall(ctx, bridge.ToolCallParams{AgentRef: s.ref, Call: call, Tool: spec.Name, Input: input,
			Subagent: s.within.of(call)})
	})
	if err != nil {
		return nil, err
	}
	session, err := server.Connect(ctx, s.conn, nil)
	if err != nil {
		return nil, fmt.Errorf("serve MCP tools: %w", err)
	}
	s.session = session
	return s, nil
}

func (s *toolServer) callID(req *mcp.CallToolRequest) string {
	if id, ok := req.Params.Meta["claudecode/toolUseId"].(string); ok && id != "" {
		return id
	}
	return "call-" + strconv.FormatInt(s.calls.Add(1), 10)
}

// accept passes one mcp_message to the server, in the order of the wire, and returns a function that waits
// for its answer.
func (s *toolServer) accept(request object) func(context.Context) (any, error) {
	r := &fieldReader{obj: request}
	if name := r.str("server_name"); name != mcpName || r.err != nil {
		return refuse(fmt.Errorf("no MCP server %q here", name))
	}
	msg, err := jsonrpc.DecodeMessage(request["message"])
	if err != nil {
		return refuse(fmt.Errorf("read MCP message: %w", err))
	}
	answer := s.conn.push(msg)
	return func(ctx context.Context) (any, error) {
		if answer == nil { // a notification needs an answer too; any success will do
			return mcpEnvelope(json.RawMessage(`{"jsonrpc":"2.0","result":{}}`)), nil
		}
		ctx, cancel := context.WithTimeout(ctx, s.longest+mcpGrace)
		defer cancel()
		select {
		case raw := <-answer:
			return mcpEnvelope(raw), nil
		case <-ctx.Done():
			return nil, fmt.Errorf("MCP request: %w", ctx.Err())
		}
	}
}

func (s *toolServer) end() {
	s.conn.end()
	_ = s.session.Close() // waits for its goroutines; the connection has ended already
}

func mcpEnvelope(raw json.RawMessage) any {
	return map[string]json.RawMessage{"mcp_response": raw}
}

func refuse(err error) func(context.Context) (any, error) {
	return func(context.Context) (any, error) { return nil, err }
}

// mcpConn is the SDK's view of the wire: it reads the CLI's messages and writes answers, each of which goes
// to the waiter for its id. It is its own transport.
type mcpConn struct {
	mu      sync.Mutex
	queue   []jsonrpc.Message // bounded by the CLI's open requests
	waiting map[string]chan json.RawMessage
	ended   bool
	ready   chan struct{} // capacity 1: says that queue or ended changed
}

func newMCPConn() *mcpConn {
	return &mcpConn{waiting: map[string]chan json.RawMessage{}, ready: make(chan struct{}, 1)}
}

func (c *mcpConn) Connect(context.Context) (mcp.Connection, error) { return c, nil }

// SessionID is for transports with more than one session.
func (c *mcpConn) SessionID() string { return "" }

// push queues a message and returns the channel for its answer, or nil if it needs none.
func (c *mcpConn) push(msg jsonrpc.Message) <-chan json.RawMessage {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.queue = append(c.queue, msg)
	c.wake()
	req, ok := msg.(*jsonrpc.Request)
	if !ok || !req.ID.IsValid() {
		return nil
	}
	answer := make(chan json.RawMessage, 1) // the one answer never blocks the SDK
	c.waiting[idKey(req.ID)] = answer
	return answer
}

func (c *mcpConn) Read(ctx context.Context) (jsonrpc.Message, error) {
	for {
		c.mu.Lock()
		if len(c.queue) > 0 {
			msg := c.queue[0]
			c.queue = c.queue[1:]
			c.mu.Unlock()
			return msg, nil
		}
		ended := c.ended
		c.mu.Unlock()
		if ended {
			return nil, io.EOF
		}
		select {
		case <-c.ready:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// Write takes the server's answers. It drops requests and notifications of the server: our tools never
// change, and we request nothing from the CLI over MCP.
func (c *mcpConn) Write(_ context.Context, msg jsonrpc.Message) error {
	res, ok := msg.(*jsonrpc.Response)
	if !ok {
		return nil
	}
	raw, err := jsonrpc.EncodeMessage(res)
	if err != nil {
		return fmt.Errorf("encode MCP answer: %w", err)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	key := idKey(res.ID)
	if answer, ok := c.waiting[key]; ok {
		delete(c.waiting, key)
		answer <- raw
	}
	return nil
}

func (c *mcpConn) Close() error {
	c.end()
	return nil
}

func (c *mcpConn) end() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.ended = true
	c.wake()
}

// wake signals that queue or ended has changed. Call with the lock held.
func (c *mcpConn) wake() {
	select {
	case c.ready <- struct{}{}:
	default:
	}
}

func idKey(id jsonrpc.ID) string { return fmt.Sprintf("%T %v", id.Raw(), id.Raw()) }
