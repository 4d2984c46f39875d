package host

// This file looks for the Claude Code CLI that a run would use, and checks whether it is logged in.

import (
	"cmp"
	"context"
	"errors"
	"time"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/bridge/claude"
)

// inspectDeadline bounds the inspection of the CLI.
const inspectDeadline = 20 * time.Second

// ClaudeFindings is what can be learned about the CLI that a run would use, without starting a session.
type ClaudeFindings struct {
	bridge.ClaudeInfo
	Login   claude.Login
	Problem string // why the CLI cannot be used
	Missing bool   // there is no CLI
}

// InspectClaude finds out whether there is a usable CLI and, if login is set, whether it is logged in.
func InspectClaude(ctx context.Context, path string, login bool) (s ClaudeFindings) {
	ctx, cancel := context.WithTimeout(ctx, inspectDeadline)
	defer cancel()
	spec := bridge.ClaudeSpec{Path: cmp.Or(path, "claude")}
	l := claude.NewLauncher("")
	var err error
	if s.ClaudeInfo, err = l.Detect(ctx, spec); err != nil {
		s.Problem = err.Error()
		if rpc, ok := errors.AsType[*bridge.RPCError](err); ok {
			s.Problem, s.Missing = rpc.Message, rpc.Category == bridge.CatClaudeMissing
		}
	} else if login {
		s.Login = l.Login(ctx, spec)
	}
	return s
}
