package acp

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	sdk "github.com/coder/acp-go-sdk"
	"github.com/google/uuid"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/bridge/driver"
	"github.com/arbiter-cli/arbiter/bridge/proctree"
)

// Launcher starts agents of other makes.
type Launcher struct {
	// Self is arbiter's own program: it serves [RelayCommand], and begins a confined process.
	Self string
}

// Launch starts an agent whose configuration names a make, as [bridge.Launcher] has it.
func (l *Launcher) Launch(ctx context.Context, of bridge.Owner, p bridge.SpawnParams, host bridge.Host) (
	bridge.Agent, error) {
	t := traitsOf(p.Config.Make)
	if err := mayRun(p.Config, t); err != nil {
		return nil, err
	}
	if p.Config.Resume && p.Config.MakeSession == "" {
		return nil, problem(bridge.CatResume, "%s: the id of its session is not known", p.Config.Make.Name)
	}
	cmd, err := command(p.Config, t)
	if err != nil {
		return nil, err
	}
	a := newAgent(p, t, host)
	a.resumed = p.Config.Resume
	if a.realCWD, err = filepath.EvalSymlinks(p.Config.CWD); err != nil {
		a.Cancel()
		return nil, problem(bridge.CatWorkspace, "start %s: %v", p.Config.Make.Name, err)
	}
	if err := l.start(a, cmd, of); err != nil {
		a.Cancel()
		return nil, problem(bridge.CatStart, "start %s: %v", p.Config.Make.Name, err)
	}
	if err := a.ready(ctx, l.Self, p.Pending); err != nil {
		return nil, a.abort(err)
	}
	return a, nil
}

// mayRun refuses a make that would run calls which nobody could deny.
func mayRun(cfg bridge.AgentConfig, t traits) error {
	m := cfg.Make
	if len(m.Command) == 0 {
		return problem(bridge.CatStart, "the make %s is no longer configured: add makes.%[1]s to the configuration", m.Name)
	}
	if t.asks || cfg.Sandbox != nil || m.AcceptUnasked {
		return nil
	}
	return problem(bridge.CatStart, "the make %s does not ask about each command and edit, so deny rules do not hold for "+
		"it: use --sandbox, or set makes.%[1]s.accept_unasked to true in the configuration to let Orchestrators of it run "+
		"without one", m.Name)
}

// NeedsSandbox reports whether a make runs only in a sandbox.
func NeedsSandbox(m bridge.MakeSpec) bool { return !traitsOf(&m).asks && !m.AcceptUnasked }

// Look starts an agent in an empty directory, has it begin a session, and ends it. The result says what it is.
func (l *Launcher) Look(ctx context.Context, m bridge.MakeSpec) (bridge.SpawnResult, error) {
	dir, err := os.MkdirTemp("", "arbiter-look-")
	if err != nil {
		return bridge.SpawnResult{}, fmt.Errorf("look at %s: %w", m.Name, err)
	}
	defer os.RemoveAll(dir)
	m.AcceptUnasked = true // nothing is asked of it
	id := uuid.NewString()
	a, err := l.Launch(ctx, bridge.Owner{Run: id}, bridge.SpawnParams{AgentRef: bridge.AgentRef{ID: "look", Generation: 1},
		Config: bridge.AgentConfig{Make: &m, SessionID: id, CWD: dir}}, nobody{})
	if err != nil {
		return bridge.SpawnResult{}, err
	}
	stop, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
	defer cancel()
	return a.Info(), a.Stop(stop, false)
}

// nobody is the client of an agent that is only looked at.
type nobody struct{}

var errNobody = errors.New("nobody is there")

func (nobody) Emit(bridge.Event) {}

func (nobody) ToolCall(context.Context, bridge.ToolCallParams) (r bridge.ToolCallResult, err error) {
	return r, errNobody
}

func (nobody) Permission(context.Context, bridge.PermissionParams) (r bridge.PermissionResult, err error) {
	return r, errNobody
}

func (nobody) Judge(context.Context, bridge.JudgeParams) (r bridge.JudgeResult, err error) {
	return r, errNobody
}

func problem(c bridge.Category, format string, args ...any) error {
	return &bridge.RPCError{Code: bridge.CodeClaude, Category: c, Message: fmt.Sprintf(format, args...)}
}

// trusted reports whether the settings of the workspace may be loaded.
func trusted(cfg bridge.AgentConfig) bool { return slices.Contains(cfg.SettingSources, "project") }

// environment is what a make is started with: what each agent gets, and what the table and the configuration name.
func environment(cfg bridge.AgentConfig, t traits) []string {
	inherited := os.Environ()
	env := proctree.EnvFrom(inherited, cfg.Env)
	entries := slices.Concat(t.env, cfg.Make.Env)
	if !trusted(cfg) {
		entries = append(entries, t.distrust...)
	}
	for _, entry := range entries {
		name, value, set := strings.Cut(entry, "=")
		if !set {
			_, given := cfg.Env[name] // such as what the client passes to another host
			if value = proctree.EnvLookup(inherited, name); value == "" || given {
				continue
			}
		}
		env[name] = value
	}
	return proctree.EnvList(env)
}

