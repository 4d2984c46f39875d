package main

import (
	"cmp"
	"context"
	"errors"
	"time"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/bridge/claude"
	"github.com/arbiter-cli/arbiter/tui"
)

// surveyDeadline bounds what a first look at the CLI may take.
const surveyDeadline = 20 * time.Second

// surveyClaude finds out whether there is a CLI to drive, and whether it is logged in.
// A rehearsal needs neither.
func surveyClaude(ctx context.Context, c choices) tui.Findings {
	ctx, cancel := context.WithTimeout(ctx, surveyDeadline)
	defer cancel()
	spec := bridge.ClaudeSpec{Path: cmp.Or(c.Claude, "claude")}
	l := claude.NewLauncher("")
	f := tui.Findings{Login: tui.LoginUnknown, Rehearsal: c.Rehearse, Model: c.Options.Model}
	info, err := l.Detect(ctx, spec)
	var rpc *bridge.RPCError
	switch {
	case errors.As(err, &rpc):
		f.Problem, f.Missing = rpc.Message, rpc.Category == bridge.CatClaudeMissing
		return f
	case err != nil:
		f.Problem = err.Error()
		return f
	}
	f.Claude, f.Path = info.Version, info.Path
	if c.Rehearse {
		return f // its key is the rehearsal's own
	}
	if login := l.Login(ctx, spec); login.Known {
		if f.Login = tui.LoginNo; login.LoggedIn {
			f.Login = tui.LoginYes
		}
		f.Account = login.Email
		if f.Account == "" {
			f.Account = login.Method
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
