package acp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"sync/atomic"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/bridge/driver"
)

// RelayCommand is the hidden command of arbiter that an agent starts as its MCP server: [Relay].
const RelayCommand = "make-tools"

// verdictTool ends a turn. It has the name of Claude Code's own tool, which prompts and corrections name.
const verdictTool = bridge.VerdictTool

// instructions reach the model of most makes, beside the prompt.
const instructions = "End each turn with exactly one call of " + verdictTool + ", with what you report. A turn " +
	"without it does not count. Then write nothing more."

// toolServer serves our tools and the verdict to one agent, on a socket to which a relay connects.
type toolServer struct {
	a        *agent
	dir      string
	listener net.Listener
	server   *mcp.Server
	names    map[string]bool // of the tools
	calls    atomic.Int64
	reached  atomic.Bool // the agent has connected to it
	serving  sync.WaitGroup
}

// newToolServer opens the socket and serves it until end is called.
func newToolServer(a *agent) (*toolServer, error) {
	s := &toolServer{a: a, names: map[string]bool{}}
	specs := a.Config.MCPTools
	if a.Config.JSONSchema != nil {
		specs = append([]bridge.ToolSpec{{Name: verdictTool, InputSchema: a.Config.JSONSchema,
			Description: "Your verdict, which ends this turn: call it exactly once, last."}}, specs...)
	}
	for _, spec := range specs {
		s.names[spec.Name] = true
	}
	var err error
	if s.server, err = driver.NewToolServer(a.Ctx, specs, instructions, s.call); err != nil {
		return nil, err
	}
	var errs []error
	for _, place := range []string{os.TempDir(), "/tmp"} { // the name of a socket is short, and that of TMPDIR may be long
		var err error
		if s.dir, err = os.MkdirTemp(place, "arbiter-make-"); err == nil {
			if s.listener, err = net.Listen("unix", s.socket()); err == nil {
				s.serving.Go(s.accept)
				return s, nil
			}
			_ = os.RemoveAll(s.dir)
		}
		errs = append(errs, err)
	}
	return nil, fmt.Errorf("the tools' socket: %w", errors.Join(errs...))
}

func (s *toolServer) socket() string { return filepath.Join(s.dir, "s") }

func (s *toolServer) accept() {
	for {
		conn, err := s.listener.Accept()
		if err != nil {
			return
		}
		s.reached.Store(true)
		s.a.keepPresent() // an interrupt must not end the relay
		s.serving.Go(func() {
			defer conn.Close()
			defer context.AfterFunc(s.a.Ctx, func() { conn.Close() })()
			session, err := s.server.Connect(s.a.Ctx, &mcp.IOTransport{Reader: conn, Writer: conn}, nil)
			if err == nil {
				_ = session.Wait() // it ends with the connection
			}
		})
	}
}

func (s *toolServer) call(ctx context.Context, spec bridge.ToolSpec, _ *mcp.CallToolRequest, input json.RawMessage) (
	bridge.ToolCallResult, error) {
	switch {
	case spec.Name != verdictTool:
		return s.a.Host.ToolCall(ctx, bridge.ToolCallParams{AgentRef: s.a.Ref, Tool: spec.Name, Input: input,
			Call: "call-" + strconv.FormatInt(s.calls.Add(1), 10)})
	case s.a.rule(input):
		return bridge.ToolCallResult{Text: "Recorded. Your turn is over: write nothing more."}, nil
	}
	return bridge.ToolCallResult{Text: "No turn runs.", IsError: true}, nil
}

// end closes the socket and waits for the calls. The agent's context has ended.
func (s *toolServer) end() {
	_ = s.listener.Close()
	s.serving.Wait()
	_ = os.RemoveAll(s.dir)
}

// Relay connects an agent's MCP client, on stdin and stdout, with the socket of its tools. It returns when one of them
// has closed.
func Relay(socket string, stdin io.Reader, stdout io.Writer) error {
	conn, err := net.Dial("unix", socket)
	if err != nil {
		return fmt.Errorf("arbiter's tools: %w", err)
	}
	defer conn.Close()
	done := make(chan error, 2) // the process ends with the first
	copying := func(to io.Writer, from io.Reader) {
		_, err := io.Copy(to, from)
		done <- err
	}
	go copying(conn, stdin)
	go copying(stdout, conn)
	return <-done
}
