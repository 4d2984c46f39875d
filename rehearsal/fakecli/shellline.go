package fakecli

import (
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// shellLine is what can be seen of a command line.
type shellLine struct {
	text   string
	parts  []part
	hidden string // what the line has that cannot be judged by its parts, "" if nothing
}

// part is a simple command, wherever it is in the line.
type part struct {
	words         []string // without quotes
	source        string   // as written, without redirections
	assigns       bool     // it starts with an assignment
	reads, writes []string // files of its redirections
}

func readLine(text string) *shellLine {
	l := &shellLine{text: text}
	file, err := syntax.NewParser().Parse(strings.NewReader(text), "")
	if err != nil {
		l.hidden = "Text"
		return l
	}
	syntax.Walk(file, func(n syntax.Node) bool {
		what := ""
		switch n := n.(type) {
		case *syntax.CmdSubst:
			if isText(n) {
				return false
			}
			what = "A nested command"
		case *syntax.ParamExp:
			what = "A variable"
		case *syntax.Block, *syntax.Subshell, *syntax.ArithmCmd, *syntax.FuncDecl, *syntax.ProcSubst:
			what = "A group"
		case *syntax.Lit:
			if strings.Contains(n.Value, "{") && strings.Contains(n.Value, ",") {
				what = "Brace expansion"
			}
		case *syntax.Stmt:
			what = l.add(n)
		}
		if l.hidden == "" {
			l.hidden = what
		}
		return true
	})
	return l
}

// add adds a command with its redirections, and returns what of it cannot be judged.
func (l *shellLine) add(n *syntax.Stmt) (hidden string) {
	call, simple := n.Cmd.(*syntax.CallExpr)
	p := part{}
	for _, r := range n.Redirs {
		switch target := literal(r.Word); r.Op {
		case syntax.Hdoc, syntax.DashHdoc:
			hidden = "A here-document"
		case syntax.RdrIn:
			p.reads = append(p.reads, target)
		case syntax.WordHdoc, syntax.DplIn, syntax.DplOut:
		default:
			if target != "/dev/null" {
				p.writes = append(p.writes, target)
			}
		}
	}
	switch {
	case n.Background:
		hidden = "The `&` background operator"
	case !simple && len(p.writes) > 0:
		hidden = "A file redirect"
	}
	if simple {
		for _, w := range call.Args {
			p.words = append(p.words, literal(w))
		}
		p.source, p.assigns = l.text[call.Pos().Offset():call.End().Offset()], len(call.Assigns) > 0
		l.parts = append(l.parts, p)
	}
	return hidden
}

// isText reports whether a substitution only prints a text: $(cat <<'EOF' …), as in many commits.
func isText(n *syntax.CmdSubst) bool {
	if len(n.Stmts) != 1 || len(n.Stmts[0].Redirs) != 1 {
		return false
	}
	call, simple := n.Stmts[0].Cmd.(*syntax.CallExpr)
	r := n.Stmts[0].Redirs[0]
	return simple && len(call.Args) == 1 && literal(call.Args[0]) == "cat" && r.Op == syntax.Hdoc && r.Word.Lit() == ""
}

// literal returns a word without its quotes and expansions.
func literal(w *syntax.Word) (text string) {
	syntax.Walk(w, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.Lit:
			text += strings.ReplaceAll(strings.ReplaceAll(n.Value, "\\\n", ""), `\`, "")
		case *syntax.SglQuoted:
			text += n.Value
		case *syntax.CmdSubst, *syntax.ParamExp, *syntax.ArithmExp:
			return false
		}
		return true
	})
	return text
}

func (p part) starts(commands []string) bool {
	return len(p.words) > 0 && slices.Contains(commands, p.words[0])
}

// operands returns what one of these commands works on.
func (p part) operands(commands []string) (list []string) {
	if p.starts(commands) {
		list = slices.DeleteFunc(slices.Clone(p.words[1:]), func(w string) bool { return strings.HasPrefix(w, "-") })
	}
	return list
}
