package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/internal/testkit"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
)

// curious is an MCP server with a tool that asks the human for a region. Its arguments are the versions of the protocol
// that it speaks: the older ones ask during the call, the newer ones with its result.
func curious() {
	server := mcp.NewServer(&mcp.Implementation{Name: "curious", Version: "1"},
		&mcp.ServerOptions{SupportedProtocolVersions: os.Args[1:]})
	mcp.AddTool(server, &mcp.Tool{Name: "deploy", Description: "Deploys."},
		func(_ context.Context, r *mcp.CallToolRequest, _ struct{}) (*mcp.CallToolResult, any, error) {
			res, answered := r.Params.InputResponses["region"].(*mcp.ElicitResult)
			if !answered {
				return &mcp.CallToolResult{InputRequests: mcp.InputRequestMap{"region": &mcp.ElicitParams{
					Message: "Which region?", RequestedSchema: map[string]any{
						"type": "object", "properties": map[string]any{"region": map[string]any{"type": "string"}},
						"required": []string{"region"}}}}}, nil, nil
			}
			return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{
				Text: fmt.Sprintf("deployed: %s %v", res.Action, res.Content["region"])}}}, nil, nil
		})
	if err := server.Run(context.Background(), &mcp.StdioTransport{}); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

const deploying = `name: deploying
allow: ["mcp__curious__deploy"]
actors:
  - name: worker
    match: {role: orchestrator}
    steps:
      - use: [{tool: mcp__curious__deploy, input: {}}]
      - expect: deployed. (?P<what>.*)
        verdict: {kind: done, message: "It is {{.what}}.", handoff: {accomplished: [deployed], remaining: [], key_context: none}}
  - name: arbiter
    match: {role: arbiter}
    steps:
      - use: [{tool: mcp__arbiter__spawn_orchestrator, input: {prompt: Deploy it.}}]
      - verdict: {decision: CONTINUE, message: Patience.}
      - {expect: "It is (?P<what>.*)[.]", verdict: {decision: COMPLETE, message: "{{.what}}", summary: "{{.what}}"}}
`

// TestAnMCPServerAsks: what an MCP server wants to know waits in the human's inbox, and the human's answer reaches the
// server. An answer that does not fit is refused with what is asked for; a denial declines.
func TestAnMCPServerAsks(t *testing.T) {
	t.Parallel()
	server := testkit.Must(exec.LookPath("curious"))(t)
	for _, c := range []struct {
		version, behavior, message, want string
		long                             bool
	}{
		{version: "2025-06-18", behavior: bridge.Deny, want: "decline <nil>", long: true},
		{version: "2025-06-18", behavior: bridge.Allow, message: "eu-west", want: "accept eu-west"},
		{version: "2026-07-28", behavior: bridge.Allow, message: "eu-west", want: "accept eu-west", long: true},
		{version: "2026-07-28", behavior: bridge.Deny, want: "decline <nil>"},
	} {
		for _, p := range players(t) {
			t.Run(c.behavior+" "+c.version+"/"+p.name, func(t *testing.T) {
				p.inside(t) // the stand-in has no MCP servers of the user
				if c.long {
					p.long(t)
				}
				t.Parallel()
				s, _ := hired(t, p, deploying, map[string]string{
					".mcp.json":             `{"mcpServers":{"curious":{"command":"` + server + `","args":["` + c.version + `"]}}}`,
					".claude/settings.json": `{"enableAllProjectMcpServers":true}`,
				}, "--trust", "--allow", "mcp__curious__deploy", "--task", "Deploy it")
				r := await[contract.PermissionRequest](s, "the question", nil)
				if r.Tool != bridge.ElicitTool || !strings.Contains(string(r.Input), "Which region?") {
					t.Fatalf("request %+v", r)
				}
				if list := s.waiting(); len(list) != 1 || list[0].Text != "Elicitation: Which region?" {
					t.Errorf("inbox %+v", list)
				}
				s.rejects(contract.Permit{Request: r.Request, Behavior: bridge.Allow}, "region (string)")
				s.accepts(contract.Permit{Request: r.Request, Behavior: c.behavior, Message: c.message})
				if r := s.finish(contract.ExitComplete); !strings.Contains(r.Summary, c.want) {
					t.Errorf("result %+v, want %q", r, c.want)
				}
			})
		}
	}
}
