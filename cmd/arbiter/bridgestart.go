package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/exec"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/bridge/proctree"
	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/command"
	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/stage"
	"github.com/arbiter-cli/arbiter/supervisor/input"
)

// localBridge is the name of the bridge on this machine among those of a run.
const localBridge = "here"

// bridgeStart is what a bridge is started with.
type bridgeStart struct {
	run     string // whose mark it and its descendants bear
	cwd     string
	claude  string // empty: claude on PATH
	debug   bool
	pidns   proctree.Mode
	stage   *stage.Stage // nil unless this is a rehearsal
	lock    *os.File     // that it holds, too; nil for none
	handler bridge.Handler
	started func(pid int) // is called with the process's id; may be nil
	log     *slog.Logger
}

// open starts the process and waits for its first answer. A caller that keeps the client
// closes it, also after a failure.
func (b bridgeStart) open(ctx context.Context,
	keep func(*bridge.Client)) (*bridge.Client, bridge.ClaudeInfo, *input.BridgeFailed) {
	failed := func(c bridge.Category, format string,
		args ...any) (*bridge.Client, bridge.ClaudeInfo, *input.BridgeFailed) {
		return nil, bridge.ClaudeInfo{}, &input.BridgeFailed{Category: c, Message: fmt.Sprintf(format, args...)}
	}
	self, err := os.Executable()
	if err != nil {
		return failed(bridge.CatInternal, "cannot find arbiter's own program: %v", err)
	}
	args := []string{"bridge"}
	if b.debug {
		args = append(args, "--debug")
	}
	cmd := exec.Command(self, args...)
	cmd.Env, cmd.Dir = os.Environ(), b.cwd
	claude := bridge.ClaudeSpec{Path: cmp.Or(b.claude, "claude")}
	if b.stage != nil {
		cmd.Env, claude = append([]string(nil), b.stage.Env...), b.stage.Claude
	}
	if err := proctree.AdoptOrphans(); err != nil {
		// what a killed bridge leaves is then found by its mark alone
		b.log.Warn("become subreaper failed", "error", err)
	}
	if err := proctree.KeepFiles(); err != nil {
		b.log.Warn("close inherited files failed", "error", err) // agents have open what this process was started with
	}
	// The bridge bears the mark, too: one that hangs is swept with the rest.
	cmd.Env = append(cmd.Env, proctree.Mark{Run: b.run, Bridge: localBridge}.Env()...)
	if b.lock != nil {
		proctree.InheritLock(cmd, b.lock)
	}
	isolation := proctree.Isolate(ctx, cmd, b.pidns)
	client, err := bridge.StartProcess(ctx, cmd, b.handler, b.log, proctree.Keep)
	if err != nil {
		return failed(bridge.CatInternal, "the bridge did not start: %v", err)
	}
	keep(client)
	if b.started != nil {
		b.started(cmd.Process.Pid)
	}
	ictx, cancel := context.WithTimeout(ctx, initializeDeadline)
	defer cancel()
	init, err := client.Initialize(ictx, bridge.InitializeParams{
		ProtocolVersion: bridge.ProtocolVersion, Client: "arbiter " + command.Version(), Run: b.run, Bridge: localBridge,
		Claude: claude,
	})
	if err != nil {
		var rpc *bridge.RPCError
		if errors.As(err, &rpc) && rpc.Category != "" {
			return failed(rpc.Category, "%s", rpc.Message)
		}
		return failed(bridge.CatInternal, "the bridge did not answer: %v", err)
	}
	b.log.Info("bridge", "run", b.run, "arbiter", command.Version(), "claude", init.Claude.Version,
		"path", init.Claude.Path, "cwd", b.cwd, "namespace", isolation.String())
	return client, init.Claude, nil
}
