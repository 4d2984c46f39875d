package policy

import (
	"slices"
	"strings"

	"github.com/arbiter-cli/arbiter/supervisor/policy/shell"
)

// Programs that run a command which one of their options names. The list is not complete: a program that is
// allowed to run can do anything. It covers common ways to run one command under the name of another.

// editorsOfText and debuggers run commands of their own language.
var editorsOfText = nameSet{"vi", "vim", "nvim", "view", "ex", "ed", "emacs", "emacsclient", "gdb", "lldb", "expect",
	"sqlite3", "ftp", "sftp",
	"mail", "mutt", "nmap", "socat", "dc"}

// commandOptions are, by program, the options that name a command. One letter is a short option, which may be
// combined with others; the value is in the same word or in the next.
var commandOptions = map[string][]string{
	"tar": {"--checkpoint-action", "--use-compress-program", "--to-command", "--rsh-command", "--info-script",
		"--new-volume-script", "I", "F"},
	"bsdtar": {"--use-compress-program"}, "split": {"--filter"}, "sort": {"--compress-program"}, "rg": {"--pre",
		"--hostname-bin"},
	"man": {"--pager", "--html", "--preprocessor", "P", "H"}, "zip": {"--unzip-command", "TT"}, "ssh": {"o", "F"},
	"scp":   {"o", "S", "F"},
	"rsync": {"--rsh", "--rsync-path", "e"}, "make": {"--eval", "E"}, "gmake": {"--eval", "E"}, "go": {"-exec",
		"-toolexec", "-vettool"},
	"cargo": {"--config"}, "npm": {"--script-shell", "--node-options"}, "wget": {"--use-askpass", "e"},
	"curl": {"--config", "K"},
	"psql": {"--command", "c"}, "mysql": {"--pager", "--execute", "e"}, "less": {"+"}, "more": {"+"}, "tcpdump": {"z"},
	"zless":     {"+"},
	"git-shell": {"c"}, "docker": {"--entrypoint"}, "podman": {"--entrypoint"},
}

func optionsInDoubt(name string, args []shell.Word) string {
	names := commandOptions[name]
	for i, w := range args {
		if slices.ContainsFunc(names, func(option string) bool { return isOption(w.Text, option) }) {
			return name + " runs the command that " + strings.SplitN(w.Source, "=", 2)[0] + " names"
		}
		if name == "make" || name == "gmake" {
			_, value, sets := strings.Cut(w.Text, "=")
			file := i > 0 && args[i-1].Text == "-f" && !w.Known()
			if sets && !strings.HasPrefix(w.Text, "-") && strings.ContainsAny(value, " \t\n;|&`$()<>") || file {
				return "make runs what its arguments say"
			}
		}
	}
	return ""
}

// isOption reports whether a word is an option, with or without a value.
func isOption(word, option string) bool {
	switch {
	case option == "+":
		return strings.HasPrefix(word, "+")
	case strings.HasPrefix(option, "-"):
		name, _, _ := strings.Cut(word, "=")
		return name == option || len(name) > 5 && strings.HasPrefix(option, "--") && strings.HasPrefix(option,
			name) // GNU abbreviations
	}
	return strings.HasPrefix(word, "-") && !strings.HasPrefix(word, "--") && strings.Contains(word, option)
}

// gitCommands are git's own subcommands that do what their name says. Any other subcommand may be an alias,
// which the configuration defines and which can run anything.
var gitCommands = nameSet{"add", "am", "annotate", "apply", "archive", "bisect", "blame", "branch", "bundle",
	"cat-file", "check-attr",
	"check-ignore", "check-ref-format", "checkout", "cherry", "cherry-pick", "clean", "clone", "commit",
	"commit-graph", "commit-tree",
	"config", "count-objects", "describe", "diff", "diff-files", "diff-index", "diff-tree", "fetch", "fmt-merge-msg",
	"for-each-ref",
	"format-patch", "fsck", "gc", "grep", "hash-object", "help", "init", "interpret-trailers", "log", "ls-files",
	"ls-remote", "ls-tree",
	"mailinfo", "maintenance", "merge", "merge-base", "merge-file", "merge-tree", "mktree", "mv", "name-rev", "notes",
	"pack-refs", "patch-id",
	"prune", "pull", "push", "range-diff", "read-tree", "rebase", "reflog", "remote", "repack", "replace", "rerere",
	"reset", "restore", "rev-list",
	"rev-parse", "revert", "rm", "shortlog", "show", "show-branch", "show-ref", "sparse-checkout", "stage", "stash",
	"status", "stripspace",
	"submodule", "switch", "symbolic-ref", "tag", "update-index", "update-ref", "var", "verify-commit", "verify-tag",
	"version", "whatchanged",
	"worktree", "write-tree"}
