package policy

import (
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/arbiter-cli/arbiter/supervisor/policy/shell"
)

// Programs that run code of other languages, or commands that their options name.

var interpreters = nameSet{"python", "pypy", "perl", "ruby", "node", "nodejs", "deno", "bun", "php", "lua", "luajit",
	"tclsh", "wish", "Rscript",
	"R", "julia", "osascript", "groovy", "scala", "ghci", "swift", "elixir", "erl", "irb", "ipython", "jshell"}

// isInterpreter recognises interpreters also under a name with a version: python3.12.
func isInterpreter(name string) bool {
	return interpreters.has(strings.TrimRight(name, "0123456789."))
}

// codeInDoubt checks interpreters: the line does not show what code in an argument or on standard input does. A
// file or module is a program like any other.
func codeInDoubt(name string, c shell.Command) string {
	why := name + " runs code that is not read here"
	args := c.Words[1:]
	for i, w := range args {
		switch {
		case w.Text == "--version" || w.Text == "-V" || w.Text == "--help" || w.Text == "-h":
			return ""
		case w.Text == "-m" && i+1 < len(args) && args[i+1].Known(): // python -m pytest
			return ""
		case !w.Known(), w.Text == "-", inlineCode.has(w.Text), strings.HasPrefix(w.Text, "--eval"),
			strings.HasPrefix(w.Text,
				"--print"):
			return why
		case strings.HasPrefix(w.Text, "-") && !strings.HasPrefix(w.Text, "--") &&
			strings.ContainsAny(w.Text, "ceErpFx"):
			return why
		case !strings.HasPrefix(w.Text, "-"):
			return ""
		}
	}
	return why
}

var inlineCode = nameSet{"-c", "-e", "-E", "-r", "-p", "-pe", "-ne", "eval"}

// fileInDoubt reports a shell that runs a file whose name is unknown, such as <(curl …).
func fileInDoubt(name string, args []shell.Word) string {
	if slices.ContainsFunc(args, func(w shell.Word) bool { return !w.Known() && !w.Splits }) || len(args) > 0 &&
		!args[0].Known() {
		return name + " runs a file that only the running shell knows"
	}
	return ""
}

// awkInDoubt checks programs for awk, which can run commands and write files.
func awkInDoubt(args []shell.Word, _ shell.Command) string {
	for i := 0; i < len(args); i++ {
		w := args[i]
		switch {
		case !w.Known():
			return "awk runs a program that only the running shell knows"
		case w.Text == "-F" || w.Text == "-v":
			i++
		case w.Text == "-f" || strings.HasPrefix(w.Text, "-") && len(w.Text) > 1 && !strings.HasPrefix(w.Text, "-F") &&
			!strings.HasPrefix(w.Text, "-v"):
			return "awk has options that are not known here"
		case strings.HasPrefix(w.Text, "-"):
		default:
			if strings.Contains(w.Text, "system") || strings.Contains(w.Text, "getline") || strings.ContainsAny(w.Text,
				"|@>") && awkRuns().MatchString(w.Text) {
				return "a program for awk can run commands"
			}
			return ""
		}
	}
	return ""
}

// awkRuns recognises a pipe or a redirection of print, but not || or a comparison in a condition.
var awkRuns = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`@|(^|[^|])\|([^|]|$)|print[^;}]*>`)
})

// sedInDoubt checks scripts for sed, which can run commands (e) and write files (w).
func sedInDoubt(args []shell.Word, _ shell.Command) string {
	const why = "a script for sed can run commands"
	given := false
	for i := 0; i < len(args); i++ {
		w := args[i]
		switch {
		case !w.Known() && !given:
			return why
		case w.Text == "-e" || w.Text == "--expression":
			if i++; i >= len(args) || !sedPlain(args[i].Text) {
				return why
			}
			given = true
		case strings.HasPrefix(w.Text, "-"):
			if strings.HasPrefix(w.Text, "-f") || strings.HasPrefix(w.Text, "--file") ||
				strings.HasPrefix(w.Text, "-e") ||
				strings.HasPrefix(w.Text, "--expression") {
				return why
			}
		case !given:
			if !sedPlain(w.Text) {
				return why
			}
			given = true
		}
	}
	return ""
}

// sedPlain recognises scripts of addresses with p, d, q, = and of s with flags that neither run nor write
// anything.
func sedPlain(script string) bool {
	for part := range strings.SplitSeq(script, ";") {
		if part = strings.TrimSpace(part); part != "" && !sedCommand().MatchString(part) {
			return false
		}
	}
	return true
}

var sedCommand = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(
		`^(\d+|\$|/[^/\\]*(\\.[^/\\]*)*/)?(,[+~]?(\d+|\$|/[^/\\]*(\\.[^/\\]*)*/))?\s*!?\s*` +
			`([pdqQ=]|s/[^/\\\n]*(\\.[^/\\\n]*)*/[^/\\\n]*(\\.[^/\\\n]*)*/[gpiI0-9]*|s\|[^|\\\n]*(\\.[^|\\\n]*)*\|[^|\\\n]*(\\.[^|\\\n]*)*\|[gpiI0-9]*` +
			`|s#[^#\\\n]*(\\.[^#\\\n]*)*#[^#\\\n]*(\\.[^#\\\n]*)*#[gpiI0-9]*|s,[^,\\\n]*(\\.[^,\\\n]*)*,[^,\\\n]*(\\.[^,\\\n]*)*,[gpiI0-9]*)$`)
})

// gitInDoubt checks git: options before the subcommand can name programs, and some subcommands run what their
// arguments say.
func gitInDoubt(args []shell.Word, _ shell.Command) string {
	i := 0
	for ; i < len(args) && strings.HasPrefix(args[i].Text, "-"); i++ {
		option, _, given := strings.Cut(args[i].Text, "=")
		switch option {
		case "-c", "--config-env", "--exec-path":
			return "git runs what " + option + " sets"
		case "-C", "--git-dir", "--work-tree", "--namespace":
			if !given {
				i++
			}
		}
	}
	if i >= len(args) {
		return ""
	}
	sub, rest := args[i].Text, args[i+1:]
	first := ""
	if len(rest) > 0 {
		first = rest[0].Text
	}
	switch {
	case sub == "filter-branch", sub == "difftool", sub == "mergetool", sub == "submodule" && first == "foreach",
		sub == "bisect" && first == "run", sub == "config" && !readsConfig(rest):
		return "git " + sub + " can run what its arguments say"
	case !gitCommands.has(sub):
		return "git " + sub + " can be an alias"
	}
	for _, w := range rest {
		runs := slices.ContainsFunc(gitRuns[sub], func(option string) bool { return strings.HasPrefix(w.Text, option) })
		if runs || strings.HasPrefix(w.Text, "ext::") || strings.HasPrefix(w.Text, "--upload-pack") ||
			strings.HasPrefix(w.Text, "--receive-pack") || strings.HasPrefix(w.Text, "--exec") {
			return "git " + sub + " runs what its arguments say"
		}
	}
	return ""
}

// readsConfig reports whether git config only shows settings.
func readsConfig(args []shell.Word) bool {
	shows := nameSet{"--get", "--get-all", "--get-regexp", "--get-urlmatch", "--list", "-l", "get", "list"}
	return len(args) == 1 && !strings.HasPrefix(args[0].Text, "-") || slices.ContainsFunc(args,
		func(w shell.Word) bool { return shows.has(w.Text) })
}

// gitRuns are options of subcommands that name a program, in addition to those of all subcommands.
var gitRuns = map[string][]string{"clone": {"-u", "-c", "--config"}, "rebase": {"-x"}, "grep": {"-O", "--open-files"}}
