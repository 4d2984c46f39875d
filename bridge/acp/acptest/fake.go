package acptest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	sdk "github.com/coder/acp-go-sdk"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// TrapsEnv names the variable with the traps of a fake agent, separated by commas:
//
//	unasked     it asks about nothing
//	end-turn    a model that fails looks like the normal end of a turn
//	leave       a cancel leaves the command running
//	no-load     it cannot load sessions
//	auto        it begins in a mode in which it asks about nothing; mode default asks
//	deaf        it does not answer a cancel
//	late        it describes a call after the request about it
//	no-mcp      it starts no MCP servers
const TrapsEnv = "FAKE_ACP_TRAPS"

// RunFake plays the agent on stdin and stdout until its input ends.
func RunFake() int {
	f := &fake{traps: map[string]bool{}, mode: "default", home: filepath.Join(os.Getenv("HOME"), ".fake-acp")}
	for trap := range strings.SplitSeq(os.Getenv(TrapsEnv), ",") {
		f.traps[trap] = true
	}
	if f.traps["auto"] {
		f.mode = "auto"
	}
	f.conn = sdk.NewAgentSideConnection(f, os.Stdout, os.Stdin)
	<-f.conn.Done()
	return 0
}

type fake struct {
	sdk.Agent // nil: it offers nothing of what is not below
	conn      *sdk.AgentSideConnection
	traps     map[string]bool
	home      string

	mu      sync.Mutex
	mode    string
	cwd     string
	history []entry
	session *mcp.ClientSession
	arbiter bool
	calls   int
	used    int
	cancel  context.CancelFunc
}

// entry is one text or call of a session, as it is kept.
type entry struct {
	User, Agent string
	Call        *sdk.SessionUpdateToolCall
}

func (f *fake) Initialize(context.Context, sdk.InitializeRequest) (sdk.InitializeResponse, error) {
	return sdk.InitializeResponse{ProtocolVersion: sdk.ProtocolVersionNumber, AuthMethods: []sdk.AuthMethod{},
		AgentInfo:         &sdk.Implementation{Name: "fake", Version: "1"},
		AgentCapabilities: sdk.AgentCapabilities{LoadSession: !f.traps["no-load"]}}, nil
}

func (f *fake) NewSession(ctx context.Context, p sdk.NewSessionRequest) (sdk.NewSessionResponse, error) {
	id := fmt.Sprintf("fake-%d", os.Getpid())
	return sdk.NewSessionResponse{SessionId: sdk.SessionId(id)}, f.connect(ctx, p.Cwd, p.McpServers)
}

func (f *fake) connect(ctx context.Context, cwd string, servers []sdk.McpServer) error {
	f.cwd = cwd
	if f.traps["no-mcp"] {
		servers = nil
	}
	for _, s := range servers {
		cmd := exec.Command(s.Stdio.Command, s.Stdio.Args...)
		session, err := mcp.NewClient(&mcp.Implementation{Name: "fake", Version: "1"}, nil).Connect(
			context.WithoutCancel(ctx), &mcp.CommandTransport{Command: cmd}, nil)
		if err != nil {
			return err
		}
		f.session = session
		tools, err := session.ListTools(ctx, nil)
		if err != nil {
			return err
		}
		f.arbiter = slices.ContainsFunc(tools.Tools, func(t *mcp.Tool) bool { return t.Name == summons })
	}
	return nil
}

func (f *fake) LoadSession(ctx context.Context, p sdk.LoadSessionRequest) (r sdk.LoadSessionResponse, err error) {
	raw, err := os.ReadFile(filepath.Join(f.home, string(p.SessionId)))
	if err != nil {
		return r, err
	}
	if err := json.Unmarshal(raw, &f.history); err != nil {
		return r, err
	}
	for _, e := range f.history {
		u := sdk.UpdateUserMessageText(e.User)
		if e.Agent != "" {
			u = sdk.UpdateAgentMessageText(e.Agent)
		} else if e.Call != nil {
			u = sdk.SessionUpdate{ToolCall: e.Call}
		}
		f.send(p.SessionId, u)
	}
	return r, f.connect(ctx, p.Cwd, p.McpServers)
}

