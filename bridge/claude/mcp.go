package claude

import (
	"context"
	"encoding/json"
	"fmt"
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

// toolServer serves our tools to one agent: an MCP server of the SDK, to which the control requests of subtype
// mcp_message are passed.
type toolServer struct {
	ref     bridge.AgentRef
	host    bridge.Host
	wire    mcp.Connection // the CLI's end
	session *mcp.ServerSession
	longest time.Duration // the longest deadline of a tool
	calls   atomic.Int64
	within  callers
	reading sync.WaitGroup // of the answers

	mu      sync.Mutex
	waiting map[string]chan json.RawMessage // for answers, by the id of the request
}

// newToolServer checks the tools and opens the session. ctx ends with the agent.
func newToolServer(ctx context.Context, ref bridge.AgentRef, tools []bridge.ToolSpec,
	host bridge.Host) (*toolServer, error) {
	s := &toolServer{ref: ref, host: host, waiting: map[string]chan json.RawMessage{}}
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
	near, far := mcp.NewInMemoryTransports()
	s.wire, err = near.Connect(ctx)
	if err == nil {
		s.session, err = server.Connect(ctx, far, nil)
	}
	if err != nil {
		return nil, fmt.Errorf("serve MCP tools: %w", err)
	}
	s.reading.Go(s.readAnswers)
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
	answer, err := s.pass(msg)
	if err != nil {
		return refuse(fmt.Errorf("pass on an MCP message: %w", err))
	}
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
	_ = s.wire.Close()
	_ = s.session.Close() // waits for its goroutines; the connection has ended already
	s.reading.Wait()
}

func mcpEnvelope(raw json.RawMessage) any {
	return map[string]json.RawMessage{"mcp_response": raw}
}

func refuse(err error) func(context.Context) (any, error) {
	return func(context.Context) (any, error) { return nil, err }
}

// pass passes a message to the server, and returns the channel for its answer, or nil if it needs none.
func (s *toolServer) pass(msg jsonrpc.Message) (<-chan json.RawMessage, error) {
	var answer chan json.RawMessage
	if req, ok := msg.(*jsonrpc.Request); ok && req.ID.IsValid() {
		answer = make(chan json.RawMessage, 1) // the one answer never blocks the reader of answers
		s.mu.Lock()
		s.waiting[idKey(req.ID)] = answer
		s.mu.Unlock()
	}
	return answer, s.wire.Write(context.Background(), msg)
}

// readAnswers gives each answer of the server to what waits for it, until the end. It drops requests and notifications
// of the server: our tools never change, and we request nothing from the CLI over MCP.
func (s *toolServer) readAnswers() {
	for {
		msg, err := s.wire.Read(context.Background())
		if err != nil {
			return
		}
		res, ok := msg.(*jsonrpc.Response)
		if !ok {
			continue
		}
		raw, err := jsonrpc.EncodeMessage(res)
		s.mu.Lock()
		answer := s.waiting[idKey(res.ID)]
		delete(s.waiting, idKey(res.ID))
		s.mu.Unlock()
		if answer != nil && err == nil {
			answer <- raw
		}
	}
}

func idKey(id jsonrpc.ID) string { return fmt.Sprintf("%T %v", id.Raw(), id.Raw()) }
