package policy

import (
	"slices"
	"strings"

	"github.com/arbiter-cli/arbiter/supervisor/policy/shell"
)

var (
	// wrappers are commands that run a command among their arguments.
	wrappers = nameSet{"sudo", "doas", "su", "runuser", "pkexec", "env", "xargs", "nohup", "timeout", "time", "nice",
		"ionice", "chrt",
		"taskset", "setsid", "stdbuf", "unbuffer", "command", "builtin", "exec", "eval", "watch", "parallel", "ssh",
		"script",
		"strace", "ltrace", "perf", "valgrind", "unshare", "nsenter", "chroot", "setpriv", "setarch", "linux32",
		"linux64", "i386", "x86_64", "prlimit", "choom", "uclampset", "numactl", "cgexec", "capsh", "flock",
		"caffeinate", "busybox", "toybox", "systemd-run", "systemd-inhibit", "dbus-run-session", "dbus-launch",
		"xvfb-run", "tmux", "screen", "trap", "alias", "noglob", "nocorrect", "fakeroot", "proxychains", "torsocks",
		"faketime", "eatmydata", "start-stop-daemon", "daemonize", "ts", "entr", "chronic", "ifne", "bwrap", "firejail",
		"newgrp", "sg", "ld.so", "rlwrap", "hyperfine", "multitime"}

	// finders run what follows one of the flags.
	finders  = nameSet{"find", "bfs", "fd", "fdfind", "gfind"}
	execFlag = nameSet{"-exec", "-execdir", "-ok", "-okdir", "-x", "-X", "--exec", "--exec-batch"}

	// shells run the text after -c, or otherwise the one on their standard input.
	shells = nameSet{"sh", "bash", "zsh", "dash", "ash", "ksh", "mksh", "fish", "rbash", "csh", "tcsh", "pwsh", "yash"}

	// otherShells have a grammar that is read here only for deny rules.
	otherShells = nameSet{"zsh", "ksh", "mksh", "fish", "csh", "tcsh", "pwsh", "yash"}
)

// isLoader recognises the dynamic loader, which runs the program that it is given.
func isLoader(name string) bool {
	return strings.HasPrefix(name, "ld-linux") || strings.HasPrefix(name, "ld-musl")
}

// maxStarts bounds the places at which the command of a wrapper can begin.
const maxStarts = 64

// behind are the words from which a wrapper may run something, and the ordinary place of its command: after its
// options and words that may be their values, assignments and numbers.
func behind(words []shell.Word) (list []shell.Word, ordinary int) {
	switch name := baseName(words[0].Text); {
	case finders.has(name):
		i := slices.IndexFunc(words, func(w shell.Word) bool { return execFlag.has(w.Text) })
		if i < 0 {
			return nil, 0
		}
		list = words[i+1:]
	case wrappers.has(name), shells.has(name), isLoader(name), strings.IndexByte(name, hole) >= 0:
		list = words[1:]
	}
	option := false
	for ordinary < len(list) {
		w := list[ordinary].Text
		switch {
		case strings.HasPrefix(w, "-"):
			option = true
		case isAssignment(w), w != "" && w[0] >= '0' && w[0] <= '9':
		case option:
			option = false
		default:
			return list, ordinary
		}
		ordinary++
	}
	return list, ordinary
}

// appended is the words after xargs and find -exec with what these programs insert: names that are known only
// when they run.
func appended(name string, words []shell.Word) []shell.Word {
	if len(words) == 0 || name != "xargs" && !finders.has(name) {
		return words
	}
	words = slices.Clone(words)
	for i, w := range words {
		if strings.Contains(w.Text, "{}") {
			words[i] = shell.Word{Text: strings.ReplaceAll(w.Text, "{}", string(hole)), Source: w.Source}
		}
	}
	if name == "xargs" {
		words = append(words, shell.Word{Text: string(hole), Source: "the input of xargs", Splits: true})
	}
	return words
}

// text is a script that a command passes to a shell, with the grammars that the shell may have.
type text struct {
	source   string
	dialects []shell.Dialect
}

func bashText(source string) text { return text{source, []shell.Dialect{shell.Bash}} }

// shText is a text for sh, which is bash on some systems and dash on others.
func shText(source string) text { return text{source, []shell.Dialect{shell.Bash, shell.POSIX}} }

// scriptsOf are the texts among a command's arguments that it runs like a shell.
func scriptsOf(name string, c shell.Command) (texts []text) {
	args := c.Words[1:]
	switch {
	case name == "eval":
		words := make([]string, len(args))
		for i, w := range args {
			words[i] = w.Text
		}
		return []text{bashText(strings.Join(words, " "))}
	case shells.has(name):
		return shellScripts(name, c)
	case name == "alias":
		for _, w := range args {
			if _, value, ok := strings.Cut(w.Text, "="); ok {
				texts = append(texts, bashText(value))
			}
		}
	case evaluators.has(name):
		for _, w := range args {
			if strings.Contains(w.Text, "[") && strings.ContainsAny(w.Text, "$`") {
				texts = append(texts, bashText(strings.ReplaceAll(w.Text, string(hole), "$_")))
			}
		}
	}
	return texts
}

// shellScripts is the text that a shell runs: after -c, or from its standard input.
func shellScripts(name string, c shell.Command) []text {
	read := bashText
	if name == "sh" || name == "dash" || name == "ash" {
		read = shText
	}
	args := c.Words[1:]
	onlyTells := func(w shell.Word) bool { return w.Text == "--version" || w.Text == "--help" }
	if slices.ContainsFunc(args, onlyTells) {
		return nil
	}
	isOption := func(w shell.Word) bool { return strings.HasPrefix(w.Text, "-") || strings.HasPrefix(w.Text, "+") }
	operand := slices.IndexFunc(args, func(w shell.Word) bool { return !isOption(w) })
	switch {
	case operand >= 0 && slices.ContainsFunc(args[:operand], takesScript):
		return []text{read(args[operand].Text)}
	case operand >= 0 && !slices.ContainsFunc(args, func(w shell.Word) bool { return w.Text == "-s" }):
		return nil // a file
	case c.Input != nil:
		return []text{read(c.Input.Text)}
	}
	return []text{read(string(hole))} // any input through the pipe
}

// takesScript recognises -c, also among other letters: -lc.
func takesScript(w shell.Word) bool {
	return strings.HasPrefix(w.Text, "-") && !strings.HasPrefix(w.Text, "--") && strings.Contains(w.Text, "c")
}

// baseName is the last part of a command's path.
func baseName(word string) string {
	if i := strings.LastIndexByte(word, '/'); i < len(word)-1 {
		return word[i+1:]
	}
	return word
}

// isAssignment reports whether a word sets a variable for the command after it.
func isAssignment(word string) bool {
	name, _, ok := strings.Cut(word, "=")
	return ok && shell.IsName(strings.TrimSuffix(name, "+"))
}
