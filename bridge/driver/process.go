package driver

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"os/exec"
	"strings"
	"sync/atomic"
	"time"

	"github.com/google/uuid"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/bridge/proctree"
	"github.com/arbiter-cli/arbiter/bridge/sandbox"
)

// Process is the process of a session, as every driver has it.
type Process struct {
	Ref    bridge.AgentRef
	Config bridge.AgentConfig
	Host   bridge.Host
	Record bridge.SpawnResult // set before the launch is over
	Child  *proctree.Child    // set by Start
	Stderr *StderrLog
	Ending

	Ctx    context.Context // ends with the process
	Cancel context.CancelFunc
	// LaunchDone is closed when it is known whether the launch succeeded: only then may the end be reported, or
	// suppressed.
	LaunchDone chan struct{}
	Muted      atomic.Bool // the launch failed: no event reports this session

	release func()          // ends its way to the network
	planted func() []string // see [sandbox.Watch]
	begun   time.Time
	output  atomic.Int64 // when it said something last, as a time.Duration since begun
}

// NewProcess returns one that is not started.
func NewProcess(ref bridge.AgentRef, cfg bridge.AgentConfig, host bridge.Host) *Process {
	p := &Process{Ref: ref, Config: cfg, Host: host, LaunchDone: make(chan struct{}), begun: time.Now(),
		Ending: Ending{Stopping: make(chan struct{}), Hurry: make(chan struct{}), done: make(chan struct{})}}
	p.Ctx, p.Cancel = context.WithCancel(context.Background())
	p.Stderr = NewStderrLog(func(line string) { p.Emit(bridge.Stderr{Text: line}) })
	return p
}

// Emit passes an event of the session on.
func (p *Process) Emit(body bridge.EventBody) {
	if !p.Muted.Load() {
		p.Host.Emit(bridge.Event{AgentRef: p.Ref, Body: body})
	}
}

// Info implements bridge.Session.
func (p *Process) Info() bridge.SpawnResult { return p.Record }

// Start starts cmd, confined if a sandbox is given, and records how. self is the program that begins a confined
// process.
func (p *Process) Start(cmd *exec.Cmd, of bridge.Owner, confined *bridge.SandboxConfig, self string) (err error) {
	p.planted = sandbox.Watch(confined, cmd)
	mark := proctree.Mark{Run: of.Run, Bridge: of.Bridge, Agent: fmt.Sprintf("%s.%d", p.Ref.ID, p.Ref.Generation)}
	p.Child, p.release, err = sandbox.Start(cmd, mark, confined, &sandbox.Gate{Self: self, Ask: p.mayReach,
		Report: func(_ string, _ int, why string) { p.Emit(bridge.Notice{Text: "network: " + why}) }})
	if err != nil {
		return err
	}
	p.Record.Argv, p.Record.CWD, p.Record.Env = recordedArgs(cmd), p.Config.CWD, variables(cmd.Env)
	p.Record.SessionID, p.Record.PID, p.Record.Sandbox = p.Config.SessionID, p.Child.PID(), p.Config.Sandbox != nil
	p.Record.PermissionMode = cmp.Or(p.Config.PermissionMode, "default")
	return nil
}

// mayReach asks for permission to reach a host, as for a tool.
func (p *Process) mayReach(ctx context.Context, host string, port int) (bool, string) {
	input, err := json.Marshal(map[string]any{"host": host, "port": port})
	if err != nil {
		return false, err.Error()
	}
	r, err := p.Host.Permission(ctx, bridge.PermissionParams{AgentRef: p.Ref, Request: "perm-" + uuid.NewString(),
		Tool: bridge.NetworkTool, Input: input,
		Reason: "a program of this agent wants to connect to a host that is not listed"})
	if err != nil && r.Message == "" {
		r.Message = err.Error()
	}
	return err == nil && r.Behavior == bridge.Allow, r.Message
}

// NoteOutput records that the process said something.
func (p *Process) NoteOutput() { p.output.Store(int64(time.Since(p.begun))) }

// Signs are the signs of life that can be seen from outside.
func (p *Process) Signs() bridge.ProbeResult {
	usage := p.Child.Usage()
	return bridge.ProbeResult{
		SilentMS: max(0, time.Since(p.begun)-time.Duration(p.output.Load())).Milliseconds(),
		CPUMS:    usage.CPU.Milliseconds(), RSSBytes: usage.RSS, Processes: usage.Processes, Stopped: usage.Stopped,
	}
}

// Reap ends all that is left of the process and returns how many other processes that were. It reports files that run
// by themselves outside, and that appeared in the workspace.
func (p *Process) Reap() (others int) {
	others, err := p.Child.KillNow()
	if err != nil {
		p.Emit(bridge.Error{Category: bridge.CatInternal, Message: fmt.Sprintf("processes are left over: %v", err)})
	}
	<-p.Child.Done() // KILL was sent: the kernel ends it
	p.release()
	if paths := p.planted(); len(paths) > 0 {
		p.Emit(bridge.Notice{Text: strings.Join(paths, ", ") + " appeared while this agent worked: programs outside of the " +
			"sandbox run or obey such files; look at them before you open a shell or an editor there"})
	}
	return others
}

// Exit describes the exit of the process.
func (p *Process) Exit(expected bool, swept int) bridge.Exit {
	e := exitOf(p.Child, expected, swept)
	e.Stderr = p.Stderr.Tail()
	return e
}

// Over reports the end, as the last event.
func (p *Process) Over(exit bridge.Exit) {
	p.Emit(bridge.Done{SessionID: p.Config.SessionID, Exit: exit})
	p.Finish()
}
