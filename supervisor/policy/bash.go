package policy

import (
	"slices"
	"strings"
)

var (
	// runners are commands that run what stands among their arguments.
	runners = set("sudo", "doas", "su", "env", "xargs", "nohup", "timeout", "nice", "ionice", "chrt", "taskset", "setsid", "stdbuf",
		"command", "builtin", "exec", "eval", "watch", "parallel", "ssh", "script", "strace", "ltrace", "unshare", "nsenter", "chroot",
		"runuser", "setpriv", "flock", "caffeinate", "busybox", "toybox", "unbuffer", "systemd-run", "tmux", "screen", "trap", "alias", "noglob")

	// finders run what stands behind one of the flags.
	finders  = set("find", "fd", "fdfind")
	execFlag = set("-exec", "-execdir", "-ok", "-okdir", "-x", "-X", "--exec", "--exec-batch")

	// shells run the script given by -c, or else the one on their standard input.
	shells = set("sh", "bash", "zsh", "dash", "ash", "ksh", "mksh", "fish", "rbash", "csh", "tcsh")

	// reserved words stand before a command.
	reserved = set("if", "then", "elif", "else", "while", "until", "do", "!", "{", "time", "coproc", "nocorrect")

	// evaluators are builtins that read an argument such as a[$(x)] as arithmetic,
	// and so run what stands in it even when it was quoted.
	evaluators = set("test", "[", "[[", "printf", "read", "unset", "declare", "typeset", "local", "export", "readonly", "let", "mapfile",
		"readarray", "wait", "getopts", "set")
)

// covered is the test of allow rules: each command of the line is covered by one
// of them, and nothing is in doubt. find returns the place of the first rule about
// commands that matches one as it is written, or -1. covered returns the rules it took.
func (s *script) covered(rules []Rule, find func(raw string) int) (string, bool) {
	if s.doubt || s.top == 0 {
		return "", false
	}
	var took []string
	for _, c := range s.commands[:s.top] {
		i := find(c.raw)
		if i < 0 {
			return "", false
		}
		if !slices.Contains(took, rules[i].text) {
			took = append(took, rules[i].text)
		}
	}
	return strings.Join(took, ", "), true
}

// might is the test of deny and ask rules: any command, by any of its names, with
// any filling of its holes.
func (s *script) might(r *Rule) bool {
	if r.inARow() && (wildcard(r.spec, s.line) || wildcard("* "+r.spec, s.line)) {
		return true
	}
	return s.opaque || slices.ContainsFunc(s.commands, func(c simple) bool { return c.might(r.spec) })
}

// inARow says whether a rule is about several commands in a row.
func (r *Rule) inARow() bool { return strings.ContainsAny(r.spec, ";|&") }

func (c *simple) might(spec string) bool {
	if wildcard(spec, c.raw) || strings.HasSuffix(c.long, string(hole)) || c.long != "" && mightWild("* "+spec, c.long) {
		return true // what ends in a hole may end in anything
	}
	return slices.ContainsFunc(c.starts, func(start string) bool { return mightWild(spec, start) })
}

// maxStarts bounds the places a runner's command is looked for at one by one.
const maxStarts = 64

// findStarts collects the texts a command can be taken for: from its first word on,
// from behind assignments, from each place where a runner's command may begin; each
// by the command's path and by its name.
func (c *simple) findStarts() {
	full := strings.Join(c.words, " ")
	offset := make([]int, len(c.words)+1)
	for i, w := range c.words {
		offset[i+1] = offset[i] + len(w) + 1
	}
	add := func(i int) {
		w := c.words[i]
		c.starts = append(c.starts, bounded(full[offset[i]:]))
		if name := baseName(w); name != w {
			c.starts = append(c.starts, bounded(full[offset[i]+len(w)-len(name):]))
		}
	}
	if len(c.words) > 0 {
		add(0)
	}
	if n := len(c.words) - len(c.command()); n > 0 && n < len(c.words) {
		add(n)
	}
	behind, first := c.behind()
	at := len(c.words) - len(behind)
	if len(behind) > maxStarts {
		c.long = bounded(full[offset[at]:])
		return
	}
	for i, w := range behind {
		// An argument that may be anything is not taken for a command, else every
		// variable would be denied.
		if i <= first || !strings.HasPrefix(w, string(hole)) {
			add(at + i)
		}
	}
}