// command returns the command that runs an agent.
func command(cfg bridge.AgentConfig, t traits) (*exec.Cmd, error) {
	path, err := exec.LookPath(cfg.Make.Command[0])
	if err != nil {
		return nil, problem(bridge.CatStart, "the make %s: %v: install it, or correct makes.%[1]s.command", cfg.Make.Name,
			err)
	}
	if path, err = filepath.Abs(path); err != nil {
		return nil, problem(bridge.CatStart, "the make %s: %v", cfg.Make.Name, err)
	}
	cmd := exec.Command(path, cfg.Make.Command[1:]...)
	cmd.Dir, cmd.Env = cfg.CWD, environment(cfg, t)
	return cmd, nil
}

// confined is the sandbox of an agent: it also writes where the make keeps its sessions, and reaches our tools.
func (a *agent) confined(cmd *exec.Cmd, self string) *bridge.SandboxConfig {
	if a.Config.Sandbox == nil {
		return nil
	}
	c := *a.Config.Sandbox
	c.Write, c.Reach = slices.Clone(c.Write), append(slices.Clone(c.Reach), a.tools.dir)
	c.Read = append(slices.Clone(c.Read), self)
	home := proctree.EnvLookup(cmd.Env, "HOME")
	for _, dir := range a.traits.writes {
		dir = filepath.Join(home, dir)
		if os.MkdirAll(dir, 0o700) == nil {
			c.Write = append(c.Write, dir)
		}
	}
	return &c
}

// start starts the process and the agent's goroutines.
func (l *Launcher) start(a *agent, cmd *exec.Cmd, of bridge.Owner) (err error) {
	if err := proctree.CheckDir(cmd); err != nil {
		return err
	}
	if a.tools, err = newToolServer(a); err != nil {
		return err
	}
	undo := func() { a.Cancel(); a.tools.end() }
	if flag := a.traits.toolsFlag; flag != "" {
		ours := map[string]any{"type": "local", "command": l.Self, "args": []string{RelayCommand, a.tools.socket()},
			"tools": []string{"*"}}
		cmd.Args = append(cmd.Args, flag, string(encode(map[string]any{"mcpServers": map[string]any{driver.MCPName: ours}})))
	}
	if a.pipes, err = driver.NewPipes(cmd); err != nil {
		undo()
		return err
	}
	confined := a.confined(cmd, l.Self)
	err = a.Start(cmd, of, confined, l.Self)
	a.pipes.CloseTheirs()
	if err != nil {
		a.pipes.Close()
		undo()
		return err
	}
	a.running.Store(true)
	a.connect(a.pipes.Stdin, a.pipes.Stdout)
	var drains sync.WaitGroup
	drains.Go(func() { a.Stderr.Drain(a.pipes.Stderr) })
	go a.supervise(&drains)
	return nil
}

// ready begins the session, or takes up an earlier one.
func (a *agent) ready(ctx context.Context, self string, pending []string) error {
	ctx, cancel := context.WithTimeout(ctx, a.Config.StartTimeout())
	defer cancel()
	defer context.AfterFunc(a.Ctx, cancel)()
	hello, err := a.conn.Initialize(ctx, sdk.InitializeRequest{ProtocolVersion: sdk.ProtocolVersionNumber,
		ClientInfo: &sdk.Implementation{Name: "arbiter", Version: fmt.Sprint(bridge.ProtocolVersion)}})
	if err != nil {
		return fmt.Errorf("initialize: %w", err)
	}
	if hello.ProtocolVersion != sdk.ProtocolVersionNumber {
		return fmt.Errorf("it speaks version %d of the protocol, and arbiter version %d", hello.ProtocolVersion,
			sdk.ProtocolVersionNumber)
	}
	loads := hello.AgentCapabilities.LoadSession && !a.traits.forgets
	a.images = hello.AgentCapabilities.PromptCapabilities.Image
	if a.Config.Resume {
		if !loads {
			return problem(bridge.CatResume, "it cannot load a session")
		}
		err = a.load(ctx, self)
	} else {
		err = a.begin(ctx, self)
	}
	if err != nil {
		return err
	}
	if err := a.setMode(ctx); err != nil {
		return err
	}
	if a.Config.Model != "" {
		if err := a.setModel(ctx, a.Config.Model); err != nil {
			return err
		}
	}
	a.keepPresent()
	a.mu.Lock()
	defer a.mu.Unlock()
	if !a.traits.metaSystem && (a.loading == nil || len(a.loading.acts) == 0) {
		a.preamble = a.system() // the session has not had it
	}
	a.Record.MakeSession, a.Record.Resumed = string(a.session), a.resumed
	a.Record.Lacks = a.traits.lacks(loads, trusted(a.Config))
	if who := hello.AgentInfo; who != nil {
		a.Record.MakeVersion = strings.TrimSpace(who.Name + " " + who.Version)
	}
	a.Record.Window, a.Record.Tokens = a.context.Window, a.context.Tokens
	if a.loading != nil {
		for _, id := range pending {
			a.Record.Deliveries = append(a.Record.Deliveries, a.loading.delivery(id))
		}
		a.loading = nil
	}
	close(a.LaunchDone)
	return nil
}

