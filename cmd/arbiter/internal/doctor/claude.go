package doctor

import (
	"fmt"
	"strings"

	"github.com/arbiter-cli/arbiter/supervisor/words"
)

// npmInstall is the command that installs Claude Code on PATH.
const npmInstall = "npm install -g @anthropic-ai/claude-code"

func checkClaude(s Surroundings) []Finding {
	l := list{area: AreaClaude}
	c := s.Claude
	switch {
	case c.Missing && c.Named != "" && len(c.Elsewhere) > 0:
		l.add("claude", Fail, c.Problem, "export ARBITER_CLAUDE="+words.Quote(c.Elsewhere[0]))
		return l.all
	case c.Missing && len(c.Elsewhere) > 0:
		l.add("claude", Fail, "it is not on PATH, but is installed in "+c.Elsewhere[0],
			"export ARBITER_CLAUDE="+words.Quote(c.Elsewhere[0]))
		return l.all
	case c.Missing:
		l.add("claude", Fail, c.Problem, npmInstall)
		return l.all
	case c.Problem != "":
		l.add("claude", Fail, c.Problem, npmInstall+"@latest")
		return l.all
	}
	found := fmt.Sprintf("%s (%s)", c.Version, c.Path)
	switch {
	case c.StandIn:
		l.add("claude", Note, found+": a stand-in, which plays rehearsals only", npmInstall)
	case c.Untested != "":
		l.add("claude", Note, c.Untested, "")
	default:
		l.add("claude", OK, found, "")
	}
	if len(c.Shadowed) > 0 {
		l.add("others", Note, "also on PATH, and not used: "+strings.Join(c.Shadowed, ", "), "")
	}
	l.login(s)
	return l.all
}

func (l *list) login(s Surroundings) {
	in := s.Login
	name := "claude"
	if s.Claude.Named != "" {
		name = words.Quote(s.Claude.Path)
	}
	switch {
	case !in.Asked:
	case in.Known && in.In:
		who := in.Method
		if in.Email != "" {
			who += " (" + in.Email + ")"
		}
		l.add("login", OK, who, "")
	case in.Known:
		l.add("login", Fail, "claude is not logged in", name+" auth login")
	case len(in.Hints) > 0:
		l.add("login", Note, "claude does not say; there is "+strings.Join(in.Hints, ", "), "")
	default:
		l.add("login", Warn, "claude does not say, and there is neither a key nor a login to be seen",
			name+" auth login")
	}
}

func quoted(paths []string) string {
	var list []string
	for _, w := range paths {
		list = append(list, words.Quote(w))
	}
	return strings.Join(list, " ")
}
