package main

import (
	"cmp"
	"context"
	"errors"
	"time"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/bridge/claude"
	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/settings"
	"github.com/arbiter-cli/arbiter/tui"
)

// inspectDeadline bounds what a first look at the CLI may take.
const inspectDeadline = 20 * time.Second

// claudeFindings is what can be seen of the CLI that a run would drive, without a session of it.
type claudeFindings struct {
	bridge.ClaudeInfo
	Login   claude.Login
	Problem string // why there is none
	Missing bool   // because there is none
}

// inspectClaude finds out whether there is a CLI to drive and, where that is asked, whether
// it is logged in.
func inspectClaude(ctx context.Context, path string, login bool) (s claudeFindings) {
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

// findingsOfClaude is the first look at the CLI. A rehearsal needs no login: its key is its own.
func findingsOfClaude(ctx context.Context, c settings.Choices) tui.Findings {
	s := inspectClaude(ctx, c.Claude, !c.Rehearse)
	f := tui.Findings{
		Claude: s.Version, Path: s.Path, Problem: s.Problem, Missing: s.Missing, Login: tui.LoginUnknown,
		Account: cmp.Or(s.Login.Email, s.Login.Method), Rehearsal: c.Rehearse, Model: c.Options.Model,
	}
	if s.Login.Known {
		if f.Login = tui.LoginNo; s.Login.LoggedIn {
			f.Login = tui.LoginYes
		}
	}
	return f
}

// tellUntested says so where the CLI is newer than any that was tested.
func (r *runtimeRun) tellUntested(version string) {
	if notice := claude.Untested(version); notice != "" {
		r.tellOf("%s", notice)
	}
}
