package policy

import (
	"slices"
	"strings"

	"github.com/arbiter-cli/arbiter/supervisor/policy/shell"
)

// Commands whose effect their words do not show. For each command, a function says why, or "" if the words have
// a form that is known to do no more than they say.

// evaluators are builtins that evaluate an argument such as a[$(x)] as arithmetic, and so run commands in it
// even if it was quoted.
var evaluators = nameSet{"test", "[", "[[", "printf", "read", "unset", "declare", "typeset", "local", "export",
	"readonly", "let", "mapfile",
	"readarray", "wait", "getopts", "set"}

// doubtAbout says why the effect of a command is more than its words show; "" if it is not.
func doubtAbout(name string, c shell.Command) string {
	args := c.Words[1:]
	check, ok := doubtful[name]
	switch {
	case ok:
		return check(args, c)
	case editorsOfText.has(name):
		return name + " runs commands that its options name"
	case commandOptions[name] != nil:
		return optionsInDoubt(name, args)
	case otherShells.has(name):
		return name + " reads its text by a grammar of its own"
	case shells.has(name):
		return fileInDoubt(name, args)
	case isLoader(name):
		return name + " runs the program that it is given"
	case isInterpreter(name):
		return codeInDoubt(name, c)
	}
	return ""
}

type doubtCheck = func(args []shell.Word, c shell.Command) string

func always(why string) doubtCheck { return func([]shell.Word, shell.Command) string { return why } }

var doubtful map[string]doubtCheck

func init() { // not a literal: the checks call doubtAbout themselves
	doubtful = map[string]doubtCheck{
		"eval":      always("eval runs its arguments as a new line"),
		"source":    always("source runs the lines of a file"),
		".":         always(". runs the lines of a file"),
		"exec":      always("exec replaces the shell"),
		"builtin":   always("builtin runs a builtin by another name"),
		"command":   commandInDoubt,
		"hash":      always("hash changes what a name runs"),
		"alias":     always("alias changes what a name runs"),
		"trap":      always("trap runs a text later"),
		"set":       setInDoubt,
		"shopt":     always("shopt changes how lines are read"),
		"enable":    always("enable changes what a name runs"),
		"compgen":   always("compgen evaluates its arguments"),
		"complete":  always("complete evaluates its arguments"),
		"compopt":   always("compopt evaluates its arguments"),
		"bind":      always("bind runs texts later"),
		"fc":        always("fc runs lines of the history"),
		"let":       always("let evaluates its arguments"),
		"mapfile":   mapfileInDoubt,
		"readarray": mapfileInDoubt,
		"jobs":      optionInDoubt("jobs", "x"),
		"wait":      optionInDoubt("wait", "p"),
		"test":      testInDoubt,
		"[":         testInDoubt,
		"printf":    printfInDoubt,
		"read":      readInDoubt,
		"getopts":   namesInDoubt("getopts"),
		"unset":     namesInDoubt("unset"),
		"export":    declareInDoubt("export"),
		"readonly":  declareInDoubt("readonly"),
		"declare":   declareInDoubt("declare"),
		"typeset":   declareInDoubt("typeset"),
		"local":     declareInDoubt("local"),
		"su":        always("su runs a text by another shell"),
		"runuser":   always("runuser runs a text by another shell"),
		"script":    always("script runs a text by another shell"),
		"at":        always("at runs lines later"),
		"batch":     always("batch runs lines later"),
		"crontab":   always("crontab runs lines later"),
		"env":       envInDoubt,
		"git":       gitInDoubt,
		"awk":       awkInDoubt, "gawk": awkInDoubt, "mawk": awkInDoubt, "nawk": awkInDoubt,
		"sed": sedInDoubt, "gsed": sedInDoubt,
	}
}

func commandInDoubt(args []shell.Word, _ shell.Command) string {
	if len(args) > 0 && (args[0].Text == "-v" || args[0].Text == "-V") && shell.Known(args) {
		return "" // it only reports where a command is
	}
	return "command runs a command past functions and aliases"
}

