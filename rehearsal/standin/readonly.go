package standin

import (
	"slices"
	"strings"
)

// readCommands run unasked in default mode (observed with CLI 2.1.329).
var readCommands = strings.Fields(`ls cat echo printf pwd true false sleep cd head tail wc grep rg which date
	whoami uname test [ sort uniq stat seq file du df ps id hostname basename dirname realpath readlink cut tr diff cmp
	comm nl od tree type`)

// editCommands run unasked where edits are accepted.
var editCommands = strings.Fields(`mkdir touch rm rmdir mv cp`)

var gitReads = strings.Fields(`status log diff show branch rev-parse ls-files blame remote describe`)

// readsOnly tells whether a simple command only reads.
func readsOnly(words []string) bool {
	name, args := words[0], words[1:]
	switch name {
	case "git":
		return len(args) > 0 && slices.Contains(gitReads, args[0])
	case "find":
		return !slices.ContainsFunc(args, func(a string) bool {
			return a == "-exec" || a == "-execdir" || a == "-delete" || a == "-ok" || strings.HasPrefix(a, "-fprint")
		})
	case "sed":
		return len(args) > 1 && args[0] == "-n" && !slices.Contains(args, "-i")
	}
	return slices.Contains(readCommands, name)
}

// splitCommand cuts a command line into simple commands. plain is false when it
// does more than string them together: substitutions, redirections into files,
// background jobs, subshells or assignments.
func splitCommand(line string) (parts []string, plain bool) {
	for _, harmless := range []string{"2>&1", "2>/dev/null", "> /dev/null", ">/dev/null"} {
		line = strings.ReplaceAll(line, harmless, " ")
	}
	var quote rune
	start := 0
	rs := []rune(line + ";")
	for i := 0; i < len(rs); i++ {
		c := rs[i]
		switch {
		case quote == '\'':
			if c == '\'' {
				quote = 0
			}
		case c == '`', c == '$' && i+1 < len(rs) && rs[i+1] == '(':
			return nil, false
		case quote == '"':
			if c == '\\' {
				i++
			} else if c == '"' {
				quote = 0
			}
		case c == '\\':
			i++
		case c == '\'' || c == '"':
			quote = c
		case c == '<' || c == '>' || c == '(' || c == ')' || c == '{' || c == '}':
			return nil, false
		case c == '&' && (i+1 >= len(rs) || rs[i+1] != '&'):
			return nil, false
		case c == ';' || c == '\n' || c == '|' || c == '&':
			if part := strings.TrimSpace(string(rs[start:i])); part != "" {
				parts = append(parts, part)
			}
			if c != ';' && i+1 < len(rs) && rs[i+1] == c {
				i++
			}
			start = i + 1
		}
	}
	assigns := slices.ContainsFunc(parts, func(p string) bool { return strings.Contains(strings.Fields(p)[0], "=") })
	return parts, quote == 0 && len(parts) > 0 && !assigns
}