func (f *fake) keep(id sdk.SessionId, e entry) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.history = append(f.history, e)
	raw, _ := json.Marshal(f.history)
	_ = os.MkdirAll(f.home, 0o700)
	path := filepath.Join(f.home, string(id)) // it is whole, whenever this process is killed
	_ = os.WriteFile(path+".new", raw, 0o600)
	_ = os.Rename(path+".new", path)
}

func (f *fake) send(id sdk.SessionId, u sdk.SessionUpdate) {
	_ = f.conn.SessionUpdate(context.Background(), sdk.SessionNotification{SessionId: id, Update: u})
}

func (f *fake) SetSessionMode(_ context.Context, p sdk.SetSessionModeRequest) (r sdk.SetSessionModeResponse,
	err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.mode = string(p.ModeId)
	return r, nil
}

func (f *fake) Cancel(context.Context, sdk.CancelNotification) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.cancel != nil && !f.traps["deaf"] {
		f.cancel()
	}
	return nil
}

func (f *fake) Prompt(ctx context.Context, p sdk.PromptRequest) (r sdk.PromptResponse, err error) {
	var text strings.Builder
	for _, b := range p.Prompt {
		if b.Text != nil {
			text.WriteString(b.Text.Text + "\n")
			f.keep(p.SessionId, entry{User: b.Text.Text})
		}
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	f.mu.Lock()
	f.cancel = cancel
	f.used += text.Len() / 4
	used := f.used
	f.mu.Unlock()
	f.send(p.SessionId, sdk.SessionUpdate{UsageUpdate: &sdk.SessionUsageUpdate{Used: used, Size: 200_000}})
	for _, o := range opsOf(text.String(), f.arbiter) {
		if err = f.do(ctx, p.SessionId, o); err != nil {
			break
		}
	}
	switch {
	case ctx.Err() != nil:
		return sdk.PromptResponse{StopReason: sdk.StopReasonCancelled}, nil
	case err != nil && f.traps["end-turn"]:
		f.send(p.SessionId, sdk.UpdateAgentMessageText("stream disconnected: "+err.Error()))
	case err != nil:
		return r, err
	}
	return sdk.PromptResponse{StopReason: sdk.StopReasonEndTurn}, nil
}

func (f *fake) do(ctx context.Context, id sdk.SessionId, o op) error {
	first, second := o.two()
	switch o.verb {
	case "say":
		f.keep(id, entry{Agent: o.arg})
		f.send(id, sdk.UpdateAgentMessageText(o.arg))
	case "die":
		os.Exit(1)
	case "cost":
		usd, err := strconv.ParseFloat(o.arg, 64)
		f.send(id, sdk.SessionUpdate{UsageUpdate: &sdk.SessionUsageUpdate{Size: 200_000,
			Cost: &sdk.Cost{Amount: usd, Currency: "USD"}}})
		return err
	case "fail":
		return &sdk.RequestError{Code: -32603, Message: o.arg}
	case "mode":
		f.mu.Lock()
		f.mode = o.arg
		f.mu.Unlock()
		f.send(id, sdk.SessionUpdate{CurrentModeUpdate: &sdk.SessionCurrentModeUpdate{
			CurrentModeId: sdk.SessionModeId(o.arg)}})
	case "shell":
		return f.call(ctx, id, o.arg, sdk.ToolKindExecute, map[string]any{"command": o.arg}, nil,
			func() (string, error) { return f.shell(ctx, o.arg) })
	case "write":
		path := f.path(first)
		return f.call(ctx, id, "write", sdk.ToolKindEdit, map[string]any{"filePath": path},
			[]sdk.ToolCallContent{sdk.ToolDiffContent(path, second)},
			func() (string, error) { return "written", os.WriteFile(path, []byte(second), 0o600) })
	case "read":
		path := f.path(first)
		return f.call(ctx, id, "read", sdk.ToolKindRead, map[string]any{"filePath": path}, nil, func() (string, error) {
			raw, err := os.ReadFile(path)
			return string(raw), err
		})
	case "tool", "verdict":
		if o.verb == "verdict" {
			first, second = "StructuredOutput", o.arg
		}
		var args map[string]any
		if err := json.Unmarshal([]byte(second), &args); err != nil {
			return err
		}
		return f.call(ctx, id, "arbiter_"+first, sdk.ToolKindOther, args, nil, func() (string, error) {
			if f.session == nil {
				return "", errors.New("no such tool")
			}
			res, err := f.session.CallTool(ctx, &mcp.CallToolParams{Name: first, Arguments: args})
			if err != nil {
				return "", err
			}
			text := ""
			for _, c := range res.Content {
				if t, ok := c.(*mcp.TextContent); ok {
					text += t.Text
				}
			}
			if res.IsError {
				return "", errors.New(text)
			}
			return text, nil
		})
	}
	return nil
}

func (f *fake) path(name string) string {
	if filepath.IsAbs(name) {
		return name
	}
	return filepath.Join(f.cwd, name)
}

func (f *fake) shell(ctx context.Context, line string) (string, error) {
	cmd := exec.Command("sh", "-c", line)
	cmd.Dir, cmd.SysProcAttr = f.cwd, &syscall.SysProcAttr{Setpgid: true}
	var out strings.Builder
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Start(); err != nil {
		return "", err
	}
	over := make(chan error, 1)
	go func() { over <- cmd.Wait() }()
	select {
	case err := <-over:
		return out.String(), err
	case <-ctx.Done():
		if !f.traps["leave"] {
			_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
			<-over
		}
		return "", ctx.Err()
	}
}

// call reports a tool call, asks about it, and runs it.
func (f *fake) call(ctx context.Context, id sdk.SessionId, title string, kind sdk.ToolKind, input map[string]any,
	content []sdk.ToolCallContent, run func() (string, error)) error {
	f.mu.Lock()
	f.calls++
	call := sdk.ToolCallId(fmt.Sprintf("call-%d-%d", os.Getpid(), f.calls))
	asks := !f.traps["unasked"] && f.mode == "default"
	f.mu.Unlock()
	told, shown := input, content
	if f.traps["late"] && asks {
		told, shown = map[string]any{}, nil
		defer time.AfterFunc(100*time.Millisecond, func() {
			f.send(id, sdk.UpdateToolCall(call, sdk.WithUpdateRawInput(input), sdk.WithUpdateContent(content)))
		}).Stop()
	}
	f.send(id, sdk.StartToolCall(call, title, sdk.WithStartKind(kind), sdk.WithStartRawInput(told),
		sdk.WithStartContent(shown), sdk.WithStartStatus(sdk.ToolCallStatusPending)))
	if asks {
		r, err := f.conn.RequestPermission(context.WithoutCancel(ctx), sdk.RequestPermissionRequest{SessionId: id,
			ToolCall: sdk.ToolCallUpdate{ToolCallId: call, Title: &title, Kind: &kind, RawInput: told, Content: shown},
			Options: []sdk.PermissionOption{
				{Kind: sdk.PermissionOptionKindAllowAlways, Name: "Always", OptionId: "no"},
				{Kind: sdk.PermissionOptionKindRejectOnce, Name: "No", OptionId: "yes"},
				{Kind: sdk.PermissionOptionKindAllowOnce, Name: "Yes", OptionId: "x"}}})
		if err != nil {
			return err
		}
		if r.Outcome.Selected == nil || r.Outcome.Selected.OptionId != "x" {
			f.send(id, sdk.UpdateToolCall(call, sdk.WithUpdateStatus(sdk.ToolCallStatusFailed),
				sdk.WithUpdateContent([]sdk.ToolCallContent{sdk.ToolContent(sdk.TextBlock("refused"))})))
			return ctx.Err()
		}
	}
	f.send(id, sdk.UpdateToolCall(call, sdk.WithUpdateStatus(sdk.ToolCallStatusInProgress)))
	text, err := run()
	status := sdk.ToolCallStatusCompleted
	if err != nil {
		status, text = sdk.ToolCallStatusFailed, err.Error()
	}
	f.keep(id, entry{Call: &sdk.SessionUpdateToolCall{ToolCallId: call, Title: title, Kind: kind, RawInput: input,
		Status: status}})
	f.send(id, sdk.UpdateToolCall(call, sdk.WithUpdateStatus(status),
		sdk.WithUpdateContent([]sdk.ToolCallContent{sdk.ToolContent(sdk.TextBlock(text))})))
	return ctx.Err()
}
