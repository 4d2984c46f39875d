package host

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/bridge/claude"
	"github.com/arbiter-cli/arbiter/supervisor/words"
)

// npmInstall is the command that installs Claude Code on PATH.
const npmInstall = "npm install -g @anthropic-ai/claude-code"

func checkClaude(s Surroundings) []Finding {
	l := list{area: AreaClaude}
	c := s.Claude
	switch {
	case c.Missing && c.Named != "" && len(c.Elsewhere) > 0:
		l.add("claude", DoctorFail, c.Problem, "export ARBITER_CLAUDE="+words.Quote(c.Elsewhere[0]))
		return l.all
	case c.Missing && len(c.Elsewhere) > 0:
		l.add("claude", DoctorFail, "it is not on PATH, but is installed in "+c.Elsewhere[0],
			"export ARBITER_CLAUDE="+words.Quote(c.Elsewhere[0]))
		return l.all
	case c.Missing:
		l.add("claude", DoctorFail, c.Problem, npmInstall)
		return l.all
	case c.Problem != "":
		l.add("claude", DoctorFail, c.Problem, npmInstall+"@latest")
		return l.all
	}
	found := fmt.Sprintf("%s (%s)", c.Version, c.Path)
	switch {
	case c.StandIn:
		l.add("claude", DoctorNote, found+": a stand-in, which plays rehearsals only", npmInstall)
	case claude.Untested(c.Version) != "":
		l.add("claude", DoctorNote, claude.Untested(c.Version), "")
	default:
		l.add("claude", DoctorOK, found, "")
	}
	if len(c.Shadowed) > 0 {
		l.add("others", DoctorNote, "also on PATH, and not used: "+strings.Join(c.Shadowed, ", "), "")
	}
	in, name := c.Login, "claude"
	if c.Named != "" {
		name = words.Quote(c.Path)
	}
	switch {
	case c.StandIn: // it has none
	case in.Known && in.LoggedIn:
		who := in.Method
		if in.Email != "" {
			who += " (" + in.Email + ")"
		}
		l.add("login", DoctorOK, who, "")
	case in.Known:
		l.add("login", DoctorFail, "claude is not logged in", name+" auth login")
	case len(c.Hints) > 0:
		l.add("login", DoctorNote, "claude does not say; there is "+strings.Join(c.Hints, ", "), "")
	default:
		l.add("login", DoctorWarn, "claude does not say, and there is neither a key nor a login to be seen",
			name+" auth login")
	}
	return l.all
}

func quoted(paths []string) string {
	var list []string
	for _, w := range paths {
		list = append(list, words.Quote(w))
	}
	return strings.Join(list, " ")
}

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
