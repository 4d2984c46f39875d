package fakecli

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
)

// arity is how many arguments an option takes.
type arity int

const (
	none arity = iota
	one
	maybe // one, unless the next argument looks like an option
	many  // all up to the next option
)

// options are those of CLI 2.1.329 that a driver of sessions uses.
var options = map[string]arity{
	"--add-dir": many, "--allowedTools": many, "--append-system-prompt": one, "--disallowedTools": many, "--effort": one,
	"--include-partial-messages": none, "--input-format": one, "--json-schema": one, "--max-budget-usd": one,
	"--model": one, "--no-session-persistence": none, "--output-format": one, "--permission-mode": one,
	"--permission-prompt-tool": one, "-p": none, "--replay-user-messages": none, "--resume": maybe,
	"--session-id": one, "--setting-sources": one, "--settings": one, "--strict-mcp-config": none,
	"--system-prompt": one, "--system-prompt-snapshot": one, "--tools": many, "--verbose": none, "--version": none,
}

// flags is a parsed command line: the values of each option that was given.
type flags map[string][]string

func (f flags) has(name string) bool { _, ok := f[name]; return ok }

// get returns the last value of an option, "" if it has none.
func (f flags) get(name string) string {
	if v := f[name]; len(v) > 0 {
		return v[len(v)-1]
	}
	return ""
}

// parseFlags reads a command line the way the CLI does; errors are in the CLI's words.
func parseFlags(args []string) (flags, error) {
	f := flags{}
	for len(args) > 0 {
		name, value, inline := strings.Cut(args[0], "=")
		args = args[1:]
		takes, ok := options[name]
		if !ok {
			return nil, fmt.Errorf("error: unknown option '%s'", name)
		}
		values := []string{value}
		if !inline {
			n := takes.count(args)
			if n == 0 && (takes == one || takes == many) {
				return nil, fmt.Errorf("error: option '%s' argument missing", name)
			}
			values, args = args[:n:n], args[n:]
		}
		f[name] = append(f[name], values...)
	}
	if m := f.get("--permission-mode"); m != "" && !slices.Contains(permissionModes, m) {
		return nil, fmt.Errorf("error: option '--permission-mode <mode>' argument '%s' is invalid. Allowed choices are %s",
			m, strings.Join(permissionModes, ", "))
	}
	return f, nil
}

// count returns how many of the arguments belong to the option. A single value is taken
// whatever it looks like, as `--system-prompt "- be brief"` needs.
func (a arity) count(args []string) int {
	n := slices.IndexFunc(args, func(s string) bool { return strings.HasPrefix(s, "-") })
	if n < 0 {
		n = len(args)
	}
	switch a {
	case one:
		return min(1, len(args))
	case maybe:
		return min(1, n)
	case many:
		return n
	}
	return 0
}

// environment is the environment the process was given, by name.
type environment map[string]string

func readEnvironment(vars []string) environment {
	e := environment{}
	for _, v := range vars {
		if name, value, ok := strings.Cut(v, "="); ok {
			e[name] = value
		}
	}
	return e
}

// configDir returns the directory that holds projects/: CLAUDE_CONFIG_DIR, else HOME/.claude.
func (e environment) configDir() string {
	if dir := e["CLAUDE_CONFIG_DIR"]; dir != "" {
		return dir
	}
	return filepath.Join(e["HOME"], ".claude")
}

// tempDir returns the directory for the outputs of tools.
func (e environment) tempDir() string {
	for _, name := range []string{"CLAUDE_CODE_TMPDIR", "TMPDIR"} {
		if dir := e[name]; dir != "" {
			return dir
		}
	}
	return "/tmp"
}