// setInDoubt checks the options that end a script early or trace it. A trace evaluates PS4, and setting PS4 is
// itself in doubt.
func setInDoubt(args []shell.Word, _ shell.Command) string {
	for i, w := range args {
		letters := strings.TrimLeft(w.Text, "-+")
		switch {
		case len(letters) < len(w.Text) && letters != "" && strings.Trim(letters, "euxvCo") == "":
		case i > 0 && strings.HasSuffix(args[i-1].Text, "o") && slices.Contains(setOptions, w.Text):
		default:
			return "set changes how lines are read"
		}
	}
	return ""
}

var setOptions = []string{"pipefail", "errexit", "nounset", "xtrace", "verbose", "noclobber"}

func optionInDoubt(name, letters string) doubtCheck {
	return func(args []shell.Word, _ shell.Command) string {
		for _, w := range args {
			if !w.Known() && w.Splits || strings.HasPrefix(w.Text, "-") && strings.ContainsAny(w.Text, letters) {
				return name + " evaluates or runs an argument"
			}
		}
		return ""
	}
}

// testInDoubt checks test and [: [ -v 'a[$(x)]' ] runs x. If no operator can be -v or -R, the operands are
// compared and not evaluated (observed with bash 5.2; [[ … ]] evaluates more).
func testInDoubt(args []shell.Word, _ shell.Command) string {
	const why = "test can evaluate the subscript of a variable's name"
	for i, w := range args {
		evaluates := w.Text == "-v" || w.Text == "-R"
		switch {
		case w.Splits && !w.Known():
			return why // it may become an operator and its operand
		case evaluates && (i+1 >= len(args) || !shell.IsName(args[i+1].Text)):
			return why
		case !w.Known() && !operandOf(args, i):
			return why
		}
	}
	return ""
}

// operandOf reports whether a word of a test is next to a known operator, and so is not an operator itself.
func operandOf(args []shell.Word, i int) bool {
	if i > 0 && testOperators.has(args[i-1].Text) {
		return true
	}
	return i+1 < len(args) && binaryOperators.has(args[i+1].Text)
}

var (
	binaryOperators = nameSet{"=", "==", "!=", "<", ">", "-eq", "-ne", "-lt", "-le", "-gt", "-ge", "-nt", "-ot", "-ef"}
	testOperators   = nameSet{"=", "==", "!=", "<", ">", "-eq", "-ne", "-lt", "-le", "-gt", "-ge", "-nt", "-ot", "-ef",
		"-n", "-z", "-e", "-f", "-d", "-r", "-w", "-x", "-s", "-L", "-h", "-b", "-c", "-p", "-S", "-t", "-O", "-G",
		"-N", "-k", "-u", "-g"}
)

func printfInDoubt(args []shell.Word, _ shell.Command) string {
	if len(args) == 0 || args[0].Known() && !strings.HasPrefix(args[0].Text, "-") || args[0].Text == "--" {
		return ""
	}
	if args[0].Text == "-v" && len(args) > 1 && shell.IsName(args[1].Text) {
		return nameInDoubt(args[1].Text)
	}
	return "printf -v evaluates the name of its variable"
}

func readInDoubt(args []shell.Word, _ shell.Command) string {
	for i := 0; i < len(args); i++ {
		w := args[i]
		if strings.HasPrefix(w.Text, "-") && w.Known() {
			letters := w.Text[1:]
			if strings.Trim(letters, "rsapntNdu") != "" || letters == "" {
				return "read has options that are not known here"
			}
			if strings.ContainsAny(letters[len(letters)-1:], "apntNdu") && i+1 < len(args) &&
				letters[len(letters)-1] != 'a' {
				i++ // the option's value
			}
			continue
		}
		if !shell.IsName(w.Text) {
			return "read evaluates the names of its variables"
		}
		if why := nameInDoubt(w.Text); why != "" {
			return why
		}
	}
	return ""
}

func mapfileInDoubt(args []shell.Word, _ shell.Command) string {
	for _, w := range args {
		if w.Text != "-t" && !shell.IsName(w.Text) {
			return "mapfile can run a text for each line"
		}
		if why := nameInDoubt(w.Text); why != "" {
			return why
		}
	}
	return ""
}