func (a *agent) servers(self string) []sdk.McpServer {
	if a.traits.toolsFlag != "" {
		return []sdk.McpServer{}
	}
	return []sdk.McpServer{{Stdio: &sdk.McpServerStdio{Name: driver.MCPName, Command: self,
		Args: []string{RelayCommand, a.tools.socket()}, Env: []sdk.EnvVariable{}}}}
}

// system is our system text.
func (a *agent) system() string {
	return strings.TrimSpace(a.Config.SystemPrompt + "\n\n" + a.Config.AppendSystemPrompt + "\n\n" + instructions +
		" The tool belongs to the MCP server " + driver.MCPName + "; its name may be longer in your list, such as " +
		driver.MCPName + "_" + verdictTool + " or mcp__" + driver.MCPName + "__" + verdictTool + ".")
}

// meta is what a new or loaded session is given besides the protocol.
func (a *agent) meta() map[string]any {
	meta := map[string]any{}
	if a.traits.metaSystem {
		meta["systemPrompt"] = map[string]any{"append": a.system()}
	}
	if a.traits.metaRules {
		// Asking takes precedence over what the user's own settings allow.
		ask := slices.Clone(a.Config.Rules.Ask)
		for _, tool := range bridge.KnownTools() {
			if bridge.IsEditor(tool) || bridge.RunsLines(tool) {
				ask = append(ask, tool)
			}
		}
		options := map[string]any{
			"disallowedTools": slices.Concat(a.Config.Rules.Deny, a.Config.DisallowedTools),
			"settingSources":  append([]string{}, a.Config.SettingSources...),
			"settings":        map[string]any{"permissions": map[string]any{"ask": ask}},
			"strictMcpConfig": a.Config.StrictMCP,
		}
		if a.Config.Tools != nil {
			options["tools"] = a.Config.Tools
		}
		meta["claudeCode"] = map[string]any{"options": options}
	}
	return meta
}

func (a *agent) begin(ctx context.Context, self string) error {
	s, err := a.conn.NewSession(ctx, sdk.NewSessionRequest{Cwd: a.Config.CWD, McpServers: a.servers(self), Meta: a.meta()})
	if err != nil {
		return fmt.Errorf("begin a session: %w", err)
	}
	a.session = s.SessionId
	return nil
}

func (a *agent) load(ctx context.Context, self string) error {
	a.mu.Lock()
	a.loading = &replay{calls: map[string]*call{}}
	a.mu.Unlock()
	a.session = sdk.SessionId(a.Config.MakeSession)
	_, err := a.conn.LoadSession(ctx, sdk.LoadSessionRequest{SessionId: a.session, Cwd: a.Config.CWD,
		McpServers: a.servers(self), Meta: a.meta()})
	if err != nil {
		return problem(bridge.CatResume, "load session %s: %v", a.session, err)
	}
	return nil
}

// setMode sets the mode in which the make asks. A make that does not take it is not trusted.
func (a *agent) setMode(ctx context.Context) error {
	if a.traits.mode == "" {
		return nil
	}
	if _, err := a.conn.SetSessionMode(ctx, sdk.SetSessionModeRequest{SessionId: a.session,
		ModeId: sdk.SessionModeId(a.traits.mode)}); err != nil {
		return fmt.Errorf("it does not take mode %s, in which it asks about what it does: %w", a.traits.mode, err)
	}
	return nil
}

func (a *agent) setModel(ctx context.Context, model string) error {
	_, err := a.conn.UnstableSetSessionModel(ctx, sdk.UnstableSetSessionModelRequest{SessionId: a.session,
		ModelId: sdk.UnstableModelId(model)})
	if err != nil {
		return &bridge.RPCError{Code: bridge.CodeRefused,
			Message: fmt.Sprintf("it does not take the model %s: %v", model, err)}
	}
	return nil
}

// abort ends an agent that did not become ready and returns the reason. No event of the agent is emitted after this.
func (a *agent) abort(cause error) error {
	a.Muted.Store(true)
	close(a.LaunchDone)
	_ = a.Stop(context.Background(), true) // the steps are bounded by themselves
	var typed *bridge.RPCError
	if !errors.As(cause, &typed) {
		typed = &bridge.RPCError{Code: bridge.CodeClaude, Category: bridge.CatStart, Message: cause.Error()}
		var refused *sdk.RequestError
		if errors.As(cause, &refused) && refused.Code == -32000 {
			typed.Category = bridge.CatAuth
		}
	}
	e := *typed
	e.Message = fmt.Sprintf("%s did not become ready: %s", a.Config.Make.Name, typed.Message)
	e.Stderr = a.Stderr.Tail()
	return &e
}
