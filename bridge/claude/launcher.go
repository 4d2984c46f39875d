package claude

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/bridge/driver"
	"github.com/arbiter-cli/arbiter/bridge/proctree"
)

// Launcher starts Claude CLIs. Its host process should have called proctree.BecomeSubreaper; otherwise
// orphans are found only by their mark.
type Launcher struct {
	builds   *builds
	watching watching
	queries  atomic.Int64 // so far, for their marks

	judgeTimeout time.Duration // how long a tool call waits for the client's rules
	enterTimeout time.Duration // how long an interrupt waits for the message before it
	self         string        // see Self; "" for none
	cache        string        // the directory of its files; "" for none
}

var _ bridge.Launcher = (*Launcher)(nil)

// NewLauncher returns a launcher that remembers CLI versions in cacheDir; "" stands for
// os.UserCacheDir()/arbiter.
func NewLauncher(cacheDir string) *Launcher {
	if cacheDir == "" {
		if dir, err := os.UserCacheDir(); err == nil {
			cacheDir = filepath.Join(dir, "arbiter")
		}
	}
	file := ""
	if cacheDir != "" {
		file = filepath.Join(cacheDir, "claude-builds.json")
	}
	return &Launcher{builds: &builds{file: file, busy: make(chan struct{}, 1), first: map[string]build{}},
		judgeTimeout: bridge.JudgeTimeout, enterTimeout: enterTimeout, cache: cacheDir}
}

func (l *Launcher) Sweep(of bridge.Owner) int { return proctree.SweepMarked(markOf(of, "")) }

func markOf(of bridge.Owner, agent string) proctree.Mark {
	return proctree.Mark{Run: of.Run, Bridge: of.Bridge, Agent: agent}
}

func (l *Launcher) Launch(ctx context.Context, of bridge.Owner, spec bridge.ClaudeSpec, p bridge.SpawnParams,
	host bridge.Host) (bridge.Agent, error) {
	program, err := l.detect(ctx, spec)
	if err != nil {
		return nil, err
	}
	if err := check(p.Config); err != nil {
		return nil, err
	}
	env, err := l.environ(p.Config.Env)
	if err != nil {
		return nil, err
	}
	shell, err := toolShell()
	if err != nil {
		return nil, err
	}
	env = append(env, "CLAUDE_CODE_SHELL="+shell)
	if p.Config.PermissionMode == bridge.BypassPermissions && os.Geteuid() == 0 {
		// As root the CLI takes this mode only where the environment says that it is confined (observed with CLI 2.1.332).
		// Whether it is, and whether the human wants it otherwise, is checked before a run starts.
		env = append(env, "IS_SANDBOX=1")
	}
	then, err := inspectHistory(ctx, env, p)
	if err != nil {
		return nil, err
	}
	p.Config.Resume = then.resumed
	launch := launchPlan(p.Config)
	cmd := command(program, launch.args, p.Config.CWD, env)
	a, err := l.start(cmd, of, spec.Path, program, then, p, host)
	if err != nil {
		return nil, err
	}
	if err := a.ready(ctx, launch.init); err != nil {
		return nil, a.abort(err)
	}
	return a, nil
}

// command returns the command that runs a CLI.
func command(program build, args []string, dir string, env []string) *exec.Cmd {
	cmd := exec.Command(program.Path, slices.Concat(program.Args, args)...)
	cmd.Dir, cmd.Env = dir, env
	return cmd
}

