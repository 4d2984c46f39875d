package driver

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/transcript/jsonl"
)

// MCPName is the name of the MCP server that serves Arbiter's tools.
const MCPName = "arbiter"

// ToolCall is a function that a call of a tool is passed to.
type ToolCall func(context.Context, bridge.ToolSpec, *mcp.CallToolRequest, json.RawMessage) (
	bridge.ToolCallResult, error)

// NewToolServer returns an MCP server of tools, which passes their calls on. agent ends with the agent.
func NewToolServer(agent context.Context, tools []bridge.ToolSpec, instructions string, call ToolCall) (
	*mcp.Server, error) {
	server := mcp.NewServer(&mcp.Implementation{Name: MCPName, Version: strconv.Itoa(bridge.ProtocolVersion)},
		&mcp.ServerOptions{Capabilities: &mcp.ServerCapabilities{}, Instructions: instructions})
	for _, spec := range tools {
		handle, err := toolHandler(agent, spec, call)
		if err != nil {
			return nil, err
		}
		// alwaysLoad: the tool is sent with the first request, never deferred to the tool search.
		server.AddTool(&mcp.Tool{Name: spec.Name, Description: spec.Description, InputSchema: spec.InputSchema,
			Meta: mcp.Meta{"anthropic/alwaysLoad": true}}, handle)
	}
	return server, nil
}

// toolHandler serves a tool: it checks the input of a call by the tool's schema and passes the call on. Every failure
// becomes a result that the model can read: a call that is never answered would block the turn forever.
func toolHandler(agent context.Context, spec bridge.ToolSpec, call ToolCall) (mcp.ToolHandler, error) {
	schema, err := inputSchema(spec)
	if err != nil {
		return nil, &bridge.RPCError{Code: jsonrpc.CodeInvalidParams, Message: err.Error()}
	}
	timeout := spec.Timeout()
	return func(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		input := req.Params.Arguments
		if jsonl.IsNull(input) {
			input = json.RawMessage("{}")
		}
		var value any
		if err := json.Unmarshal(input, &value); err != nil {
			return toolText(fmt.Sprintf("The arguments are not JSON: %v.", err), true), nil
		}
		if err := schema.Validate(value); err != nil {
			return toolText(fmt.Sprintf("The arguments do not match the tool's schema: %v.", err), true), nil
		}
		ctx, cancel := context.WithTimeout(ctx, timeout)
		defer cancel()
		defer context.AfterFunc(agent, cancel)()
		res, err := call(ctx, spec, req, input)
		switch {
		case err != nil && res.Text != "": // the host gave a text of its own
			return toolText(res.Text, true), nil
		case errors.Is(err, context.DeadlineExceeded):
			return toolText(fmt.Sprintf("No answer within %s. It may still take effect.", timeout), true), nil
		case err != nil:
			return toolText(fmt.Sprintf("The call failed: %v.", err), true), nil
		}
		return toolText(res.Text, res.IsError), nil
	}, nil
}

// inputSchema resolves a tool's schema; the SDK panics if a schema is not an object.
func inputSchema(spec bridge.ToolSpec) (*jsonschema.Resolved, error) {
	var schema jsonschema.Schema
	if err := json.Unmarshal(spec.InputSchema, &schema); err != nil {
		return nil, fmt.Errorf("tool %q: read input schema: %w", spec.Name, err)
	}
	if spec.Name == "" || schema.Type != "object" {
		return nil, fmt.Errorf("tool %q: needs a name and an input schema of type object", spec.Name)
	}
	resolved, err := schema.Resolve(nil)
	if err != nil {
		return nil, fmt.Errorf("tool %q: resolve input schema: %w", spec.Name, err)
	}
	return resolved, nil
}

func toolText(text string, isError bool) *mcp.CallToolResult {
	return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: text}}, IsError: isError}
}
