package policy

import (
	"regexp"
	"strings"
	"sync"
)

// expr is a regular expression that is compiled when it is first used: each start of the program would pay for it
// otherwise.
func expr(text string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(text) })
}

// What a command line runs without saying so. Words are looked for wherever they stand, without knowledge of the
// options of programs: a question too many is better than a table of options.

var (
	shells       = names("sh bash zsh dash ash ksh mksh fish rbash csh tcsh pwsh yash")
	interpreters = expr(`^(python|pypy|perl|ruby|node|lua|php|Rscript|tclsh|osascript|julia|ts-node|tsx|n?vim?|view|gdb|` +
		`emacs|guile)[0-9.-]*$`)

	// codeOptions give code; devices may have it, as the standard input has; with tells a program tells
	// about itself.
	shellOptions = expr(`^-\w*[cs]`)
	codeOptions  = expr(`^(-\w*[ceEprRBs+]|\+|--(ev|print$|com|run|init|rc))`)
	devices      = expr(`^(-|/dev/.*|/proc/.*)$`)
	tells        = expr(`^(--version|--help|-V)$`)

	// unsafeVariables change what programs run.
	unsafeVariables = expr(`^((LD|DYLD|BASH|GIT)_\w*|PATH|ENV|IFS|PS0|PS4|PROMPT_COMMAND|SHELLOPTS|CDPATH|` +
		`PAGER|MANPAGER|EDITOR|VISUAL|SHELL|BROWSER|NODE_OPTIONS|PERL5OPT|PERL5LIB|RUBYOPT|PYTHONSTARTUP|SSH_ASKPASS|` +
		`LESSOPEN|LESSCLOSE|TAR_OPTIONS|MAKEFLAGS)[+\x00\[]?[^=]*=(.*)$`)
	plainValues = names("0 1 cat true false :")
)

// hides are forms of programs that run what they do not show, compared with their words behind the name.
var hides = []struct {
	programs nameSet
	words    func() *regexp.Regexp
	why      string
}{
	{names("eval trap alias hash enable compgen complete compopt bind fc shopt at batch ssh su script watch " +
		"parallel tmux screen entr flock chroot unshare nsenter"), expr(`.`),
		"runs a text, or changes what a name runs"},
	{names("mapfile readarray"), expr(` -C`), "runs a text"},
	{names("printf test ["), expr(` -v .*\[.*\x00`), "evaluates the name of a variable"},
	{names("make gmake"), expr(`=|\x00| -(f ?-)?( |$)|--ev`), "gets more than its makefile"},
	{names("npm npx pnpm bunx yarn deno bun"), expr(` (-c|--ca|eval|-e)`), "runs a text"},
	{names("crontab"), expr(` ([^-]|-[^l])`), "runs lines later"},
	{names("su script unshare nsenter newgrp sg sudo doas"), expr(`^( -\S*| root)*$|^( -\S*)* -(\w*[si]|-login)( |$)`),
		"starts a shell"},
	{names("env man"), expr(` (-\w*[SPH]|--(split|pager|html))`), "runs a text"},
	{names("tar gtar bsdtar"), expr(`^( -?\w*| .* -\w*)[IF]| --(use|to-c|checkpoint-a|rsh|rmt|info-s|new-v)`),
		"runs a program that an option names"},
	{names("rsync"), expr(` (-\w*e|--rs)`), "runs a program that an option names"},
	{names("zip sort split install wget rg ag ack bat"),
		expr(` (-\w*TT|--(unzip-c|comp|fi|strip-p|use-a|pre([ =]|$)|pager|hostname-b))|use_?askpass`),
		"runs a program that an option names"},
	{names("ed ex red"), expr(`^`), "runs the lines that it reads"},
	{names("less more"), expr(` \+\S*[!|]`), "runs a text"},
	{names("awk gawk mawk nawk"), expr(`system|getline|\|\s*["a-z&]|"\s*\||print.*>| \x00`), "may run commands, or write"},
	{names("sed gsed"), expr(`^( -\S*)* (.*[0-9;{}$/!\s])?[ew]( |$|;)|` +
		`^( -\S*)* \S*[^\w\s.-][gpiImM0-9]*e[gpiImMw0-9]*\s*([;} ]|$)|^( -\S*)* \x00`), "may run commands, or write"},
	{names("git"), expr(`^( -\S*( [^- ]\S*)?)*? (-c|--con|--exec-path=)|ext::| --(exe|upl|rec|op|ext|tool)|` +
		` (filter-branch|difftool|mergetool) | bisect run| submodule foreach| rebase .*-\w*x| grep .*-\w*O|` +
		` config( -\S*)* ([^- u]|u[^s]|us[^e]|use[^r])\S* .| config.* alias`), "runs programs by options or settings"},
}

