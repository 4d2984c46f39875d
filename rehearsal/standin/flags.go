package standin

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// arity says how many arguments an option takes.
type arity int

const (
	none arity = iota
	one
	maybe // one, unless the next argument looks like an option
	many  // all up to the next option, at least one
)

// option is one entry of the CLI's `--help` (2.1.329) or one of its hidden
// options. usage is how error messages show it.
type option struct {
	arity arity
	usage string
}

var knownOptions = map[string]option{
	"--add-dir":                            {many, "--add-dir <directories...>"},
	"--allow-dangerously-skip-permissions": {},
	"--allowedTools":                       {many, "--allowedTools, --allowed-tools <tools...>"},
	"--append-system-prompt":               {one, "--append-system-prompt <prompt>"},
	"--autocompact":                        {one, "--autocompact <auto|tokens>"},
	"--dangerously-skip-permissions":       {},
	"--debug":                              {arity: maybe},
	"--disallowedTools":                    {many, "--disallowedTools, --disallowed-tools <tools...>"},
	"--effort":                             {one, "--effort <level>"},
	"--include-partial-messages":           {},
	"--input-format":                       {one, "--input-format <format>"},
	"--json-schema":                        {one, "--json-schema <schema>"},
	"--max-budget-usd":                     {one, "--max-budget-usd <amount>"},
	"--model":                              {one, "--model <model>"},
	"--no-session-persistence":             {},
	"--output-format":                      {one, "--output-format <format>"},
	"--permission-mode":                    {one, "--permission-mode <mode>"},
	"--permission-prompt-tool":             {one, "--permission-prompt-tool <tool>"},
	"--print":                              {},
	"--replay-user-messages":               {},
	"--resume":                             {arity: maybe},
	"--session-id":                         {one, "--session-id <uuid>"},
	"--setting-sources":                    {one, "--setting-sources <sources>"},
	"--settings":                           {one, "--settings <file-or-json>"},
	"--strict-mcp-config":                  {},
	"--system-prompt":                      {one, "--system-prompt <prompt>"},
	"--system-prompt-snapshot":             {one, "--system-prompt-snapshot <on|off>"},
	"--tools":                              {many, "--tools <tools...>"},
	"--verbose":                            {},
	"--version":                            {},
	"--help":                               {},
}

var optionAliases = map[string]string{
	"-p": "--print", "-r": "--resume", "-d": "--debug",
	"-v": "--version", "-h": "--help",
}

// flags is a parsed command line.
type flags struct {
	values map[string][]string // an option that was given has an entry
	prompt string              // positional arguments
}

func (f flags) has(name string) bool { _, ok := f.values[name]; return ok }

// get returns the last value of an option, "" if it has none.
func (f flags) get(name string) string {
	if v := f.values[name]; len(v) > 0 {
		return v[len(v)-1]
	}
	return ""
}

// all returns every value of an option.
func (f flags) all(name string) []string { return f.values[name] }

// parseFlags reads the command line the way the CLI's parser does: `--x=v` is
// `--x v`, an option with many values takes all up to the next option.
func parseFlags(args []string) (flags, error) {
	f := flags{values: map[string][]string{}}
	for i := 0; i < len(args); i++ {
		arg := args[i]
		if arg == "--" {
			f.prompt = strings.Join(args[i+1:], " ")
			return f, nil
		}
		if !strings.HasPrefix(arg, "-") || arg == "-" {
			f.prompt = strings.TrimSpace(f.prompt + " " + arg)
			continue
		}
		name, value, inline := strings.Cut(arg, "=")
		if long, ok := optionAliases[name]; ok {
			name = long
		}
		opt, ok := knownOptions[name]
		if !ok {
			return f, fmt.Errorf("error: unknown option '%s'", name)
		}
		vals := f.values[name]
		switch {
		case opt.arity == none:
		case inline:
			vals = append(vals, value)
		default:
			n := takes(opt.arity, args[i+1:])
			if n == 0 && opt.arity != maybe {
				return f, fmt.Errorf("error: option '%s' argument missing", opt.usage)
			}
			vals = append(vals, args[i+1:i+1+n]...)
			i += n
		}
		f.values[name] = vals
	}
	if problem := f.check(); problem != "" {
		return f, errors.New(problem)
	}
	return f, nil
}

// takes counts the arguments an option uses up. A single value is taken whatever
// it looks like, as `--system-prompt "- be brief"` needs.
func takes(a arity, rest []string) int {
	switch {
	case len(rest) == 0:
		return 0
	case a == one:
		return 1
	case a == maybe && strings.HasPrefix(rest[0], "-"):
		return 0
	case a == maybe:
		return 1
	}
	n := slices.IndexFunc(rest, func(s string) bool { return strings.HasPrefix(s, "-") })
	if n < 0 {
		return len(rest)
	}
	return n
}

var permissionModes = []string{"acceptEdits", "auto", "bypassPermissions", "manual", "dontAsk", "plan"}

// check says in the CLI's words which values its parser refuses, or nothing.
func (f flags) check() string {
	if m := f.get("--permission-mode"); m != "" && m != "default" && !slices.Contains(permissionModes, m) {
		return fmt.Sprintf("error: option '--permission-mode <mode>' argument '%s' is invalid. Allowed choices are %s.",
			m, strings.Join(permissionModes, ", "))
	}
	if f.has("--session-id") && f.has("--resume") {
		return "Error: --session-id can only be used with --continue or --resume if --fork-session is also specified."
	}
	return ""
}

// splitRules splits a list of tool rules at commas and spaces outside parentheses.
func splitRules(values []string) []string {
	var out []string
	for _, v := range values {
		depth, start := 0, 0
		for i, c := range v + "," {
			switch {
			case c == '(':
				depth++
			case c == ')':
				depth--
			case (c == ',' || c == ' ') && depth <= 0:
				if s := strings.TrimSpace(v[start:i]); s != "" {
					out = append(out, s)
				}
				start = i + 1
			}
		}
	}
	return out
}