// start starts the process and the agent's goroutines. name is that under which the program was requested.
func (l *Launcher) start(cmd *exec.Cmd, of bridge.Owner, name string, program build, then history,
	p bridge.SpawnParams, host bridge.Host) (*agent, error) {
	if err := proctree.CheckDir(cmd); err != nil {
		return nil, claudeError(bridge.CatWorkspace, "start the Claude CLI: %v", err)
	}
	pipes, err := driver.NewPipes(cmd)
	if err != nil {
		return nil, claudeError(bridge.CatStart, "start the Claude CLI: %v", err)
	}
	a := newAgent(p, program, host, pipes.Stdin)
	a.judgeTimeout, a.enterTimeout = l.judgeTimeout, l.enterTimeout
	a.past, a.prober.files = then, filesOf(cmd.Env, cmd.Dir)
	a.follow.config, a.follow.path, a.follow.atEnd = a.prober.files.config, then.path, then.resumed
	if then.resumed {
		a.reader.tasks.recall(a.prober.files.config, p.Config.SessionID)
	}
	if len(p.Config.MCPTools) > 0 {
		if a.tools, err = newToolServer(a.Ctx, p.AgentRef, p.Config.MCPTools, host); err != nil {
			pipes.Close()
			a.Cancel()
			return nil, err
		}
	}
	err = a.Start(cmd, of, p.Config.Sandbox, l.self)
	pipes.CloseTheirs()
	if err != nil {
		pipes.Close()
		if a.tools != nil {
			a.tools.end()
		}
		a.Cancel()
		return nil, claudeError(bridge.CatStart, "start the Claude CLI: %v", err)
	}
	var drains sync.WaitGroup
	a.builds = l.builds
	was := l.builds.pinned(name)
	drains.Go(func() { a.reportProgram(name, was) })
	drains.Go(func() {
		a.reader.run(pipes.Stdout)
		close(a.silent)
	})
	drains.Go(func() { a.Stderr.Drain(pipes.Stderr) })
	watcher := l.watching.acquire()
	drains.Go(func() {
		defer l.watching.release()
		a.follow.run(a.Ctx, watcher)
	})
	drains.Go(a.followSpending)
	go a.superviseProcess(&drains, pipes)
	return a, nil
}

// ready waits until the CLI has answered initialize.
func (a *agent) ready(ctx context.Context, init map[string]any) error {
	timeout := a.Config.StartTimeout()
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	raw, err := a.calls.do(ctx, timeout, "initialize", init)
	if err != nil {
		return err
	}
	var hello struct {
		Version string `json:"claude_code_version"`
		Mode    string `json:"current_permission_mode"`
	}
	_ = json.Unmarshal(raw, &hello) // --version has reported it too
	if hello.Version == "" {
		hello.Version = a.program.Version
	}
	info := a.Record // how it was started
	info.ClaudeVersion = hello.Version
	info.Resumed, info.Deliveries = a.past.resumed, a.past.deliveries
	known, _ := a.builds.find(a.program)
	info.ClaudeSHA256 = known.SHA256
	if info.PermissionMode = cmp.Or(hello.Mode, info.PermissionMode); info.PermissionMode != permissionMode(a.Config) {
		return claudeError(bridge.CatStart, "the Claude CLI is in permission mode %s, and not in %s, in which it was "+
			"started: look for a setting that forbids that mode", info.PermissionMode, permissionMode(a.Config))
	}
	a.mode.Store(&info.PermissionMode)
	if r := a.Config.Rules; len(r.Allow)+len(r.Deny)+len(r.Ask) > 0 || a.noSkillCommands(r) {
		if info.NotTaken, err = a.applyRules(ctx, a.Config.Rules); err != nil {
			return err
		}
	}
	if !a.Config.Resume {
		// The CLI is asked before the first message is sent. It names its window before the first reading
		// is made, because warnings depend on it. That delays its first turn by some 40 ms (observed with
		// CLI 2.1.329).
		a.reader.introduce(ctx)
	} else {
		// A resumed session has a context in use from the start.
		a.calls.ask(ctx, "get_usage", usageOfSession, a.reader.spent) // before its first turn costs anything
		if err := a.takeUp(ctx); errCode(err) == bridge.CodeEnded {
			return err
		}
		now := a.gauge.now()
		info.Window, info.Tokens = now.Window, now.Tokens
	}
	a.Record = info
	a.gauge.report(a.Emit) // before the agent's end may be reported
	close(a.LaunchDone)
	return nil
}

func errCode(err error) int {
	if rpc, ok := errors.AsType[*bridge.RPCError](err); ok {
		return rpc.Code
	}
	return 0
}

// abort ends an agent that did not become ready and returns the reason. No event of the agent is emitted
// after this.
func (a *agent) abort(cause error) error {
	a.Muted.Store(true)
	close(a.LaunchDone)
	_ = a.Stop(context.Background(), true) // the ladder is bounded by itself
	message := fmt.Sprintf("the Claude CLI did not become ready: %v", cause)
	if errCode(cause) == bridge.CodeEnded {
		message = fmt.Sprintf("the Claude CLI ended before it was ready (%s)", a.Child.State())
	}
	e := claudeError(bridge.CatStart, "%s", message)
	e.Stderr = a.Stderr.Tail()
	if why := a.startProblem.Load(); why != nil && !strings.Contains(e.Stderr, *why) {
		e.Message += ": " + *why
	}
	if refusedSession(e) {
		e.Category = bridge.CatResume
	}
	return e
}
