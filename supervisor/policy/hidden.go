package policy

import (
	"slices"
	"strings"
)

// What a command line runs without saying so. Words are looked for wherever they stand, without knowledge of the
// options of programs: a question too many is better than a table of options.

var (
	shells = names("sh bash zsh dash ash ksh mksh fish rbash csh tcsh pwsh yash")

	// interpreters are others, by the beginning of their names, with the letters of options that give code.
	interpreters = []struct{ name, letters string }{{"python", "c"}, {"pypy", "c"}, {"perl", "eE"}, {"ruby", "e"},
		{"node", "ep"}, {"lua", "e"}, {"php", "rBRE"}, {"Rscript", "e"}, {"tclsh", ""}, {"osascript", "e"}, {"julia", "eE"},
		{"ts-node", "ep"}, {"tsx", "ep"}, {"vim", "ces+"}, {"nvim", "ces+"}, {"gdb", "e"}, {"emacs", "e"}, {"guile", "ce"}}

	// unsafeVariables change what programs run.
	unsafeVariables = expr(`^((LD|DYLD|BASH|GIT)_\w*|PATH|ENV|IFS|PS0|PS4|PROMPT_COMMAND|SHELLOPTS|CDPATH|` +
		`PAGER|MANPAGER|EDITOR|VISUAL|SHELL|BROWSER|NODE_OPTIONS|PERL5OPT|PERL5LIB|RUBYOPT|PYTHONSTARTUP|SSH_ASKPASS|` +
		`LESSOPEN|LESSCLOSE|TAR_OPTIONS|MAKEFLAGS)[+\x00\[]?[^=]*=(.*)$`)
	plainValues = []string{"", "0", "1", "cat", "true", "false", ":"}
)

// hides are forms of programs that run what they do not show, compared with their words behind the name.
var hides = []struct {
	programs nameSet
	words    *expression
	why      string
}{
	{names("eval trap alias hash enable compgen complete compopt bind fc shopt at batch"), expr(`.`),
		"runs a text, or changes what a name runs"},
	{names("mapfile readarray"), expr(` -C`), "runs a text"},
	{names("printf test ["), expr(` -v .*\[.*\x00`), "evaluates the name of a variable"},
	{names("make gmake"), expr(`=|\x00| -(f ?-)?( |$)|--ev`), "gets more than its makefile"},
	{names("npm npx pnpm bunx yarn"), expr(` (-c|--ca)`), "runs a text"},
	{names("deno bun"), expr(` (eval|-e)`), "runs a text"},
	{names("crontab"), expr(` ([^-]|-[^l])`), "runs lines later"},
	{names("su script unshare nsenter newgrp sg"), expr(`^( -\S*| root)*$`), "starts a shell"},
	{names("sudo doas"), expr(`^( -\S*)* -(\w*[si]|-s\w*|-login)( -\S*)*$`), "starts a shell"},
	{names("ssh flock chroot su script unshare nsenter watch parallel"), expr(`\x00`), "runs unknown words"},
	{names("tar zip rsync sort split"), expr(` --(use-c|to-c|checkpoint-a|rsh|compress-p|filter|unzip-c)`),
		"runs a program that an option names"},
	{names("awk gawk mawk nawk"), expr(`system|getline|\|\s*["a-z&]|"\s*\|| \x00`), "may run commands"},
	{names("sed gsed"), expr(`^( -\S*)* (.*[0-9;{}$/!\s])?e( |$|;)|` +
		`^( -\S*)* \S*[^\w\s.-][gpiImM0-9]*e[gpiImMw0-9]*\s*([;} ]|$)|^( -\S*)* \x00`), "may run commands"},
	{names("git"), expr(`^( -\S*( [^- ]\S*)?)*? (-c|--con|--exec-path=)|ext::|` +
		` --(exe|upl|rec|op|ext|tool)|` +
		` (filter-branch|difftool|mergetool) | bisect run| submodule foreach| rebase .*-\w*x| grep .*-\w*O`),
		"runs programs by options or settings"},
}