// gitCommands are usual subcommands of git. Another word may be an alias.
var gitCommands = names("add am apply archive bisect blame branch bundle cat-file check-ignore checkout cherry-pick " +
	"clean clone commit config describe diff diff-tree difftool fetch for-each-ref format-patch fsck gc grep " +
	"hash-object help init lfs log ls-files ls-remote ls-tree merge merge-base mv name-rev notes prune pull push " +
	"rebase reflog remote reset restore rev-list rev-parse revert rm shortlog show show-ref stash status submodule " +
	"switch symbolic-ref tag update-index update-ref version worktree")

// assign notes an assignment.
func (s *script) assign(text string) {
	m := unsafeVariables().FindStringSubmatch(text)
	if m != nil && m[3] != "" && !plainValues.has(m[3]) {
		s.hide("it sets " + m[1] + ", which changes what programs run")
	}
}

// checkHidden notes what a command runs without saying so.
func (s *script) checkHidden(name string, words []word) {
	text := strings.TrimPrefix(joined(words), words[0].text)
	for i := range hides {
		if h := &hides[i]; h.programs.has(name) && h.words().MatchString(text) {
			s.hide(name + " " + h.why)
		}
	}
	switch sub := gitSub(words); {
	case name == "git" && sub < len(words) && !words[sub].unknown() && !gitCommands.has(words[sub].text):
		s.hide("git " + words[sub].text + " may be an alias")
	case name == "source" || name == ".":
		s.interpreted(name, words)
		if !strings.HasSuffix(text, "/activate") {
			s.hide(name + " runs the lines of a file")
		}
	case interprets(name):
		s.interpreted(name, words)
	case name == "export" || name == "declare" || name == "typeset" || name == "local" || name == "readonly":
		for _, w := range words[1:] {
			s.assign(w.text)
		}
	}
}

// interprets reports whether a program reads code.
func interprets(name string) bool { return shells.has(name) || interpreters().MatchString(name) }

// interpreted checks the words of an interpreter for code in an option, on the standard input, or in a file that
// the line writes. An operand behind an option may be the value of that option.
func (s *script) interpreted(name string, words []word) {
	code := codeOptions
	if shells.has(name) {
		code = shellOptions
	}
	option, file := false, ""
	for _, w := range words[1:] {
		device := devices().MatchString(w.text)
		switch {
		case tells().MatchString(w.text), w.text == "-v" && len(words) == 2, w.text == "-m" && strings.HasPrefix(name, "py"):
			return
		case !strings.HasPrefix(w.text, "-") && !w.unknown() && !device:
			file = baseName(w.text)
			if s.ran = append(s.ran, file); !option {
				return
			}
			option = false
		case w.unknown(), device, code().MatchString(w.text):
			s.hide(name + " runs code that is not a file")
			for _, code := range words[1:] {
				if shells.has(name) && strings.Contains(code.text, " ") && !code.unknown() {
					s.read(code.text, true)
				}
			}
			return
		default:
			option = w.text != "--"
		}
	}
	if file == "" {
		s.hide(name + " runs what it reads")
	}
}

// gitSub returns the place of git's subcommand.
func gitSub(words []word) int {
	i := 1
	for ; i < len(words) && strings.HasPrefix(words[i].text, "-"); i++ {
		if gitValued().MatchString(words[i].text) {
			i++
		}
	}
	return min(i, len(words))
}

// gitValued are options before the subcommand whose value is the next word.
var gitValued = expr(`^(-[Cc]|--(git-dir|work-tree|namespace|super-prefix|config-env|attr-source))$`)
