package doctor

import (
	"fmt"
	"strings"
)

// npmInstall puts a Claude Code onto PATH.
const npmInstall = "npm install -g @anthropic-ai/claude-code"

func checkClaude(s Surroundings) []Finding {
	l := list{area: AreaClaude}
	c := s.Claude
	switch {
	case c.Missing && c.Named != "" && len(c.Elsewhere) > 0:
		l.add("claude", Fail, c.Problem, "export ARBITER_CLAUDE="+quote(c.Elsewhere[0]))
		return l.all
	case c.Missing && len(c.Elsewhere) > 0:
		l.add("claude", Fail, "it is not on PATH, but lies in "+c.Elsewhere[0], "export ARBITER_CLAUDE="+quote(c.Elsewhere[0]))
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
		name = quote(s.Claude.Path)
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
		l.add("login", Warn, "claude does not say, and there is neither a key nor a login to be seen", name+" auth login")
	}
}

// quote makes a word of a shell's of any text.
func quote(text string) string {
	plain := text != "" && !strings.ContainsFunc(text, func(r rune) bool {
		return !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("/._-+:@%,=", r))
	})
	if plain {
		return text
	}
	return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'"
}

func quoted(words []string) string {
	var list []string
	for _, w := range words {
		list = append(list, quote(w))
	}
	return strings.Join(list, " ")
}