// maxText bounds the text a rule is held against; what is longer may end in anything.
const maxText = 4 << 10

func bounded(s string) string {
	if len(s) > maxText {
		s = s[:maxText] + string(hole)
	}
	return s
}

// command is the command without the assignments and reserved words before it.
func (c simple) command() []string {
	timed := false
	for i, w := range c.words {
		switch {
		case isAssignment(w) || reserved[w]:
			timed = w == "time"
		case timed && strings.HasPrefix(w, "-"):
		default:
			return c.words[i:]
		}
	}
	return nil
}

// behind are the words a runner may run something from, and the place where the
// command stands if the runner is an ordinary one: behind its options, with what
// may be their values, assignments and numbers.
func (c simple) behind() (words []string, first int) {
	all := c.command()
	if len(all) == 0 {
		return nil, 0
	}
	switch name := baseName(all[0]); {
	case finders[name]:
		i := slices.IndexFunc(all, func(w string) bool { return execFlag[w] })
		if i < 0 {
			return nil, 0
		}
		words = all[i+1:]
	case runners[name], shells[name], strings.IndexByte(name, hole) >= 0:
		words = all[1:]
	}
	option := false
	for first < len(words) {
		w := words[first]
		switch {
		case strings.HasPrefix(w, "-"):
			option = true
		case isAssignment(w), w != "" && w[0] >= '0' && w[0] <= '9':
		case option:
			option = false
		default:
			return words, first
		}
		first++
	}
	return words, first
}

// scripts are the arguments that a runner may take for a command line of its own:
// sh -c 'rm x', eval "rm x", alias x='rm y'.
func (c simple) scripts() []string {
	behind, _ := c.behind()
	var out []string
	if c.evaluates() {
		behind = c.command() // what stands in a[…] is run, if the text says so
	}
	for _, w := range behind {
		if isAssignment(w) {
			_, value, _ := strings.Cut(w, "=")
			out = append(out, strings.ReplaceAll(value, string(hole), "$_"))
		}
		if strings.ContainsAny(w, " \t\n;|&`$()<>") {
			out = append(out, strings.ReplaceAll(w, string(hole), "$_"))
		}
	}
	return out
}

// unreadable says whether a command runs a text that cannot be known: a shell that
// reads its standard input, or one whose script or eval's text has a hole.
func (c simple) unreadable() bool {
	words := c.command()
	if behind, _ := c.behind(); len(behind) == 0 && (len(words) == 0 || !shells[baseName(words[0])]) {
		return false
	}
	for i, w := range words {
		name, rest := baseName(w), words[i+1:]
		if name != "eval" && !shells[name] {
			continue
		}
		if slices.ContainsFunc(rest, func(arg string) bool { return arg == "--version" || arg == "--help" }) {
			continue
		}
		operand := slices.IndexFunc(rest, func(arg string) bool { return !strings.HasPrefix(arg, "-") && !strings.HasPrefix(arg, "+") })
		switch {
		case name == "eval":
			return slices.ContainsFunc(rest, hasHole)
		case operand < 0 || slices.Contains(rest, "-s"):
			return true
		case slices.ContainsFunc(rest[:operand], takesScript):
			return hasHole(rest[operand])
		}
	}
	return false
}

// takesScript finds -c, also among other letters: -lc.
func takesScript(arg string) bool {
	return strings.HasPrefix(arg, "-") && !strings.HasPrefix(arg, "--") && strings.Contains(arg, "c")
}

func hasHole(word string) bool { return strings.IndexByte(word, hole) >= 0 }

// evaluates says whether a builtin may run what stands quoted in an argument.
func (c simple) evaluates() bool {
	words := c.command()
	if len(words) == 0 || !evaluators[words[0]] {
		return false
	}
	return slices.ContainsFunc(words[1:], func(w string) bool { return strings.Contains(w, "[") && strings.ContainsAny(w, "$`") })
}

// baseName is the last part of a command's path.
func baseName(word string) string {
	if i := strings.LastIndexByte(word, '/'); i < len(word)-1 {
		return word[i+1:]
	}
	return word
}

// isAssignment says whether a word sets a variable for the command behind it.
func isAssignment(word string) bool {
	n := nameLength(word)
	rest := word[n:]
	return n > 0 && (strings.HasPrefix(rest, "=") || strings.HasPrefix(rest, "+=") || strings.HasPrefix(rest, "[") && strings.Contains(rest, "]="))
}