// namesInDoubt checks builtins whose arguments name variables.
func namesInDoubt(name string) doubtCheck {
	return func(args []shell.Word, _ shell.Command) string {
		for i, w := range args {
			if name == "getopts" && i == 0 || name == "unset" && (w.Text == "-v" || w.Text == "-f") {
				continue
			}
			if !shell.IsName(w.Text) {
				return name + " evaluates the names of its variables"
			}
			if why := nameInDoubt(w.Text); why != "" {
				return why
			}
		}
		return ""
	}
}

// declareInDoubt checks declarations: with an option such as -i or -n, values are evaluated, too.
func declareInDoubt(name string) doubtCheck {
	return func(args []shell.Word, _ shell.Command) string {
		for _, w := range args {
			variable, _, _ := strings.Cut(w.Text, "=")
			switch {
			case strings.HasPrefix(w.Text, "-") && w.Known() && strings.Trim(w.Text[1:], "rxgpaA") == "":
			case !shell.IsName(strings.TrimSuffix(variable, "+")):
				return name + " evaluates its arguments"
			default:
				if why := nameInDoubt(strings.TrimSuffix(variable, "+")); why != "" {
					return why
				}
			}
		}
		return ""
	}
}

func nameInDoubt(name string) string {
	if isInterpreted(name) {
		return "the variable " + name + " changes what other commands do"
	}
	return ""
}

// envInDoubt checks the variables that env sets for its command.
func envInDoubt(args []shell.Word, _ shell.Command) string {
	for _, w := range args {
		if name, _, ok := strings.Cut(w.Text, "="); ok && shell.IsName(name) && isInterpreted(name) {
			return nameInDoubt(name)
		}
		if strings.HasPrefix(w.Text, "-S") || strings.HasPrefix(w.Text, "--split-string") {
			return "env -S splits its argument by rules of its own"
		}
	}
	return ""
}

var (
	interpretedNames = nameSet{"PATH", "IFS", "ENV", "HOME", "SHELL", "CDPATH", "GLOBIGNORE", "FIGNORE", "SHELLOPTS",
		"PROMPT_COMMAND",
		"PAGER", "MANPAGER", "MANROFFSEQ", "EDITOR", "VISUAL", "BROWSER", "LESSOPEN", "LESSCLOSE", "LESS", "CC", "CXX",
		"CPP", "LD", "AR",
		"MAKEFLAGS", "MFLAGS", "GNUMAKEFLAGS", "MAKEFILES", "GOFLAGS", "GOROOT", "GOTOOLDIR", "GOTOOLCHAIN", "GOENV",
		"GOPROXY",
		"NODE_OPTIONS", "NODE_PATH", "JAVA_TOOL_OPTIONS", "_JAVA_OPTIONS", "JDK_JAVA_OPTIONS", "CLASSPATH", "JAVA_HOME",
		"MAVEN_OPTS", "GRADLE_OPTS", "DOTNET_STARTUP_HOOKS", "GCONV_PATH", "LOCPATH", "TERMINFO", "TERMCAP",
		"HOSTALIASES", "TMPPREFIX",
		"FZF_DEFAULT_COMMAND", "RIPGREP_CONFIG_PATH", "TAR_OPTIONS", "TAPE", "RSYNC_RSH", "CVS_RSH", "SVN_SSH",
		"POSIXLY_CORRECT",
		"OPENSSL_CONF", "OPENSSL_ENGINES", "http_proxy", "https_proxy", "all_proxy", "HTTP_PROXY", "HTTPS_PROXY",
		"ALL_PROXY",
		"SUDO_ASKPASS", "SUDO_EDITOR", "XDG_CONFIG_HOME", "KUBECONFIG", "DOCKER_HOST", "DOCKER_CONFIG"}

	interpretedPrefixes = []string{"BASH", "PS", "LD_", "DYLD_", "GIT_", "SSH_", "PYTHON", "PERL", "RUBY", "GEM_",
		"BUNDLE_", "LUA_",
		"PHP_", "CARGO_", "RUST", "npm_config_", "NPM_CONFIG_", "YARN_", "PIP_", "CGO_", "GCC_", "CLAUDE", "ZDOTDIR",
		"_"}
)

// isInterpreted reports whether shells or programs run the value of a variable, or use it to find what they
// run.
func isInterpreted(name string) bool {
	return interpretedNames.has(name) || slices.ContainsFunc(interpretedPrefixes,
		func(p string) bool { return strings.HasPrefix(name, p) })
}