// gitCommands are git's own subcommands, which no alias replaces.
var gitCommands = names("add am annotate apply archive bisect blame branch bundle cat-file check-attr " +
	"check-ignore check-ref-format checkout checkout-index cherry cherry-pick clean clone commit commit-tree " +
	"config count-objects describe diff diff-files diff-index diff-tree difftool fetch for-each-ref " +
	"format-patch fsck gc grep hash-object help init lfs log ls-files ls-remote ls-tree maintenance merge " +
	"merge-base merge-file merge-tree mktree mv name-rev notes prune pull push range-diff read-tree rebase " +
	"reflog remote repack replace rerere reset restore rev-list rev-parse revert rm shortlog show show-branch " +
	"show-ref sparse-checkout stash status stripspace submodule switch symbolic-ref tag update-index update-ref " +
	"var verify-commit verify-tag version whatchanged worktree write-tree")

// gitSettings are uses of git config that set something that may name a program.
var gitSettings = expr(`^( -\S*)* [^- u]\S* .|^( -\S*)* (u[^s]|us[^e]|use[^r])\S* .|alias`)

// assign notes an assignment.
func (s *script) assign(text string) {
	if m := unsafeVariables.FindStringSubmatch(text); m != nil && !slices.Contains(plainValues, m[3]) {
		s.hide("it sets " + m[1] + ", which changes what programs run")
	}
}

// checkHidden notes what a command runs without saying so.
func (s *script) checkHidden(name string, words []word) {
	text := strings.TrimPrefix(joined(words), words[0].text)
	for i := range hides {
		if h := &hides[i]; h.programs.has(name) && h.words.MatchString(text) {
			s.hide(name + " " + h.why)
		}
	}
	switch {
	case name == "git":
		sub := gitSub(words)
		switch {
		case sub == len(words) || words[sub].unknown(): // compared with the words of rules
		case !gitCommands.has(words[sub].text):
			s.hide("git " + words[sub].text + " may be an alias")
		case words[sub].text == "config" && gitSettings.MatchString(" "+joined(words[sub+1:])):
			s.hide("git gets settings, which can name programs")
		}
	case name == "source" || name == ".":
		s.interpreted(name, words, "")
		if !strings.HasSuffix(text, "/activate") {
			s.hide(name + " runs the lines of a file")
		}
	case name == "export" || name == "declare" || name == "typeset" || name == "local" || name == "readonly":
		for _, w := range words[1:] {
			s.assign(w.text)
		}
	}
	if letters, ok := interpreter(name); ok {
		s.interpreted(name, words, letters)
	}
}

// interpreter reports whether a program reads code, and the letters of the options that give it.
func interpreter(name string) (letters string, ok bool) {
	for _, in := range interpreters {
		if version, ok := strings.CutPrefix(name, in.name); ok && strings.Trim(version, "0123456789.-") == "" {
			return in.letters, true
		}
	}
	return "cs", shells.has(name)
}

var (
	longCode = expr(`^--(ev|print$|com|run|init|rc)`)
	devices  = expr(`^(-|/dev/.*|/proc/.*)$`)
	tells    = expr(`^(--version|--help|-V)$`)
)

// interpreted checks the words of an interpreter for code in an option, on the standard input, or in a file that
// the line writes. An operand behind an option may be the value of that option.
func (s *script) interpreted(name string, words []word, letters string) {
	option, file := false, ""
	for _, w := range words[1:] {
		switch code := !strings.HasPrefix(w.text, "--") && strings.ContainsAny(w.text, letters); {
		case tells.MatchString(w.text), w.text == "-v" && len(words) == 2, w.text == "-m" && letters == "c":
			return // it tells about itself, or runs a module
		case !strings.HasPrefix(w.text, "-") && !w.unknown() && !devices.MatchString(w.text):
			file = baseName(w.text)
			if s.ran = append(s.ran, file); !option {
				return
			}
			option = false
		case w.unknown(), devices.MatchString(w.text), code, longCode.MatchString(w.text):
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
		if gitValued.MatchString(words[i].text) {
			i++
		}
	}
	return min(i, len(words))
}

// gitValued are options before the subcommand whose value is the next word.
var gitValued = expr(`^(-[Cc]|--(git-dir|work-tree|namespace|super-prefix|config-env|attr-source))$`)
